from dataclasses import replace

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer

from explainers.datasets.example import Example, InputImage
from explainers.datasets.scenes.generator import generate_items
from explainers.datasets.scenes.statements import Count, Kind, Number
from explainers.datasets.scenes.world import draw
from explainers.models.scenes.model import SceneModel
from explainers.models.scenes.network import MASK, PAD, PATCH_ID
from explainers.models.scenes.recipe import SceneModelRecipe
from explainers.models.scenes.samples import (
    UNKNOWN,
    Curriculum,
    SceneBatch,
    SceneSample,
    Sources,
    collate,
    erase_units,
    item_sample,
    kept_patches,
)

RECIPE = SceneModelRecipe(steps=4, batch=3, human=0.25, borrowed=0.0, alone=0, seed=2)
ROWS = Sources([("There is a blue square", 0, draw(next(generate_items(9, held_out=False)).scene))])


def test_a_batch_gives_the_probabilities_of_the_model(model: SceneModel, tokenizer: Tokenizer) -> None:
    generated = [next(generate_items(seed, held_out=False)) for seed in range(4)]
    inputs = collate([item_sample(item) for item in generated], tokenizer)
    network = model.module
    logits = network(inputs_embeds=network.embeds(inputs.ids, inputs.patches, inputs.numbers), **inputs.inputs)
    for item, answer in zip(generated, logits.softmax(-1).detach(), strict=True):
        encoding = model.encode(Example(item.wording.text, image=InputImage.of(draw(item.scene))))
        (result,) = model.probabilities(encoding, np.ones((1, len(encoding.units))))
        assert answer.numpy() == pytest.approx(result, abs=1e-5)


def test_patches_left_out_of_a_batch_are_those_that_are_deleted(model: SceneModel, tokenizer: Tokenizer) -> None:
    generated = [next(generate_items(seed, held_out=False)) for seed in range(2)]
    kept = [np.arange(0, 48, 3), np.arange(20)]
    inputs = collate([item_sample(item) for item in generated], tokenizer, kept)
    assert inputs.numbers.shape == (2, 20)
    assert inputs.attention[:, 1:21].sum(1).tolist() == [16, 20]
    assert (inputs.holds[0, 16:] == UNKNOWN).all()
    network = model.module
    logits = network(inputs_embeds=network.embeds(inputs.ids, inputs.patches, inputs.numbers), **inputs.inputs)
    for item, answer, left in zip(generated, logits.softmax(-1).detach(), kept, strict=True):
        encoding = model.encode(Example(item.wording.text, image=InputImage.of(draw(item.scene))))
        words = len(encoding.units) - 48
        keeps = np.concatenate([np.ones(words), np.isin(np.arange(48), left)])
        assert answer.numpy() == pytest.approx(model.probabilities(encoding, keeps, "delete")[0], abs=1e-5)


def test_the_mean_colour_of_training_is_that_of_the_model(model: SceneModel, tokenizer: Tokenizer) -> None:
    generated = next(generate_items(3, held_out=False))
    inputs = collate([item_sample(generated)], tokenizer)
    encoding = model.encode(Example(generated.wording.text, image=InputImage.of(draw(generated.scene))))
    mean_patch = model.module.embed_patches(inputs.means, torch.tensor([[7]]))[0, 0]  # type: ignore[operator]
    assert encoding.patch_embeddings is not None
    assert mean_patch.detach().numpy() == pytest.approx(encoding.patch_embeddings.replacement("mask")[1 + 7], abs=1e-5)


def test_in_thinned_samples_only_patches_of_bare_paper_are_left_out(samples: list[SceneSample]) -> None:
    generator = np.random.default_rng(0)
    every = kept_patches(samples, replace(RECIPE, thinned=1.0, left_out=1.0), generator)
    for sample, kept in zip(samples, every, strict=True):
        assert kept.tolist() == [number for number in range(48) if (sample.patches[number] != 211).any()]
    assert 0 < np.mean([len(kept) for kept in every]) < 40
    for recipe in (replace(RECIPE, thinned=0.0, left_out=1.0), replace(RECIPE, thinned=1.0, left_out=0.0)):
        assert all(len(kept) == 48 for kept in kept_patches(samples, recipe, generator))


def test_nothing_is_erased_where_no_sample_is_chosen(batch: SceneBatch) -> None:
    result = erase_units(batch, replace(RECIPE, erased=0.0), torch.Generator().manual_seed(0))
    for name, value in vars(batch).items():
        assert torch.equal(getattr(result, name), value)


