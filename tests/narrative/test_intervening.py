"""Exchanges and counterfactuals, with readers whose right answers are known."""

import copy
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.models.catalog import fingerprint
from explainers.models.classifier import FrozenModel
from explainers.models.inside import head
from explainers.narrative import intervening, over_set
from explainers.narrative.interchange import sizes
from explainers.narrative.intervening import exchange, random_neurons
from explainers.narrative.over_set import over_pairs
from explainers.narrative.switching import switch
from explainers.narrative.telling import Told, seen, tell
from explainers.narrative.weights import fitted

PAIRS = tuple(
    Example(*each.split("|"))
    for each in (
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
    return SimpleNamespace(c2=c2, reads=True)


@pytest.fixture
def perfect(monkeypatch: pytest.MonkeyPatch) -> None:
    """F(c) = c."""

    def told(_narrator: object, states: Tensor, _labels: Sequence[str]) -> Told:
        return Told(("…",) * len(states), (None,) * len(states), states)

    monkeypatch.setattr(intervening, "tell", told)
    monkeypatch.setattr(over_set, "tell", told)


@pytest.mark.usefixtures("perfect")
@pytest.mark.parametrize("layer", [0, 1, 2])
def test_a_reader_that_is_the_model_always_agrees(speaker: FrozenModel, layer: int) -> None:
    narrator = reader(head(speaker))
    neurons = random_neurons(sizes(head(speaker))[layer], 1)
    for base, source in ((PAIRS[0], PAIRS[1]), (PAIRS[2], PAIRS[3])):
        found = exchange(speaker, narrator, base, source, layer, neurons)
        assert found.model.exchanged == pytest.approx(found.reader.exchanged, abs=1e-5)
        assert found.agree == (True, True)
    known = seen(speaker, PAIRS)
    told = Told((), (), known.states)
    found_over = over_set.over_set(speaker, narrator, known, told, layer, neurons)
    assert (found_over.before.mean, found_over.after.mean, found_over.looked) == (1.0, 1.0, 30)


@pytest.mark.usefixtures("perfect")
@pytest.mark.parametrize("layer", [0, 1, 2])
def test_with_all_neurons_of_a_layer_the_base_becomes_the_source(speaker: FrozenModel, layer: int) -> None:
    every = range(sizes(head(speaker))[layer])
    found = exchange(speaker, reader(head(speaker)), PAIRS[0], PAIRS[1], layer, every)
    assert found.model.exchanged == pytest.approx(found.model.source, abs=1e-5)
    assert found.model.base != pytest.approx(found.model.source, abs=1e-3)


@pytest.mark.usefixtures("perfect")
def test_a_reader_that_never_moves_agrees_as_often_as_chance_has_it(speaker: FrozenModel) -> None:
    known = seen(speaker, PAIRS)
    classes = known.logits.argmax(1).tolist()
    assert len(set(classes)) > 1
    every = range(sizes(head(speaker))[1])  # after the exchange C1 says the source's class
    constant = reader(Constant(head(speaker)))
    found = over_set.over_set(speaker, constant, known, Told((), (), known.states), 1, every)
    firsts = classes.count(0)
    pairs = [(one, other) for i, one in enumerate(classes) for j, other in enumerate(classes) if i != j]
    assert found.before.mean == pytest.approx(firsts / 6)
    assert found.after.mean == found.unmoved.mean == pytest.approx(sum(other == 0 for _, other in pairs) / 30)
    assert found.changed.mean == pytest.approx(sum(one != other for one, other in pairs) / 30)


@pytest.mark.usefixtures("perfect")
def test_without_any_change_nothing_was_followed(speaker: FrozenModel) -> None:
    same = (PAIRS[0],) * 3
    known = seen(speaker, same)
    found = over_set.over_set(speaker, reader(head(speaker)), known, Told((), (), known.states), 1, (0, 1))
    assert found.changed.mean == 0
    assert found.followed is None


@pytest.mark.usefixtures("perfect")
def test_of_many_pairs_a_fixed_sample_is_looked_at_where_each_needs_a_sentence(
    speaker: FrozenModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(over_set, "SAMPLED", 7)
    known = seen(speaker, PAIRS)
    told = Told((), (), known.states)
    found = [over_set.over_set(speaker, reader(head(speaker)), known, told, 0, (3, 4)) for _ in range(2)]
    assert found[0] == found[1]
    assert (found[0].looked, found[0].possible) == (7, 30)


def test_a_set_of_one_is_refused(speaker: FrozenModel) -> None:
    known = seen(speaker, PAIRS[:1])
    with pytest.raises(ExplanationError, match="at least two pairs"):
        over_set.over_set(speaker, reader(head(speaker)), known, Told((), (), known.states), 1, (0,))


def test_a_share_of_pairs_leaves_out_those_that_do_not_count() -> None:
    hits = np.array([[True, True, False], [False, True, True], [False, False, True]])
    counted = ~np.eye(3, dtype=bool)
    found = over_pairs(hits, counted)
    assert found.mean == pytest.approx(2 / 6)
    assert 0 <= found.low <= found.mean <= found.high <= 1
    certain = over_pairs(np.ones((4, 4), dtype=bool), ~np.eye(4, dtype=bool))
    assert (certain.mean, certain.low, certain.high, certain.texts) == (1, 1, 1, 12)


def test_twenty_per_cent_of_the_neurons_without_replacement_by_seed() -> None:
    drawn = random_neurons(128, 5)
    assert drawn == random_neurons(128, 5) == tuple(sorted(set(drawn)))
    assert len(drawn) == 26
    assert drawn != random_neurons(128, 6)


@pytest.mark.usefixtures("narrators")
def test_real_narrators_read_their_own_sentences_and_leave_the_model_alone(speaker: FrozenModel) -> None:
    before = fingerprint(speaker)
    _, narrator = fitted(speaker, "cause")
    known = seen(speaker, PAIRS)
    together, alone = tell(narrator, known.states, speaker.labels), tell(narrator, known.states[2:3], speaker.labels)
    assert together.sentences[2] == alone.sentences[0]
    assert torch.allclose(together.read[2], alone.read[0], atol=1e-4)
    _, phi = fitted(speaker, "cause_phi")
    assert tell(phi, known.states, speaker.labels).read.shape == (6, 0)
    for layer in (0, 1, 2):
        found = exchange(speaker, narrator, PAIRS[0], PAIRS[1], layer, (0, 1, 2))
        assert sum(found.reader.exchanged) == pytest.approx(1)
        assert bool(found.sentences[2]) == (layer == 0)
    assert fingerprint(speaker) == before


@pytest.mark.usefixtures("narrators")
def test_the_counterfactual_goes_to_the_class_of_the_nearest_other(speaker: FrozenModel) -> None:
    narrators = {method: fitted(speaker, method)[1] for method in ("cause_phi", "cause")}
    known = seen(speaker, PAIRS)
    classes = known.logits.argmax(1)
    found = switch(speaker, narrators, PAIRS[0], known)
    far = (known.states - known.states[0]).norm(dim=1)
    far[classes == classes[0]] = torch.inf
    assert found.neighbour == int(far.argmin())
    assert found.target == int(classes[found.neighbour]) != found.label
    assert found.distance == pytest.approx(float(far.min()), rel=1e-3)
    assert found.met == (max(found.after) == found.after[found.target])
    assert [each.method for each in found.spoken] == ["cause_phi", "cause"]
    assert found.spoken[0].read == ((), ())
    assert sum(found.spoken[1].read[1]) == pytest.approx(1)


def test_a_set_of_one_class_has_nowhere_to_go(speaker: FrozenModel) -> None:
    with pytest.raises(ExplanationError, match="no other class"):
        switch(speaker, {}, PAIRS[0], seen(speaker, PAIRS[:1]))
