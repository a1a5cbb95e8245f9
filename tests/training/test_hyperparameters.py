"""The list of settings that `fit METHOD --settings` prints."""

from dataclasses import fields

import pytest
from typer.testing import CliRunner

from explainers.commands.app import app
from explainers.learned.ivra_full import FIXED
from explainers.learned.recipes import RECIPES, SHIPPED
from explainers.methods.narrator_specs import NARRATORS
from explainers.narrative.recipe import MEANING, NarratorRecipe
from explainers.training.hyperparameters import LABELS, setting_label, settings_text


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
            if name not in ("method", "distribution", "seed")
        }
        assert all(lines.values())


@pytest.mark.parametrize("narrator", NARRATORS.ids)
def test_a_narrator_has_the_settings_that_its_kind_leaves_open(narrator: str) -> None:
    named = dict(line.split("=", 1) for line in listed(narrator))
    assert set(named) == {field.name for field in fields(NarratorRecipe)} - {"losses", "reads", "seed"} == set(MEANING)
    open_settings = {name: value for name, value in NARRATORS.get(narrator).settings.items() if name in named}
    assert all(named[name] == str(value).lower() for name, value in open_settings.items())


@pytest.mark.parametrize("method", RECIPES)
def test_every_setting_has_a_label_of_its_own(method: str) -> None:
    labels = [setting_label(field.name) for field in fields(RECIPES[method])]
    assert len(set(labels)) == len(labels)
    assert set(LABELS) <= {field.name for each in RECIPES.values() for field in fields(each)}


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
