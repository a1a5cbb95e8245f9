from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer

from explainers.datasets.scenes.generator import generate_items
from explainers.datasets.scenes.world import draw
from explainers.errors import ExplanationError
from explainers.models.scenes import training as module
from explainers.models.scenes.network import SceneNetwork
from explainers.models.scenes.recipe import SceneModelRecipe
from explainers.models.scenes.samples import UNKNOWN, Curriculum, SceneBatch, SceneSample, Sources, collate, row_sample
from explainers.models.scenes.training import (
    CHECKPOINT,
    WEIGHTS,
    MultiTaskNetwork,
    SceneTraining,
    sample_accuracy,
    train,
)

RECIPE = SceneModelRecipe(steps=4, batch=3, human=0.25, borrowed=0.0, alone=0, averaging=0.5, seed=2)
pytestmark = pytest.mark.usefixtures("narrow_networks")
ROWS = Sources([("There is a blue square", 0, draw(next(generate_items(9, held_out=False)).scene))])


@pytest.fixture(autouse=True)
def chance_of_the_process() -> Iterator[None]:
    """A training draws its first weights from torch's own generator."""
    with torch.random.fork_rng(devices=[]):
        yield


def test_only_what_is_known_is_learned(small_network: SceneNetwork, batch: SceneBatch, tokenizer: Tokenizer) -> None:
    learner = MultiTaskNetwork(small_network)
    generated = learner(batch, 0.05)
    assert generated.shape == (7,)
    assert generated.isfinite().all()
    assert (generated > 0).all()
    of_people = collate([row_sample(*ROWS.rows[0]), row_sample(*ROWS.rows[0])], tokenizer)
    alone = learner(of_people, 0.05)
    assert alone[0] > 0
    assert not alone[1:].any()
    alone.sum().backward()  # heads without a target have a gradient too, of 0
    assert all(weight.grad is not None for weight in learner.parameters())
    assert not learner.count.weight.grad.any()  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("holds", 1),
        ("fits", 2),
        ("number", 3),
        ("good", 3),
        ("matters", 4),
        ("counts", 5),
        ("quantifiers", 6),
        ("n", 6),
    ],
)
def test_each_target_counts_in_one_loss(small_network: SceneNetwork, batch: SceneBatch, name: str, index: int) -> None:
    learner, answers = MultiTaskNetwork(small_network), getattr(batch, name)
    yes_or_no = name in ("holds", "good", "matters")
    other = answers.where(answers == UNKNOWN, 1 - answers if yes_or_no else (answers + 1) % 4)
    plain, changed = learner(batch, 0.05), learner(replace(batch, **{name: other}), 0.05)
    assert (plain != changed).nonzero().flatten().tolist() == [index]


@pytest.mark.parametrize("quick", [True, False], ids=["bfloat16", "float32"])
def test_weights_of_32_bits_are_changed_in_either_precision(
    tokenizer: Tokenizer, samples: list[SceneSample], quick: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "computes_in_bfloat16", lambda _device: quick)
    training = SceneTraining(tokenizer, 3, replace(RECIPE, batch=len(samples)), tmp_path)
    before = [weight.clone() for weight in training.weights]
    losses = training.step(Curriculum(ROWS, tokenizer, RECIPE).batches(samples, 0))
    assert losses.isfinite().all()
    assert {weight.dtype for weight in training.weights} == {torch.float32}
    assert any(not torch.equal(one, other) for one, other in zip(before, training.weights, strict=True))


@pytest.mark.slow
def test_the_loss_falls(tokenizer: Tokenizer, samples: list[SceneSample], tmp_path: Path) -> None:
    recipe = replace(RECIPE, steps=100, batch=len(samples), erased=0.0, thinned=0.0, learning_rate=1e-2)
    training = SceneTraining(tokenizer, 3, recipe, tmp_path)
    batches = Curriculum(ROWS, tokenizer, recipe).batches(samples, 0)
    result = torch.stack([training.step(batches) for _ in range(45)])
    fallen = (result[-2:].mean(0) / result[0]).sort().values  # of each of the seven
    assert (fallen[:6] < 0.7).all()
    assert fallen[6] < 0.97  # the slow one


