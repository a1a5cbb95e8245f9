from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer

from explainers.datasets.example import Example
from explainers.datasets.picture import Picture
from explainers.datasets.scenes.drawing import drawn
from explainers.datasets.scenes.generator import items
from explainers.models.scenes import training as module
from explainers.models.scenes.model import SceneModel
from explainers.models.scenes.reader import LOOK, MASK, PAD
from explainers.models.scenes.samples import UNKNOWN, Sample, Sources, of_item, of_row
from explainers.models.scenes.training import (
    CHECKPOINT,
    WEIGHTS,
    Batch,
    Recipe,
    Training,
    collate,
    erased,
    losses,
    right,
    thinned,
    train,
)

RECIPE = Recipe(steps=4, batch=3, human=0.25, borrowed=0.0, alone=0, averaging=0.5, seed=2)
pytestmark = pytest.mark.usefixtures("narrow_networks")
ROWS = Sources([("There is a blue square", 0, drawn(next(items(9, held_out=False)).scene))])


@pytest.fixture(autouse=True)
def chance_of_the_process() -> Iterator[None]:
    """A training draws its first weights from torch's own generator."""
    with torch.random.fork_rng(devices=[]):
        yield


@pytest.fixture
def samples() -> list[Sample]:
    made = items(7, held_out=False)
    return [of_item(next(made)) for _ in range(8)]


@pytest.fixture
def batch(samples: list[Sample], reader: Tokenizer) -> Batch:
    return collate(samples, reader)


def test_a_batch_answers_as_the_model_does_through_its_door(model: SceneModel, reader: Tokenizer) -> None:
    made = [next(items(seed, held_out=False)) for seed in range(4)]
    inputs = collate([of_item(each) for each in made], reader)
    network = model.module
    logits = network(inputs_embeds=network.embeds(inputs.ids, inputs.patches, inputs.numbers), **inputs.inputs)
    for each, answer in zip(made, logits.softmax(-1).detach(), strict=True):
        encoding = model.encode(Example(each.said.text, picture=Picture.of(drawn(each.scene))))
        (found,) = model.probabilities(encoding, np.ones((1, len(encoding.units))))
        assert answer.numpy() == pytest.approx(found, abs=1e-5)


def test_patches_left_out_of_a_batch_are_those_that_are_deleted(model: SceneModel, reader: Tokenizer) -> None:
    made = [next(items(seed, held_out=False)) for seed in range(2)]
    kept = [np.arange(0, 48, 3), np.arange(20)]
    inputs = collate([of_item(each) for each in made], reader, kept)
    assert inputs.numbers.shape == (2, 20)
    assert inputs.attention[:, 1:21].sum(1).tolist() == [16, 20]
    assert (inputs.holds[0, 16:] == UNKNOWN).all()
    network = model.module
    logits = network(inputs_embeds=network.embeds(inputs.ids, inputs.patches, inputs.numbers), **inputs.inputs)
    for each, answer, left in zip(made, logits.softmax(-1).detach(), kept, strict=True):
        encoding = model.encode(Example(each.said.text, picture=Picture.of(drawn(each.scene))))
        words = len(encoding.units) - 48
        keeps = np.concatenate([np.ones(words), np.isin(np.arange(48), left)])
        assert answer.numpy() == pytest.approx(model.probabilities(encoding, keeps, "delete")[0], abs=1e-5)


def test_the_mean_colour_of_training_is_that_of_the_model(model: SceneModel, reader: Tokenizer) -> None:
    made = next(items(3, held_out=False))
    inputs = collate([of_item(made)], reader)
    encoding = model.encode(Example(made.said.text, picture=Picture.of(drawn(made.scene))))
    filler = model.module.look(inputs.means, torch.tensor([[7]]))[0, 0]  # type: ignore[operator]
    assert encoding.seen is not None
    assert filler.detach().numpy() == pytest.approx(encoding.seen.filler("mask")[1 + 7], abs=1e-5)


def test_in_thinned_samples_only_patches_of_bare_paper_are_left_out(samples: list[Sample]) -> None:
    chance = np.random.default_rng(0)
    every = thinned(samples, replace(RECIPE, thinned=1.0, left_out=1.0), chance)
    for sample, kept in zip(samples, every, strict=True):
        assert kept.tolist() == [number for number in range(48) if (sample.patches[number] != 211).any()]
    assert 0 < np.mean([len(kept) for kept in every]) < 40
    for recipe in (replace(RECIPE, thinned=0.0, left_out=1.0), replace(RECIPE, thinned=1.0, left_out=0.0)):
        assert all(len(kept) == 48 for kept in thinned(samples, recipe, chance))


def test_nothing_is_erased_where_no_sample_is_chosen(batch: Batch) -> None:
    ids, patches = erased(batch, replace(RECIPE, erased=0.0), torch.Generator().manual_seed(0))
    assert torch.equal(ids, batch.ids)
    assert torch.equal(patches, batch.patches)


def test_erased_words_are_the_mask_token_and_erased_patches_the_mean_colour(batch: Batch) -> None:
    ids, patches = erased(batch, replace(RECIPE, erased=1.0, most_erased=1.0), torch.Generator().manual_seed(0))
    gone = ids != batch.ids
    assert (ids[gone] == MASK).all()
    assert (batch.ids[gone] > LOOK).all()  # neither padding nor the frame nor patches
    blank = (patches == batch.means).all(-1)
    kept = (patches == batch.patches).all(-1)
    assert (blank | kept).all()
    for part, possible in ((gone, (batch.ids > LOOK)), (blank, torch.ones_like(blank))):
        share = part.sum().item() / possible.sum().item()
        assert 0.25 < share < 0.75  # each sample draws its own share between 0 and 1


