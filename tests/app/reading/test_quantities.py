"""Numbers by their names, what is decided by them, and the answers of bets."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.compare.engine import Engine
from app.model_pool import ModelPool
from app.reading import steps
from app.reading.observed import observed
from app.reading.steps import common_order, our_number, outcome
from app.reading.story import (
    Bet,
    Choice,
    Finding,
    LiveExample,
    request_of,
    reversed_order,
)
from explainers.models.bundle_cards import BUNDLES
from explainers.report import quantities
from explainers.report.quantities import UnknownQuantity, filled, holds, stored_quantity
from explainers.results.comparison import Comparison

ROOT = Path(__file__).parents[3]
STATE = LiveExample("nli", ("aml", "cimi", "random"), example="One word decides", narrators=("cause", "cause_tokens"))


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    """Stored with the project, so no model is loaded."""
    run = Engine(ModelPool()).submit(request_of(STATE))
    assert run.status == "done"
    return run.comparison()


def test_a_number_of_an_evaluation_is_that_of_its_row() -> None:
    table: dict[str, Any] = json.loads((BUNDLES / "sst2" / "evaluation.json").read_text(encoding="utf-8"))
    for row in table["rows"]:
        name = f"evaluation/sst2/{row['erasure']}/{row['method']}/aopc_c"
        assert stored_quantity(name) == row["aopc_c"]["mean"]
        assert stored_quantity(f"{name}/low") == row["aopc_c"]["low"]


def test_a_number_of_a_narrator_may_have_no_interval() -> None:
    stored = json.loads((BUNDLES / "nli" / "narrative" / "evaluation.json").read_text(encoding="utf-8"))
    row = next(narrator for narrator in stored["rows"] if narrator["method"] == "cause")
    assert stored_quantity("narrators/nli/cause/bleu_4") == row["bleu_4"]
    assert stored_quantity("narrators/nli/cause/composite/high") == row["composite"]["high"]
    given = next(baseline for baseline in stored["baselines"] if baseline["method"] == "given_reason")
    assert stored_quantity("narrators/nli/given_reason/own_words") == given["own_words"]["mean"]


def test_a_number_of_a_card_is_found_by_its_path() -> None:
    card = json.loads((BUNDLES / "sst2-ivra-comp" / "card.json").read_text(encoding="utf-8"))
    assert stored_quantity("card/sst2-ivra-comp/accuracy.test") == card["accuracy"]["test"]
    weights = json.loads((BUNDLES / "sst2" / "learned" / "ivra-smat.json").read_text(encoding="utf-8"))
    assert stored_quantity("weights/sst2/ivra-smat/validation.aopc_c") == weights["validation"]["aopc_c"]


def test_a_number_of_a_document_is_the_first_of_its_cell() -> None:
    lines = (ROOT / "assets" / "docs" / "ablations.md").read_text(encoding="utf-8").splitlines()
    line = next(line for line in lines if line.startswith("| without L_p"))
    assert f"| {stored_quantity('document/ablations.md/without L_p/AOPC-C ↑'):.3f} [" in line


@pytest.mark.parametrize(
    "name",
    [
        "",
        "gone/sst2",
        "evaluation/sst2/mask/gone/aopc_c",
        "evaluation/sst2/mask/aml/gone",
        "evaluation/sst2/mask/aml/aopc_c/middle",
        "evaluation/gone/mask/aml/aopc_c",
        "narrators/nli/cause",
        "card/sst2/name",
        "document/ablations.md/gone/AOPC-C ↑",
        "document/ablations.md/AML/gone",
        "document/gone.md/a/b",
    ],
)
def test_what_does_not_exist_is_refused(name: str) -> None:
    with pytest.raises(UnknownQuantity, match="There is no number"):
        stored_quantity(name)


def test_texts_are_filled_with_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantities, "stored_quantity", lambda name: {"a": 0.12345, "b": -0.5}[name])
    assert filled("x [[a]], [[a|1]], [[b|2]], [[a|%]], [[a|%1]]") == "x 0.123, 0.1, −0.50, 12 %, 12.3 %"
    assert filled("no [link](b) or [c]") == "no [link](b) or [c]"


@pytest.mark.parametrize(
    ("check", "result"),
    [("a > b", True), ("a < b", False), ("a > 2", True), ("a < 2.5", False), ("b > -1", True), ("b > b", False)],
)
def test_comparisons_are_what_they_say(check: str, result: bool) -> None:
    assert holds(check, {"a": 3.0, "b": -0.5}.__getitem__) is result


def test_what_is_no_comparison_is_refused() -> None:
    with pytest.raises(UnknownQuantity, match="is no comparison"):
        holds("evaluation/sst2/mask/aml/aopc_c")


@pytest.mark.parametrize(
    ("checks", "result"),
    [(("2 > 1",), "replicated"), (("2 > 1", "1 > 2"), "partly"), (("1 > 2", "2 > 3"), "not")],
)
def test_an_outcome_follows_from_the_checks(checks: tuple[str, ...], result: str) -> None:
    assert outcome(Finding("", "partly", checks, "")) == result


def test_our_numbers_have_half_their_interval() -> None:
    low, high = (stored_quantity(f"evaluation/sst2/mask/aml/aopc_c/{end}") for end in ("low", "high"))
    assert our_number("evaluation/sst2/mask/aml/aopc_c").endswith(f" ± {(high - low) / 2:.3f}")
    assert "±" not in our_number("narrators/nli/cause/bleu_4")
    assert our_number("") == ""


def test_numbers_on_the_screen_are_those_of_the_comparison(comparison: Comparison) -> None:
    results = {result.attribution.method: result for result in comparison.results}
    control = comparison.random_control
    assert control is not None
    assert observed(comparison, "metric/aml/aopc_c") == results["aml"].metrics["aopc_c"]
    assert observed(comparison, "metric/random/aopc_c") == control.metrics["aopc_c"]
    assert observed(comparison, "without/aml/20") == results["aml"].curves.when_removed(20)
    assert observed(comparison, "only/cimi/50") == results["cimi"].curves.when_kept(50)
    assert observed(comparison, "probability/entailment") == comparison.probabilities[0]
    assert observed(comparison, "agreement/aml/aml") == pytest.approx(1)
    assert observed(comparison, "score/aml/FEEDS") == results["aml"].attribution.scores[3]  # An old man feeds
    assert observed(comparison, "card/sst2/accuracy.test") == stored_quantity("card/sst2/accuracy.test")


def test_sentences_are_observed(comparison: Comparison) -> None:
    assert observed(comparison, "states/cause") == 1.0  # "The answer is entailment", as the model says
    wrong = replace(comparison, probabilities=(0.0, 0.0, 1.0))
    assert observed(wrong, "states/cause") == 0.0
    assert math.isfinite(observed(comparison, "effect/cause_tokens"))
    assert observed(replace(comparison, narrative_checks=()), "effect/cause_tokens") == 0.0


@pytest.mark.parametrize("name", ["metric/cimi:zero/aopc_c", "score/aml/gone", "without/aml/x", "states/cause_phi"])
def test_what_a_comparison_lacks_is_refused(comparison: Comparison, name: str) -> None:
    with pytest.raises(UnknownQuantity, match="in this comparison"):
        observed(comparison, name)


def test_a_bet_is_decided_by_the_largest_or_smallest(comparison: Comparison) -> None:
    choices = (Choice("a", "metric/random/aopc_c"), Choice("b", "probability/entailment"), Choice("c", "states/cause"))
    assert steps.right_choices(Bet("", "largest", choices, ""), comparison) == (2,)
    assert steps.right_choices(Bet("", "smallest", choices, ""), comparison) == (0,)
    assert steps.values(Bet("", "smallest", choices, ""), comparison)[2] == 1.0


@pytest.mark.parametrize(("noise", "right"), [(0.0, (0,)), (0.004, (0, 1))])
def test_methods_within_the_sampling_noise_of_the_leader_are_right_too(
    comparison: Comparison, noise: float, right: tuple[int, ...]
) -> None:
    lime, occlusion = (comparison.result(method) for method in ("lime", "occlusion"))
    assert lime is not None
    assert occlusion is not None
    leading = replace(lime, metrics={"aopc_c": 0.772}, noise={"aopc_c": noise})
    level = replace(occlusion, metrics={"aopc_c": 0.767}, noise={"aopc_c": 0.0})  # 0.005 behind; 1.96 × 0.004 = 0.0078
    both = comparison.with_event(leading).with_event(level)
    choices = (Choice("LIME", "metric/lime/aopc_c"), Choice("Occlusion", "metric/occlusion/aopc_c"))
    assert steps.right_choices(Bet("", "largest", choices, ""), both) == right


@pytest.mark.parametrize(("name", "right"), [("states/cause", 1), ("probability/contradiction", 0)])
def test_a_bet_on_a_range_is_decided_by_the_range(comparison: Comparison, name: str, right: int) -> None:
    bet = Bet("", "range", (Choice("low", below=0.5), Choice("high", at_least=0.5)), "", name)
    assert steps.right_choices(bet, comparison) == (right,)
    assert len(steps.values(bet, comparison)) == 1


def test_a_bet_on_stored_numbers_needs_no_comparison() -> None:
    stored = Bet("", "largest", (Choice("a", "card/sst2/accuracy.test"), Choice("b", "card/nli/accuracy.test")), "")
    assert steps.is_stored(stored)
    assert steps.right_choices(stored, None) == (0,)  # 90.9 % and 80.1 %
    live = replace(stored, choices=(*stored.choices, Choice("c", "states/cause")))
    assert not steps.is_stored(live)
    with pytest.raises(UnknownQuantity, match="needs a comparison"):
        steps.right_choices(live, None)


def test_a_wrong_bet_is_called_wrong_and_none_is_not() -> None:
    bet = Bet("", "largest", (Choice("AML"), Choice("LIME"), Choice("IG")), "")
    assert steps.bet_outcome(bet, (1,), 1) == "Your bet was right."
    assert steps.bet_outcome(bet, (1,), 0) == "Your bet was wrong. The answer: LIME."
    assert steps.bet_outcome(bet, (1, 2), 0) == "Your bet was wrong. The answer: LIME and IG are level."
    assert steps.bet_outcome(bet, (1,), None) == "The answer: LIME."


def test_bets_are_counted_by_choice() -> None:
    bet = Bet("", "largest", (Choice("a"), Choice("b"), Choice("c")), "")
    assert steps.counts(bet, [2, 0, 2]) == (1, 0, 2)


def test_the_common_order_counts_places() -> None:
    # 3: 1 + 1/2, 1: 1/2, 0: 1; unit 1 and nothing else has the fewest points
    assert common_order([(3, 1), (0, 3)]) == (3, 0, 1)
    assert common_order([(5,), (2,)]) == (2, 5)  # equal: as in the text
    assert common_order([]) == ()


def test_the_reversed_order_begins_with_the_least(comparison: Comparison) -> None:
    run = Engine(ModelPool()).submit(request_of(STATE))
    scores = next(result for result in comparison.results if result.attribution.method == "aml").attribution.scores
    order = reversed_order(run, "aml")
    assert sorted(order) == list(range(len(scores)))
    assert scores[order[0]] == min(scores)
    assert scores[order[-1]] == max(scores)
    assert reversed_order(run, "cimi:zero") == ()


def test_erased_units_are_toggled() -> None:
    state = replace(STATE, removed=(1, 2))
    assert request_of(state, (2, 5)).removed == (1, 5)