def test_a_step_counts_every_sample_once_in_however_many_batches(
    tokenizer: Tokenizer, samples: list[SceneSample], tmp_path: Path
) -> None:
    recipe = replace(RECIPE, batch=len(samples), smoothing=0.0)
    every = collate(samples, tokenizer)
    two_batches = [collate(samples[:3], tokenizer), collate(samples[3:], tokenizer)]
    (whole,), (parts,) = (
        [SceneTraining(tokenizer, 3, recipe, tmp_path).step(batches)[0]] for batches in ([every], two_batches)
    )
    assert whole.item() == pytest.approx(parts.item(), rel=1e-4)


def test_matrices_of_the_encoder_learn_by_muon_and_all_else_by_adamw(tokenizer: Tokenizer, tmp_path: Path) -> None:
    training = SceneTraining(tokenizer, 3, RECIPE, tmp_path)
    muon, adamw = (
        [weight for group in optimiser.param_groups for weight in group["params"]] for optimiser in training.optimisers
    )
    assert len(muon) == 6 * 6  # query, key, value, output and two of the feed-forward part in each layer
    assert len({id(weight) for weight in (*muon, *adamw)}) == len(muon) + len(adamw) == len(training.weights)


@pytest.fixture
def two_threads() -> Iterator[None]:
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(1)


@pytest.fixture
def every_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EVERY", 2)


@pytest.mark.slow
@pytest.mark.usefixtures("every_two")
def test_a_training_that_was_interrupted_and_resumed_is_the_one_that_was_not(
    tokenizer: Tokenizer, tmp_path: Path
) -> None:
    (tmp_path / "whole").mkdir()
    (tmp_path / "parts").mkdir()
    whole = SceneTraining(tokenizer, 3, RECIPE, tmp_path / "whole")
    first, *lines = train(whole, ROWS, {})
    assert first["seed"] == RECIPE.seed
    assert [line["step"] for line in lines] == [2, 4]
    parts = SceneTraining(tokenizer, 3, RECIPE, tmp_path / "parts")
    list(train(parts, ROWS, {}, until=2))
    resumed = SceneTraining(tokenizer, 3, RECIPE, tmp_path / "parts")
    resumed.resume()
    assert resumed.done == 2
    again = list(train(resumed, ROWS, {}))
    assert [line["losses"] for line in again[1:]] == [line["losses"] for line in lines[1:]]
    one, other = (load_file(tmp_path / name / WEIGHTS) for name in ("whole", "parts"))
    assert all(torch.equal(one[name], other[name]) for name in one)
    for mine, resumed_weight in zip(whole.weights, resumed.weights, strict=True):
        assert torch.equal(mine, resumed_weight)


@pytest.mark.slow
@pytest.mark.usefixtures("every_two")
def test_the_same_seed_gives_the_same_weights_and_another_others(tokenizer: Tokenizer, tmp_path: Path) -> None:
    head_weights = []
    for name, seed in (("one", 2), ("again", 2), ("other", 3)):
        (tmp_path / name).mkdir()
        training = SceneTraining(tokenizer, 3, replace(RECIPE, steps=2, seed=seed), tmp_path / name)
        list(train(training, ROWS, {}))
        head_weights.append(load_file(tmp_path / name / WEIGHTS)["head.0.weight"])
    assert torch.equal(head_weights[0], head_weights[1])
    assert not torch.equal(head_weights[0], head_weights[2])


@pytest.mark.usefixtures("every_two")
def test_checked_samples_are_answered_at_the_end_by_the_averaged_weights(
    tokenizer: Tokenizer, samples: list[SceneSample], tmp_path: Path
) -> None:
    training = SceneTraining(tokenizer, 3, replace(RECIPE, steps=2), tmp_path)
    *_, last = train(training, ROWS, {"monitored": samples})
    assert last["monitored"] == sample_accuracy(training, samples)
    with torch.no_grad():  # a head that knows one answer
        training.average.module.head[-1].weight.zero_()  # type: ignore[union-attr,index]
        training.average.module.head[-1].bias.copy_(torch.tensor([0.0, 9.0, 0.0]))  # type: ignore[union-attr,index]
    assert sample_accuracy(training, samples) == pytest.approx(np.mean([sample.label == 1 for sample in samples]))


