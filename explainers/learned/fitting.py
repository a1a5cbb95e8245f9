"""The one training loop of all learned methods: AdamW, a log line per step, a checkpoint and a validation per epoch.

    FOLDER/log.jsonl        one JSON object per line: the loss by terms, or after an epoch the validation and alarms
    FOLDER/checkpoint.pt    all that `resume` needs to go on after the last finished epoch

The same seed gives the same weights, also when a training was interrupted and resumed.
"""

import random
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from explainers.errors import ExplanationError
from explainers.explanation import floats
from explainers.learned.alarms import alarms, shape
from explainers.learned.batches import Batch, Seen, batch, in_random_order
from explainers.learned.recipe import Memory, Recipe, Select, learned
from explainers.learned.steps import descend, note
from explainers.metrics.faithfulness import aopc_comprehensiveness, aopc_sufficiency
from explainers.metrics.masking import PERCENTS, Asked, masking_path, top
from explainers.models.checkpoints import restored
from explainers.models.classifier import FrozenModel
from explainers.models.encoding import Erasure

CHECKPOINT, LOG = "checkpoint.pt", "log.jsonl"
VALIDATED = 32  # texts whose scores are computed at once


def explained(recipe: Recipe, module: nn.Module, model: FrozenModel, items: Sequence[Seen]) -> list[tuple[float, ...]]:
    """The scores of every text, in the order given."""
    found: list[tuple[float, ...]] = []
    module.eval()
    for start in range(0, len(items), VALIDATED):
        some = batch(model, items[start : start + VALIDATED])
        with torch.no_grad():
            scores = recipe.scores(module, model, some)
        found += [floats(row[present].cpu()) for row, present in zip(scores, some.inputs.units, strict=True)]
    return found


def faithfulness(
    model: FrozenModel, items: Sequence[Seen], scores: Sequence[tuple[float, ...]], erasure: Erasure = "mask"
) -> dict[str, float]:
    """Mean AOPC-C and AOPC-S over the texts for the predicted class, with hard masks."""
    comp, suff = per_text(model, items, scores, erasure).mean(axis=0)
    return {"aopc_c": float(comp), "aopc_s": float(suff)}


def per_text(
    model: FrozenModel, items: Sequence[Seen], scores: Sequence[tuple[float, ...]], erasure: Erasure
) -> NDArray[np.float64]:
    """AOPC-C and AOPC-S of every text, (n, 2)."""
    found = []
    for item, row in zip(items, scores, strict=True):
        points = tuple(sorted({0, len(row), *(top(len(row), percent) for percent in PERCENTS)}))
        asked = Asked(model, item.encoding, erasure)
        path = masking_path(asked, row, int(item.probabilities.argmax()), points)
        found.append((aopc_comprehensiveness(path), aopc_sufficiency(path)))
    return np.asarray(found)


def gain(select: Select, figures: dict[str, float]) -> float:
    """What the kept epoch is best at; higher is better."""
    comp, suff = figures["aopc_c"], figures["aopc_s"]
    return {"difference": comp - suff, "comp": comp, "suff": -suff, "last": 0.0}[select]


