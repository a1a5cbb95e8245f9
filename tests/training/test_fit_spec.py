"""A training keeps its meaning from the form to the card: values, command line, job row, command."""

import shlex
from pathlib import Path
from typing import Any

import pytest

from app.store import Job
from explainers.errors import ExplanationError
from explainers.learned.recipes import RECIPES
from explainers.methods.narrator_specs import NARRATORS
from explainers.methods.registry import METHODS
from explainers.training.fit_spec import FitSpec

SETTINGS = (("epochs", "2"), ("learning_rate", "1e-3"))
SOURCES: dict[str, dict[str, str]] = {
    "a file": {"data": "/texts of mine/texts.txt"},
    "the model's own data": {"model": "scenes"},
    "an image set": {"data": "a.csv", "format": "vqa_x", "images": "/some/images"},
}


def spec_of(method: str, **fields: Any) -> FitSpec:
    values = {"model": "owner/model", "variant": "" if method in NARRATORS.ids else "mine"}
    return FitSpec(method, **{**values, "seed": 3, "settings": SETTINGS, **fields})


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("method", [*RECIPES, *NARRATORS.ids])
def test_a_training_is_the_same_in_the_form_the_job_and_on_the_card(method: str, source: str) -> None:
    spec = spec_of(method, **SOURCES[source])
    run = ["--device", "cpu", "--folder", "/runs/one", "--resume"]
    job = Job(method=method, command=["/usr/bin/python", "-m", "explainers", *spec.arguments(), *run])
    assert FitSpec.from_arguments(spec.arguments()) == spec
    assert job.spec == spec
    assert job.spec.command == spec.command
    again = FitSpec.from_arguments(shlex.split(spec.command)[3:])  # as copied from the card
    assert (again.method, again.model, again.variant) == (spec.method, spec.model, spec.variant)
    assert (again.seed, again.settings, again.format) == (spec.seed, spec.settings, spec.format)
    assert again.command == spec.command


@pytest.mark.parametrize("method", RECIPES)
def test_without_a_variant_the_card_names_the_default_one(method: str) -> None:
    spec = FitSpec(method, "sst2", "texts.txt")
    variant = METHODS.get(method).default_variant
    assert "--variant" not in spec.arguments()
    assert spec.name == variant
    assert spec.command == f"python -m explainers fit {method} --model sst2 --data DATA --variant {variant} --seed 0"


def test_the_arguments_are_in_the_order_of_the_command_line() -> None:
    spec = spec_of("aml", data="a.csv", format="vqa_x", images="folder")
    assert shlex.join(spec.arguments()) == (
        "fit aml --model owner/model --data a.csv --format vqa_x --pictures folder --variant mine --seed 3 "
        "--set epochs=2 --set learning_rate=1e-3"
    )


def test_a_typed_command_names_other_data_and_what_stands_beside_them() -> None:
    typed = spec_of("aml", settings=()).shell_command("my texts.txt", extra=["--device", "cpu"])
    assert typed == (
        "python -m explainers fit aml --model owner/model --data 'my texts.txt' --variant mine --seed 3 --device cpu"
    )


def test_a_setting_may_hold_an_equals_sign_and_a_minus() -> None:
    spec = spec_of("ivra", settings=(("criterion", "a=b"), ("rate", "-1")))
    assert FitSpec.from_arguments(spec.arguments()) == spec


def test_data_and_images_are_paths_where_they_are_given() -> None:
    spec = spec_of("aml", data="a.csv", format="vqa_x", images="folder")
    assert spec.data_path == Path("a.csv")
    assert spec.image_files is not None
    assert (spec.image_files.format, spec.image_files.folder) == ("vqa_x", Path("folder"))
    assert (spec_of("aml").data_path, spec_of("aml").image_files) == (None, None)


@pytest.mark.parametrize(
    "arguments",
    [[], ["fit"], ["explain", "aml"], ["fit", "aml", "--color", "red"], ["fit", "aml", "--seed", "one"]],
    ids=" ".join,
)
def test_what_is_no_fit_command_is_a_sentence(arguments: list[str]) -> None:
    with pytest.raises(ExplanationError, match=r"^This is not a fit command: "):
        FitSpec.from_arguments(arguments)


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (spec_of("lime"), "'lime' does not learn. Choose one of: aml, cimi, ciem, ivra, all."),
        (
            spec_of("cause_token"),
            "'cause_token' is not a method. Choose one of: aml, cimi, ciem, ivra, all, or a narrator",
        ),
        (spec_of("faml"), "'faml' does not learn. Choose one of: aml, cimi, ciem, ivra, all."),
        (spec_of("aml", variant="A b"), "The variant 'A b' is not a name: use up to 40 small letters"),
        (spec_of("aml", settings=(("seed", "1"),)), "Give the seed with --seed, not with --set."),
        (spec_of("cause", variant="mine"), "cause has no variants. Omit --variant; give its settings with --set."),
        (
            spec_of("cause", settings=(("losses", "phi"),)),
            "The name of the method sets its losses and what it reads, --seed",
        ),
    ],
    ids=["another method", "misspelt", "borrowed weights", "variant", "seed", "a narrator's variant", "losses"],
)
def test_names_are_checked_without_loading_anything(spec: FitSpec, sentence: str) -> None:
    with pytest.raises(ExplanationError) as raised:
        spec.check()
    assert str(raised.value).startswith(sentence)


def test_what_passes_the_check_comes_back() -> None:
    for spec in (*map(spec_of, RECIPES), *map(spec_of, NARRATORS.ids)):
        assert spec.check() is spec
