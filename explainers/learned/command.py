"""`python -m explainers fit`: from a method's name, a model and texts to weights with a card."""

import random
import shlex
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from torch import Tensor

from explainers.datasets import texts as own_texts
from explainers.datasets.example import Example
from explainers.datasets.pictures.sets import PictureFiles
from explainers.errors import DataUnavailable, ExplanationError
from explainers.learned.batches import seen
from explainers.learned.entries import DEFAULT_VARIANTS
from explainers.learned.fitting import fit
from explainers.learned.recipe import Recipe
from explainers.learned.recipes import RECIPES, SHIPPED
from explainers.learned.steps import written
from explainers.learned.weights import VARIANT, own_folder, recipe_of
from explainers.models.cards import DRAWN, asked_by
from explainers.models.catalog import fingerprint
from explainers.models.classifier import FrozenModel
from explainers.models.padded import padded

FEWEST = 20
VALIDATION = 200  # texts at most that are held out to watch the training


@dataclass(frozen=True)
class Order:
    """What is to be fitted. `settings` are hyperparameters as typed, name to value."""

    method: str
    model: str
    data: Path | None
    variant: str = ""
    seed: int = 0
    settings: tuple[tuple[str, str], ...] = ()
    pictures: PictureFiles | None = None  # a published set, whose annotations are `data`

    @property
    def name(self) -> str:
        return self.variant or DEFAULT_VARIANTS.get(self.method, "default")

    @property
    def recipe(self) -> Recipe:
        """The shipped variant's settings, where there is one of this name, and over them what was typed."""
        if self.method not in RECIPES:
            raise ExplanationError(f"{self.method!r} does not learn. Choose one of: {', '.join(RECIPES)}, all.")
        if not VARIANT.fullmatch(self.name):
            raise ExplanationError(
                f"The variant {self.name!r} is not a name: use up to 40 small letters, digits, points, dashes."
            )
        if "seed" in dict(self.settings):
            raise ExplanationError("Give the seed with --seed, not with --set.")
        shipped = SHIPPED.get(self.method, {}).get(self.name, {})
        return recipe_of(self.method, {**shipped, **dict(self.settings), "seed": self.seed})

    @property
    def command(self) -> str:
        """What to type to get the same weights again; DATA is the file or folder with the texts."""
        named = ["--variant", self.name, "--seed", str(self.seed)]
        settings = [part for name, value in self.settings for part in ("--set", f"{name}={value}")]
        return shlex.join(
            [
                "python",
                "-m",
                "explainers",
                "fit",
                self.method,
                "--model",
                self.model,
                *(["--data", "DATA"] if self.data is not None or self.model not in DRAWN else []),
                *(["--format", self.pictures.format, "--pictures", "DIR"] if self.pictures else []),
                *named,
                *settings,
            ]
        )


def parts(
    model: str, data: Path | None, seed: int, pictures: PictureFiles | None = None
) -> tuple[tuple[Example, ...], tuple[Example, ...]]:
    """Texts to learn from, and others to watch the training. Labels are dropped here, nobody sees them below."""
    from explainers.models.tasks import TASKS

    if data is not None and not data.exists():
        raise DataUnavailable(f"There is no file or folder {data}.")
    if pictures is not None or (data is not None and data.is_file()):
        found = list(_read(model, data, pictures))
        if len(found) < FEWEST:
            raise DataUnavailable(f"A method learns from {FEWEST} examples or more; these are {len(found)}.")
        found = [Example(each.text, each.pair, picture=each.picture) for each in found]
        random.Random(seed).shuffle(found)
        held_out = min(VALIDATION, max(2, len(found) // 10))
        return tuple(found[held_out:]), tuple(found[:held_out])
    if model not in TASKS:
        raise DataUnavailable(f"Give a file with texts for {model}: one per line, or a table, as pairs always need.")
    splits = TASKS[model].read(data)
    if not splits.explainer:
        raise DataUnavailable(
            f"The data of {model} hold no texts for learning to explain it. "
            "Give a folder that also has the texts named in its card, or a file of your own."
        )
    learned_from, watched = (
        tuple(Example(each.text, each.pair, picture=each.picture) for each in part)
        for part in (splits.explainer, splits.validation)
    )
    return learned_from, watched[:VALIDATION]


def _read(model: str, data: Path | None, pictures: PictureFiles | None) -> tuple[Example, ...]:
    if pictures is not None:
        return pictures.read(data).examples
    return own_texts.read(cast(Path, data), asked_by(model))


def make(order: Order, model: FrozenModel, folder: Path, out: Path | None, *, resume: bool) -> dict[str, Any]:
    """Fits, writes weights and card beside others of this model (or to `out`), and returns the card."""
    recipe, before, began = order.recipe, fingerprint(model), time.perf_counter()
    texts, validation = parts(order.model, order.data, order.seed, order.pictures)
    if texts[0].picture is not None:  # a model that cannot be learned from says so before all pictures are read
        padded([model.encode(texts[0])], model.padding, model.device)
    fitting = fit(recipe, model, seen(model, texts), seen(model, validation), folder, resume=resume)
    if fingerprint(model) != before:
        raise RuntimeError("the frozen model has changed during the training")
    about = {
        "texts": {"learned from": len(texts), "watched": len(validation)},
        "validation": fitting.figures,
        "alarms": list(fitting.alarms),
        "seconds": {"training": round(fitting.seconds, 1), "all": round(time.perf_counter() - began, 1)},
    }
    return write_weights(order, model, fitting.best, out or own_folder(model.name, model.version), about)


def write_weights(
    order: Order, model: FrozenModel, weights: dict[str, Tensor], target: Path, about: dict[str, Any]
) -> dict[str, Any]:
    """The file of weights and its card, which is returned."""
    card = {
        "method": order.method,
        "variant": order.name,
        "model": {"name": model.name, "version": model.version},
        "recipe": asdict(order.recipe),  # type: ignore[call-overload]
        "command": order.command,
        **about,
    }
    return written(target / f"{order.method}-{order.name}.safetensors", weights, card)


def make_all(
    model: FrozenModel, data: Path | None, seed: int, out: Path | None, pictures: PictureFiles | None = None
) -> list[dict[str, Any]]:
    """Every shipped variant of every method, one after the other."""
    orders = [
        Order(method, model.name, data, variant, seed, pictures=pictures)
        for method, variants in SHIPPED.items()
        for variant in variants
    ]
    return [make(each, model, run_folder(each), out, resume=False) for each in orders]


def run_folder(order: Order) -> Path:
    """Where log and checkpoint lie when nobody says where."""
    return Path("runs") / f"{own_folder(order.model, '').name}{order.method}-{order.name}"
