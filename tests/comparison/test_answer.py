"""What carries a decision, by a function of the units that are kept: words, groups of methods, and refusals."""

import json
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from explainers.comparison.answer import NO_METHOD, NOTHING, ONE_METHOD, PREDICTED_ONLY, answer, answered
from explainers.metrics.chance import evidence, sampled_null
from explainers.report.answer import advice, compared_sentence, heading
from explainers.results.answer import CONSENSUS, Answer
from explainers.results.comparison import Comparison
from explainers.results.events import Failure
from explainers.results.manifest import strict_json

IG, LIME, OCCLUSION, GRADIENT, SHAP = "integrated_gradients", "lime", "occlusion", "gradient_x_input", "kernel_shap"
TEN = (0.4, 0.3, 0.2, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)  # weights of the units, and the right scores
LIKE = (0.5, 0.3, 0.25, 0.2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)  # the same order
WRONG, FLAT = TEN[::-1], (0.5,) * 10
EVEN = (0.3, 0.25, 0.25, 0.2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
OTHERS_FIRST = (0.2, 0.1, 0.4, 0.3, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
Scores = tuple[float, ...]
Probability = Callable[[np.ndarray], np.ndarray]  # masks (B, units) → p of class 1, (B,)
Compared = Callable[..., Comparison]


def additive(weights: Scores = TEN, low: float = 0.1, high: float = 0.9) -> Probability:
    """From `low` without any unit to `high` with all of them."""
    return lambda kept: low + (high - low) * kept @ np.asarray(weights)


def test_the_words_are_the_fewest_that_do_nearly_what_more_do(compared: Compared) -> None:
    result = answer(compared(additive(), {IG: TEN, LIME: LIKE}), finished=True)
    assert (result.status, result.cut, result.words) == ("supported", 2, (0, 1))  # 0.56 of the 0.8; one does 0.32
    assert result.effect is not None
    # two of ten units weigh 0.7 of the 0.8 between 0.1 and 0.9
    assert (result.effect.full, result.effect.removed, result.effect.kept) == pytest.approx((0.9, 0.34, 0.66))
    assert result.effect.changes_class
    one = answer(compared(additive((0.8, 0.1, 0.1, *(0.0,) * 7)), {IG: TEN, LIME: LIKE}), finished=True)
    assert one.words == (0,)  # 0.64 is more than 0.8 of the 0.72 that both do


def test_words_without_which_the_class_stays_do_not_carry_the_decision(compared: Compared) -> None:
    comparison = compared(additive(low=0.5, high=0.98), {IG: TEN, LIME: LIKE})
    result = answer(comparison, finished=True)
    assert result.effect is not None
    assert (result.effect.removed, result.effect.changes_class) == (pytest.approx(0.644), False)  # 0.98 - 0.7 · 0.48
    assert "weigh most in the decision for" in heading(result, comparison)


def test_methods_that_agree_and_beat_chance_are_supported_together(compared: Compared) -> None:
    comparison = compared(additive(), {IG: TEN, LIME: LIKE, OCCLUSION: WRONG})
    result = answer(comparison, finished=True)
    assert (result.supported, result.differs, result.random) == ((IG, LIME), (), (OCCLUSION,))
    assert (result.p, result.orders, result.exact) == (0.05, 19, False)
    assert (result.compared, result.naming) == (3, 2)
    assert result.agreement == pytest.approx(1 / 3)  # two share both, the third shares none with either
    assert result.order == (CONSENSUS, IG, LIME, OCCLUSION)
    assert [result.group(method) for method in (*result.order, "faml")] == [
        "consensus",
        "supported",
        "supported",
        "random",
        "",
    ]


def test_a_method_with_other_first_units_differs(compared: Compared) -> None:
    methods = dict.fromkeys((IG, LIME, SHAP, GRADIENT), TEN) | {OCCLUSION: OTHERS_FIRST}
    result = answer(compared(additive(EVEN), methods), finished=True)
    assert (result.supported, result.differs) == ((IG, LIME, SHAP, GRADIENT), ((OCCLUSION, (2, 3)),))
    assert result.better_than_chance == (IG, LIME, SHAP, GRADIENT, OCCLUSION)


def test_nothing_is_named_where_the_joint_order_is_no_better_than_chance(compared: Compared) -> None:
    result = answer(compared(additive(), {IG: WRONG, LIME: WRONG, OCCLUSION: TEN}), finished=True)
    assert (result.status, result.refusal, result.supported, result.single) == ("open", "", (), None)
    assert result.p is not None
    assert result.p > 0.05
    assert set(result.random) == {IG, LIME, OCCLUSION}  # whatever one of them does alone


def test_the_first_that_fails_ends_the_test(compared: Compared) -> None:
    comparison = compared(additive(), {IG: TEN, LIME: LIKE, SHAP: TEN})

    def answered_where_fails(method: str) -> Answer:
        failing = {"aopc_c": -1.0, "aopc_s": 1.0}
        results = tuple(
            replace(result, metrics={**result.metrics, **failing}) if result.method == method else result
            for result in comparison.results
        )
        return answer(replace(comparison, results=results), finished=True)

    first = answered_where_fails(LIME)
    assert (first.status, first.supported, first.random) == ("supported", (), (LIME, SHAP, IG))
    last = answered_where_fails(IG)  # after those that sample
    assert (last.status, last.supported, last.random) == ("supported", (LIME, SHAP), (IG,))


def test_a_short_input_is_tested_against_every_order(compared: Compared) -> None:
    five = (0.4, 0.3, 0.2, 0.1, 0.0)
    result = answer(compared(additive(five), {IG: five, LIME: five}, units=5), finished=True)
    # the metrics read one unit and three: 5 · 6 chains of sets, and this one is best
    assert (result.exact, result.orders, result.p) == (True, 30, pytest.approx(1 / 30))


def test_it_holds_under_an_operator_where_the_consensus_is_better_than_chance_too(compared: Compared) -> None:
    others = {"delete": additive(), "zero": additive(WRONG)}
    result = answer(compared(additive(), {IG: TEN, LIME: LIKE}, others=others), finished=True)
    assert (result.holds, result.robust) == ((("delete", True), ("zero", False)), False)
    assert answer(compared(additive(), {IG: TEN, LIME: LIKE}, others={"zero": additive()}), finished=True).robust


def test_who_takes_no_part_is_in_no_group(compared: Compared) -> None:
    methods = {"faml": TEN, "guess": TEN, "cimi": TEN, "random": WRONG, IG: TEN, LIME: LIKE, OCCLUSION: FLAT}
    result = answer(compared(additive(high=0.45), methods), finished=True)
    assert (result.compared, result.members, result.abstaining) == (2, (IG, LIME), ("cimi",))
    assert set(result.order) == {CONSENSUS, IG, LIME}


FOUR = (0.4, 0.3, 0.2, 0.1)
SATURATED = (lambda kept: np.full(len(kept), 0.999), {IG: TEN, LIME: WRONG}, {})
REFUSED: dict[str, tuple[tuple[Probability, dict[str, Scores], dict[str, int]], str]] = {
    "too few units": ((additive(FOUR), {IG: FOUR, LIME: FOUR}, {"units": 4}), "the test against random orders needs"),
    "p near zero": ((additive(high=0.04, low=0.0), {IG: TEN, LIME: TEN}, {}), "The probability of this class is only"),
    "a saturated model": (SATURATED, "The probability stays between 1.00 and 1.00"),
    "a single method": ((additive(), {IG: TEN}, {}), ONE_METHOD),
    "equal scores": ((additive(), {IG: FLAT, LIME: FLAT}, {}), "Every method gives equal scores"),
    "controls only": ((additive(), {"attention_mean": TEN, "attention_last": TEN}, {}), NO_METHOD),
    "methods that explain another class": ((additive(high=0.45), {"ciem": TEN, "cimi": TEN}, {}), PREDICTED_ONLY),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_answer_is_refused_with_the_reason(name: str, compared: Compared) -> None:
    (p, methods, options), reason = REFUSED[name]
    result = answer(compared(p, methods, **options), finished=True)
    assert (result.status, result.supported, result.random) == ("open", (), ())
    assert reason in result.refusal


def test_punctuation_is_said_to_count(compared: Compared) -> None:
    comparison = compared(additive(FOUR), {IG: FOUR, LIME: FOUR}, units=4)
    assert "has 4 words; the test" in answer(comparison, finished=True).refusal
    *words, last = comparison.decision.encoding.units
    encoding = replace(comparison.decision.encoding, units=(*words, replace(last, text="!")))
    ended = replace(comparison, decision=replace(comparison.decision, encoding=encoding))
    assert "has 4 words, punctuation included; the test" in answer(ended, finished=True).refusal


def test_where_every_method_failed_there_is_nothing(compared: Compared) -> None:
    failed = replace(compared(additive(), {}), failures=(Failure(IG, "There is not enough memory."),))
    assert answer(failed, finished=True).refusal == NOTHING


def test_before_there_is_a_consensus_and_a_control_the_answer_is_pending(compared: Compared) -> None:
    both = {IG: TEN, LIME: LIKE}
    assert answer(compared(additive(), both, control=False), finished=False).status == "pending"
    assert answer(compared(additive(), {IG: TEN}), finished=False).status == "pending"
    first = answer(compared(additive(), both), finished=False)
    assert (first.status, first.provisional) == ("supported", True)


def test_metrics_that_are_not_defined_never_beat_chance(compared: Compared) -> None:
    comparison = compared(additive(), {IG: TEN, LIME: LIKE})
    results = tuple(replace(result, metrics=dict.fromkeys(result.metrics, math.nan)) for result in comparison.results)
    assert answer(replace(comparison, results=results), finished=True).status == "open"


def test_an_unmeasured_method_is_compared_and_not_tested(compared: Compared) -> None:
    comparison = compared(additive(), {IG: TEN, LIME: LIKE, SHAP: TEN, "faml": TEN})
    results = tuple(
        replace(result, metrics=dict.fromkeys(result.metrics, math.nan)) if result.method == SHAP else result
        for result in comparison.results
    )
    comparison = replace(comparison, results=results)
    result = answer(comparison, finished=True)
    assert result.group(SHAP) == ""
    assert compared_sentence(result, comparison) == "3 of 4 methods are compared, all but fAML."


def test_without_a_random_order_the_methods_are_compared_all_the_same(compared: Compared) -> None:
    comparison = compared(additive(), {IG: TEN, LIME: LIKE, "faml": TEN}, control=False)
    result = answer(replace(comparison, postponed=("random",)), finished=False)
    assert (result.leading, result.p, result.members) == (True, None, (IG, LIME))
    assert compared_sentence(result, comparison) == "2 of 3 methods are compared, all but fAML."


def test_where_p_hardly_moves_no_units_lead_without_a_random_order_either(compared: Compared) -> None:
    p, methods, _ = SATURATED
    comparison = replace(compared(p, methods, control=False), postponed=("random",))
    result = answer(comparison, finished=True)
    assert (result.status, result.leading, result.marked) == ("open", False, ())
    assert "The probability stays between 1.00 and 1.00" in result.refusal
    assert heading(result, comparison) == "Which words decide cannot be told here"
    assert "Another operator" in advice(result, comparison)


def test_one_method_is_named_where_it_is_ahead_of_all_others(compared: Compared) -> None:
    comparison = compared(additive(), {IG: TEN, LIME: LIKE, SHAP: LIKE})
    assert answer(comparison, finished=True).single is None
    (joint, first, *others) = comparison.results
    ahead = replace(first, metrics={**first.metrics, "aopc_c": 0.9, "aopc_s": -0.5})
    assert answer(replace(comparison, results=(joint, ahead, *others)), finished=True).single == IG


def test_the_test_is_the_same_for_consensus_and_methods(compared: Compared) -> None:
    comparison = compared(additive(), {IG: TEN, LIME: LIKE, OCCLUSION: WRONG})
    assert comparison.random_control is not None
    null, result = sampled_null(comparison.random_control.scores), answer(comparison, finished=True)
    named = {result.method for result in comparison.results if null.beaten_by(evidence(result.metrics))}
    assert named == {CONSENSUS, *result.better_than_chance}


def test_an_answer_is_json(compared: Compared) -> None:
    comparison = answered(compared(additive(), {IG: TEN, LIME: LIKE}, others={"zero": additive()}), finished=True)
    assert comparison.answer is not None
    written = json.loads(strict_json(comparison.answer.as_dict()))
    assert (written["words"], written["operators"]) == ([0, 1], {"zero": True})
    assert (written["supported"], written["differs"], written["confidence"]) == ([IG, LIME], {}, None)
