from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from explainers.datasets import esnli
from explainers.narrative import evaluation
from explainers.narrative.cause import Narrator
from explainers.narrative.counterfactual import Counterfactual
from explainers.narrative.evaluation import TEMPERATURES, Asked, Spoken, asked, spoken, table
from explainers.narrative.measures import NONE
from explainers.narrative.texts import Item, sentence

Made = Callable[..., Narrator]
LABELS = esnli.LABELS
CLASSES = [0, 0, 1, 1, 2, 2]
REASONS = [sentence(LABELS[one], f"reason number {one} holds here") for one in CLASSES]


def item(label: int, state: Tensor | None = None, said: tuple[str, ...] = ()) -> Item:
    return Item(torch.zeros(2) if state is None else state, torch.zeros(3), label, True, said)


@pytest.fixture
def given() -> Asked:
    """Six items; the counterfactual of each is the next class, and the last one did not get there."""
    targets = torch.tensor([(one + 1) % 3 for one in CLASSES])
    altered = Counterfactual(torch.zeros(6, 2), targets, torch.tensor([True] * 5 + [False]), torch.zeros(6))
    references = tuple((each,) for each in REASONS)
    return Asked(tuple(map(item, CLASSES)), ("reason",) * 6, references, altered, LABELS)


def run(votes: list[int], altered: list[int], sentences: list[str] = REASONS) -> Spoken:
    return Spoken(tuple(sentences), tuple(votes), tuple(altered), (), ())


ALTERED = [(one + 1) % 3 for one in CLASSES]


def test_a_perfect_narrator_has_every_figure_1(given: Asked) -> None:
    (row,) = table(given, {"cause_phi": [run(CLASSES, [*ALTERED[:5], NONE])]}, [])
    for name in ("agreement", "states_class", "ccmr", "ccmr_states_class", "composite"):
        assert row[name] == {"mean": 1.0, "low": 1.0, "high": 1.0}  # the one not reached does not count
    assert row["constraint_met"]["mean"] == pytest.approx(5 / 6)
    assert row["bleu_4"] == pytest.approx(1.0)
    assert row["composite_gain"]["mean"] == 0


def test_sentences_without_a_class_lower_the_share_and_the_composite_but_not_ccmr(given: Asked) -> None:
    (row,) = table(given, {"cause_phi": [run(CLASSES, [*ALTERED[:2], NONE, NONE, NONE, 0])]}, [])
    assert row["ccmr"]["mean"] == 1.0
    assert row["ccmr_states_class"]["mean"] == pytest.approx(2 / 5)
    assert row["composite"]["mean"] == pytest.approx(2 * 0.4 / 1.4)


def test_agreement_is_with_the_models_class(given: Asked) -> None:
    (row,) = table(given, {"cause_phi": [run([0, 1, 1, 1, 2, NONE], ALTERED)]}, [])
    # F1 of class 0: 2/(2+1), of 1: 4/(2+3), of 2: 1
    assert row["agreement"]["mean"] == pytest.approx((2 / 3 + 4 / 5 + 1) / 3)
    assert row["states_class"]["mean"] == pytest.approx(5 / 6)
    assert row["agreement"]["low"] < row["agreement"]["mean"] < row["agreement"]["high"]


def test_gains_are_paired_and_over_the_first_narrator(given: Asked) -> None:
    same = run([0, 1, 1, 1, 2, 2], ALTERED)
    first, second = table(given, {"cause_phi": [same], "cause": [same]}, [])
    assert second["agreement_gain"] == {"mean": 0, "low": 0, "high": 0}  # unpaired, they would differ
    assert first["agreement"]["low"] < first["agreement"]["high"]


def test_figures_are_means_over_seeds(given: Asked) -> None:
    (row,) = table(given, {"cause": [run(CLASSES, ALTERED), run(CLASSES, [NONE] * 6)]}, [])
    assert row["seeds"] == 2
    assert row["composite"]["mean"] == pytest.approx(0.5)
    assert row["composite_by_seed"] == [1.0, 0.0]


def test_c2_is_measured_where_there_is_one(given: Asked) -> None:
    read = Spoken(tuple(REASONS), tuple(CLASSES), tuple(ALTERED), tuple(CLASSES), (0,) * 6)
    (with_c2,) = table(given, {"cause": [read]}, [])
    (without,) = table(given, {"cause_phi": [run(CLASSES, ALTERED)]}, [])
    assert with_c2["c2_agreement"]["mean"] == 1.0
    assert with_c2["ccmr_c2"]["mean"] < 0.5
    assert "ccmr_c2" not in without


def test_copies_are_of_what_was_learned_from(given: Asked) -> None:
    (row,) = table(given, {"cause": [run(CLASSES, ALTERED)]}, [REASONS[0]])
    assert row["copied"] == pytest.approx(2 / 6)
    assert row["words"] == 10


def test_only_what_people_said_is_a_reference(head: nn.Sequential) -> None:
    states = torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0]])
    reasons = (REASONS[0], "another")
    items = [item(0, states[0], reasons), item(1, states[1], (sentence(LABELS[1]),)), item(0, states[2], (REASONS[0],))]
    found = asked(head, items, ["a", "b", "c"], LABELS)
    assert found.references == (reasons, (), (REASONS[0],))
    assert found.predicted == [0, 1, 0]
    assert found.altered.targets.tolist() == [1, 0, 1]


def test_every_item_is_said_once_at_its_likeliest_and_voted_on_at_five_temperatures(
    narrator: Made, head: nn.Sequential, states: Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked_for: list[tuple[int, float, int]] = []
    original = evaluation.said

    def watched(speaks: Narrator, some: Tensor, *, temperature: float = 0.0, seed: int = 0) -> list[list[int]]:
        asked_for.append((len(some), temperature, seed))
        return original(speaks, some, temperature=temperature, seed=seed)

    monkeypatch.setattr(evaluation, "said", watched)
    monkeypatch.setattr(evaluation, "AT_ONCE", 4)
    classes = head(states).argmax(1).tolist()
    items = [item(label, state, (REASONS[0],)) for label, state in zip(classes, states, strict=True)]
    found = spoken(narrator(), asked(head, items, ["a"] * 6, LABELS), seed=1)
    assert len(found.sentences) == len(found.votes) == len(found.altered) == len(found.read) == 6
    for temperature in TEMPERATURES:
        sizes = [size for size, at, _ in asked_for if at == temperature]
        assert sizes == [4, 2, 4, 2]  # the items' own states and the altered ones
    seeds = [seed for _, temperature, seed in asked_for if temperature]
    assert len(set(seeds)) == len(seeds) == 20


def test_the_same_seed_says_the_same(narrator: Made, head: nn.Sequential, states: Tensor) -> None:
    items = [item(int(label), state) for label, state in zip(head(states[:2]).argmax(1), states[:2], strict=True)]
    given = asked(head, items, ["a"] * 2, LABELS)
    assert spoken(narrator(), given, 0) == spoken(narrator(), given, 0)
