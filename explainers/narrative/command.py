"""`python -m explainers fit cause`: from a model and pairs with human explanations to a narrator with a card."""

import shlex
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from transformers import PreTrainedModel

from explainers.datasets.pictures.sets import PictureFiles
from explainers.errors import ExplanationError
from explainers.learned.steps import written
from explainers.learned.weights import with_settings
from explainers.models.cards import DRAWN
from explainers.models.catalog import fingerprint
from explainers.models.classifier import FrozenModel
from explainers.models.inside import head
from explainers.narrative.cause import Narrator, Recipe
from explainers.narrative.entries import NarratorEntry, narrator
from explainers.narrative.language import OWN, SMALL, Language, language, pretrained, small, vocabulary
from explainers.narrative.sources import Source, source
from explainers.narrative.texts import Item, items, means, sentence
from explainers.narrative.training import Training, train, warm_up
from explainers.narrative.weights import own_folder

WARM_UP_EPOCHS = 2
RUNS = Path("runs/narrative")


@dataclass(frozen=True)
class Order:
    """What is to be fitted. `settings` are hyperparameters as typed, name to value."""

    method: str
    model: str
    data: Path | None
    seed: int = 0
    settings: tuple[tuple[str, str], ...] = ()
    pictures: PictureFiles | None = None  # a published set, whose annotations are `data`

    @property
    def entry(self) -> NarratorEntry:
        return narrator(self.method)

    @property
    def recipe(self) -> Recipe:
        if {"losses", "seed"} & set(dict(self.settings)):
            raise ExplanationError("The method's name says which losses it has, and --seed the seed: leave them away.")
        given = {**dict(self.settings), "losses": self.entry.losses, "seed": self.seed}
        return cast(Recipe, with_settings(Recipe, self.method, given))

    @property
    def folder(self) -> Path:
        """Where log and checkpoint lie when nobody says where."""
        named = "".join(f"-{name}-{value}" for name, value in self.settings)
        named += f"-{self.pictures.format}" if self.pictures else ""
        return RUNS / f"{own_folder(self.model, '').name}{self.method}{named}-{self.seed}".replace("/", "_")

    @property
    def command(self) -> str:
        """What to type to get the same weights again; DATA is the folder with the data."""
        words = ["python", "-m", "explainers", "fit", self.method, "--model", self.model]
        words += ["--data", "DATA"] if self.data is not None or self.model not in DRAWN else []
        settings = [part for name, value in self.settings for part in ("--set", f"{name}={value}")]
        files = ["--format", self.pictures.format, "--pictures", "DIR"] if self.pictures else []
        return shlex.join([*words, *files, "--seed", str(self.seed), *settings])


def parts(order: Order, model: FrozenModel) -> tuple[list[Item], list[Item]]:
    """What the narrator learns from, and what it is watched on: examples with reasons, never of the test."""
    key = ("items", order.data, order.pictures)
    if key not in model.fitted:  # reading the states takes a fifth of a short training
        found = source(model, order.data, order.pictures)
        model.fitted[key] = items(model, found.taught), items(model, found.validation)
    return cast("tuple[list[Item], list[Item]]", model.fitted[key])


def speaker(order: Order, model: FrozenModel) -> tuple[PreTrainedModel, Language, Path | None]:
    """The language model to begin with, and its vocabulary's file: warmed up once for all narrators, or by name."""
    name = order.recipe.language
    if name not in OWN:
        return *pretrained(name), None
    found = source(model, order.data, order.pictures)
    base = f"language-{found.name}{'' if name == SMALL else f'-{name}'}"
    weights, words = RUNS / f"{base}.safetensors", RUNS / f"{base}.words.json"
    if not weights.is_file():
        _warmed_up(found, model.labels, name, weights, words)
    spoken = language(Tokenizer.from_file(str(words)))
    phi = small(spoken.size, name)
    phi.load_state_dict(load_file(weights), strict=False)
    return phi, spoken, words


def _warmed_up(found: Source, labels: Sequence[str], name: str, weights: Path, words: Path) -> None:
    """By all sentences at hand: texts and reasons, for e-SNLI those of e-SNLI-VE too; nothing of the test."""
    texts = found.sentences()
    weights.parent.mkdir(parents=True, exist_ok=True)
    tokenizer = vocabulary([sentence(labels[len(labels) // 2], text) for text in texts], labels)
    tokenizer.save(str(words))
    spoken = language(tokenizer)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        phi = small(spoken.size, name)
    with (weights.parent / "language.jsonl").open("w", encoding="utf-8") as log:
        warm_up(phi, spoken, texts, epochs=WARM_UP_EPOCHS, seed=0, log=log)
    fresh = weights.with_suffix(".new")
    save_file(
        {name: tensor.contiguous() for name, tensor in phi.state_dict().items() if name != "lm_head.weight"}, fresh
    )
    fresh.replace(weights)


def make(order: Order, model: FrozenModel, folder: Path, out: Path | None, *, resume: bool) -> dict[str, Any]:
    """Fits, writes weights, vocabulary and card (to `out`, or beside others of this model), and returns the card."""
    before, began, recipe = fingerprint(model), time.perf_counter(), order.recipe
    texts, watched = parts(order, model)  # what is wrong with model or data is said before the long warm-up
    phi, spoken, words = speaker(order, model)
    with model.lock, torch.random.fork_rng():
        torch.manual_seed(recipe.seed)
        speaks = Narrator(head(model), phi, spoken, recipe.losses, recipe.leak).to(model.device)
    if recipe.leak == "closed":
        speaks.begin([spoken.within(label) for label in model.labels], means(texts, len(model.labels)))
    training = train(recipe, speaks, head(model), model.labels, (texts, watched), folder, resume=resume)
    if fingerprint(model) != before:
        raise RuntimeError("the frozen model has changed during the training")
    seconds = {"training": round(training.seconds, 1), "all": round(time.perf_counter() - began, 1)}
    return _written(order, model, training, texts, words, out or own_folder(model.name, model.version), seconds)


def _written(
    order: Order,
    model: FrozenModel,
    training: Training,
    texts: Sequence[Item],
    words: Path | None,
    target: Path,
    seconds: dict[str, float],
) -> dict[str, Any]:
    path, speaks = target / f"{order.entry.id}.safetensors", training.narrator
    kept = {name: tensor.half() for name, tensor in speaks.state_dict().items() if name not in speaks.repeated}
    if words is not None:
        target.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".words.json").write_bytes(words.read_bytes())
    card = {
        "method": order.entry.id,
        "model": {"name": model.name, "version": model.version},
        "recipe": asdict(order.recipe),
        "command": order.command,
        "items": {"learned from": len(texts), "with a reason": sum(each.right for each in texts)},
        "language": {"warm-up epochs": WARM_UP_EPOCHS, "pieces": speaks.spoken.size},
        "validation": training.figures,
        "seconds": seconds,
    }
    return written(path, kept, card)
