"""Training of an embedded model: the encoder layers (or a LoRA adapter in them) and the head; word embeddings stay.

What is trained is kept as fp16 in one safetensors file next to the base weights, which are never shipped. The weights
that count are an exponential moving average over the steps, which generalises better than the last step alone. Some
tokens of every other text are replaced by [MASK]: it regularises, and the model then knows the token by which words
are erased from it later.
"""

import json
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from explainers.datasets.example import Example
from explainers.models.base import base_folder
from explainers.models.bundle import WEIGHTS, tokenizer
from explainers.models.checkpoints import restored
from explainers.models.network import PooledClassifier, encoder

LINEAR_LAYERS = ["query", "key", "value", "attention.output.dense", "intermediate.dense", "output.dense"]
CHECKPOINT, LOG = "checkpoint.pt", "log.jsonl"
SPECIAL_BELOW = 999  # BERT's vocabulary begins with special and unused tokens; words start here
Encoded = tuple[list[int], list[int], int]  # ids, segments, class


@dataclass(frozen=True)
class Recipe:
    """`rank` 0 trains the encoder layers themselves; a positive one trains a LoRA adapter on all linear layers."""

    rank: int = 0
    epochs: int = 3
    warm_up_epochs: int = 1  # of these, the first ones see the warm-up texts too
    learning_rate: float = 1e-4
    batch: int = 64
    smoothing: float = 0.05  # label smoothing: saturated probabilities leave nothing for a gradient to explain
    masking: float = 0.15  # of the tokens, in every other text
    averaging: float = 0.998  # decay of the moving average, per step
    rising: float = 0.06  # share of the steps in which the learning rate rises
    weight_decay: float = 0.01
    longest: int = 128  # tokens of a training text
    seed: int = 0


@dataclass(frozen=True)
class Batch:
    ids: Tensor  # (B, L)
    attention: Tensor  # (B, L)
    segments: Tensor  # (B, L)
    labels: Tensor  # (B,)


def batches(encoded: Sequence[Encoded], size: int, order: random.Random) -> list[Sequence[Encoded]]:
    """Batches of about equal lengths in random order: sorted within pools of 50 batches."""
    shuffled = list(encoded)
    order.shuffle(shuffled)
    pools = [shuffled[start : start + 50 * size] for start in range(0, len(shuffled), 50 * size)]
    ready: list[Sequence[Encoded]] = [
        pool[start : start + size]
        for pool in (sorted(pool, key=lambda item: len(item[0])) for pool in pools)
        for start in range(0, len(pool), size)
    ]
    order.shuffle(ready)
    return ready


def collate(items: Sequence[Encoded]) -> Batch:
    ids, segments = (
        nn.utils.rnn.pad_sequence([torch.tensor(item[part]) for item in items], batch_first=True) for part in (0, 1)
    )
    lengths = torch.tensor([len(item[0]) for item in items])
    attention = (torch.arange(ids.shape[1]) < lengths[:, None]).long()
    return Batch(ids, attention, segments, torch.tensor([item[2] for item in items]))


def masked(ids: Tensor, share: float, filler: int) -> Tensor:
    """(B, L) with `share` of the words' tokens replaced by `filler`, in every other row."""
    chosen = (torch.rand(ids.shape) < share) & (ids >= SPECIAL_BELOW)
    chosen[::2] = False
    return torch.where(chosen, filler, ids)


def trainable(classifier: PooledClassifier, rank: int) -> None:
    """Chooses what learns: with `rank` the adapter and the head, without it all but the embeddings."""
    if rank:
        from peft import LoraConfig, inject_adapter_in_model

        adapter = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=LINEAR_LAYERS, lora_dropout=0.0)
        inject_adapter_in_model(adapter, classifier.base_model)
    classifier.base_model.embeddings.requires_grad_(False)


def accuracy(classifier: nn.Module, encoded: Sequence[Encoded]) -> float:
    classifier.eval()
    right = 0
    with torch.inference_mode():
        for batch in map(collate, (encoded[start : start + 64] for start in range(0, len(encoded), 64))):
            right += int((classifier(**inputs(batch)).argmax(1) == batch.labels).sum())
    return right / len(encoded)


def inputs(batch: Batch) -> dict[str, Tensor]:
    return {"input_ids": batch.ids, "attention_mask": batch.attention, "token_type_ids": batch.segments}


def learned(classifier: nn.Module) -> dict[str, Tensor]:
    """The tensors that a bundle ships."""
    return {name: weight.detach().half() for name, weight in classifier.named_parameters() if weight.requires_grad}


