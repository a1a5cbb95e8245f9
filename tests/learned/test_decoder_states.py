"""What the learned methods read of a text decoder, whose states nothing normalises before the head."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.learned.batches import Batch, batch, encode_for_learning
from explainers.learned.cimi import Cimi
from explainers.learned.fit import fit_to
from explainers.learned.recipes import load_trained
from explainers.models.frozen_model import FrozenModel
from explainers.training.spec import FitSpec

TEXTS = ("the film was bad", "very new but long", "a bad film", "the long film was new")


def items_of(decoder: FrozenModel) -> Batch:
    return batch(decoder, encode_for_learning(decoder, [Example(text) for text in TEXTS[:2]]))


def test_cimi_explains_alike_however_large_the_states_are(decoder: FrozenModel) -> None:
    items, recipe = items_of(decoder), Cimi(hidden=8)
    states = items.internals_of(decoder)
    large = replace(states, hidden=tuple(1000 * layer + 5 for layer in states.hidden))
    with torch.random.fork_rng():
        torch.manual_seed(0)
        module = recipe.module(decoder)
    plain, scaled = (recipe.scores(module, decoder, replace(items, internals=some)) for some in (states, large))
    assert torch.allclose(plain, scaled, atol=0.01)
    assert float(plain.detach().std()) > 0.001


@pytest.mark.parametrize("method", ["cimi", "ciem"])
def test_weights_that_were_fitted_to_other_states_are_refused(
    decoder: FrozenModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    monkeypatch.setenv("CROSSLIGHT_STORE", str(tmp_path / "store"))
    texts = tuple(Example(text) for text in TEXTS)
    settings = (("epochs", "1"), ("batch", "2"), ("hidden", "8"))
    spec = FitSpec(method, decoder.name, "texts.txt", seed=0, settings=settings)
    card = fit_to(spec, decoder, texts, texts, tmp_path / "run", resume=False)
    assert card["states"] == "standardised"
    load_trained(decoder, method)
    (path,) = (tmp_path / "store").rglob(f"{method}-*.json")
    path.write_text(json.dumps({name: value for name, value in card.items() if name != "states"}), encoding="utf-8")
    with pytest.raises(ExplanationError, match=r"not standardised\. Fit them again: `python -m explainers fit "):
        load_trained(decoder, method)
