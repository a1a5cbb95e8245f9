import json
import os
import shutil
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from explainers.errors import ExplanationError, ModelUnavailable
from explainers.installation import STORE_VARIABLE
from explainers.learned.aml import Aml
from explainers.learned.recipe import Recipe
from explainers.learned.recipes import RECIPES, SHIPPED, load_trained, recipe_of
from explainers.methods.registry import METHODS
from explainers.models.frozen_model import FrozenModel
from explainers.models.text.base_weights import sha256
from explainers.training import artifacts
from explainers.training.artifacts import Artifact, available_artifacts, find_artifact, own_folder


@pytest.fixture
def own(tmp_path: Path, small_store: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the small store that a test may spoil; the folder of the small BERT's weights."""
    shutil.copytree(small_store, tmp_path / "own")
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "own"))
    return tmp_path / "own" / "learned" / "small-1"


@pytest.fixture
def shipped(tmp_path: Path, own: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The small BERT as an embedded model, with the same weights as a person's own."""
    folder = tmp_path / "bundles" / "small" / "learned"
    shutil.copytree(own, folder)
    monkeypatch.setattr(artifacts.bundle_cards, "BUNDLES", tmp_path / "bundles")
    monkeypatch.setattr(artifacts.bundle_cards, "bundle_names", lambda: ("small",))
    return folder


def copied(folder: Path, old: str, new: str) -> None:
    for suffix in (".safetensors", ".json"):
        shutil.copy(folder / f"{old}{suffix}", folder / f"{new}{suffix}")


def card_with(folder: Path, **entries: object) -> None:
    path = folder / "aml-difference.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | entries))


def test_all_that_was_fitted_is_found_once_in_the_order_of_names(own: Path) -> None:
    copied(own, "aml-difference", "aml-comp")
    results = [(artifact.method, artifact.variant) for artifact in available_artifacts("small", "1")]
    assert results == sorted({("aml", "comp"), *((method, METHODS.get(method).default_variant) for method in RECIPES)})


@pytest.mark.parametrize(("model", "version"), [("small", "2"), ("other", "1")])
def test_weights_belong_to_one_version_of_one_model(own: Path, model: str, version: str) -> None:
    assert available_artifacts(model, version) == ()


def test_a_persons_own_weights_come_before_the_shipped_ones(own: Path, shipped: Path) -> None:
    assert find_artifact("small", "1", "aml", "difference").path == own / "aml-difference.safetensors"
    (own / "aml-difference.safetensors").unlink()
    assert find_artifact("small", "1", "aml", "difference").path == shipped / "aml-difference.safetensors"


def test_what_was_fitted_to_a_language_model_with_a_prompt_lies_beside_the_prompt(
    tmp_path: Path, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(own, tmp_path / "prompts" / "reviews" / "learned")
    monkeypatch.setattr(artifacts.prompts, "PROMPTS", tmp_path / "prompts")
    monkeypatch.setattr(artifacts.prompts, "shipped_prompts", lambda: ("reviews",))
    found = find_artifact("smollm2:reviews", "1", "aml")
    assert found.path.parent == tmp_path / "prompts" / "reviews" / "learned"
    for other in ("smollm2:others", "owner/model:reviews", "smollm2:"):
        assert available_artifacts(other, "1") == ()


def test_without_a_variant_the_methods_first_choice_is_taken(own: Path) -> None:
    copied(own, "aml-difference", "aml-comp")
    assert find_artifact("small", "1", "aml", "").variant == "difference"
    assert find_artifact("small", "1", "aml", "comp").variant == "comp"
    (own / "aml-difference.safetensors").unlink()
    assert find_artifact("small", "1", "aml", "").variant == "comp"  # the only one there is


def test_names_of_variants_may_have_points_and_dashes(own: Path) -> None:
    copied(own, "aml-difference", "aml-v1.0-of.mine")
    artifact = find_artifact("small", "1", "aml", "v1.0-of.mine")
    assert artifact.path.name == "aml-v1.0-of.mine.safetensors"
    assert artifact.card["model"]["name"] == "small"


@pytest.mark.parametrize(
    ("model", "variant", "sentence"),
    [
        (
            "small",
            "best",
            "a variant 'best' of it has not been fitted to small. Fitted are: aml:difference. Fit it on the ",
        ),
        ("other", "", "it has not been fitted to other. Fit it on the Train page, or with "),
        ("other", "best", "it has not been fitted to other."),
    ],
)
def test_what_was_not_fitted_is_a_sentence_with_the_command(own: Path, model: str, variant: str, sentence: str) -> None:
    with pytest.raises(ExplanationError) as raised:
        find_artifact(model, "1", "aml", variant)
    assert sentence in str(raised.value)
    named = f" --variant {variant}" if variant else ""
    assert f"`python -m explainers fit aml --model {model}{named} --data FILE`" in str(raised.value)


def test_a_folder_of_own_weights_has_a_name_that_any_system_takes(own: Path) -> None:
    folder = own_folder("../me/Modèle: 7", "0123456789abcdef")
    assert folder.name == "me_Modèle_7-0123456789ab"
    assert folder.parent == own.parent
    assert len(own_folder("/x" * 100, "1").name) == 60 + 2


@pytest.mark.parametrize("method", RECIPES)
def test_what_is_loaded_is_the_recipe_of_the_card_and_the_tensors_of_the_file(
    bert: FrozenModel, own: Path, method: str
) -> None:
    path = own / f"{method}-{METHODS.get(method).default_variant}.safetensors"
    recipe, module = load_trained(bert, method, "")
    assert recipe == RECIPES[method]()
    kept = load_file(path)
    parameters = dict(module.named_parameters())
    assert len(kept) > 0
    assert all(torch.equal(parameters[name], tensor.float()) for name, tensor in kept.items())
    assert not any(part.training for part in module.modules())
    assert not any(weight.requires_grad for weight in module.parameters())


def test_settings_of_the_card_are_the_recipes(bert: FrozenModel, own: Path) -> None:
    card_with(own, recipe={"select": "comp", "lambda_p": 0.25, "method": "aml", "distribution": False})
    recipe, _ = load_trained(bert, "aml", "difference")
    assert recipe == Aml(select="comp", lambda_p=0.25)


def test_weights_that_are_not_the_cards_are_damaged(bert: FrozenModel, own: Path) -> None:
    path = own / "aml-difference.safetensors"
    save_file({name: 2 * tensor for name, tensor in load_file(path).items()}, path)
    with pytest.raises(ModelUnavailable, match="is damaged"):
        load_trained(bert, "aml", "")


def test_weights_are_loaded_once_and_again_when_the_file_changes(
    bert: FrozenModel, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads: list[str] = []
    read = artifacts.read_artifact

    def counted(artifact: Artifact, *rest: Any) -> tuple[Recipe, torch.nn.Module]:
        loads.append(artifact.variant)
        return read(artifact, *rest)

    monkeypatch.setattr(artifacts, "read_artifact", counted)
    first = load_trained(bert, "aml", "")
    assert load_trained(bert, "aml", "difference")[1] is first[1]
    assert loads == ["difference"]
    path = own / "aml-difference.safetensors"
    save_file({name: 2 * tensor for name, tensor in load_file(path).items()}, path)
    os.utime(path, ns=(1, 10**15))
    card = json.loads(path.with_suffix(".json").read_text())
    path.with_suffix(".json").write_text(json.dumps(card | {"sha256": sha256(path)}))
    second = load_trained(bert, "aml", "")
    assert loads == ["difference"] * 2
    old, new = (dict(module.named_parameters()) for _, module in (first, second))
    assert all(torch.equal(2 * old[name], new[name]) for name in load_file(path))


def spoiled_tensor(folder: Path) -> None:
    path = folder / "aml-difference.safetensors"
    tensors = load_file(path)
    save_file({**tensors, "share.weight": torch.zeros(1, 7).half()}, path)


def one_tensor_less(folder: Path) -> None:
    path = folder / "aml-difference.safetensors"
    tensors = load_file(path)
    del tensors["share.weight"]
    save_file(tensors, path)


def one_tensor_more(folder: Path) -> None:
    path = folder / "aml-difference.safetensors"
    save_file({**load_file(path), "else": torch.zeros(1)}, path)


def half(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "half the weights": (lambda folder: half(folder / "aml-difference.safetensors"), "damaged or of another"),
    "a tensor of another shape": (spoiled_tensor, "damaged or of another"),
    "a tensor too few": (one_tensor_less, "damaged or of another"),
    "a tensor too many": (one_tensor_more, "damaged or of another"),
    "another rank": (lambda folder: card_with(folder, recipe={"rank": 3}), "damaged or of another"),
    "no card": (lambda folder: (folder / "aml-difference.json").unlink(), "card of aml-difference.safetensors is"),
    "half a card": (lambda folder: half(folder / "aml-difference.json"), "card of aml-difference.safetensors is"),
    "a card that is a list": (lambda folder: (folder / "aml-difference.json").write_text("[]"), "card of aml-"),
    "a card of bytes": (lambda folder: (folder / "aml-difference.json").write_bytes(b"\xff\xfe"), "card of aml-"),
    "a card without its recipe": (
        lambda folder: (folder / "aml-difference.json").write_text('{"model": {"version": "1"}}'),
        "card of aml-",
    ),
    "a card whose model is a word": (lambda folder: card_with(folder, model="small"), "card of aml-"),
    "a card whose model has no version": (lambda folder: card_with(folder, model={"name": "small"}), "card of aml-"),
    "a card whose recipe is a list": (lambda folder: card_with(folder, recipe=[1]), "card of aml-"),
    "a setting that is nothing": (
        lambda folder: card_with(folder, recipe={"rank": None}),
        "must be a whole number, not None",
    ),
    "another version": (lambda folder: card_with(folder, model={"version": "2"}), "fitted to another version of small"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_files_are_a_sentence(bert: FrozenModel, own: Path, damage: str) -> None:
    spoil, why = DAMAGES[damage]
    spoil(own)
    with pytest.raises(ExplanationError) as raised:
        load_trained(bert, "aml", "")
    assert why in str(raised.value)


def test_damaged_weights_can_be_mended_by_fitting_again(bert: FrozenModel, own: Path) -> None:
    half(own / "aml-difference.safetensors")
    with pytest.raises(ModelUnavailable, match="Fit it again"):
        load_trained(bert, "aml", "")


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ({"epochs": "3"}, Aml(epochs=3)),
        ({"lambda_p": "0.5", "lambda_a": 1}, Aml(lambda_p=0.5, lambda_a=1.0)),
        ({"select": "comp", "replacement": "random"}, Aml(select="comp", replacement="random")),
    ],
    ids=str,
)
def test_settings_may_be_typed(typed: dict[str, object], expected: Aml) -> None:
    recipe = recipe_of("aml", typed)
    assert recipe == expected
    assert [type(getattr(recipe, field.name)) for field in fields(expected)] == [
        type(getattr(expected, field.name)) for field in fields(expected)
    ]


@pytest.mark.parametrize(("typed", "expected"), [("false", False), ("True", True), ("0", False), (1, True)])
def test_yes_and_no_may_be_typed(typed: object, expected: bool) -> None:
    assert getattr(recipe_of("cimi", {"states": typed}), "states") is expected  # noqa: B009


@pytest.mark.parametrize(
    ("method", "typed", "sentence"),
    [
        ("lime", {}, "'lime' does not learn. Choose one of: aml, cimi"),
        ("aml", {"lambda": 1}, "aml has no setting 'lambda'. Choose from: batch, dropout, epochs, lambda_a"),
        (
            "aml",
            {"epochs": "many"},
            "The setting epochs of aml must be a whole number, not 'many'.",
        ),
        (
            "aml",
            {"epochs": "2.5"},
            "The setting epochs of aml must be a whole number, not '2.5'.",
        ),
        (
            "aml",
            {"lambda_p": "all"},
            "The setting lambda_p of aml must be a number, not 'all'.",
        ),
        ("cimi", {"states": "maybe"}, "The setting states of cimi must be true or false, not 'maybe'."),
    ],
    ids=str,
)
def test_a_wrong_setting_is_a_sentence(method: str, typed: dict[str, object], sentence: str) -> None:
    with pytest.raises(ExplanationError) as raised:
        recipe_of(method, typed)
    assert str(raised.value).startswith(sentence)


@pytest.mark.parametrize(
    ("method", "name", "value"),
    [
        ("aml", "select", "best"),
        ("ivra", "select", "best"),
        ("aml", "replacement", "blank"),
        ("cimi", "intervention", "dot"),
        ("cimi", "discrete", "maybe"),
        ("cimi", "erasure", "delete"),
        ("aml", "epochs", "0"),
        ("aml", "batch", "0"),
        ("aml", "rank", "-1"),
    ],
)
def test_a_value_that_no_training_can_use_is_a_sentence(method: str, name: str, value: str) -> None:
    with pytest.raises(ExplanationError, match=name):
        recipe_of(method, {name: value})


def test_every_shipped_variant_and_every_default_is_a_recipe_that_exists() -> None:
    assert set(SHIPPED) <= set(RECIPES)
    for method, variants in SHIPPED.items():
        assert METHODS.get(method).default_variant in variants
        for settings in variants.values():
            assert recipe_of(method, settings).method == method


def test_every_method_that_learns_is_in_the_registry() -> None:
    assert set(RECIPES) <= {spec.id for spec in METHODS if spec.learns}
