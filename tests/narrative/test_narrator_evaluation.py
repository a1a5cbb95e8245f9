from collections.abc import Callable
from dataclasses import replace
from math import nan

import pytest
import torch
from torch import Tensor, nn

from explainers.datasets import entailment
from explainers.evaluation import narrators
from explainers.evaluation.narrator_metrics import baseline_row, narrator_rows
from explainers.evaluation.narrators import (
    TEMPERATURES,
    CounterfactualItems,
    NarratorRun,
    WordEffect,
    counterfactual_items,
    run_narrator,
)
from explainers.narrative.counterfactual import Counterfactual
from explainers.narrative.generation import generate
from explainers.narrative.narrator import Narrator
from explainers.narrative.narrator_input import NarratorInput
from explainers.narrative.sentences import NarratorItem, sentence
from explainers.narrative.text_metrics import NONE
from explainers.report.narrator_tables import gain_lines

Made = Callable[..., Narrator]
LABELS = entailment.LABELS
CLASSES = [0, 0, 1, 1, 2, 2]
REASONS = [sentence(LABELS[one], f"reason number {one} holds here") for one in CLASSES]


def item(label: int, state: Tensor | None = None, sentences: tuple[str, ...] = ()) -> NarratorItem:
    return NarratorItem(torch.zeros(2) if state is None else state, torch.zeros(3), label, True, sentences)


@pytest.fixture
def data() -> CounterfactualItems:
    """Six items; the counterfactual of each is the next class, and the last one did not get there."""
    targets = torch.tensor([(one + 1) % 3 for one in CLASSES])
    counterfactual = Counterfactual(torch.zeros(6, 2), targets, torch.tensor([True] * 5 + [False]), torch.zeros(6))
    references = tuple((reason,) for reason in REASONS)
    return CounterfactualItems(tuple(map(item, CLASSES)), ("reason",) * 6, references, counterfactual, LABELS)


def run(votes: list[int], counterfactual_votes: list[int], sentences: list[str] = REASONS) -> NarratorRun:
    return NarratorRun(tuple(sentences), tuple(votes), tuple(counterfactual_votes), (), ())


COUNTERFACTUAL = [(one + 1) % 3 for one in CLASSES]


def test_every_metric_of_a_perfect_narrator_is_1(data: CounterfactualItems) -> None:
    (row,) = narrator_rows(data, {"cause_phi": [run(CLASSES, [*COUNTERFACTUAL[:5], NONE])]}, [])
    for name in ("agreement", "states_class", "ccmr", "ccmr_states_class", "composite"):
        assert row[name] == {"mean": 1.0, "low": 1.0, "high": 1.0}  # the one not reached does not count
    assert row["constraint_met"]["mean"] == pytest.approx(5 / 6)
    assert row["bleu_4"] == pytest.approx(1.0)
    assert row["composite_gain"]["mean"] == 0


def test_sentences_without_a_class_lower_the_share_and_the_composite_but_not_ccmr(data: CounterfactualItems) -> None:
    (row,) = narrator_rows(data, {"cause_phi": [run(CLASSES, [*COUNTERFACTUAL[:2], NONE, NONE, NONE, 0])]}, [])
    assert row["ccmr"]["mean"] == 1.0
    assert row["ccmr_states_class"]["mean"] == pytest.approx(2 / 5)
    assert row["composite"]["mean"] == pytest.approx(2 * 0.4 / 1.4)


def test_agreement_is_with_the_models_class(data: CounterfactualItems) -> None:
    (row,) = narrator_rows(data, {"cause_phi": [run([0, 1, 1, 1, 2, NONE], COUNTERFACTUAL)]}, [])
    # F1 of class 0: 2/(2+1), of 1: 4/(2+3), of 2: 1
    assert row["agreement"]["mean"] == pytest.approx((2 / 3 + 4 / 5 + 1) / 3)
    assert row["states_class"]["mean"] == pytest.approx(5 / 6)
    assert row["agreement"]["low"] < row["agreement"]["mean"] < row["agreement"]["high"]


def test_gains_are_paired_and_over_the_first_narrator(data: CounterfactualItems) -> None:
    same = run([0, 1, 1, 1, 2, 2], COUNTERFACTUAL)
    first, second = narrator_rows(data, {"cause_phi": [same], "cause": [same]}, [])
    assert second["agreement_gain"] == {"mean": 0, "low": 0, "high": 0}  # unpaired, they would differ
    assert first["agreement"]["low"] < first["agreement"]["high"]


def test_a_narrator_is_also_compared_with_its_controls(data: CounterfactualItems) -> None:
    good, poor = run(CLASSES, COUNTERFACTUAL), run(CLASSES, [NONE] * 6)
    rows = narrator_rows(data, {"cause_phi": [good], "cause_phi_tokens": [poor], "cause_tokens": [good]}, [])
    assert [list(row["controls"]) for row in rows] == [[], [], ["cause_phi_tokens"]]
    gains = rows[2]["controls"]["cause_phi_tokens"]
    assert gains["composite"]["mean"] == pytest.approx(1.0)
    assert gains["agreement"] == {"mean": 0, "low": 0, "high": 0}
    lines = gain_lines(rows)
    assert [line.partition(":")[0] for line in lines[:3]] == [
        *("φ (tokens) against φ", "CAuSE (tokens) against φ", "CAuSE (tokens) against φ (tokens)")
    ]
    assert "composite +1.000" in lines[2]


def test_metrics_are_means_over_seeds(data: CounterfactualItems) -> None:
    (row,) = narrator_rows(data, {"cause": [run(CLASSES, COUNTERFACTUAL), run(CLASSES, [NONE] * 6)]}, [])
    assert row["seeds"] == 2
    assert row["composite"]["mean"] == pytest.approx(0.5)
    assert row["composite_by_seed"] == [1.0, 0.0]