def test_what_is_kept_are_the_averaged_weights_and_a_checkpoint(tokenizer: Tokenizer, tmp_path: Path) -> None:
    training = SceneTraining(tokenizer, 3, RECIPE, tmp_path)
    for step in range(2):
        training.step(Curriculum(ROWS, tokenizer, RECIPE)[step])
    training.save()
    kept, now = load_file(tmp_path / WEIGHTS), training.network.state_dict()
    averaged = training.average.module.state_dict()
    assert set(kept) == set(now)
    assert all(torch.equal(kept[name], averaged[name].half()) for name in kept)
    assert not torch.allclose(kept["head.0.weight"].float(), now["head.0.weight"], atol=1e-4)
    assert sorted(path.name for path in tmp_path.iterdir()) == [CHECKPOINT, WEIGHTS]


def test_a_checkpoint_of_another_version_is_a_sentence(tokenizer: Tokenizer, tmp_path: Path) -> None:
    torch.save({"network": {}, "done": 3}, tmp_path / CHECKPOINT)
    with pytest.raises(ExplanationError, match="is of another version"):
        SceneTraining(tokenizer, 3, RECIPE, tmp_path).resume()


def test_a_batch_of_one_cannot_be_shared() -> None:
    with pytest.raises(ValueError, match="at least 2 samples, not 1"):
        replace(RECIPE, batch=1)


def test_the_learning_rate_rises_and_falls(tokenizer: Tokenizer, tmp_path: Path) -> None:
    training = SceneTraining(tokenizer, 3, replace(RECIPE, steps=20, rising=0.2, learning_rate=0.8), tmp_path)
    for schedule, highest in zip(training.schedules, (0.8, 0.4), strict=True):
        rates = []
        for _ in range(20):
            rates.append(schedule.get_last_lr()[0])
            schedule.optimizer.step()
            schedule.step()
        assert rates[:5] == pytest.approx([highest * share for share in (0.25, 0.5, 0.75, 1, 1)])
        assert rates[5:] == pytest.approx([highest * (20 - step) / 16 for step in range(5, 20)])


@pytest.mark.usefixtures("every_two")
def test_two_processes_learn_what_one_would(tokenizer: Tokenizer, tmp_path: Path) -> None:
    """But for the last bits of sums, which early steps of AdamW blow up where a gradient is nearly nothing."""
    recipe = replace(RECIPE, steps=2, batch=12)
    start, alone, half, together = (SceneTraining(tokenizer, 3, recipe, tmp_path) for _ in range(4))
    steps = [Curriculum(ROWS, tokenizer, recipe)[step] for step in range(2)]
    expected = torch.stack([alone.step(batches) for batches in steps]).mean(0)
    for batches in steps:
        half.step(batches[:1])
    *_, line = train(together, ROWS, {})
    assert line["losses"] == pytest.approx(expected.tolist(), rel=1e-2, abs=1e-3)

    def moved(one: SceneTraining, other: SceneTraining) -> float:
        return sum((a - b).square().sum().item() for a, b in zip(one.weights, other.weights, strict=True))

    assert moved(alone, start) > 0
    assert moved(together, alone) < 0.1 * moved(half, alone)
    assert sorted(path.name for path in tmp_path.iterdir()) == [CHECKPOINT, WEIGHTS]


@pytest.mark.slow
@pytest.mark.usefixtures("every_two", "two_threads")
def test_a_training_that_is_left_leaves_no_process(tokenizer: Tokenizer, tmp_path: Path) -> None:
    before = psutil.Process().children(recursive=True)  # of models that other tests keep
    lines = train(SceneTraining(tokenizer, 3, RECIPE, tmp_path), ROWS, {})
    next(lines), next(lines)
    children = [child for child in psutil.Process().children(recursive=True) if child not in before]
    assert len(children) >= 3  # the helper, and the two that make lessons
    lines.close()
    _, alive = psutil.wait_procs(children, 60)  # a worker looks for its parent every few seconds
    assert not alive
    assert torch.get_num_threads() == 2
    assert not torch.distributed.is_initialized()
