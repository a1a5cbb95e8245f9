from dataclasses import replace

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer

from explainers.datasets.example import Example
from explainers.datasets.picture import Picture
from explainers.datasets.scenes.drawing import drawn
from explainers.datasets.scenes.generator import items
from explainers.datasets.scenes.statements import Count, Kind, Number
from explainers.models.scenes.hints import UNKNOWN
from explainers.models.scenes.lessons import Batch, Lessons, collate, erased, thinned
from explainers.models.scenes.model import SceneModel
from explainers.models.scenes.reader import LOOK, MASK, PAD
from explainers.models.scenes.recipe import Recipe
from explainers.models.scenes.samples import Sample, Sources, of_item

RECIPE = Recipe(steps=4, batch=3, human=0.25, borrowed=0.0, alone=0, seed=2)
ROWS = Sources([("There is a blue square", 0, drawn(next(items(9, held_out=False)).scene))])


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
    found = erased(batch, replace(RECIPE, erased=0.0), torch.Generator().manual_seed(0))
    for name, given in vars(batch).items():
        assert torch.equal(getattr(found, name), given)


def test_erased_words_are_the_mask_token_and_erased_patches_the_mean_colour(batch: Batch) -> None:
    found = erased(batch, replace(RECIPE, erased=1.0, most_erased=1.0), torch.Generator().manual_seed(0))
    gone = found.ids != batch.ids
    assert (found.ids[gone] == MASK).all()
    assert (batch.ids[gone] > LOOK).all()  # neither padding nor the frame nor patches
    blank = (found.patches == batch.means).all(-1)
    kept = (found.patches == batch.patches).all(-1)
    assert (blank | kept).all()
    for part, possible in ((gone, (batch.ids > LOOK)), (blank, torch.ones_like(blank))):
        share = part.sum().item() / possible.sum().item()
        assert 0.25 < share < 0.75  # each sample draws its own share between 0 and 1


def test_what_an_erased_patch_holds_is_not_asked(batch: Batch) -> None:
    found = erased(batch, replace(RECIPE, erased=1.0, most_erased=1.0), torch.Generator().manual_seed(0))
    blank = (found.patches == batch.means).all(-1)
    for name in ("holds", "fits"):
        answers, before = getattr(found, name), getattr(batch, name)
        assert (answers[blank] == UNKNOWN).all()
        assert torch.equal(answers[~blank], before[~blank])
    for name in ("number", "good", "matters", "labels", "counts"):
        assert torch.equal(getattr(found, name), getattr(batch, name))


def test_each_patch_that_is_kept_has_its_own_hints(samples: list[Sample], reader: Tokenizer) -> None:
    kept = [np.arange(number, 48, 5) for number in range(len(samples))]
    found = collate(samples, reader, kept)
    for row, (sample, places) in enumerate(zip(samples, kept, strict=True)):
        for name in ("holds", "fits", "number", "good", "matters"):
            answers = getattr(found, name)[row]
            assert np.array_equal(answers[: len(places)], getattr(sample.hints, name)[places])
            assert (answers[len(places) :] == UNKNOWN).all()
        assert found.counts[row] == sample.hints.count
        assert found.quantifiers[row] == sample.hints.quantifier
        assert found.n[row] == sample.hints.n


def test_the_mean_colour_is_that_of_all_pixels_that_are_read(samples: list[Sample], reader: Tokenizer) -> None:
    found = collate(samples, reader)
    for row, sample in enumerate(samples):
        mean = sample.patches.reshape(-1, 3).mean(0) / 127.5 - 1
        assert found.means[row, 0].reshape(-1, 3).numpy() == pytest.approx(np.tile(mean, (625, 1)), abs=1e-5)


def test_a_lesson_is_one_step_in_two_batches_of_which_the_second_is_longer(reader: Tokenizer) -> None:
    recipe = replace(RECIPE, batch=24, thinned=0.5)
    lessons = Lessons(ROWS, reader, recipe)
    assert len(lessons) == RECIPE.steps
    for step in range(3):
        short, long = lessons[step]
        assert len(short.ids) + len(long.ids) == 24
        assert len(short.ids) > len(long.ids)  # both halves take about the same time
        assert short.ids.shape[1] < long.ids.shape[1]
        assert not torch.equal(lessons[step + 1][0].labels, short.labels)
        for part, whole in enumerate((short, long)):
            (alone,) = replace(lessons, part=part)[step]
            assert all(
                torch.equal(one, other) for one, other in zip(vars(alone).values(), vars(whole).values(), strict=True)
            )


def test_nothing_is_borrowed_before_its_time(reader: Tokenizer) -> None:
    said = Count(Kind("blue"), Number("at least", 1))
    sources = Sources((), (("people meant this", said),))
    recipe = replace(RECIPE, batch=12, borrowed=1.0, alone=2, erased=0.0)
    words = reader.encode("people meant this", add_special_tokens=False).ids

    def spoken(step: int) -> int:
        rows = [row for batch in Lessons(sources, reader, recipe)[step] for row in batch.ids.tolist()]
        return sum(any(row[at : at + len(words)] == words for at in range(len(row))) for row in rows)

    assert [spoken(step) for step in range(4)] == [0, 0, 12, 12]


def test_padding_is_not_read(batch: Batch) -> None:
    assert torch.equal(batch.attention == 0, batch.ids == PAD)
