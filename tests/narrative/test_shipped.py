"""The narrators that come with nli are those that their cards, the README and the program say."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest
import torch

from explainers.datasets.example import Example
from explainers.models.base import sha256
from explainers.models.bundle import load_bundle
from explainers.models.cards import BUNDLES, bundled, card
from explainers.models.classifier import FrozenModel
from explainers.narrative import weights
from explainers.narrative.command import Order
from explainers.narrative.entries import IDS
from explainers.narrative.evaluate_command import narrated
from explainers.narrative.report import examples_page, gains, markdown
from explainers.narrative.telling import seen, tell

pytestmark = pytest.mark.skipif("nli" not in bundled(), reason="the bundle nli is not in assets/bundles")
ROOT = Path(__file__).parents[2]
FOLDER = BUNDLES / "nli" / "narrative"


@pytest.fixture(scope="module")
def nli() -> FrozenModel:
    return load_bundle(BUNDLES / "nli", torch.device("cpu"))


@pytest.mark.parametrize("method", IDS)
def test_its_command_makes_this_recipe_on_this_model(method: str) -> None:
    path = FOLDER / f"{method}.safetensors"
    known, order = weights.card(path), Order(method, "nli", None)
    assert known["recipe"] == asdict(order.recipe)
    assert known["command"] == order.command
    assert known["model"] == {"name": "nli", "version": card(BUNDLES / "nli")["sha256"][:12]}
    assert known["sha256"] == sha256(path)


@pytest.mark.parametrize("method", IDS)
def test_on_pairs_that_nobody_has_seen_it_states_the_models_class(nli: FrozenModel, method: str) -> None:
    pairs = json.loads((ROOT / "assets" / "pairs" / "nli.json").read_text(encoding="utf-8"))
    known = seen(nli, [Example(each["premise"], each["hypothesis"]) for each in pairs])
    told = tell(weights.fitted(nli, method)[1], known.states, nli.labels)
    same = [one == other for one, other in zip(told.stated, known.logits.argmax(1).tolist(), strict=True)]
    assert sum(same) / len(same) > 0.85  # three classes, of which one alone would be right for a third


def test_the_readme_shows_the_figures_of_the_evaluation() -> None:
    found = json.loads((FOLDER / "evaluation.json").read_text(encoding="utf-8"))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert markdown(found["rows"]).split("\n\n")[0] in readme
    assert all(line in readme for line in gains(found["rows"]))
    assert found["model"]["version"] == card(BUNDLES / "nli")["sha256"][:12]
    assert [row["method"] for row in found["rows"]] == list(IDS)


def test_the_page_of_examples_is_linked_and_names_its_command() -> None:
    page, readme = (
        (FOLDER / "examples.md").read_text(encoding="utf-8"),
        (ROOT / "README.md").read_text(encoding="utf-8"),
    )
    assert "(assets/bundles/nli/narrative/examples.md)" in readme
    assert page.count("\n## ") == 20
    assert json.loads((FOLDER / "evaluation.json").read_text(encoding="utf-8"))["command"] in page
    assert examples_page([], "x", ()).count("\n## ") == 0


def test_an_evaluation_of_the_model_has_its_narrators_too(nli: FrozenModel) -> None:
    pairs = json.loads((ROOT / "assets" / "pairs" / "nli.json").read_text(encoding="utf-8"))[15:30]
    rows = narrated(nli, [Example(each["premise"], each["hypothesis"]) for each in pairs], draws=1)
    assert [row["method"] for row in rows] == list(IDS)
    assert all(row["agreement"]["mean"] > 0.6 for row in rows)
    assert all(row["bleu_4"] is None for row in rows)  # nobody has explained these pairs
    assert narrated(nli, [Example("A dog runs.", "A dog runs.")]) == []  # a counterfactual needs another class