def test_c2_is_measured_if_the_narrator_has_it(data: CounterfactualItems) -> None:
    with_reader = NarratorRun(tuple(REASONS), tuple(CLASSES), tuple(COUNTERFACTUAL), tuple(CLASSES), (0,) * 6)
    (with_c2,) = narrator_rows(data, {"cause": [with_reader]}, [])
    (without,) = narrator_rows(data, {"cause_phi": [run(CLASSES, COUNTERFACTUAL)]}, [])
    assert with_c2["c2_agreement"]["mean"] == 1.0
    assert with_c2["ccmr_c2"]["mean"] < 0.5
    assert "ccmr_c2" not in without


def test_copies_are_sentences_of_the_training_data(data: CounterfactualItems) -> None:
    (row,) = narrator_rows(data, {"cause": [run(CLASSES, COUNTERFACTUAL)]}, [REASONS[0]])
    assert row["copied"] == pytest.approx(2 / 6)
    assert row["words"] == 10


def test_right_is_what_is_true_and_on_topic_where_the_topic_is_known(data: CounterfactualItems) -> None:
    checked = replace(
        run(CLASSES, COUNTERFACTUAL),
        truths=(True, True, False, None, True, True),
        truths_of_other=(False,) * 6,
        topics=(True, False, True, True, True, None),
    )
    (row,) = narrator_rows(data, {"cause": [checked]}, [])
    assert row["reason_true"]["mean"] == pytest.approx(4 / 6)
    assert row["reason_on_topic"]["mean"] == pytest.approx(4 / 5)
    assert row["reason_right"]["mean"] == pytest.approx(2 / 5)
    assert row["reason_right"]["low"] < 2 / 5 < row["reason_right"]["high"]
    names = ("reason_right_entailment", "reason_right_neutral", "reason_right_contradiction")
    assert [row[name]["mean"] for name in names] == [0.5, 0, 1]
    (unchecked,) = narrator_rows(data, {"cause": [run(CLASSES, COUNTERFACTUAL)]}, [])
    assert not any(name.startswith("reason_") for name in unchecked)


def test_a_sentence_that_names_no_word_has_no_effect_to_count(data: CounterfactualItems) -> None:
    effects = (WordEffect(True, 0.2, 0.1), WordEffect(True, 0.4, nan), *[WordEffect(False, nan, nan)] * 4)
    row = baseline_row("given", data, [replace(run([], []), word_effects=effects)], [])
    assert row["names_words"]["mean"] == pytest.approx(2 / 6)
    assert row["word_effect"]["mean"] == pytest.approx(0.3)
    assert 0.2 <= row["word_effect"]["low"] < row["word_effect"]["high"] <= 0.4 + 1e-9
    assert row["content_word_effect"] == {
        "mean": pytest.approx(0.1),
        "low": pytest.approx(0.1),
        "high": pytest.approx(0.1),
    }


def test_what_cannot_be_computed_is_left_out_or_none(data: CounterfactualItems) -> None:
    row = baseline_row("given", replace(data, references=((),) * 6), [run([], [])], [])
    assert not {"picked_of_ten", "bertscore_f1", "word_effect", "agreement", "own_words"} & set(row)  # one text for all
    assert row["distinct_per_100"] is row["bleu_4"] is row["true_reason"] is None


def test_only_human_reasons_are_references(head: nn.Sequential) -> None:
    states = torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0]])
    reasons = (REASONS[0], "another")
    items = [item(0, states[0], reasons), item(1, states[1], (sentence(LABELS[1]),)), item(0, states[2], (REASONS[0],))]
    data = counterfactual_items(head, items, ["a", "b", "c"], LABELS)
    assert data.references == (reasons, (), (REASONS[0],))
    assert data.predicted == [0, 1, 0]
    assert data.counterfactual.targets.tolist() == [1, 0, 1]


def test_every_item_has_its_likeliest_sentence_and_a_vote_of_five_temperatures(
    narrator: Made, head: nn.Sequential, states: Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[int, float, int]] = []

    def recorded(
        narrator: Narrator, batch: NarratorInput, *, temperature: float = 0.0, seed: int = 0
    ) -> list[list[int]]:
        calls.append((len(batch), temperature, seed))
        return generate(narrator, batch, temperature=temperature, seed=seed)

    monkeypatch.setattr(narrators.generation, "generate", recorded)
    monkeypatch.setattr(narrators, "BATCH", 4)
    classes = head(states).argmax(1).tolist()
    items = [item(label, state, (REASONS[0],)) for label, state in zip(classes, states, strict=True)]
    result = run_narrator(narrator(), counterfactual_items(head, items, ["a"] * 6, LABELS), seed=1)
    assert {len(result.sentences), len(result.votes), len(result.counterfactual_votes), len(result.c2_classes)} == {6}
    for temperature in TEMPERATURES:
        sizes = [size for size, at, _ in calls if at == temperature]
        assert sizes == [4, 2, 4, 2]  # the states of the items and the counterfactual ones
    seeds = [seed for _, temperature, seed in calls if temperature]
    assert len(set(seeds)) == len(seeds) == 20


def test_the_same_seed_gives_the_same_run(narrator: Made, head: nn.Sequential, states: Tensor) -> None:
    items = [item(int(label), state) for label, state in zip(head(states[:2]).argmax(1), states[:2], strict=True)]
    data = counterfactual_items(head, items, ["a"] * 2, LABELS)
    assert run_narrator(narrator(), data, 0) == run_narrator(narrator(), data, 0)
