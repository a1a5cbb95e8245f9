"""Trains the adapter of a prompt: low-rank matrices on every linear layer of the language model, by cross-entropy over
the class words. Words are deleted at random from every other text, so that the model meets texts with gaps."""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from explainers.datasets.example import Example
from explainers.models.decoder import DecoderClassifier
from explainers.models.inputs.encoding import NO_UNIT
from explainers.models.optimisation import Adapted, adapted, load_checkpoint, optimiser_step
from explainers.models.prompted.model import PromptedModel

SHORTEST = 8  # words: the training part also has phrases of one word
CHECKPOINT = "checkpoint.pt"
EVERY = 100  # steps between checkpoints
ENDS = ("down", "up")  # A and B of an adapter


@dataclass(frozen=True)
class AdapterRecipe:
    rank: int = 8
    examples: int = 10_000
    batch: int = 16
    learning_rate: float = 5e-4
    rising: float = 0.05  # of the steps, until the learning rate is reached; then it falls to 0
    deleted: float = 0.15  # of the words of every other text
    longest: int = 96  # tokens; longer texts are left out
    seed: int = 0


Row = tuple[tuple[int, ...], tuple[int, ...], int]  # ids, owners, class


def chosen_rows(model: PromptedModel, examples: Sequence[Example], recipe: AdapterRecipe) -> list[Row]:
    """The training rows in random order."""
    sentences = [example for example in examples if len(example.text.split()) >= SHORTEST]
    random.Random(recipe.seed).shuffle(sentences)
    rows: list[Row] = []
    for example in sentences:
        encoding = model.encode(example)
        if len(encoding.ids) <= recipe.longest and example.label is not None:
            rows.append((encoding.ids, encoding.owners, example.label))
        if len(rows) == recipe.examples:
            break
    return rows


def batches(rows: Sequence[Row], recipe: AdapterRecipe) -> list[Sequence[Row]]:
    """Batches of about equal lengths in random order: sorted within pools of 20 batches."""
    pool = 20 * recipe.batch
    ready: list[Sequence[Row]] = [
        ordered[start : start + recipe.batch]
        for first in range(0, len(rows), pool)
        for ordered in [sorted(rows[first : first + pool], key=lambda row: len(row[0]))]
        for start in range(0, len(ordered), recipe.batch)
    ]
    random.Random(recipe.seed).shuffle(ready)
    return ready


def with_gaps(row: Row, share: float, chance: random.Random) -> list[int]:
    """The ids without some of the words."""
    ids, owners, _ = row
    gone = {owner for owner in set(owners) - {NO_UNIT} if chance.random() < share}
    return [number for number, owner in zip(ids, owners, strict=True) if owner not in gone]


def collated(rows: Sequence[Sequence[int]], padding: int) -> tuple[Tensor, Tensor]:
    """Ids and attention, (B, L) each; padding is right."""
    ids = nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=padding)
    lengths = torch.tensor([len(row) for row in rows])
    return ids, (torch.arange(ids.shape[1]) < lengths[:, None]).long()


def train(
    model: PromptedModel, rows: Sequence[Row], recipe: AdapterRecipe, folder: Path, show: Callable[[str], None]
) -> dict[str, Tensor]:
    """The adapter's tensors, fp16. It goes on from the last checkpoint in `folder` of the same recipe."""
    torch.manual_seed(recipe.seed)
    folder.mkdir(parents=True, exist_ok=True)
    network = model.words
    base = adapted(network.decoder.network, recipe.rank)
    parts = {name: module for name, module in base.named_modules() if isinstance(module, Adapted)}
    weights = [weight for part in parts.values() for weight in (part.down, part.up)]
    learning = DecoderClassifier(base, network.score)
    optimiser = torch.optim.AdamW(weights, recipe.learning_rate, weight_decay=0.01)
    ready = batches(rows, recipe)
    rising = recipe.rising * len(ready)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min((step + 1) / rising, max(0.0, (len(ready) - step) / (len(ready) - rising)))
    )
    done, checkpoint = 0, folder / CHECKPOINT
    if checkpoint.is_file():
        stored = load_checkpoint(checkpoint)
        if stored["recipe"] == asdict(recipe):
            base.load_state_dict(stored["weights"], strict=False)
            optimiser.load_state_dict(stored["optimiser"])
            schedule.load_state_dict(stored["schedule"])
            done = stored["done"]
    started, losses = time.monotonic(), list[float]()
    for number, batch in enumerate(ready[done:], done + 1):
        chance = random.Random(f"{recipe.seed} {number}")
        shares = [recipe.deleted if place % 2 else 0.0 for place in range(len(batch))]
        ids, attention = collated(
            [with_gaps(row, share, chance) for row, share in zip(batch, shares, strict=True)], model.pad_token
        )
        logits = learning(input_ids=ids, attention_mask=attention).logits
        loss = nn.functional.cross_entropy(logits, torch.tensor([row[2] for row in batch]))
        optimiser_step(loss, weights, optimiser)
        schedule.step()
        losses.append(float(loss.detach()))
        if number % EVERY == 0 or number == len(ready):
            state: dict[str, Any] = {
                "recipe": asdict(recipe),
                "weights": {f"{name}.{end}": getattr(part, end).data for name, part in parts.items() for end in ENDS},
                "optimiser": optimiser.state_dict(),
                "schedule": schedule.state_dict(),
                "done": number,
            }
            torch.save(state, checkpoint)
            rest = (time.monotonic() - started) / (number - done) * (len(ready) - number)
            recent = losses[-EVERY:]
            show(f"step {number} of {len(ready)}, loss {sum(recent) / len(recent):.3f}, {rest:.0f} s left")
    return {
        f"{name}.{end}": getattr(part, end).data.half().contiguous() for name, part in parts.items() for end in ENDS
    }
