"""Training of an embedded model: the encoder layers (or a LoRA adapter in them) and the head; word embeddings stay.

What is trained is kept as fp16 in one safetensors file next to the base weights, which are never shipped.
"""

import json
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from explainers.datasets.example import Example
from explainers.models.base import base_folder
from explainers.models.bundle import WEIGHTS, tokenizer
from explainers.models.network import PooledClassifier, encoder

LINEAR_LAYERS = ["query", "key", "value", "attention.output.dense", "intermediate.dense", "output.dense"]


@dataclass(frozen=True)
class Recipe:
    """`rank` 0 trains the encoder layers themselves; a positive one trains a LoRA adapter on all linear layers."""

    rank: int = 0
    epochs: int = 4
    learning_rate: float = 1e-4
    batch: int = 64
    smoothing: float = 0.05  # label smoothing: saturated probabilities leave nothing for a gradient to explain
    warmup: float = 0.06
    weight_decay: float = 0.01
    longest: int = 128  # tokens of a training text
    seed: int = 0


@dataclass(frozen=True)
class Batch:
    ids: Tensor  # (B, L)
    attention: Tensor  # (B, L)
    segments: Tensor  # (B, L)
    labels: Tensor  # (B,)


def batches(encoded: Sequence[tuple[list[int], list[int], int]], size: int, order: random.Random) -> Iterator[Batch]:
    """Batches of about equal lengths in random order: sorted within pools of 50 batches."""
    shuffled = list(encoded)
    order.shuffle(shuffled)
    pools = [shuffled[start : start + 50 * size] for start in range(0, len(shuffled), 50 * size)]
    ready = [
        pool[start : start + size]
        for pool in (sorted(pool, key=lambda item: len(item[0])) for pool in pools)
        for start in range(0, len(pool), size)
    ]
    order.shuffle(ready)
    return map(collate, ready)


def collate(items: Sequence[tuple[list[int], list[int], int]]) -> Batch:
    ids, segments = (
        nn.utils.rnn.pad_sequence([torch.tensor(item[part]) for item in items], batch_first=True) for part in (0, 1)
    )
    lengths = torch.tensor([len(item[0]) for item in items])
    attention = (torch.arange(ids.shape[1]) < lengths[:, None]).long()
    return Batch(ids, attention, segments, torch.tensor([item[2] for item in items]))


def trainable(classifier: PooledClassifier, rank: int) -> None:
    """Chooses what learns: with `rank` the adapter and the head, without it all but the embeddings."""
    if rank:
        from peft import LoraConfig, inject_adapter_in_model

        adapter = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=LINEAR_LAYERS, lora_dropout=0.0)
        inject_adapter_in_model(adapter, classifier.base_model)
    classifier.base_model.embeddings.requires_grad_(False)


def accuracy(classifier: nn.Module, encoded: Sequence[tuple[list[int], list[int], int]]) -> float:
    classifier.eval()
    right = 0
    with torch.inference_mode():
        for batch in map(collate, (encoded[start : start + 64] for start in range(0, len(encoded), 64))):
            logits = classifier(input_ids=batch.ids, attention_mask=batch.attention, token_type_ids=batch.segments)
            right += int((logits.argmax(1) == batch.labels).sum())
    return right / len(encoded)


def learned(classifier: nn.Module) -> dict[str, Tensor]:
    return {name: weight.detach().half() for name, weight in classifier.named_parameters() if weight.requires_grad}


def train(
    train_part: Sequence[Example],
    validation: Sequence[Example],
    labels: Sequence[str],
    recipe: Recipe,
    folder: Path,
    *,
    resume: bool = False,
) -> PooledClassifier:
    """Trains, writes `folder/weights.safetensors` at the best validation accuracy and a line of JSON per 100 steps.

    After each epoch `folder/checkpoint.pt` holds all that `resume` needs to go on as if nothing had happened.
    """
    torch.manual_seed(recipe.seed)
    folder.mkdir(parents=True, exist_ok=True)
    splitter = tokenizer(base_folder(), recipe.longest)

    def encoded(part: Sequence[Example]) -> list[tuple[list[int], list[int], int]]:
        found = splitter.encode_batch([(item.text, item.pair) if item.pair else item.text for item in part])
        return [(each.ids, each.type_ids, item.label or 0) for each, item in zip(found, part, strict=True)]

    train_ids, validation_ids = encoded(train_part), encoded(validation)
    classifier = PooledClassifier(encoder(base_folder()), len(labels))
    trainable(classifier, recipe.rank)
    weights = [weight for weight in classifier.parameters() if weight.requires_grad]
    optimiser = torch.optim.AdamW(weights, recipe.learning_rate, weight_decay=recipe.weight_decay)
    per_epoch = -(-len(train_ids) // recipe.batch)
    total, rising = recipe.epochs * per_epoch, recipe.warmup * recipe.epochs * per_epoch
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min((step + 1) / rising, (total - step) / (total - rising))
    )
    first, best = 0, 0.0
    if resume:
        kept = torch.load(folder / "checkpoint.pt", weights_only=True)  # our own file, tensors and numbers only
        classifier.load_state_dict(kept["classifier"])
        optimiser.load_state_dict(kept["optimiser"])
        schedule.load_state_dict(kept["schedule"])
        first, best = kept["epoch"], kept["best"]
        torch.set_rng_state(kept["chance"])
    objective = nn.CrossEntropyLoss(label_smoothing=recipe.smoothing)
    started, mean_loss = time.perf_counter(), 0.0
    with (folder / "log.jsonl").open("a") as log:
        print(json.dumps({"texts": len(train_ids), "steps": total, **asdict(recipe)}), file=log, flush=True)
        for epoch in range(first, recipe.epochs):
            order = random.Random(recipe.seed * 1000 + epoch)
            for step, batch in enumerate(batches(train_ids, recipe.batch, order)):
                classifier.train()
                logits = classifier(input_ids=batch.ids, attention_mask=batch.attention, token_type_ids=batch.segments)
                loss = objective(logits, batch.labels)
                optimiser.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(weights, 1.0)
                optimiser.step()
                schedule.step()
                mean_loss = 0.98 * mean_loss + 0.02 * loss.item()
                done = epoch * per_epoch + step + 1
                if done % 100 == 0 or step + 1 == per_epoch:
                    line: dict[str, float] = {"step": done, "loss": mean_loss, "seconds": time.perf_counter() - started}
                    if done % 500 == 0 or step + 1 == per_epoch:
                        line["validation"] = accuracy(classifier, validation_ids)
                        if line["validation"] >= best:
                            best = line["validation"]
                            save_file(learned(classifier), folder / WEIGHTS)
                    print(json.dumps(line), file=log, flush=True)
            state = {
                "classifier": classifier.state_dict(),
                "optimiser": optimiser.state_dict(),
                "schedule": schedule.state_dict(),
                "epoch": epoch + 1,
                "best": best,
                "chance": torch.get_rng_state(),
            }
            torch.save(state, folder / "checkpoint.pt")
    classifier.load_state_dict(load_file(folder / WEIGHTS), strict=False)
    return classifier.eval()