def test_erased_words_are_the_mask_token_and_erased_patches_the_mean_colour(batch: SceneBatch) -> None:
    result = erase_units(batch, replace(RECIPE, erased=1.0, most_erased=1.0), torch.Generator().manual_seed(0))
    masked = result.ids != batch.ids
    assert (result.ids[masked] == MASK).all()
    assert (batch.ids[masked] > PATCH_ID).all()  # neither padding nor the frame nor patches
    blank = (result.patches == batch.means).all(-1)
    kept = (result.patches == batch.patches).all(-1)
    assert (blank | kept).all()
    for part, possible in ((masked, (batch.ids > PATCH_ID)), (blank, torch.ones_like(blank))):
        share = part.sum().item() / possible.sum().item()
        assert 0.25 < share < 0.75  # each sample draws its own share between 0 and 1


def test_the_contents_of_an_erased_patch_are_no_target(batch: SceneBatch) -> None:
    result = erase_units(batch, replace(RECIPE, erased=1.0, most_erased=1.0), torch.Generator().manual_seed(0))
    blank = (result.patches == batch.means).all(-1)
    for name in ("holds", "fits"):
        answers, before = getattr(result, name), getattr(batch, name)
        assert (answers[blank] == UNKNOWN).all()
        assert torch.equal(answers[~blank], before[~blank])
    for name in ("number", "good", "matters", "labels", "counts"):
        assert torch.equal(getattr(result, name), getattr(batch, name))


def test_each_patch_that_is_kept_has_its_own_hints(samples: list[SceneSample], tokenizer: Tokenizer) -> None:
    kept = [np.arange(number, 48, 5) for number in range(len(samples))]
    result = collate(samples, tokenizer, kept)
    for row, (sample, places) in enumerate(zip(samples, kept, strict=True)):
        for name in ("holds", "fits", "number", "good", "matters"):
            answers = getattr(result, name)[row]
            assert np.array_equal(answers[: len(places)], getattr(sample.targets, name)[places])
            assert (answers[len(places) :] == UNKNOWN).all()
        assert result.counts[row] == sample.targets.count
        assert result.quantifiers[row] == sample.targets.quantifier
        assert result.n[row] == sample.targets.n


def test_the_mean_colour_is_that_of_all_pixels_that_are_read(samples: list[SceneSample], tokenizer: Tokenizer) -> None:
    result = collate(samples, tokenizer)
    for row, sample in enumerate(samples):
        mean = sample.patches.reshape(-1, 3).mean(0) / 127.5 - 1
        assert result.means[row, 0].reshape(-1, 3).numpy() == pytest.approx(np.tile(mean, (625, 1)), abs=1e-5)


def test_a_lesson_is_one_step_in_two_batches_of_which_the_second_is_longer(tokenizer: Tokenizer) -> None:
    recipe = replace(RECIPE, batch=24, thinned=0.5)
    curriculum = Curriculum(ROWS, tokenizer, recipe)
    assert len(curriculum) == RECIPE.steps
    for step in range(3):
        short, long = curriculum[step]
        assert len(short.ids) + len(long.ids) == 24
        assert len(short.ids) > len(long.ids)  # both halves take about the same time
        assert short.ids.shape[1] < long.ids.shape[1]
        assert not torch.equal(curriculum[step + 1][0].labels, short.labels)
        for part, whole in enumerate((short, long)):
            (alone,) = replace(curriculum, part=part)[step]
            assert all(
                torch.equal(one, other) for one, other in zip(vars(alone).values(), vars(whole).values(), strict=True)
            )


def test_nothing_is_borrowed_before_its_time(tokenizer: Tokenizer) -> None:
    statement = Count(Kind("blue"), Number("at least", 1))
    sources = Sources((), (("people meant this", statement),))
    recipe = replace(RECIPE, batch=12, borrowed=1.0, alone=2, erased=0.0)
    words = tokenizer.encode("people meant this", add_special_tokens=False).ids

    def borrowed_rows(step: int) -> int:
        rows = [row for batch in Curriculum(sources, tokenizer, recipe)[step] for row in batch.ids.tolist()]
        return sum(any(row[at : at + len(words)] == words for at in range(len(row))) for row in rows)

    assert [borrowed_rows(step) for step in range(4)] == [0, 0, 12, 12]


def test_padding_is_not_read(batch: SceneBatch) -> None:
    assert torch.equal(batch.attention == 0, batch.ids == PAD)
