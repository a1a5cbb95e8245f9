"""The narrators that come with nli are those that their cards, the model card and the program describe."""

import json
import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from explainers.datasets.example import Example
from explainers.models.bundle_cards import BUNDLES, bundle_names, read_card
from explainers.models.frozen_model import FrozenModel
from explainers.models.text.base_weights import sha256
from explainers.narrative.fit import recipe_for
from explainers.narrative.narrate import load_narrator
from explainers.narrative.recipe import NarratorRecipe
from explainers.narrative.sentences import generate_batch, head_states
from explainers.report.narrator_tables import examples_page, gain_lines, narrator_markdown
from explainers.training.artifacts import Artifact, runnable_narrators
from explainers.training.spec import FitSpec, recipe_on_card

pytestmark = pytest.mark.skipif("nli" not in bundle_names(), reason="the bundle nli is not in assets/bundles")
ROOT = Path(__file__).parents[2]
FOLDER = BUNDLES / "nli" / "narrative"
SHIPPED = (
    "cause_phi",
    "cause_phi_ts",
    "cause",
    "cause_phi_tokens",
    "cause_phi_smollm2",
    "cause_tokens",
    "cause_smollm2",
)
EVALUATED = (
    "cause_phi",
    "cause_phi_ts",
    "cause_published",
    "cause",
    "cause_sentence",
    "cause_phi_tokens",
    "cause_tokens",
)


@pytest.fixture(scope="module")
def nli(embedded: Callable[[str], FrozenModel]) -> FrozenModel:
    return embedded("nli")


def test_the_shipped_ones_are_known() -> None:
    assert {path.stem for path in FOLDER.glob("*.safetensors")} == set(SHIPPED)


@pytest.mark.parametrize("method", SHIPPED)
def test_its_command_makes_this_recipe_on_this_model(as_typed: Callable[[Sequence[str]], FitSpec], method: str) -> None:
    path = FOLDER / f"{method}.safetensors"
    card = Artifact(method, "", path).card
    spec = as_typed(shlex.split(card["command"]))
    assert (spec.method, spec.model, spec.command) == (method, "nli", card["command"])
    assert recipe_on_card(NarratorRecipe, method, card["recipe"]) == recipe_for(spec)
    assert card["model"] == {"name": "nli", "version": read_card(BUNDLES / "nli")["sha256"][:12]}
    assert card["sha256"] == sha256(path)


@pytest.mark.parametrize("method", SHIPPED)
def test_on_pairs_that_nobody_has_seen_it_states_the_models_class(nli: FrozenModel, method: str) -> None:
    if method.endswith("_smollm2") and method not in runnable_narrators("nli", nli.version):
        pytest.skip("SmolLM2 is not in the store")
    _, narrator = load_narrator(nli, method)
    pairs = json.loads((ROOT / "assets" / "pairs" / "nli.json").read_text(encoding="utf-8"))
    examples = head_states(nli, [Example(pair["premise"], pair["hypothesis"]) for pair in pairs], narrator.layer)
    generated = generate_batch(narrator, examples.inputs, nli.labels)
    same = [one == other for one, other in zip(generated.stated, examples.logits.argmax(1).tolist(), strict=True)]
    assert sum(same) / len(same) > 0.85  # three classes, of which one alone would be right for a third


def test_the_model_card_shows_the_metrics_of_the_evaluation() -> None:
    result = json.loads((FOLDER / "evaluation.json").read_text(encoding="utf-8"))
    card = (BUNDLES / "nli" / "README.md").read_text(encoding="utf-8")
    assert narrator_markdown(result["rows"]).split("\n\n")[0] in card
    assert all(line in card for line in gain_lines(result["rows"]))
    assert result["model"]["version"] == read_card(BUNDLES / "nli")["sha256"][:12]
    assert [row["method"] for row in result["rows"]] == list(EVALUATED)


def test_the_page_of_examples_is_linked_and_names_its_command() -> None:
    page, card = (
        (FOLDER / "examples.md").read_text(encoding="utf-8"),
        (BUNDLES / "nli" / "README.md").read_text(encoding="utf-8"),
    )
    assert "(narrative/examples.md)" in card
    assert len(re.findall(r"\n## \d+\. ", page)) == 20
    assert json.loads((FOLDER / "evaluation.json").read_text(encoding="utf-8"))["command"] in page
    assert examples_page([], "x", ()).count("\n## ") == 0
