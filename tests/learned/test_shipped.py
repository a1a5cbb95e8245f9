"""The weights that come with the embedded models are those that their cards and the program say."""

import json
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from explainers.attribution.controls import RandomOrder
from explainers.datasets.example import Example
from explainers.learned.batches import LearningExample, encode_for_learning
from explainers.learned.fit import recipe_for
from explainers.learned.fitting_loop import explained, per_text
from explainers.learned.recipes import RECIPES, SHIPPED, load_trained
from explainers.methods.registry import METHODS
from explainers.models.bundle_cards import BUNDLES, bundle_names, read_card
from explainers.models.frozen_model import FrozenModel
from explainers.models.text.base_weights import sha256
from explainers.training.artifacts import Artifact
from explainers.training.spec import FitSpec, recipe_on_card

pytestmark = pytest.mark.skipif(
    not {"sst2", "nli"} <= set(bundle_names()), reason="the bundles sst2 and nli are not both in assets/bundles"
)
FIRST = [("nli", spec.id, spec.default_variant) for spec in METHODS if spec.weights_of == spec.id]
EVERY = [("sst2", method, variant) for method, variants in SHIPPED.items() for variant in variants]
EXAMPLES = Path(__file__).parents[2] / "assets" / "examples.json"


def shipped(model: str, method: str, variant: str) -> Artifact:
    return Artifact(method, variant, BUNDLES / model / "learned" / f"{method}-{variant}.safetensors")


@pytest.mark.parametrize(("model", "named"), [("sst2", EVERY), ("nli", FIRST)])
def test_every_variant_is_there_and_no_other(model: str, named: list[tuple[str, str, str]]) -> None:
    results = sorted(path.stem for path in (BUNDLES / model / "learned").glob("*.safetensors"))
    assert results == sorted(f"{method}-{variant}" for _, method, variant in named)
    assert {method for _, method, _ in named} | {"faml"} == {spec.id for spec in METHODS if spec.learns}
    assert all((model, method, variant) in named for _, method, variant in FIRST)


@pytest.mark.parametrize(("model", "method", "variant"), EVERY + FIRST)
def test_its_command_makes_this_recipe_on_this_model(
    as_typed: Callable[[Sequence[str]], FitSpec], model: str, method: str, variant: str
) -> None:
    artifact = shipped(model, method, variant)
    spec = as_typed(shlex.split(artifact.card["command"]))
    assert (spec.method, spec.model, spec.variant, spec.seed) == (method, model, variant, 0)
    assert set(dict(spec.settings)) <= {"precision"}  # everything else is the shipped recipe's
    best = recipe_for(replace(spec, seed=artifact.card["recipe"]["seed"]))
    assert recipe_on_card(RECIPES[method], method, artifact.card["recipe"]) == best
    assert spec.seeds == len(artifact.card.get("seeds", [0]))
    assert artifact.card["model"] == {"name": model, "version": read_card(BUNDLES / model)["sha256"][:12]}
    assert artifact.card["sha256"] == sha256(artifact.path)


def test_all_bundles_together_stay_small() -> None:
    assert (
        sum(path.stat().st_size for path in BUNDLES.rglob("*") if path.is_file()) < 90e6
    )  # a package index takes 100 MB


def test_all_narrators_together_stay_small() -> None:
    files = [path for folder in BUNDLES.glob("*/narrative") for path in folder.glob("cause*")]
    assert 1e6 < sum(path.stat().st_size for path in files) < 40e6  # each of the two on SmolLM2 takes 6


@pytest.fixture(scope="module", params=["sst2", "nli"])
def model(request: pytest.FixtureRequest, embedded: Callable[[str], FrozenModel]) -> FrozenModel:
    return embedded(request.param)


@pytest.fixture(scope="module")
def items(model: FrozenModel) -> list[LearningExample]:
    """The curated ones but for the longest, whose curves take most of the time."""
    examples = [load for load in json.loads(EXAMPLES.read_text(encoding="utf-8")) if load["model"] == model.name]
    items = encode_for_learning(model, [Example(example["text"], example.get("pair")) for example in examples])
    return [item for item in items if len(item.encoding.units) < 40]


@pytest.fixture(scope="module")
def by_chance(model: FrozenModel, items: list[LearningExample]) -> float:
    """AOPC-C of random orders on the items, on average."""
    orders = [
        [RandomOrder(seed=seed).attribute(model, item.encoding, 0).scores for item in items] for seed in range(2)
    ]  # fmt: skip
    return float(np.mean([per_text(model, items, order, "mask")[:, 0] for order in orders]))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["aml", "cimi", "ciem", "ivra"])
def test_it_beats_random_orders_on_texts_that_it_has_not_learned_from(
    model: FrozenModel, items: list[LearningExample], by_chance: float, method: str
) -> None:
    recipe, module = load_trained(model, method, METHODS.get(method).default_variant)
    method_scores = per_text(model, items, explained(recipe, module, model, items), "mask")[:, 0]
    assert method_scores.mean() > by_chance + 0.05
