"""Items drawn so that the model is as certain as on inputs that are new to it."""

import random
from pathlib import Path

import pytest
import torch
from torch import nn

from explainers.errors import ExplanationError
from explainers.narrative.cause import BINS, NarratorTraining, Parts, certainties, certainty_weights
from explainers.narrative.recipe import NarratorRecipe
from explainers.narrative.sentences import NarratorItem, sentence


def item(certainty: float) -> NarratorItem:
    logits = torch.tensor([certainty, (1 - certainty) / 2, (1 - certainty) / 2]).log()
    return NarratorItem(torch.tensor([certainty, 0.0]), logits, 0, True, (sentence("neutral", "the film was good"),))


def between(low: float, high: float, count: int) -> list[NarratorItem]:
    return [item(low + (high - low) * (number + 0.5) / count) for number in range(count)]


def test_weighted_items_are_as_certain_as_new_ones() -> None:
    seen = [*between(0.4, 0.9, 100), *between(0.9, 0.999, 900)]
    new = [*between(0.4, 0.9, 50), *between(0.9, 0.999, 50)]
    weights = torch.tensor(certainty_weights(seen, new))
    assert float(weights.mean()) == pytest.approx(1, abs=0.02)
    mean = float((weights * certainties(seen)).sum() / weights.sum())
    assert mean == pytest.approx(float(certainties(new).mean()), abs=0.01)
    assert float(certainties(seen).mean()) > mean + 0.1  # as they come they are surer


def test_equally_certain_items_weigh_the_same() -> None:
    items = between(0.4, 0.99, 20 * BINS)
    assert certainty_weights(items, items) == pytest.approx([1.0] * len(items))


def test_where_no_item_is_as_unsure_as_the_new_ones_there_is_nothing_to_draw() -> None:
    with pytest.raises(ExplanationError, match=r"not as unsure of any training item .* Omit --set match_certainty"):
        certainty_weights([item(0.99)] * 3, [item(0.5)] * 3)


@pytest.mark.parametrize("matched", [True, False])
def test_a_training_draws_by_these_weights_where_it_is_asked_to(
    narrator, head: nn.Sequential, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, matched: bool
) -> None:
    seen, new = [*between(0.4, 0.9, 4), *between(0.9, 0.999, 36)], between(0.4, 0.9, 20)
    recipe = NarratorRecipe("phi", batch=4, match_certainty=matched)
    learned = NarratorTraining(recipe, narrator("phi"), head, ("neutral",), Parts(seen, new), tmp_path)
    drawn: list[NarratorItem] = []
    monkeypatch.setattr(learned, "terms", lambda items, _sentences: drawn.extend(items) or {})
    list(learned.losses(random.Random(0)))
    unsure = sum(float(narrator_item.state[0]) < 0.9 for narrator_item in drawn)
    assert len(drawn) == len(seen)
    assert (unsure > 20) if matched else unsure == 4
