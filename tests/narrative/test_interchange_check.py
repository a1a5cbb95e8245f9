"""Exchanges and counterfactuals, with readers whose right answers are known."""

import copy
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.models.catalog import fingerprint
from explainers.models.frozen_model import FrozenModel
from explainers.models.internals import classifier_head
from explainers.narrative import interchange_check
from explainers.narrative.counterfactual import check_counterfactual
from explainers.narrative.interchange import layer_sizes
from explainers.narrative.interchange_check import check_interchange, over_pairs, random_neurons
from explainers.narrative.narrate import load_narrator
from explainers.narrative.narrator_input import NarratorInput
from explainers.narrative.sentences import SentenceBatch, generate_batch, head_states

PAIRS = tuple(
    Example(*pair.split("|"))
    for pair in (
        "the good film|a good plot",
        "a dull film|the film was very bad",
        "not good|good",
        "very very dull !|unwatchable , bad",
        "the plot|a film was not the plot",
        "good good good|bad",
    )
)


class Constant(nn.Sequential):
    """Always gives the first class."""

    def __init__(self, like: nn.Sequential) -> None:
        super().__init__(*copy.deepcopy(like))
        last = self[-1]
        assert isinstance(last, nn.Linear)
        last.weight.data.zero_()
        last.bias.data[:] = torch.tensor([9.0, 0.0, 0.0])


def reader(c2: nn.Sequential) -> Any:
    return SimpleNamespace(c2=c2, has_reader=True, layer=0)


@pytest.fixture
def perfect(monkeypatch: pytest.MonkeyPatch) -> None:
    """F(c) = c."""

    def generated(_narrator: object, inputs: NarratorInput, _labels: Sequence[str]) -> SentenceBatch:
        return SentenceBatch(("…",) * len(inputs), (None,) * len(inputs), inputs.states)

    monkeypatch.setattr(interchange_check, "generate_batch", generated)
    monkeypatch.setattr(interchange_check, "generate_batch", generated)


@pytest.mark.usefixtures("perfect")
@pytest.mark.parametrize("layer", [0, 1, 2])
def test_a_reader_that_is_the_model_always_agrees(speaker: FrozenModel, layer: int) -> None:
    narrator = reader(classifier_head(speaker))
    neurons = random_neurons(layer_sizes(classifier_head(speaker))[layer], 1)
    for base, source in ((PAIRS[0], PAIRS[1]), (PAIRS[2], PAIRS[3])):
        check = check_interchange(speaker, narrator, base, source, layer, neurons)
        assert check.model.exchanged == pytest.approx(check.reader.exchanged, abs=1e-5)
        assert check.agree == (True, True)
    examples = head_states(speaker, PAIRS)
    generated = SentenceBatch((), (), examples.states)
    found_over = interchange_check.interchange_rates(speaker, narrator, examples, generated, layer, neurons)
    assert (found_over.before.mean, found_over.after.mean, found_over.sampled) == (1.0, 1.0, 30)


@pytest.mark.usefixtures("perfect")
@pytest.mark.parametrize("layer", [0, 1, 2])
def test_with_all_neurons_of_a_layer_the_base_becomes_the_source(speaker: FrozenModel, layer: int) -> None:
    every = range(layer_sizes(classifier_head(speaker))[layer])
    check = check_interchange(speaker, reader(classifier_head(speaker)), PAIRS[0], PAIRS[1], layer, every)
    assert check.model.exchanged == pytest.approx(check.model.source, abs=1e-5)
    assert check.model.base != pytest.approx(check.model.source, abs=1e-3)


@pytest.mark.usefixtures("perfect")
def test_a_reader_that_never_moves_agrees_as_often_as_chance_has_it(speaker: FrozenModel) -> None:
    examples = head_states(speaker, PAIRS)
    classes = examples.logits.argmax(1).tolist()
    assert len(set(classes)) > 1
    every = range(layer_sizes(classifier_head(speaker))[1])  # after the exchange C1 says the source's class
    constant = reader(Constant(classifier_head(speaker)))
    rates = interchange_check.interchange_rates(
        speaker, constant, examples, SentenceBatch((), (), examples.states), 1, every
    )
    firsts = classes.count(0)
    pairs = [(one, other) for i, one in enumerate(classes) for j, other in enumerate(classes) if i != j]
    assert rates.before.mean == pytest.approx(firsts / 6)
    assert rates.after.mean == rates.unmoved.mean == pytest.approx(sum(other == 0 for _, other in pairs) / 30)
    assert rates.changed.mean == pytest.approx(sum(one != other for one, other in pairs) / 30)


@pytest.mark.usefixtures("perfect")
def test_without_any_change_nothing_was_followed(speaker: FrozenModel) -> None:
    same = (PAIRS[0],) * 3
    examples = head_states(speaker, same)
    rates = interchange_check.interchange_rates(
        speaker, reader(classifier_head(speaker)), examples, SentenceBatch((), (), examples.states), 1, (0, 1)
    )
    assert rates.changed.mean == 0
    assert rates.followed is None