def test_only_what_is_known_is_learned(small_network: object, batch: Batch, reader: Tokenizer) -> None:
    assert isinstance(small_network, module.SceneNetwork)
    helpers = module.Helpers(32)
    generated = losses(small_network, helpers, batch, (batch.ids, batch.patches), 0.05)
    assert generated.isfinite().all()
    assert (generated > 0).all()
    of_people = collate([of_row(*ROWS.rows[0]), of_item(next(items(1, held_out=False)))], reader)
    mixed = losses(small_network, helpers, of_people, (of_people.ids, of_people.patches), 0.05)
    assert mixed.isfinite().all()
    other = replace(of_people, holds=of_people.holds.clone())
    other.holds[1] = (other.holds[1] + 1) % 5
    changed = losses(small_network, helpers, other, (other.ids, other.patches), 0.05)
    assert changed[1] != mixed[1]
    assert torch.equal(changed[[0, 2, 3]], mixed[[0, 2, 3]])


def test_the_loss_falls(reader: Tokenizer, samples: list[Sample], tmp_path: Path) -> None:
    recipe = replace(RECIPE, steps=100, erased=0.0, thinned=0.0, learning_rate=3e-3)
    training = Training(reader, 3, recipe, tmp_path)
    found = torch.stack([training.step(samples) for _ in range(12)])
    assert (found[-2:].mean(0) < 0.9 * found[0]).all()  # of each of the four


@pytest.fixture
def every_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EVERY", 2)


@pytest.mark.usefixtures("every_two")
def test_a_training_that_was_interrupted_and_resumed_is_the_one_that_was_not(reader: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    (tmp_path / "parts").mkdir()
    whole = Training(reader, 3, RECIPE, tmp_path / "whole")
    first, *lines = train(whole, ROWS, {})
    assert first["seed"] == RECIPE.seed
    assert [line["step"] for line in lines] == [2, 4]
    parts = Training(reader, 3, RECIPE, tmp_path / "parts")
    list(train(parts, ROWS, {}, until=2))
    resumed = Training(reader, 3, RECIPE, tmp_path / "parts")
    resumed.resume()
    assert resumed.done == 2
    again = list(train(resumed, ROWS, {}))
    assert [line["losses"] for line in again[1:]] == [line["losses"] for line in lines[1:]]
    one, other = (load_file(tmp_path / name / WEIGHTS) for name in ("whole", "parts"))
    assert all(torch.equal(one[name], other[name]) for name in one)
    for mine, its in zip(whole.weights, resumed.weights, strict=True):
        assert torch.equal(mine, its)


@pytest.mark.usefixtures("every_two")
def test_the_same_seed_gives_the_same_weights_and_another_others(reader: Tokenizer, tmp_path: Path) -> None:
    made = []
    for name, seed in (("one", 2), ("again", 2), ("other", 3)):
        (tmp_path / name).mkdir()
        training = Training(reader, 3, replace(RECIPE, steps=2, seed=seed), tmp_path / name)
        list(train(training, ROWS, {}))
        made.append(load_file(tmp_path / name / WEIGHTS)["head.0.weight"])
    assert torch.equal(made[0], made[1])
    assert not torch.equal(made[0], made[2])


@pytest.mark.usefixtures("every_two")
def test_checked_samples_are_answered_at_the_end_by_the_averaged_weights(
    reader: Tokenizer, samples: list[Sample], tmp_path: Path
) -> None:
    training = Training(reader, 3, replace(RECIPE, steps=2), tmp_path)
    *_, last = train(training, ROWS, {"watched": samples})
    assert last["watched"] == right(training, samples)
    with torch.no_grad():  # a head that knows one answer
        training.average.module.head[-1].weight.zero_()  # type: ignore[union-attr,index]
        training.average.module.head[-1].bias.copy_(torch.tensor([0.0, 9.0, 0.0]))  # type: ignore[union-attr,index]
    assert right(training, samples) == pytest.approx(np.mean([each.label == 1 for each in samples]))


def test_what_is_kept_are_the_averaged_weights_and_a_checkpoint(reader: Tokenizer, tmp_path: Path) -> None:
    training = Training(reader, 3, RECIPE, tmp_path)
    training.step(ROWS.drawn(0, 4, human=0.0, borrowed=0.0))
    training.step(ROWS.drawn(1, 4, human=0.0, borrowed=0.0))
    training.save()
    kept, now = load_file(tmp_path / WEIGHTS), training.network.state_dict()
    averaged = training.average.module.state_dict()
    assert set(kept) == set(now)
    assert all(torch.equal(kept[name], averaged[name].half()) for name in kept)
    assert not torch.allclose(kept["head.0.weight"].float(), now["head.0.weight"], atol=1e-4)
    assert sorted(path.name for path in tmp_path.iterdir()) == [CHECKPOINT, WEIGHTS]


def test_the_learning_rate_rises_and_falls(reader: Tokenizer, tmp_path: Path) -> None:
    training = Training(reader, 3, replace(RECIPE, steps=20, rising=0.2, learning_rate=0.8), tmp_path)
    rates = []
    for _ in range(20):
        rates.append(training.schedule.get_last_lr()[0])
        training.optimiser.step()
        training.schedule.step()
    assert rates[:5] == pytest.approx([0.2, 0.4, 0.6, 0.8, 0.8])
    assert rates[5:] == pytest.approx([0.8 * (20 - step) / 16 for step in range(5, 20)])


def test_padding_is_not_read(batch: Batch) -> None:
    assert torch.equal(batch.attention == 0, batch.ids == PAD)
