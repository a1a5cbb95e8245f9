"""Training on a handful of texts: enough to see that it learns, resumes exactly and ships what it measured."""

import gzip
import json
import random
import re
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file

from explainers.datasets.example import Example, Splits
from explainers.datasets.text_sets import read_sst2
from explainers.errors import ExplanationError, ModelUnavailable
from explainers.models.optimisation import accuracy
from explainers.models.tasks import TASKS, Task, TrainingOptions, make_bundle
from explainers.models.text import base_weights, bundle, training
from explainers.models.text.bundle import load_bundle
from explainers.models.text.recipe import TextModelRecipe
from explainers.models.text.training import batches, make_text_bundle, randomly_masked, train

GOOD = [Example(f"a {word} film number {n}", label=1) for n in range(8) for word in ("good", "great", "fine", "lovely")]
BAD = [Example(f"a {word} film number {n}", label=0) for n in range(8) for word in ("bad", "awful", "poor", "dull")]
RECIPE = TextModelRecipe(epochs=2, batch=16, learning_rate=5e-4, masking=0.1, averaging=0.5, rank=2)


def test_every_text_is_in_exactly_one_batch() -> None:
    encoded = [([101, number, 102], [0, 0, 0], 0) for number in range(1000, 1037)]
    result = batches(encoded, 8, random.Random(0))
    assert sorted(item[0][1] for batch in result for item in batch) == list(range(1000, 1037))


def test_only_words_of_every_other_row_are_masked() -> None:
    ids = torch.tensor([[101, 2000, 3000, 102, 0]] * 4)
    everything = randomly_masked(ids, 1.0, 103)
    assert everything.tolist() == [[101, 2000, 3000, 102, 0], [101, 103, 103, 102, 0]] * 2
    assert randomly_masked(ids, 0.0, 103).tolist() == ids.tolist()


def test_every_row_may_have_a_share_of_its_own() -> None:
    ids = torch.tensor([[101, 2000, 3000, 102]] * 4)
    shares = torch.tensor([[1.0], [1.0], [0.0], [0.0]])
    masked, plain = [101, 103, 103, 102], [101, 2000, 3000, 102]
    assert randomly_masked(ids, shares, 103).tolist() == [plain, masked, plain, plain]


def test_uniform_masking_stands_in_the_command_of_the_card() -> None:
    assert training.command("sst2", TextModelRecipe(uniform_masking=True)).endswith("--seed 0 --uniform-masking")
    assert "masking" not in training.command("sst2", TextModelRecipe())


@pytest.fixture
def small_base(base_files, monkeypatch) -> None:
    """In place of the base weights, which take seconds and prove no more."""
    for module in (base_weights, bundle):
        monkeypatch.setattr(module, "base_folder", lambda: base_files)


