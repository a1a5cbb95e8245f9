"""Training of `scenes` from nothing. The label alone teaches slowly, so layers below are told what there is to see:

    L = CE(label) + CE(what each patch holds | layer 2) + BCE(which patches matter | layer 4) + ⅓ CE(count | c)

The last three are asked of heads that are thrown away, and only of generated scenes. In every third sample some words
are [MASK] and some patches show the picture's mean colour while the label stays: so the model learns the probability
of each label given what is left, and knows the operators by which units are erased from it later. Most of the patches
that show nothing but paper are left out of most samples: that saves a third of the time, and is how "delete" erases.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from explainers.datasets.scenes.drawing import PAPER
from explainers.models.checkpoints import restored
from explainers.models.scenes.network import PATCHES, SceneNetwork, scaled
from explainers.models.scenes.reader import LOOK, MASK, PAD, framed
from explainers.models.scenes.samples import HOLDS, MOST, UNKNOWN, Sample, Sources

CHECKPOINT, WEIGHTS = "checkpoint.pt", "weights.safetensors"
EVERY = 100  # steps between two lines of the log and two checkpoints


@dataclass(frozen=True)
class Recipe:
    steps: int = 4600
    batch: int = 64
    learning_rate: float = 1e-3
    rising: float = 0.05  # share of the steps in which the learning rate rises
    smoothing: float = 0.05  # saturated probabilities leave nothing for a gradient to explain
    thinned: float = 0.85  # share of the samples in which empty patches are left out
    left_out: float = 0.8  # share of such a sample's empty patches
    erased: float = 0.33  # share of the samples in which something is erased
    most_erased: float = 0.5  # of such a sample's words or patches
    human: float = 0.2  # share of NLVR's own rows
    borrowed: float = 0.4  # share of what people wrote among the generated ones
    alone: int = 1500  # steps before anything is borrowed
    averaging: float = 0.999
    weight_decay: float = 0.01
    seed: int = 0


@dataclass(frozen=True)
class Batch:
    ids: Tensor  # (B, L)
    segments: Tensor  # (B, L)
    attention: Tensor  # (B, L)
    patches: Tensor  # (B, P, 1875)
    numbers: Tensor  # (B, P): which of the 48 places each has
    means: Tensor  # (B, 1, 1875): a patch of the picture's mean colour
    labels: Tensor  # (B,)
    holds: Tensor  # (B, P)
    matters: Tensor  # (B, P)
    counts: Tensor  # (B,)

    @property
    def inputs(self) -> dict[str, Tensor]:
        return {"attention_mask": self.attention, "token_type_ids": self.segments}


def collate(samples: Sequence[Sample], reader: Tokenizer, kept: Sequence[NDArray[np.int64]] = ()) -> Batch:
    """`kept` are the numbers of the patches of each sample that are read; all without it."""
    places = [torch.from_numpy(each) for each in kept] or [torch.arange(PATCHES)] * len(samples)
    numbers = nn.utils.rnn.pad_sequence(places, batch_first=True)  # (B, P)
    most = numbers.shape[1]
    real = torch.arange(most) < torch.tensor([len(each) for each in places])[:, None]
    sentences = reader.encode_batch([each.text for each in samples], add_special_tokens=False)
    rows = [framed(found.ids, most) for found in sentences]
    ids = nn.utils.rnn.pad_sequence([torch.tensor(row[0]) for row in rows], batch_first=True, padding_value=PAD)
    segments = nn.utils.rnn.pad_sequence([torch.tensor(row[1]) for row in rows], batch_first=True)
    attention = (ids != PAD).long()
    attention[:, 1 : most + 1] = real.long()

    def chosen(parts: Sequence[NDArray[np.int64]]) -> Tensor:
        return torch.from_numpy(np.stack(parts)).gather(1, numbers).where(real, UNKNOWN)

    raw = np.stack([each.patches for each in samples])  # (B, 48, 1875)
    means = raw.reshape(len(samples), -1, 3).mean(1)  # (B, 3)
    return Batch(
        ids,
        segments,
        attention,
        scaled(np.take_along_axis(raw, numbers.numpy()[:, :, None], 1)),
        numbers,
        scaled(np.tile(means, raw.shape[-1] // 3))[:, None],
        torch.tensor([each.label for each in samples]),
        chosen([each.holds for each in samples]),
        chosen([each.matters for each in samples]),
        torch.tensor([each.count for each in samples]),
    )


def thinned(samples: Sequence[Sample], recipe: Recipe, chance: np.random.Generator) -> list[NDArray[np.int64]]:
    """The patches that are left of each sample."""
    found = []
    for sample in samples:
        empty = (sample.patches == PAPER[0]).all(1) & (chance.random() < recipe.thinned)
        found.append(np.flatnonzero(~empty | (chance.random(PATCHES) >= recipe.left_out)))
    return found


def erased(batch: Batch, recipe: Recipe, chance: torch.Generator) -> tuple[Tensor, Tensor]:
    """Ids and patches of which some samples have lost a random share of their words, of their patches, or of both."""
    rows = len(batch.ids)
    chosen = torch.rand(rows, 1, generator=chance) < recipe.erased
    shares = torch.rand(2, rows, 1, generator=chance) * recipe.most_erased * chosen
    gone = (torch.rand(batch.ids.shape, generator=chance) < shares[0]) & (batch.ids > LOOK)
    blank = torch.rand(batch.numbers.shape, generator=chance) < shares[1]
    return batch.ids.where(~gone, MASK), torch.where(blank[:, :, None], batch.means, batch.patches)


class Helpers(nn.Module):
    """Heads that are thrown away after the training."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.holds, self.matters, self.counts = nn.Linear(width, HOLDS), nn.Linear(width, 1), nn.Linear(width, MOST)


