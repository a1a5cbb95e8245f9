"""The bundle `scenes` is what its card says; its explainers find more than chance."""

import json
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch

from explainers.attribution.random_floor import RandomFloor
from explainers.datasets.example import Example
from explainers.datasets.scenes.generator import items
from explainers.learned.batches import seen
from explainers.learned.command import Order
from explainers.learned.entries import DEFAULT_VARIANTS
from explainers.learned.fitting import explained, per_text
from explainers.learned.weights import fitted, recipe_of
from explainers.models.base import sha256
from explainers.models.bundle import load_bundle
from explainers.models.cards import BUNDLES, bundled, card
from explainers.models.classifier import FrozenModel
from explainers.narrative.command import Order as NarratorOrder
from explainers.narrative.entries import IDS
from explainers.narrative.narrate import narrate

FOLDER = BUNDLES / "scenes"
README = Path(__file__).parents[3] / "README.md"
METHODS = [each for each in DEFAULT_VARIANTS if each != "faml"]
pytestmark = pytest.mark.skipif("scenes" not in bundled(), reason="the bundle scenes is not in assets/bundles")


@pytest.fixture(scope="module")
def model() -> FrozenModel:
    return load_bundle(FOLDER, torch.device("cpu"))


@pytest.fixture(scope="module")
def examples() -> list[Example]:
    return [item.example() for item in islice(items(2026, held_out=True), 60)]


def answers(model: FrozenModel, examples: list[Example]) -> list[int]:
    encodings = [model.encode(each) for each in examples]
    return [int(model.probabilities(each, np.ones((1, len(each.units)))).argmax()) for each in encodings]


def test_it_is_as_often_right_as_its_card_says(model: FrozenModel, examples: list[Example]) -> None:
    right = np.mean([found == each.label for found, each in zip(answers(model, examples), examples, strict=True)])
    stated = card(FOLDER)["accuracy"]["test"]
    assert abs(right - stated) < 4 * np.sqrt(stated * (1 - stated) / len(examples)) + 0.02


@pytest.mark.parametrize("method", METHODS)
def test_a_command_makes_its_weights(method: str) -> None:
    path = FOLDER / "learned" / f"{method}-{DEFAULT_VARIANTS[method]}.safetensors"
    found = json.loads(path.with_suffix(".json").read_text())
    order = Order(method, "scenes", None, DEFAULT_VARIANTS[method])
    assert recipe_of(method, found["recipe"]) == order.recipe
    assert found["command"] == order.command
    assert found["model"] == {"name": "scenes", "version": card(FOLDER)["sha256"][:12]}
    assert found["sha256"] == sha256(path)


@pytest.mark.parametrize("method", METHODS)
def test_it_beats_random_orders_on_scenes_that_it_has_not_learned_from(
    model: FrozenModel, examples: list[Example], method: str
) -> None:
    scenes = seen(model, examples[:24])
    recipe, module = fitted(model, method, DEFAULT_VARIANTS[method])
    mine = per_text(model, scenes, explained(recipe, module, model, scenes), "mask")[:, 0]
    orders = [
        [RandomFloor(seed=seed).attribute(model, scene.encoding, 0).scores for scene in scenes] for seed in range(5)
    ]  # fmt: skip
    chance = np.mean([per_text(model, scenes, order, "mask")[:, 0] for order in orders], axis=0)
    assert mine.mean() > chance.mean() + 0.02


@pytest.mark.parametrize("method", IDS)
def test_its_narrators_say_a_class_and_a_command_makes_them(
    model: FrozenModel, examples: list[Example], method: str
) -> None:
    found = json.loads((FOLDER / "narrative" / f"{method}.json").read_text())
    assert found["command"] == NarratorOrder(method, "scenes", None, settings=(("language", "tiny"),)).command
    said = [narrate(model, model.encode(each), method) for each in examples[:20]]
    agree = np.mean([each.stated == label for each, label in zip(said, answers(model, examples[:20]), strict=True)])
    assert agree >= 0.8


def test_the_readme_shows_the_figures_of_its_card() -> None:
    readme, known = README.read_text(encoding="utf-8"), card(FOLDER)
    for part in known["per_kind"].values():
        for kind, found in part.items():
            figure = f"{100 * found['accuracy']:.1f} %"
            assert any(f"{found['n']:,} | {figure}" in line for line in readme.splitlines()), (kind, figure)
