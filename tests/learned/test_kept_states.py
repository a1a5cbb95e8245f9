"""States that are computed once per text stand for those of every step."""

from typing import Any

import pytest
import torch

from explainers.datasets.example import Example
from explainers.learned import batches
from explainers.learned.batches import KeptStates, LearningExample, StatesRead, batch, encode_for_learning
from explainers.learned.recipes import recipe_of
from explainers.models.calls import Meter
from explainers.models.frozen_model import FrozenModel
from explainers.models.internals import forward_with_internals

TEXTS = ("good", "the film was not unwatchable !", "a very dull plot", "bad film")
EMBEDDINGS = StatesRead(frozenset({0}))


@pytest.fixture
def examples(bert: FrozenModel) -> list[LearningExample]:
    return encode_for_learning(bert, [Example(text) for text in TEXTS])


@pytest.mark.parametrize(
    ("method", "settings", "passes"),
    [
        ("cimi", {}, 3),  # causes, rest, and the rest mixed with another text
        ("cimi", {"erasure": "zero"}, 3),
        ("ciem", {}, 1),
        ("ciem", {"layer": 1}, 2),
        ("ivra", {}, 1),
        ("ivra", {"criterion": "cons"}, 0),
        ("ivra", {"criterion": "comp+suff", "smat": True}, 2),
    ],
    ids=str,
)
def test_the_loss_is_that_of_states_computed_in_the_step(
    bert: FrozenModel, examples: list[LearningExample], method: str, settings: dict[str, Any], passes: int
) -> None:
    recipe, meter = recipe_of(method, settings), Meter()
    torch.manual_seed(0)
    module = recipe.module(bert).eval()
    kept = KeptStates(bert, examples, recipe.reads(bert))
    some = examples[:1] + examples[2:]  # the longest is not among them, so that there is less padding
    plain = recipe.terms(module, bert, batch(bert, some), torch.Generator().manual_seed(0))
    given = kept.added_to(batch(bert, some), some)
    terms = recipe.terms(module, bert.metered(meter), given, torch.Generator().manual_seed(0))
    assert meter.calls == passes * len(some)
    assert {name: term.item() for name, term in terms.items()} == pytest.approx(
        {name: term.item() for name, term in plain.items()}, abs=1e-5
    )


def test_padding_has_its_embeddings(bert: FrozenModel, examples: list[LearningExample]) -> None:
    some = KeptStates(bert, examples, EMBEDDINGS).added_to(batch(bert, examples), examples)
    assert some.internals is not None
    expected = forward_with_internals(bert, some.inputs).hidden[0]
    assert torch.allclose(some.internals.hidden[0], expected, atol=1e-5)
    assert [states.shape[2] for states in some.internals.hidden[1:]] == [0, 0]
    assert some.internals.queries == ()


def test_what_finds_no_room_is_computed_in_every_step(
    bert: FrozenModel, examples: list[LearningExample], monkeypatch: pytest.MonkeyPatch
) -> None:
    shortest = len(examples[0].encoding.ids) + len(examples[3].encoding.ids)
    width = forward_with_internals(bert, batch(bert, examples).inputs).hidden[0].shape[2]
    monkeypatch.setattr(batches, "ROOM", shortest * width * 4)
    kept = KeptStates(bert, examples, EMBEDDINGS)
    assert len(kept) == 2
    for some, known in (([examples[3], examples[0]], True), (examples[:2], False)):
        assert (kept.added_to(batch(bert, some), some).internals is not None) == known


def test_a_method_that_reads_no_states_costs_no_pass(bert: FrozenModel, examples: list[LearningExample]) -> None:
    meter = Meter()
    kept = KeptStates(bert.metered(meter), examples, recipe_of("aml", {}).reads(bert))
    assert (len(kept), meter.calls) == (0, 0)
    some = batch(bert, examples)
    assert kept.added_to(some, examples) is some
