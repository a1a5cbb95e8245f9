import json
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from explainers.errors import ModelUnavailable
from explainers.models.bundle_cards import (
    TASKS,
    TrainingOptions,
    bundle_names,
    generated_example,
    generator_noun,
    input_names_of,
    is_generated,
    make_bundle,
    read_card,
    task_of,
)
from explainers.models.text.recipe import TextModelRecipe


def test_bundles_stand_by_their_position_then_by_name(tmp_path: Path) -> None:
    cards = {"zebra": "{}", "nli": '{"position": 2}', "sst2-ivra-comp": "{}", "sst2": '{"position": 1}', "ant": "{"}
    for name, card in cards.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "card.json").write_text(card)
    assert bundle_names(tmp_path) == ("sst2", "nli", "ant", "sst2-ivra-comp", "zebra")


def test_folders_without_a_card_are_no_bundles(tmp_path: Path) -> None:
    for name in ("tiny", "empty"):
        (tmp_path / name).mkdir()
    (tmp_path / "tiny" / "card.json").write_text("{}")
    assert bundle_names(tmp_path) == ("tiny",)


def test_the_shipped_cards_agree_with_their_tasks() -> None:
    assert bundle_names()[: len(TASKS)] == tuple(TASKS)
    for name, task in TASKS.items():
        assert is_generated(name) == task.generated, name
        assert bool(generator_noun(name)) == task.generated, name


@pytest.mark.parametrize("name", ["owner/model", "../bundles/sst2", "\0", "", "a" * 5000])
def test_other_models_have_no_abilities_of_bundles(name: str) -> None:
    assert (is_generated(name), generator_noun(name)) == (False, "")


@pytest.mark.parametrize(
    ("texts", "input_names"), [({}, ("text",)), ({"texts": ["premise", "hypothesis"]}, ("premise", "hypothesis"))]
)
def test_a_card_has_the_input_names_of_its_model(
    tmp_path: Path, texts: dict[str, Any], input_names: tuple[str, ...]
) -> None:
    (tmp_path / "card.json").write_text(json.dumps({"labels": ["no"], "sha256": "0", **texts}))
    assert input_names_of(read_card(tmp_path)) == input_names


@pytest.mark.parametrize("texts", [[], ["a", "b", "c"], "premise", [1, 2], ["premise", ""], 3])
def test_a_card_with_impossible_input_names_is_damaged(tmp_path: Path, texts: object) -> None:
    (tmp_path / "card.json").write_text(json.dumps({"labels": ["no"], "sha256": "0", "texts": texts}))
    with pytest.raises(ModelUnavailable, match="cannot be read"):
        read_card(tmp_path)


GENERATED = [name for name, task in TASKS.items() if task.generated]


def test_tasks_are_readable_without_torch() -> None:
    code = "import sys, explainers.models.bundle_cards; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_architecture_adds_its_tasks() -> None:
    assert list(TASKS)[:2] == ["sst2", "nli"]
    assert {task.multimodal for task in TASKS.values()} == {False, True}


def test_the_benchmark_example_fits_the_task() -> None:
    for name, task in TASKS.items():
        example = task.example()
        assert (example.pair is not None) == (len(task.input_names) == 2), name
        assert (example.image is not None) == task.multimodal, name


@pytest.mark.parametrize("model", GENERATED)
def test_a_generated_example_has_a_noun_and_a_number(model: str) -> None:
    generate, noun = TASKS[model].generated_example, generator_noun(model)
    assert generate is not None
    assert generated_example(f"{noun} 7") == generate(7) != generate(8)
    for name in (noun, f"{noun}s 7", f"{noun} seven"):
        with pytest.raises(ValueError, match=r"no generator|invalid literal"):
            generated_example(name)


def test_a_bundle_is_made_by_its_own_task(monkeypatch: pytest.MonkeyPatch) -> None:
    options = TrainingOptions(seed=3)
    for name in TASKS:
        card_of = partial(lambda name, options: {"name": name, "seed": options.seed}, name)
        monkeypatch.setitem(TASKS, name, replace(TASKS[name], make=card_of))
        assert make_bundle(name, options) == {"name": name, "seed": 3}


def test_options_that_are_not_set_are_the_recipes_own() -> None:
    assert TrainingOptions().recipe(TextModelRecipe) == TextModelRecipe()
    options = TrainingOptions(epochs=2, steps=7, rank=4, learning_rate=0.5, seed=3)
    assert options.recipe(TextModelRecipe) == TextModelRecipe(epochs=2, rank=4, learning_rate=0.5, seed=3)


def test_a_changed_copy_has_the_data_of_its_model() -> None:
    assert task_of("sst2-ivra-comp") is task_of("sst2") is TASKS["sst2"]
    assert task_of("someone/model") is None