@pytest.mark.usefixtures("perfect")
def test_of_many_pairs_a_fixed_sample_is_looked_at_where_each_needs_a_sentence(
    speaker: FrozenModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interchange_check, "SAMPLED", 7)
    examples = head_states(speaker, PAIRS)
    generated = SentenceBatch((), (), examples.states)
    rates = [
        interchange_check.interchange_rates(speaker, reader(classifier_head(speaker)), examples, generated, 0, (3, 4))
        for _ in range(2)
    ]
    assert rates[0] == rates[1]
    assert (rates[0].sampled, rates[0].all_pairs) == (7, 30)


def test_a_set_of_one_is_refused(speaker: FrozenModel) -> None:
    examples = head_states(speaker, PAIRS[:1])
    with pytest.raises(ExplanationError, match="at least two examples"):
        interchange_check.interchange_rates(
            speaker, reader(classifier_head(speaker)), examples, SentenceBatch((), (), examples.states), 1, (0,)
        )


def test_a_share_of_pairs_leaves_out_those_that_do_not_count() -> None:
    hits = np.array([[True, True, False], [False, True, True], [False, False, True]])
    counted = ~np.eye(3, dtype=bool)
    result = over_pairs(hits, counted)
    assert result.mean == pytest.approx(2 / 6)
    assert 0 <= result.low <= result.mean <= result.high <= 1
    certain = over_pairs(np.ones((4, 4), dtype=bool), ~np.eye(4, dtype=bool))
    assert (certain.mean, certain.high, certain.texts) == (1, 1, 12)
    assert certain.low == pytest.approx(2 / (2 + 1.96**2))  # Wilson's: four examples make two pairs


def test_pairs_around_one_example_count_as_one() -> None:
    star = np.zeros((6, 6), dtype=bool)
    star[0, 1:] = star[1:, 0] = True
    always = over_pairs(np.ones((6, 6), dtype=bool), star)
    assert (always.mean, always.texts) == (1, 10)
    assert always.low == pytest.approx(1 / (1 + 1.96**2))


def test_the_interval_of_one_pair_says_that_it_is_one() -> None:
    counted = np.zeros((5, 5), dtype=bool)
    counted[0, 1] = True
    never = over_pairs(np.zeros((5, 5), dtype=bool), counted)
    assert (never.mean, never.low, never.texts) == (0, 0, 1)
    assert never.high == pytest.approx(1.96**2 / (1 + 1.96**2))


def test_twenty_per_cent_of_the_neurons_without_replacement_by_seed() -> None:
    neuron_draws = random_neurons(128, 5)
    assert neuron_draws == random_neurons(128, 5) == tuple(sorted(set(neuron_draws)))
    assert len(neuron_draws) == 26
    assert neuron_draws != random_neurons(128, 6)


@pytest.mark.usefixtures("narrators")
def test_real_narrators_read_their_own_sentences_and_leave_the_model_alone(speaker: FrozenModel) -> None:
    before = fingerprint(speaker)
    _, narrator = load_narrator(speaker, "cause")
    examples = head_states(speaker, PAIRS)
    together, alone = (
        generate_batch(narrator, examples.inputs, speaker.labels),
        generate_batch(narrator, examples.inputs[2:3], speaker.labels),
    )
    assert together.sentences[2] == alone.sentences[0]
    assert torch.allclose(together.read[2], alone.read[0], atol=1e-4)
    _, phi = load_narrator(speaker, "cause_phi")
    assert generate_batch(phi, examples.inputs, speaker.labels).read.shape == (6, 0)
    for layer in (0, 1, 2):
        check = check_interchange(speaker, narrator, PAIRS[0], PAIRS[1], layer, (0, 1, 2))
        assert sum(check.reader.exchanged) == pytest.approx(1)
        assert bool(check.sentences[2]) == (layer == 0)
    assert fingerprint(speaker) == before


@pytest.mark.usefixtures("narrators")
def test_the_counterfactual_goes_to_the_class_of_the_nearest_other(speaker: FrozenModel) -> None:
    narrators = {method: load_narrator(speaker, method)[1] for method in ("cause_phi", "cause")}
    examples = head_states(speaker, PAIRS)
    classes = examples.logits.argmax(1)
    check = check_counterfactual(speaker, narrators, PAIRS[0], examples)
    far = (examples.states - examples.states[0]).norm(dim=1)
    far[classes == classes[0]] = torch.inf
    assert check.neighbour == int(far.argmin())
    assert check.target == int(classes[check.neighbour]) != check.label
    assert check.distance == pytest.approx(float(far.min()), rel=1e-3)
    assert check.met == (max(check.after) == check.after[check.target])
    assert [narrator.method for narrator in check.narrators] == ["cause_phi", "cause"]
    assert check.narrators[0].read == ((), ())
    assert sum(check.narrators[1].read[1]) == pytest.approx(1)


def test_a_set_of_one_class_has_nowhere_to_go(speaker: FrozenModel) -> None:
    with pytest.raises(ExplanationError, match="no other class"):
        check_counterfactual(speaker, {}, PAIRS[0], head_states(speaker, PAIRS[:1]))