@pytest.mark.usefixtures("small_base")
@pytest.mark.parametrize("rank", [0, 2])
def test_training_learns_to_tell_good_from_bad(tmp_path, rank) -> None:
    known = [f"{one} {{}} {two}" for one in ("the", "a", "very", "was") for two in ("film", "plot", "!", ",")]
    texts = [Example(text.format(word), label=label) for text in known for label, word in enumerate(("bad", "good"))]
    recipe = TextModelRecipe(epochs=20, batch=8, learning_rate=1e-2, averaging=0.5, rank=rank)
    train((texts, [], texts[:8]), 2, recipe, tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert lines[-1]["validation"] == 1.0  # chance is one half
    names = set(load_file(tmp_path / "weights.safetensors"))
    assert any(".lora_A." in name for name in names) == bool(rank)
    assert not any("embeddings" in name for name in names)


@pytest.mark.usefixtures("small_base")
def test_an_interrupted_training_goes_on_as_if_nothing_had_happened(tmp_path, monkeypatch) -> None:
    parts = (GOOD + BAD, [], GOOD[:2])
    train(parts, 2, RECIPE, tmp_path / "straight")
    epoch = training._epoch

    def breaks_down(run, ready, mask_token):
        if run.epoch == 1:
            raise KeyboardInterrupt
        return epoch(run, ready, mask_token)

    monkeypatch.setattr(training, "_epoch", breaks_down)
    with pytest.raises(KeyboardInterrupt):
        train(parts, 2, RECIPE, tmp_path / "broken")
    monkeypatch.setattr(training, "_epoch", epoch)
    train(parts, 2, RECIPE, tmp_path / "broken", resume=True)
    straight, resumed = (load_file(tmp_path / name / "weights.safetensors") for name in ("straight", "broken"))
    assert all(torch.equal(straight[name], resumed[name]) for name in straight)


def yes_or_no(read) -> Task:
    return Task(
        labels=("no", "yes"),
        data="made up",
        licence="none",
        split_rule="at random",
        read=read,
        make=lambda _options: {},
        example=lambda: GOOD[0],
        position=9,
    )


@pytest.mark.usefixtures("small_base")
def test_a_bundle_is_written_with_the_accuracies_of_what_it_holds(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "text\tlabel\n" + "".join(f"{example.text}\t{example.label}\n" for example in GOOD + BAD)
    for name in ("train_phrases", "train_sentences", "dev"):
        with gzip.open(tmp_path / f"{name}.tsv.gz", "wt") as file:
            file.write(rows if name != "dev" else "text\tlabel\nan awful mess\t0\na lovely day\t1\n")
    task = yes_or_no(lambda folder: read_sst2(folder, validation=2))
    card = make_text_bundle("tiny", task, tmp_path, RECIPE, tmp_path / "bundle", resume=False)
    assert card == json.loads((tmp_path / "bundle" / "card.json").read_text())
    assert card["command"].startswith("python -m explainers train-model tiny --data DIR")
    assert card["position"] == 9
    model = load_bundle(tmp_path / "bundle", torch.device("cpu"))
    assert model.labels == ("no", "yes")
    dev = [Example("an awful mess", label=0), Example("a lovely day", label=1)]
    assert card["accuracy"]["test"] == accuracy(model, dev)


def test_a_new_training_is_not_taken_for_the_one_before(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = tmp_path / "runs" / "tiny"
    run.mkdir(parents=True)
    (run / "finished").touch()
    (run / "checkpoint.pt").touch()
    (run / "log.jsonl").write_text('{"epoch": 9, "validation": 1.0}\n')

    def breaks_down(*_args, **_kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "train", breaks_down)
    task = yes_or_no(lambda _folder: Splits((), (), ()))
    with pytest.raises(KeyboardInterrupt):
        make_text_bundle("tiny", task, None, RECIPE, tmp_path / "bundle", resume=False)
    assert not list(run.iterdir())


@pytest.mark.parametrize(
    ("recipe", "texts", "sentence"),
    [
        (RECIPE, GOOD, ""),
        (replace(RECIPE, epochs=5, learning_rate=1e-4), GOOD, "epochs 2 (now 5), learning rate 0.0005 (now 0.0001)"),
        (RECIPE, GOOD[:-1], "texts 32 (now 31)"),
        (RECIPE, [*GOOD[:-1], BAD[0]], "other texts"),
    ],
)
def test_another_recipe_or_other_texts_are_not_resumed(tmp_path, monkeypatch, recipe, texts, sentence) -> None:
    run = tmp_path / "run"
    run.mkdir()
    for name in (training.CHECKPOINT, training.FINISHED):
        (run / name).touch()
    begun = json.dumps(training.about_training(GOOD, BAD, RECIPE))
    (run / training.LOG).write_text(f'{begun}\n{{"epoch": 1, "validation": 1.0}}\n')
    monkeypatch.setattr(training.shutil, "copy", lambda *_args: 1 / 0)  # what follows takes the weights of the run
    task = yes_or_no(lambda _folder: Splits(tuple(texts), (), (), tuple(BAD)))
    with pytest.raises(ExplanationError if sentence else ZeroDivisionError) as raised:
        make_text_bundle("tiny", task, None, recipe, tmp_path / "bundle", run, resume=True)
    assert sentence == "" or str(raised.value) == (
        f"The training in {run} began with {sentence}. Give the same data and options, or omit --resume to start again."
    )


def test_without_a_training_there_is_nothing_to_resume(tmp_path) -> None:
    task = yes_or_no(lambda _folder: Splits((), (), ()))
    with pytest.raises(ExplanationError, match=r"holds no interrupted training. Omit --resume to start one\."):
        make_text_bundle("tiny", task, None, RECIPE, tmp_path / "bundle", tmp_path, resume=True)


def test_the_log_of_an_older_version_is_compared_as_far_as_it_goes(tmp_path) -> None:
    (tmp_path / training.CHECKPOINT).touch()
    (tmp_path / training.LOG).write_text(json.dumps({"texts": 32, "warm_up": 32, "steps": 4, "epochs": 2}) + "\n")
    training.check_resumable(tmp_path, training.about_training(GOOD, BAD, RECIPE))
    with pytest.raises(ExplanationError, match=r"began with epochs 2 \(now 3\)\."):
        training.check_resumable(tmp_path, training.about_training(GOOD, BAD, replace(RECIPE, epochs=3)))


def test_an_unknown_model_to_train_gets_a_sentence() -> None:
    expected = f"The embedded model 'sst3' is not available. Choose one of: {', '.join(TASKS)}."
    with pytest.raises(ModelUnavailable, match=re.escape(expected)):
        make_bundle("sst3", TrainingOptions())
