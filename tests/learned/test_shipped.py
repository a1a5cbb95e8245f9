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
from explainers.models.classifier import TextClassifier

pytestmark = pytest.mark.skipif("sst2" not in bundled(), reason="the bundle sst2 is not in assets/bundles")
FOLDER = BUNDLES / "sst2" / "learned"
EVERY = [(method, variant) for method, variants in SHIPPED.items() for variant in variants]
EXAMPLES = Path(__file__).parents[2] / "assets" / "examples.json"


def shipped(method: str, variant: str) -> Fitted:
    return Fitted(method, variant, FOLDER / f"{method}-{variant}.safetensors")


def test_every_variant_is_there_and_no_other() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.safetensors")) == sorted(f"{m}-{v}" for m, v in EVERY)
    assert {method for method, _ in EVERY} | {"faml"} == set(DEFAULT_VARIANTS)
    assert all((method, variant) in EVERY for method, variant in DEFAULT_VARIANTS.items() if method != "faml")


@pytest.mark.parametrize(("method", "variant"), EVERY)
def test_its_command_makes_this_recipe_on_this_model(method: str, variant: str) -> None:
    found = shipped(method, variant)
    order = Order(method, "sst2", None, variant)
    assert recipe_of(method, found.card["recipe"]) == order.recipe
    assert found.card["command"] == order.command
    assert found.card["model"] == {"name": "sst2", "version": card(BUNDLES / "sst2")["sha256"][:12]}
    assert found.card["sha256"] == sha256(found.path)


def test_all_bundles_together_stay_small() -> None:
    assert sum(path.stat().st_size for path in BUNDLES.rglob("*") if path.is_file()) < 80e6


@pytest.fixture(scope="module")
def sst2() -> TextClassifier:
    return load_bundle(BUNDLES / "sst2", torch.device("cpu"))


@pytest.mark.parametrize("method", ["aml", "cimi", "ciem", "ivra"])
def test_it_beats_random_orders_on_texts_that_it_has_not_learned_from(sst2: TextClassifier, method: str) -> None:
    from explainers.learned.weights import fitted

    texts = [each["text"] for each in json.loads(EXAMPLES.read_text(encoding="utf-8")) if each["model"] == "sst2"]
    items = seen(sst2, [Example(text) for text in texts])
    recipe, module = fitted(sst2, method, DEFAULT_VARIANTS[method])
    mine = per_text(sst2, items, explained(recipe, module, sst2, items), "mask")[:, 0]
    orders = [
        [RandomFloor(seed=seed).attribute(sst2, item.encoding, 0).scores for item in items] for seed in range(5)
    ]  # fmt: skip
    chance = np.mean([per_text(sst2, items, order, "mask")[:, 0] for order in orders], axis=0)
    assert mine.mean() > chance.mean() + 0.05
