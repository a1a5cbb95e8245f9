"""The weights that come with the embedded models are those that their cards and the program say."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from explainers.attribution.random_floor import RandomFloor
from explainers.datasets.example import Example
from explainers.learned.batches import seen
from explainers.learned.command import Order
from explainers.learned.entries import DEFAULT_VARIANTS
from explainers.learned.fitting import explained, per_text
from explainers.learned.recipes import SHIPPED
from explainers.learned.weights import Fitted, recipe_of
from explainers.models.base import sha256
from explainers.models.bundle import load_bundle
from explainers.models.cards import BUNDLES, bundled, card
from explainers.models.classifier import FrozenModel

pytestmark = pytest.mark.skipif(
    not {"sst2", "nli"} <= set(bundled()), reason="the bundles sst2 and nli are not both in assets/bundles"
)
FIRST = [("nli", method, variant) for method, variant in DEFAULT_VARIANTS.items() if method != "faml"]
EVERY = [("sst2", method, variant) for method, variants in SHIPPED.items() for variant in variants]
EXAMPLES = Path(__file__).parents[2] / "assets" / "examples.json"


def shipped(model: str, method: str, variant: str) -> Fitted:
    return Fitted(method, variant, BUNDLES / model / "learned" / f"{method}-{variant}.safetensors")


@pytest.mark.parametrize(("model", "named"), [("sst2", EVERY), ("nli", FIRST)])
def test_every_variant_is_there_and_no_other(model: str, named: list[tuple[str, str, str]]) -> None:
    found = sorted(path.stem for path in (BUNDLES / model / "learned").glob("*.safetensors"))
    assert found == sorted(f"{method}-{variant}" for _, method, variant in named)
    assert {method for _, method, _ in named} | {"faml"} == set(DEFAULT_VARIANTS)
    assert all((model, method, variant) in named for method, variant in DEFAULT_VARIANTS.items() if method != "faml")


@pytest.mark.parametrize(("model", "method", "variant"), EVERY + FIRST)
def test_its_command_makes_this_recipe_on_this_model(model: str, method: str, variant: str) -> None:
    found = shipped(model, method, variant)
    order = Order(method, model, None, variant)
    assert recipe_of(method, found.card["recipe"]) == order.recipe
    assert found.card["command"] == order.command
    assert found.card["model"] == {"name": model, "version": card(BUNDLES / model)["sha256"][:12]}
    assert found.card["sha256"] == sha256(found.path)


def test_all_bundles_together_stay_small() -> None:
    assert sum(path.stat().st_size for path in BUNDLES.rglob("*") if path.is_file()) < 80e6


@pytest.fixture(scope="module", params=["sst2", "nli"])
def model(request: pytest.FixtureRequest) -> FrozenModel:
    return load_bundle(BUNDLES / request.param, torch.device("cpu"))


@pytest.mark.parametrize("method", ["aml", "cimi", "ciem", "ivra"])
def test_it_beats_random_orders_on_texts_that_it_has_not_learned_from(model: FrozenModel, method: str) -> None:
    from explainers.learned.weights import fitted

    examples = [each for each in json.loads(EXAMPLES.read_text(encoding="utf-8")) if each["model"] == model.name]
    items = seen(model, [Example(each["text"], each.get("pair")) for each in examples])
    recipe, module = fitted(model, method, DEFAULT_VARIANTS[method])
    mine = per_text(model, items, explained(recipe, module, model, items), "mask")[:, 0]
    orders = [
        [RandomFloor(seed=seed).attribute(model, item.encoding, 0).scores for item in items] for seed in range(5)
    ]  # fmt: skip
    chance = np.mean([per_text(model, items, order, "mask")[:, 0] for order in orders], axis=0)
    assert mine.mean() > chance.mean() + 0.05