def losses(
    network: SceneNetwork, helpers: Helpers, batch: Batch, given: tuple[Tensor, Tensor], smoothing: float
) -> Tensor:
    """(4,): label, what patches hold, which matter, count. Rows of nothing but unknowns cost nothing."""
    ids, patches = given
    found = network.base_model(
        inputs_embeds=network.embeds(ids, patches, batch.numbers), output_hidden_states=True, **batch.inputs
    )
    hidden = [state[:, 1 : patches.shape[1] + 1] for state in found.hidden_states]
    present = batch.attention[:, :, None].float()
    c = (found.last_hidden_state * present).sum(1) / present.sum(1)
    known = batch.matters >= 0
    matters = helpers.matters(hidden[4])[..., 0][known]
    return torch.stack(
        [
            cross_entropy(network.head(c), batch.labels, label_smoothing=smoothing),
            cross_entropy(helpers.holds(hidden[2]).transpose(1, 2), batch.holds, ignore_index=UNKNOWN),
            binary_cross_entropy_with_logits(matters, batch.matters[known].float()),
            cross_entropy(helpers.counts(c), batch.counts, ignore_index=UNKNOWN) / 3,
        ]
    )


class Training:
    """One training; `folder/checkpoint.pt` holds all that `resume` needs to go on."""

    def __init__(self, reader: Tokenizer, classes: int, recipe: Recipe, folder: Path) -> None:
        torch.manual_seed(recipe.seed)
        self.reader, self.recipe, self.folder, self.done = reader, recipe, folder, 0
        self.network = SceneNetwork(reader.get_vocab_size(), classes)
        self.helpers = Helpers(self.network.base_model.config.hidden_size)
        self.average = AveragedModel(self.network, multi_avg_fn=get_ema_multi_avg_fn(recipe.averaging))  # type: ignore[no-untyped-call]
        self.weights = [*self.network.parameters(), *self.helpers.parameters()]
        self.optimiser = torch.optim.AdamW(
            self.weights, recipe.learning_rate, betas=(0.9, 0.98), weight_decay=recipe.weight_decay
        )
        rising, steps = recipe.rising * recipe.steps, recipe.steps
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimiser, lambda step: min((step + 1) / rising, max(0.0, (steps - step) / (steps - rising)))
        )

    def step(self, samples: Sequence[Sample]) -> Tensor:
        """(4,): the losses."""
        self.network.train()
        number = self.recipe.seed * 1_000_003 + self.done
        batch = collate(samples, self.reader, thinned(samples, self.recipe, np.random.default_rng(number)))
        chance = torch.Generator().manual_seed(number)
        found = losses(self.network, self.helpers, batch, erased(batch, self.recipe, chance), self.recipe.smoothing)
        self.optimiser.zero_grad()
        found.sum().backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.weights, 1.0)
        self.optimiser.step()
        self.schedule.step()
        self.average.update_parameters(self.network)
        self.done += 1
        return found.detach()

    def save(self) -> None:
        names = ("network", "helpers", "average", "optimiser", "schedule")
        parts = {name: getattr(self, name).state_dict() for name in names}
        torch.save({**parts, "done": self.done}, self.folder / CHECKPOINT)
        weights = {name: tensor.half() for name, tensor in self.average.module.state_dict().items()}
        save_file(weights, self.folder / WEIGHTS)

    def resume(self) -> None:
        kept = restored(self.folder / CHECKPOINT)
        for name in ("network", "helpers", "average", "optimiser", "schedule"):
            getattr(self, name).load_state_dict(kept[name])
        self.done = kept["done"]


def train(
    training: Training, sources: Sources, checked: dict[str, Sequence[Sample]], until: int | None = None
) -> Iterator[dict[str, object]]:
    """Yields a line for the log after every `EVERY` steps, with the accuracy on the `checked` samples now and then."""
    recipe, started, seen = training.recipe, time.perf_counter(), []
    yield asdict(recipe)
    while training.done < (until or recipe.steps):
        borrowed = recipe.borrowed if training.done >= recipe.alone else 0.0
        number = recipe.seed * 1_000_003 + training.done
        seen.append(training.step(sources.drawn(number, recipe.batch, human=recipe.human, borrowed=borrowed)))
        if training.done % EVERY == 0 or training.done == recipe.steps:
            training.save()
            line: dict[str, object] = {
                "step": training.done,
                "losses": [round(value, 4) for value in torch.stack(seen).mean(0).tolist()],
                "seconds": round(time.perf_counter() - started),
            }
            if training.done % (5 * EVERY) == 0 or training.done == recipe.steps:
                line |= {name: right(training, samples) for name, samples in checked.items()}
            seen.clear()
            yield line


def right(training: Training, samples: Sequence[Sample]) -> float:
    """Accuracy of the averaged weights."""
    network, hits = cast(SceneNetwork, training.average.module.eval()), 0
    with torch.inference_mode():
        for start in range(0, len(samples), 64):
            batch = collate(samples[start : start + 64], training.reader)
            logits = network(inputs_embeds=network.embeds(batch.ids, batch.patches, batch.numbers), **batch.inputs)
            hits += int((logits.argmax(-1) == batch.labels).sum())
    return round(hits / len(samples), 4)
