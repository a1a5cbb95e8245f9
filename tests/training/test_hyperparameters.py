"""Hyperparameters carry their bounds, names and meanings: for `fit METHOD --settings`, `--set` and the form."""

from dataclasses import fields, replace
from typing import Any

import pytest
from typer.testing import CliRunner

from explainers.__main__ import app
from explainers.errors import ExplanationError
from explainers.learned.ivra_full import FIXED
from explainers.learned.recipes import RECIPES, SHIPPED
from explainers.methods.narrator_specs import NARRATORS
from explainers.narrative.recipe import NarratorRecipe
from explainers.training.spec import recipe_on_card, settings_of, settings_text, with_hyperparameters


def listed(*arguments: str) -> dict[str, str]:
    """What is printed, name=value to the meaning."""
    result = CliRunner().invoke(app, ["fit", *arguments, "--settings"])
    assert result.exit_code == 0, result.output
    return dict(line.split("  ", 1) for line in result.output.splitlines())


@pytest.mark.parametrize("method", RECIPES)
def test_every_setting_has_its_value_and_a_meaning(method: str) -> None:
    for variant, values in SHIPPED[method].items():
        lines = listed(method, "--variant", variant)
        named = dict(line.split("=", 1) for line in lines)
        expected = {field.name: field.default for field in fields(RECIPES[method])} | values
        assert named == {
            name: str(value).lower() if isinstance(value, bool) else str(value)
            for name, value in expected.items()
            if name != "seed"
        }
        assert all(lines.values())


@pytest.mark.parametrize("narrator", NARRATORS.ids)
def test_a_narrator_has_the_settings_that_its_kind_leaves_open(narrator: str) -> None:
    named = dict(line.split("=", 1) for line in listed(narrator))
    assert set(named) == {field.name for field in fields(NarratorRecipe)} - {"losses", "reads", "seed"}
    open_settings = {name: value for name, value in NARRATORS.get(narrator).settings.items() if name in named}
    assert all(named[name] == str(value).lower() for name, value in open_settings.items())


@pytest.mark.parametrize("recipe", [*RECIPES.values(), NarratorRecipe], ids=lambda recipe: recipe.__name__)
def test_every_setting_has_a_label_of_its_own_and_bounds_that_its_default_keeps(recipe: type) -> None:
    settings = settings_of(recipe)
    assert [setting.name for setting in settings] == [field.name for field in fields(recipe)]
    assert len({setting.label for setting in settings}) == len(settings)
    for setting in settings:
        assert setting.meaning
        if setting.kind in ("integer", "number"):
            assert setting.least is not None
            assert setting.least <= setting.default <= (setting.most or setting.default)


def test_labels_are_those_of_the_field_or_its_name() -> None:
    labels = {setting.name: setting.label for setting in settings_of(RECIPES["aml"])}
    assert (labels["lambda_inv"], labels["batch"]) == ("λ of L_inv", "Batch size")
    assert (labels["learning_rate"], labels["weight_decay"]) == ("Learning rate", "Weight decay")


@pytest.mark.parametrize(
    ("method", "values", "sentence"),
    [
        ("aml", {"epochs": "0"}, "The setting epochs of aml must be at least 1, not '0'."),
        ("aml", {"dropout": 1.5}, "The setting dropout of aml must be at most 1, not 1.5."),
        ("aml", {"lambda_p": "nan"}, "The setting lambda_p of aml must be a finite number, not 'nan'."),
        ("ivra", {"temperature": 0}, "The setting temperature of ivra must be more than 0, not 0."),
        ("ivra", {"norm": "max"}, "The setting norm of ivra must be 'softmax' or 'sparsemax', not 'max'."),
        (
            "cimi",
            {"hidden": "wide", "states": "perhaps"},
            "The setting states of cimi must be true or false, not 'perhaps'. "
            "The setting hidden of cimi must be a whole number, not 'wide'.",
        ),
    ],
    ids=str,
)
def test_a_bad_value_is_a_sentence_with_field_bound_and_value(
    method: str, values: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ExplanationError) as raised:
        with_hyperparameters(RECIPES[method], method, values)
    assert str(raised.value) == sentence


def test_a_recipe_made_in_code_is_checked_too() -> None:
    with pytest.raises(ValueError, match="greater than or equal to 1"):
        replace(NarratorRecipe(), epochs=0)


def test_names_on_a_card_that_a_recipe_no_longer_has_are_ignored_and_its_values_are_not() -> None:
    recipe = recipe_on_card(NarratorRecipe, "cause", {"colour": "red", "epochs": 5})
    assert recipe == NarratorRecipe(epochs=5)
    with pytest.raises(ExplanationError, match="The setting epochs of cause must be at least 1, not 0"):
        recipe_on_card(NarratorRecipe, "cause", {"epochs": 0})


def test_choices_are_listed() -> None:
    lines = settings_text(RECIPES["ivra"], {}).splitlines()
    assert next(line for line in lines if line.startswith("norm=")).endswith("One of: softmax, sparsemax.")


def test_a_training_of_the_classifier_leaves_fewer_open() -> None:
    fixed = {name.partition("=")[0] for name in listed("ivra").keys() - listed("ivra", "--full").keys()}
    assert fixed == set(FIXED)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("lime", "'lime' does not learn."),
        ("nothing", "'nothing' is not a method."),
        ("all", "Every method has settings of its own. Name one of them."),
    ],
)
def test_what_does_not_learn_has_no_settings(name: str, sentence: str) -> None:
    result = CliRunner().invoke(app, ["fit", name, "--settings"])
    assert result.exit_code == 2
    assert sentence in result.output
