"""A training keeps its meaning from the form to the card: record, JSON of the job, command line, command."""

import json
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from app.store import Job
from explainers.__main__ import app
from explainers.commands import training
from explainers.errors import ExplanationError
from explainers.learned.recipes import RECIPES
from explainers.methods.narrator_specs import NARRATORS
from explainers.methods.registry import METHODS
from explainers.training.spec import FitSpec, read_spec

AsTyped = Callable[[Sequence[str]], FitSpec]
RUN = {"device": "cpu", "folder": "/runs/one", "out": "/made", "resume": True}
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
def test_a_training_is_the_same_in_the_job_on_the_command_line_and_on_the_card(
    as_typed: AsTyped, method: str, source: str
) -> None:
    spec = spec_of(method, **SOURCES[source], **RUN)
    assert Job(method=method, spec_json=spec.as_json()).spec == spec
    assert as_typed(shlex.split(spec.shell_command())) == spec
    again = as_typed(shlex.split(spec.command))  # as copied from the card
    assert (again.method, again.model, again.variant) == (spec.method, spec.model, spec.variant)
    assert (again.seed, again.settings, again.format) == (spec.seed, spec.settings, spec.format)
    assert again.command == spec.command
    assert (again.device, again.folder, again.out, again.resume) == ("auto", "", "", False)


@pytest.mark.parametrize(
    "fields",
    [{"full": True}, {"seeds": 3}, {"device": "cuda:0"}, {"out": "a b"}, {"column": "a", "pair_column": "b"}, {}],
    ids=str,
)
def test_every_flag_is_read_back_from_what_is_shown(as_typed: AsTyped, fields: dict[str, Any]) -> None:
    spec = spec_of("ivra", **fields)
    assert as_typed(shlex.split(spec.shell_command())) == spec


@pytest.mark.parametrize("method", RECIPES)
def test_without_a_variant_the_card_names_the_default_one(method: str) -> None:
    spec = FitSpec(method, "sst2", "texts.txt")
    variant = METHODS.get(method).default_variant
    assert "--variant" not in spec.arguments()
    assert spec.name == variant
    assert spec.command == f"python -m explainers fit {method} --model sst2 --data DATA --variant {variant} --seed 0"


def test_the_words_are_in_the_order_of_the_command_line() -> None:
    spec = spec_of("aml", data="my a.csv", format="vqa_x", images="folder", device="cpu")
    assert spec.shell_command() == (
        "python -m explainers fit aml --model owner/model --data 'my a.csv' --format vqa_x --pictures folder "
        "--variant mine --seed 3 --set epochs=2 --set learning_rate=1e-3 --device cpu"
    )


def test_a_setting_may_hold_an_equals_sign_and_a_minus(as_typed: AsTyped) -> None:
    spec = spec_of("ivra", settings=(("criterion", "a=b"), ("rate", "-1")))
    assert as_typed(shlex.split(spec.shell_command())) == spec
    assert read_spec(spec.as_json()) == spec


def test_settings_are_an_object_in_json() -> None:
    assert json.loads(spec_of("aml").as_json())["settings"] == {"epochs": "2", "learning_rate": "1e-3"}
    assert read_spec('{"method": "aml", "model": "sst2", "settings": {"epochs": 2}}').settings == (("epochs", "2"),)


def test_a_file_in_place_of_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    specs: list[FitSpec] = []
    monkeypatch.setattr(training, "run_fit", lambda spec, _say: specs.append(spec))
    file = tmp_path / "spec.json"
    file.write_text(spec_of("aml", **RUN).as_json())
    assert CliRunner().invoke(app, ["fit", "--spec", str(file)]).exit_code == 0
    assert CliRunner().invoke(app, ["fit", "--spec", str(file), "--yes"]).exit_code == 0  # which a file does not hold
    assert specs == [spec_of("aml", **RUN)] * 2


@pytest.mark.parametrize(
    ("content", "options", "sentence"),
    [
        ("{", (), "The training's spec cannot be read. It is not JSON."),
        ('{"method": "aml"}', (), "The training's spec cannot be read. The field model is missing."),
        ('{"method": "", "model": "sst2"}', (), "Name a method, or give a training as JSON with --spec FILE."),
        (None, (), "The file spec.json cannot be read: No such file or directory."),
        ("{}", ("aml",), "--spec holds the whole training. Omit the method and all other options."),
        ("{}", ("--seed", "0"), "--spec holds the whole training. Omit the method and all other options."),
    ],
    ids=["no JSON", "a part", "no method", "no file", "a method beside it", "an option beside it"],
)
def test_a_file_that_is_no_training_is_a_sentence(
    content: str | None, options: tuple[str, ...], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if content is not None:
        Path("spec.json").write_text(content)
    result = CliRunner().invoke(app, ["fit", *options, "--spec", "spec.json"])
    assert (result.exit_code, result.stderr) == (2, f"{sentence}\n")


def test_without_a_method_the_command_says_what_to_give() -> None:
    result = CliRunner().invoke(app, ["fit"])
    assert (result.exit_code, result.stderr) == (2, "Name a method, or give a training as JSON with --spec FILE.\n")


def test_data_and_images_are_paths_where_they_are_given() -> None:
    spec = spec_of("aml", data="a.csv", format="vqa_x", images="folder")
    assert spec.data_path == Path("a.csv")
    assert spec.image_files is not None
    assert (spec.image_files.format, spec.image_files.folder) == ("vqa_x", Path("folder"))
    assert (spec_of("aml").data_path, spec_of("aml").image_files) == (None, None)


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (spec_of("lime"), "'lime' does not learn. Choose one of: aml, cimi, ciem, ivra, cxplain, all."),
        (
            spec_of("cause_token"),
            "'cause_token' is not a method. Choose one of: aml, cimi, ciem, ivra, cxplain, all, or a narrator",
        ),
        (spec_of("faml"), "'faml' does not learn. Choose one of: aml, cimi, ciem, ivra, cxplain, all."),
        (spec_of("aml", variant="A b"), "The variant 'A b' is not a name: use up to 40 small letters"),
        (spec_of("aml", settings=(("seed", "1"),)), "Give the seed with --seed, not with --set."),
        (spec_of("cause", variant="mine"), "cause has no variants. Omit --variant; give its settings with --set."),
        (spec_of("aml", full=True), "aml cannot train the classifier; ivra can. Omit --full."),
        (spec_of("ivra", full=True, resume=True), "A training of the classifier itself cannot be resumed."),
        (spec_of("ivra", full=True, seeds=2), "A training of the classifier itself has one seed. Omit --seeds."),
        (
            spec_of("cause", settings=(("losses", "phi"),)),
            "The name of the method sets its losses and what it reads, --seed",
        ),
    ],
    ids=[
        *("another method", "misspelt", "borrowed weights", "variant", "seed", "a narrator's variant"),
        *("a classifier", "a classifier resumed", "a classifier with seeds", "losses"),
    ],
)
def test_names_are_checked_without_loading_anything(spec: FitSpec, sentence: str) -> None:
    with pytest.raises(ExplanationError) as raised:
        spec.check()
    assert str(raised.value).startswith(sentence)


def test_what_passes_the_check_comes_back() -> None:
    for spec in (*map(spec_of, RECIPES), *map(spec_of, NARRATORS.ids)):
        assert spec.check() is spec
