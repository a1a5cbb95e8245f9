import subprocess
import sys
from dataclasses import replace
from functools import partial

import pytest

from explainers.models.bundle_cards import generator_noun
from explainers.models.tasks import TASKS, TrainingOptions, generated_example, make_bundle, task_of
from explainers.models.text.recipe import TextModelRecipe

GENERATED = [name for name, task in TASKS.items() if task.generated]


def test_tasks_are_readable_without_torch() -> None:
    code = "import sys, explainers.models.tasks; sys.exit('torch' in sys.modules)"
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
