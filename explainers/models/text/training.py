"""Training of an embedded text model: the encoder layers (or a LoRA adapter in them) and the head.

Word embeddings stay. The trained weights are written as fp16; the base weights are never shipped. They are an
exponential moving average over the steps, which generalises better than the last step alone. Some tokens of every
other text are replaced by [MASK]: it regularises, and the model meets the token that later replaces erased words.

How an embedded text model is trained; it stands on the model's card.

How the bundle of an embedded text model is made, with the accuracy of what was written.
"""

import hashlib
import json
import random
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from explainers.datasets.example import Example, Splits
from explainers.errors import DataUnavailable, ExplanationError
from explainers.models import bundle_cards, optimisation, tasks
from explainers.models.text import base_weights, bundle
from explainers.models.text.base_weights import HUB_ID as BASE_ID
from explainers.models.text.base_weights import SHA256 as BASE_SHA256
from explainers.models.text.recipe import TextModelRecipe

LINEAR_LAYERS = ["query", "key", "value", "attention.output.dense", "intermediate.dense", "output.dense"]
CHECKPOINT, LOG = "checkpoint.pt", "log.jsonl"
SPECIAL_BELOW = 999  # BERT's vocabulary begins with special and unused tokens; words start here
Encoded = tuple[list[int], list[int], int]  # ids, segments, class


@dataclass(frozen=True)
class TextBatch:
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


def collate(items: Sequence[Encoded]) -> TextBatch:
    ids, segments = (
        nn.utils.rnn.pad_sequence([torch.tensor(item[part]) for item in items], batch_first=True) for part in (0, 1)
    )
    lengths = torch.tensor([len(item[0]) for item in items])
    attention = (torch.arange(ids.shape[1]) < lengths[:, None]).long()
    return TextBatch(ids, attention, segments, torch.tensor([item[2] for item in items]))


def randomly_masked(ids: Tensor, share: float | Tensor, mask_token: int) -> Tensor:
    """(B, L) with `share` of the words' tokens, of all rows or of each one (B, 1), replaced by `mask_token` in every
    other row."""
    chosen = (torch.rand(ids.shape) < share) & (ids >= SPECIAL_BELOW)
    chosen[::2] = False
    return torch.where(chosen, mask_token, ids)


def set_trainable(classifier: bundle.PooledClassifier, rank: int) -> None:
    """Makes the adapter and the head trainable, or with `rank` 0 everything except the embeddings."""
    if rank:
        from peft import LoraConfig, inject_adapter_in_model

        adapter = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=LINEAR_LAYERS, lora_dropout=0.0)
        inject_adapter_in_model(adapter, classifier.base_model)
    classifier.base_model.embeddings.requires_grad_(False)


def network_accuracy(classifier: nn.Module, encoded: Sequence[Encoded]) -> float:
    classifier.eval()
    correct = 0
    with torch.inference_mode():
        for batch in map(collate, (encoded[start : start + 64] for start in range(0, len(encoded), 64))):
            correct += int((classifier(**model_inputs(batch)).argmax(1) == batch.labels).sum())
    return correct / len(encoded)


def model_inputs(batch: TextBatch) -> dict[str, Tensor]:
    return {"input_ids": batch.ids, "attention_mask": batch.attention, "token_type_ids": batch.segments}


def trained_tensors(classifier: nn.Module) -> dict[str, Tensor]:
    """The tensors that a bundle ships."""
    return {name: weight.detach().half() for name, weight in classifier.named_parameters() if weight.requires_grad}