class Fitting:
    """One training, epoch by epoch."""

    def __init__(self, recipe: Recipe, model: FrozenModel, folder: Path, steps: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.recipe, self.model, self.folder, self.steps = recipe, model, folder, steps
        with torch.random.fork_rng():
            torch.manual_seed(recipe.seed)
            self.module = recipe.module(model).to(model.device)
        self.chance = torch.Generator(device="cpu").manual_seed(recipe.seed)
        self.weights = [weight for weight in self.module.parameters() if weight.requires_grad]
        self.optimiser = torch.optim.AdamW(self.weights, recipe.learning_rate, weight_decay=recipe.weight_decay)
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimiser, lambda step: recipe.rate(step / max(steps, 1))
        )
        self.epoch, self.step_number, self.seconds = 0, 0, 0.0
        self.best: dict[str, Tensor] = {}
        self.best_gain, self.figures = -float("inf"), dict[str, float]()
        self.alarms: tuple[str, ...] = ()  # of the weights that are kept

    def step(self, items: Batch) -> dict[str, float]:
        self.module.train()
        terms = self.recipe.terms(self.module, self.model, items, self.chance)
        if not torch.isfinite(terms["total"]):
            raise ExplanationError(
                f"The loss is not a number after {self.step_number} steps. Choose a smaller learning rate."
            )
        descend(terms["total"], self.weights, self.optimiser)
        self.schedule.step()
        self.step_number += 1
        return {name: float(term.detach()) for name, term in terms.items()}

    def validate(self, items: Sequence[Seen]) -> dict[str, object]:
        """The figures, what the scores look like, and the alarms; keeps the weights if they are the best so far."""
        scores = explained(self.recipe, self.module, self.model, items)
        figures, looks = faithfulness(self.model, items, scores), shape(scores)
        said = alarms(looks, distribution=self.recipe.distribution)
        gained = gain(self.recipe.select, figures)
        if gained > self.best_gain or self.recipe.select == "last":
            self.best_gain, self.figures, self.alarms = gained, figures, said
            self.best = {name: weight.clone() for name, weight in learned(self.module).items()}
        return {
            "validation": figures,
            "shape": asdict(looks),
            "alarms": said,
        }

    def save(self) -> None:
        ready = self.folder / (CHECKPOINT + ".new")
        torch.save(
            {
                "module": learned(self.module),
                "memory": self.module.kept() if isinstance(self.module, Memory) else {},
                "best": self.best,
                "optimiser": self.optimiser.state_dict(),
                "schedule": self.schedule.state_dict(),
                "chance": self.chance.get_state(),
                "torch": torch.get_rng_state(),
                "numbers": [self.epoch, self.step_number, self.seconds, self.best_gain],
                "figures": self.figures,
                "alarms": list(self.alarms),
            },
            ready,
        )
        ready.replace(self.folder / CHECKPOINT)  # a crash while writing leaves the one before

    def resume(self) -> None:
        kept = restored(self.folder / CHECKPOINT)
        self.module.load_state_dict(kept["module"], strict=False)
        if isinstance(self.module, Memory):
            self.module.restore(kept["memory"])
        self.best, self.figures, self.alarms = kept["best"], kept["figures"], tuple(kept["alarms"])
        self.optimiser.load_state_dict(kept["optimiser"])
        self.schedule.load_state_dict(kept["schedule"])
        self.chance.set_state(kept["chance"])
        torch.set_rng_state(kept["torch"])
        self.epoch, self.step_number, self.seconds, self.best_gain = kept["numbers"]


def fit(
    recipe: Recipe,
    model: FrozenModel,
    texts: Sequence[Seen],
    validation: Sequence[Seen],
    folder: Path,
    *,
    resume: bool = False,
) -> Fitting:
    """Trains and returns the training, whose module holds the kept weights, rounded as they are stored."""
    with torch.random.fork_rng():
        torch.manual_seed(recipe.seed + 1)  # for dropout, the only draw that does not come from `chance`
        per_epoch = len(in_random_order(texts, recipe.batch, random.Random(0)))
        fitting = Fitting(recipe, model, folder, recipe.epochs * per_epoch)
        resuming = resume and (folder / CHECKPOINT).is_file()
        if resuming:
            fitting.resume()
        with (folder / LOG).open("a" if resuming else "w", encoding="utf-8") as log:
            note(log, {"method": recipe.method, "texts": len(texts), "steps": fitting.steps, "recipe": asdict(recipe)})  # type: ignore[call-overload]
            while fitting.epoch < recipe.epochs:
                _epoch(fitting, texts, validation, log)
    if recipe.select == "last" or not fitting.best:
        fitting.best = learned(fitting.module)
    fitting.best = {name: weight.half() for name, weight in fitting.best.items()}
    fitting.module.load_state_dict({name: weight.float() for name, weight in fitting.best.items()}, strict=False)
    fitting.module.requires_grad_(False).eval()
    return fitting


def _epoch(fitting: Fitting, texts: Sequence[Seen], validation: Sequence[Seen], log: IO[str]) -> None:
    recipe, started = fitting.recipe, time.perf_counter()
    order = random.Random(recipe.seed * 1000 + fitting.epoch)
    for items in in_random_order(texts, recipe.batch, order):
        terms = fitting.step(batch(fitting.model, items))
        note(log, {"step": fitting.step_number, "epoch": fitting.epoch, "terms": terms})
    fitting.epoch += 1
    fitting.seconds += time.perf_counter() - started
    found = fitting.validate(validation)
    note(log, {"epoch": fitting.epoch, "step": fitting.step_number, "seconds": fitting.seconds, **found})
    fitting.save()