class Training:
    """One training, epoch by epoch; after each, `folder/checkpoint.pt` holds all that `resume` needs to go on."""

    def __init__(self, classes: int, recipe: Recipe, folder: Path, steps: int) -> None:
        torch.manual_seed(recipe.seed)
        folder.mkdir(parents=True, exist_ok=True)
        self.recipe, self.folder, self.done, self.epoch = recipe, folder, 0, 0
        self.classifier = PooledClassifier(encoder(base_folder()), classes)
        trainable(self.classifier, recipe.rank)
        self.weights = [weight for weight in self.classifier.parameters() if weight.requires_grad]
        self.average = AveragedModel(self.classifier, multi_avg_fn=get_ema_multi_avg_fn(recipe.averaging))  # type: ignore[no-untyped-call]
        self.optimiser = torch.optim.AdamW(self.weights, recipe.learning_rate, weight_decay=recipe.weight_decay)
        rising = recipe.rising * steps
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimiser, lambda step: min((step + 1) / rising, max(0.0, (steps - step) / (steps - rising)))
        )
        self.objective = nn.CrossEntropyLoss(label_smoothing=recipe.smoothing)

    def step(self, batch: Batch, filler: int) -> float:
        self.classifier.train()
        seen = inputs(batch) | {"input_ids": masked(batch.ids, self.recipe.masking, filler)}
        loss = self.objective(self.classifier(**seen), batch.labels)
        self.optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.weights, 1.0)
        self.optimiser.step()
        self.schedule.step()
        self.average.update_parameters(self.classifier)
        self.done += 1
        return float(loss.detach())

    def save(self) -> None:
        save_file(learned(self.average.module), self.folder / WEIGHTS)
        parts = {name: getattr(self, name).state_dict() for name in ("classifier", "average", "optimiser", "schedule")}
        numbers = {"done": self.done, "epoch": self.epoch, "chance": torch.get_rng_state()}
        torch.save({**parts, **numbers}, self.folder / CHECKPOINT)

    def resume(self) -> None:
        kept = restored(self.folder / CHECKPOINT)
        for name in ("classifier", "average", "optimiser", "schedule"):
            getattr(self, name).load_state_dict(kept[name])
        self.done, self.epoch = kept["done"], kept["epoch"]
        torch.set_rng_state(kept["chance"])


def train(
    parts: tuple[Sequence[Example], Sequence[Example], Sequence[Example]],
    classes: int,
    recipe: Recipe,
    folder: Path,
    *,
    resume: bool = False,
) -> None:
    """Trains on (train, warm-up, validation), writes `folder/weights.safetensors` and a line of JSON per 100 steps."""
    splitter = tokenizer(base_folder(), recipe.longest)
    filler = splitter.get_vocab()["[MASK]"]

    def encoded(part: Sequence[Example]) -> list[Encoded]:
        found = splitter.encode_batch([(item.text, item.pair) if item.pair else item.text for item in part])
        return [(each.ids, each.type_ids, item.label or 0) for each, item in zip(found, part, strict=True)]

    texts, warm_up, validation = map(encoded, parts)
    per_epoch = [
        -(-(len(texts) + (len(warm_up) if epoch < recipe.warm_up_epochs else 0)) // recipe.batch)
        for epoch in range(recipe.epochs)
    ]
    training = Training(classes, recipe, folder, sum(per_epoch))
    if resume:
        training.resume()
    with (folder / LOG).open("a") as log:

        def note(line: dict[str, object]) -> None:
            print(json.dumps(line), file=log, flush=True)

        note({"texts": len(texts), "warm_up": len(warm_up), "steps": sum(per_epoch), **asdict(recipe)})
        started = time.perf_counter()
        while training.epoch < recipe.epochs:
            seen = texts + warm_up if training.epoch < recipe.warm_up_epochs else texts
            order = random.Random(recipe.seed * 1000 + training.epoch)
            for mean_loss in _epoch(training, batches(seen, recipe.batch, order), filler):
                note({"step": training.done, "loss": mean_loss, "seconds": time.perf_counter() - started})
            training.epoch += 1
            training.save()
            right = accuracy(training.average.module, validation)
            note({"epoch": training.epoch, "step": training.done, "validation": right})


def _epoch(training: Training, ready: list[Sequence[Encoded]], filler: int) -> Iterator[float]:
    """Yields the mean loss of each 100 steps."""
    losses: list[float] = []
    for items in ready:
        losses.append(training.step(collate(items), filler))
        if len(losses) == 100:
            yield sum(losses) / len(losses)
            losses.clear()