class TextTraining:
    """One training, epoch by epoch; after each, `folder/checkpoint.pt` holds the state for `resume`."""

    def __init__(self, classes: int, recipe: TextModelRecipe, folder: Path, steps: int) -> None:
        torch.manual_seed(recipe.seed)
        folder.mkdir(parents=True, exist_ok=True)
        self.recipe, self.folder, self.done, self.epoch = recipe, folder, 0, 0
        self.classifier = bundle.PooledClassifier(bundle.base_encoder(base_weights.base_folder()), classes)
        set_trainable(self.classifier, recipe.rank)
        self.weights = [weight for weight in self.classifier.parameters() if weight.requires_grad]
        self.average = AveragedModel(self.classifier, multi_avg_fn=get_ema_multi_avg_fn(recipe.averaging))  # type: ignore[no-untyped-call]
        self.optimiser = torch.optim.AdamW(self.weights, recipe.learning_rate, weight_decay=recipe.weight_decay)
        rising = recipe.rising * steps
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimiser, lambda step: min((step + 1) / rising, max(0.0, (steps - step) / (steps - rising)))
        )
        self.objective = nn.CrossEntropyLoss(label_smoothing=recipe.smoothing)

    def step(self, batch: TextBatch, mask_token: int) -> float:
        self.classifier.train()
        share = torch.rand(len(batch.ids), 1) if self.recipe.uniform_masking else self.recipe.masking
        inputs = model_inputs(batch) | {"input_ids": randomly_masked(batch.ids, share, mask_token)}
        loss = self.objective(self.classifier(**inputs), batch.labels)
        self.optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.weights, 1.0)
        self.optimiser.step()
        self.schedule.step()
        self.average.update_parameters(self.classifier)
        self.done += 1
        return float(loss.detach())

    def save(self) -> None:
        save_file(trained_tensors(self.average.module), self.folder / bundle.WEIGHTS)
        parts = {name: getattr(self, name).state_dict() for name in ("classifier", "average", "optimiser", "schedule")}
        numbers = {"done": self.done, "epoch": self.epoch, "chance": torch.get_rng_state()}
        torch.save({**parts, **numbers}, self.folder / CHECKPOINT)

    def resume(self) -> None:
        checkpoint = optimisation.load_checkpoint(self.folder / CHECKPOINT)
        for name in ("classifier", "average", "optimiser", "schedule"):
            getattr(self, name).load_state_dict(checkpoint[name])
        self.done, self.epoch = checkpoint["done"], checkpoint["epoch"]
        torch.set_rng_state(checkpoint["chance"])


def train(
    parts: tuple[Sequence[Example], Sequence[Example], Sequence[Example]],
    classes: int,
    recipe: TextModelRecipe,
    folder: Path,
    *,
    resume: bool = False,
) -> None:
    """Trains on (train, warm-up, validation), writes `folder/weights.safetensors` and a line of JSON per 100 steps."""
    tokenizer = bundle.base_tokenizer(base_weights.base_folder(), recipe.longest)
    mask_token = tokenizer.get_vocab()["[MASK]"]

    def encoded(part: Sequence[Example]) -> list[Encoded]:
        tokens = tokenizer.encode_batch([(item.text, item.pair) if item.pair else item.text for item in part])
        return [(encoded.ids, encoded.type_ids, item.label or 0) for encoded, item in zip(tokens, part, strict=True)]

    texts, warm_up, validation = map(encoded, parts)
    per_epoch = [
        -(-(len(texts) + (len(warm_up) if epoch < recipe.warm_up_epochs else 0)) // recipe.batch)
        for epoch in range(recipe.epochs)
    ]
    training = TextTraining(classes, recipe, folder, sum(per_epoch))
    if resume:
        training.resume()
    with (folder / LOG).open("a") as log:

        def note(line: dict[str, object]) -> None:
            print(json.dumps(line), file=log, flush=True)

        note({**about_training(parts[0], parts[1], recipe), "steps": sum(per_epoch)})
        started = time.perf_counter()
        while training.epoch < recipe.epochs:
            items = texts + warm_up if training.epoch < recipe.warm_up_epochs else texts
            order = random.Random(recipe.seed * 1000 + training.epoch)
            for mean_loss in _epoch(training, batches(items, recipe.batch, order), mask_token):
                note({"step": training.done, "loss": mean_loss, "seconds": time.perf_counter() - started})
            training.epoch += 1
            training.save()
            share = network_accuracy(training.average.module, validation)
            note({"epoch": training.epoch, "step": training.done, "validation": share})


def about_training(texts: Sequence[Example], warm_up: Sequence[Example], recipe: TextModelRecipe) -> dict[str, Any]:
    """Return what a training depends on: how many texts, their checksum, and the fields of the recipe."""
    content = [[[item.text, item.pair, item.label] for item in part] for part in (texts, warm_up)]
    checksum = hashlib.sha256(json.dumps(content).encode()).hexdigest()[:12]
    return {"texts": len(texts), "warm_up": len(warm_up), "checksum": checksum, **asdict(recipe)}


def check_resumable(run: Path, about: dict[str, Any]) -> None:
    """Raises `ExplanationError` if the folder holds no training, or one that depended on something else than `about`;
    what the log of an older version does not name is not compared."""
    lines = (run / LOG).read_text().splitlines() if (run / LOG).is_file() and (run / CHECKPOINT).is_file() else ()
    begun = next((line for line in map(json.loads, lines) if "texts" in line), None)
    if begun is None:
        raise DataUnavailable(f"{run} holds no interrupted training. Omit --resume to start one.")
    changed = {name: value for name, value in about.items() if begun.get(name, value) != value}
    if changed.keys() & {"texts", "warm_up"}:
        changed.pop("checksum", None)  # the numbers say it
    differ = [
        "other texts" if name == "checksum" else f"{name.replace('_', ' ')} {begun[name]} (now {value})"
        for name, value in changed.items()
    ]
    if differ:
        raise ExplanationError(
            f"The training in {run} began with {', '.join(differ)}. Give the same data and options, or omit --resume "
            "to start again."
        )


def _epoch(training: TextTraining, ready: list[Sequence[Encoded]], mask_token: int) -> Iterator[float]:
    """Yields the mean loss of each 100 steps."""
    losses: list[float] = []
    for items in ready:
        losses.append(training.step(collate(items), mask_token))
        if len(losses) == 100:
            yield sum(losses) / len(losses)
            losses.clear()


FINISHED = "finished"  # a file in the run's folder, present once the training is over


def make_text_bundle(
    name: str,
    task: tasks.TrainingData,
    data: Path | None,
    recipe: TextModelRecipe,
    out: Path | None,
    run: Path | None = None,
    *,
    resume: bool,
) -> dict[str, Any]:
    """Trains the model and writes weights and card to `out`, by default beside the other bundles; `run` is the folder
    for log and checkpoint. Returns the card.

    The accuracies on the card are those of the bundle as it was written, loaded again.
    """
    folder, run = out or bundle_cards.BUNDLES / name, run or Path("runs") / name
    splits = task.read(data)
    if resume:
        check_resumable(run, about_training(splits.train, splits.warm_up, recipe))
    else:
        for stale in (FINISHED, LOG, CHECKPOINT):  # of an earlier training, which would be taken for this one
            (run / stale).unlink(missing_ok=True)
    if not (run / FINISHED).is_file():
        train((splits.train, splits.warm_up, splits.validation), len(task.labels), recipe, run, resume=resume)
        (run / FINISHED).touch()
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(run / bundle.WEIGHTS, folder / bundle.WEIGHTS)
    card = _card(name, task, splits, recipe, folder)
    card["log"] = [json.loads(line) for line in (run / LOG).read_text().splitlines() if "validation" in line]
    _write(folder, card)
    model = bundle.load_bundle(folder, torch.device("cpu"))
    card["accuracy"] = {
        "validation": optimisation.accuracy(model, splits.validation),
        "test": optimisation.accuracy(model, splits.test),
    }
    _write(folder, card)
    return card


def command(name: str, recipe: TextModelRecipe) -> str:
    """The command that makes this bundle again; DIR holds the data in the files that the reader names."""
    return (
        f"python -m explainers train-model {name} --data DIR --epochs {recipe.epochs} --rank {recipe.rank} "
        f"--learning-rate {recipe.learning_rate} --seed {recipe.seed}"
        f"{' --uniform-masking' if recipe.uniform_masking else ''}"
    )


def _card(name: str, task: tasks.TrainingData, splits: Splits, recipe: TextModelRecipe, folder: Path) -> dict[str, Any]:
    return {
        "name": name,
        "position": task.position,
        "labels": list(task.labels),
        "texts": list(task.input_names),
        "base": {"id": BASE_ID, "sha256": BASE_SHA256, "licence": "Apache-2.0"},
        "data": {"name": task.data, "licence": task.licence},
        "splits": {
            "train": len(splits.train),
            "validation": len(splits.validation),
            "test": len(splits.test),
            "warm_up": len(splits.warm_up),
            "explainer": len(splits.explainer),
            "rule": task.split_rule,
        },
        "recipe": asdict(recipe),
        "command": command(name, recipe),
        "sha256": base_weights.sha256(folder / bundle.WEIGHTS),
        "accuracy": {},
    }


def _write(folder: Path, card: dict[str, Any]) -> None:
    (folder / bundle_cards.CARD).write_text(json.dumps(card, indent=2) + "\n")
