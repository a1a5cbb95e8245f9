"""`python -m explainers fit`: from a method's name, a model and texts to weights with a card, and how long that takes.

Texts of about the mean length are timed. On a CPU they are few, because seconds grow with tokens; on a GPU, where they
do not, they are a whole batch.
"""

import math
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, cast

import torch
from torch import Tensor

from explainers.datasets.example import Example
from explainers.datasets.images.sets import ImageFiles
from explainers.datasets.user_texts import NoTextColumn, logged, read_texts
from explainers.errors import DataUnavailable
from explainers.learned import fitting_loop, recipes
from explainers.learned.batches import ROOM, KeptStates, LearningExample, batch, encode_for_learning
from explainers.learned.recipe import Memory, Recipe, Select, states_read
from explainers.models import batching, bundle_cards, calls, catalog, internals, optimisation
from explainers.models.frozen_model import FrozenModel
from explainers.training import artifacts, loop
from explainers.training.spec import FitSpec

FEWEST = 20
VALIDATION = 200  # texts at most that are held out for validation

Examples = tuple[Example, ...]
Result = TypeVar("Result")

LEARNS = "{} learns from {:,} examples and is judged on {:,} others. The log is {}."
SAMPLED = 200  # texts whose lengths are looked at
TIMED = 256  # tokens in a timed step on a CPU
JUDGED = 2  # texts whose metrics are timed


def recipe_for(spec: FitSpec) -> Recipe:
    """The settings of the shipped variant of this name, if any, overridden by those of the spec."""
    spec.check()
    shipped = recipes.SHIPPED.get(spec.method, {}).get(spec.name, {})
    return recipes.recipe_of(spec.method, {**shipped, **dict(spec.settings), "seed": spec.seed})


def read_examples(
    model: str, data: Path | None, seed: int, images: ImageFiles | None = None, columns: tuple[str, ...] = ()
) -> tuple[Examples, Examples]:
    """Examples for training and for validation, without labels. `columns` are those of a table's texts."""
    from explainers.models.tasks import task_of

    if data is not None and not data.exists():
        raise DataUnavailable(f"The file or folder {data} does not exist.")
    if images is not None or (data is not None and data.is_file()):
        return _split(_read(model, data, images, columns), seed)
    if columns:
        raise DataUnavailable(f"--column {columns[0]} names a column of a table. Give the table with --data.")
    task = task_of(model)
    if task is None:
        raise DataUnavailable(f"Give a file with texts for {model}: one per line, or a table, as pairs always need.")
    splits = task.read(data)
    if not splits.explainer:
        raise DataUnavailable(
            f"The data of {model} hold no texts for learning to explain it. "
            "Give a folder that also has the texts named in its card, or a file of your own."
        )
    return _unlabelled(splits.explainer), _unlabelled(splits.validation)[:VALIDATION]


def _read(model: str, data: Path | None, images: ImageFiles | None, columns: tuple[str, ...]) -> Examples:
    if images is not None:
        return images.read(data).examples
    try:
        return read_texts(cast(Path, data), bundle_cards.input_names_of_bundle(model), logged, columns)
    except NoTextColumn as error:
        raise DataUnavailable(f"{error} Name other columns with --column and --pair-column.") from error


def _split(examples: Examples, seed: int) -> tuple[Examples, Examples]:
    if len(examples) < FEWEST:
        raise DataUnavailable(f"A method learns from {FEWEST} examples or more; {len(examples)} given.")
    shuffled = list(_unlabelled(examples))
    random.Random(seed).shuffle(shuffled)
    first = held_out(len(shuffled))
    return tuple(shuffled[first:]), tuple(shuffled[:first])


def held_out(count: int) -> int:
    """How many of a person's examples are held out for validation."""
    return min(VALIDATION, max(2, count // 10))


def _unlabelled(examples: Iterable[Example]) -> Examples:
    return tuple(Example(example.text, example.pair, image=example.image) for example in examples)


def make(
    spec: FitSpec,
    model: FrozenModel,
    folder: Path,
    out: Path | None,
    *,
    resume: bool,
    announce: Callable[[float], None] | None = None,
    say: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Fits, writes weights and card to `out` or to the store, and returns the card. What starts anew is timed first, to
    `announce` its seconds. `say` gets what is learned from and where the log is, and a sentence where weights
    will be replaced."""
    texts, validation = read_examples(spec.model, spec.data_path, spec.seed, spec.image_files, spec.columns)
    recipe = recipe_for(spec)
    _check_images(recipe, model, texts)
    note = artifacts.replacement_note(spec, model.name, model.version)
    if say is not None:
        log = folder / "seed-*" / loop.LOG if spec.seeds > 1 else folder / loop.LOG
        say(LEARNS.format(spec.title, len(texts), len(validation), log))
        if note:
            say(note)
    if announce is not None and not (resume and any(folder.glob(f"**/{loop.CHECKPOINT}"))):
        announce(measured_pace(recipe, model, texts).seconds(recipe, len(texts), len(validation), spec.seeds))
    return fit_to(spec, model, texts, validation, folder, out, resume=resume)


def _check_images(recipe: Recipe, model: FrozenModel, texts: Examples) -> None:
    """Raises `ExplanationError` for a model that the method cannot read, before all images are read."""
    if texts[0].image is not None:
        recipe.module(model)


def fit_to(
    spec: FitSpec,
    model: FrozenModel,
    texts: Examples,
    validation: Examples,
    folder: Path,
    out: Path | None = None,
    *,
    resume: bool,
) -> dict[str, Any]:
    """Fits to `texts`, writes weights and card to `out` or to the store, and returns the card."""
    recipe, before, began = recipe_for(spec), catalog.fingerprint(model), time.perf_counter()
    _check_images(recipe, model, texts)
    encoded = encode_for_learning(model, texts), encode_for_learning(model, validation)
    trainings = [
        fitting_loop.fit(seeded_recipe, model, *encoded, run, resume=resume)
        for seeded_recipe, run in seeded(recipe, spec.seeds, folder)
    ]
    judge: Select = "difference" if recipe.select == "last" else recipe.select
    training = max(trainings, key=lambda training: fitting_loop.gain_of(judge, training.metrics))
    if catalog.fingerprint(model) != before:
        raise RuntimeError("the frozen model has changed during the training")
    entries: dict[str, Any] = {
        "recipe": asdict(training.recipe),  # type: ignore[call-overload]
        "texts": {"learned from": len(texts), "watched": len(validation)},
        "validation": training.metrics,
        "warnings": list(training.warnings),
        "steps": {"kept": training.kept_step, "all": training.loop.steps},
        "seconds": {
            "training": round(sum(training.loop.seconds for training in trainings), 1),
            "all": round(time.perf_counter() - began, 1),
        },
    }
    if spec.seeds > 1:
        entries["seeds"] = [
            {"seed": training.recipe.seed, "steps": training.kept_step, "validation": training.metrics}
            for training in trainings
        ]
    return write_weights(spec, model, training.best, out or artifacts.own_folder(model.name, model.version), entries)


def seeded(recipe: Recipe, seeds: int, folder: Path) -> Iterator[tuple[Recipe, Path]]:
    """The recipe with each seed from its own on, and the folder for log and checkpoint of its training."""
    for seed in range(recipe.seed, recipe.seed + seeds):
        yield replace(recipe, seed=seed), folder / f"seed-{seed}" if seeds > 1 else folder  # type: ignore[type-var]


def write_weights(
    spec: FitSpec, model: FrozenModel, weights: dict[str, Tensor], target: Path, entries: dict[str, Any]
) -> dict[str, Any]:
    """Writes the weights and their card, in which `entries` add or replace, and returns the card."""
    card = {
        "method": spec.method,
        "variant": spec.name,
        "model": {"name": model.name, "version": model.version},
        "recipe": asdict(recipe_for(spec)),  # type: ignore[call-overload]
        "command": spec.command,
        **states_read(recipe_for(spec), model),
        **entries,
    }
    return artifacts.write_artifact(target / artifacts.weights_name(spec), weights, card)


def shipped_fits(spec: FitSpec) -> list[FitSpec]:
    """Every shipped variant of every method, for the model and the texts of `spec`."""
    return [
        replace(spec, method=method, variant=variant, settings=())
        for method, variants in recipes.SHIPPED.items()
        for variant in variants
    ]


def make_all(spec: FitSpec, model: FrozenModel, out: Path | None) -> list[dict[str, Any]]:
    """Fits `shipped_fits`, one after the other; returns their cards."""
    specs = shipped_fits(replace(spec, model=model.name))
    return [make(one, model, run_folder(one), out, resume=False) for one in specs]


def run_folder(spec: FitSpec) -> Path:
    """The default folder for log and checkpoint."""
    return Path("runs") / f"{artifacts.own_folder(spec.model, '').name}{spec.method}-{spec.name}"


@dataclass(frozen=True)
class FitPace:
    """Seconds on this machine, each per text."""

    predicting: float  # a pass
    learning: float  # its part of a step, without the pass over the whole text where its states can be kept
    once: float  # how much longer its first step takes, where the network remembers what it asked the model
    keeping: float  # the pass over the whole text; 0 where the method reads none of its states
    kept: float  # bytes of the states
    judging: float  # scores and metrics

    def seconds(self, recipe: Recipe, texts: int, validation: int, seeds: int = 1) -> float:
        """Return the seconds of a fit to so many texts, judged on so many others, with so many seeds."""
        kept = min(texts, ROOM / self.kept) if self.kept else 0.0
        again = self.keeping * (kept + (texts - kept) * recipe.epochs)
        training = self.learning * texts * recipe.epochs + again + self.validations(recipe, texts, validation)
        return self.predicting * (texts + validation) + (training + self.once * texts) * seeds

    def validations(self, recipe: Recipe, learned: int, texts: int) -> float:
        """Return the seconds of all validations of a training, and one of random orders, on so many texts."""
        batches = math.ceil(learned / recipe.batch)
        return self.judging * texts * (recipe.epochs * min(recipe.validations, batches) + 1)


def measured_pace(recipe: Recipe, model: FrozenModel, texts: Sequence[Example]) -> FitPace:
    """What other runs of the model take meanwhile does not count. Neither the model nor any random state changes.

    Raises `DataUnavailable` where not even two texts have words, and `ExplanationError` without enough memory.
    """
    meter = calls.Meter()
    with batching.memory_errors():
        return _measured(recipe, model.metered(meter), texts, meter)


def _measured(recipe: Recipe, model: FrozenModel, texts: Sequence[Example], meter: calls.Meter) -> FitPace:
    chosen, ratio = _typical(model, texts, recipe.batch)
    encode_for_learning(model, chosen)  # warms up
    predicting, examples = _timed(lambda: encode_for_learning(model, chosen), meter)
    with torch.random.fork_rng(), internals.passes_in(recipe.precision):
        torch.manual_seed(recipe.seed)
        module = recipe.module(model).to(model.device)
        generator = torch.Generator().manual_seed(recipe.seed)
        kept = KeptStates(model, examples, recipe.reads(model))

        def step(module: torch.nn.Module, some: Sequence[LearningExample]) -> float:
            weights = [weight for weight in module.parameters() if weight.requires_grad]
            terms = recipe.terms(module, model, kept.added_to(batch(model, some), some), generator)
            optimisation.optimiser_step(terms["total"], weights, torch.optim.AdamW(weights, recipe.learning_rate))
            return float(weights[0].detach().sum())  # waits for a GPU

        remembers = isinstance(module, Memory)
        step(recipe.module(model).to(model.device) if remembers else module, examples[:2])  # warms up
        first, _ = _timed(lambda: step(module, examples), meter)
        learning = _timed(lambda: step(module, examples), meter)[0] if remembers else first
    judged = examples[:JUDGED]
    judging, _ = _timed(
        lambda: fitting_loop.per_text(model, judged, fitting_loop.explained(recipe, module, model, judged), "mask"),
        meter,
    )
    count = len(examples)
    return FitPace(
        predicting / count,
        learning * ratio / count,
        max(0.0, first - learning) * ratio / count,
        predicting / count if len(kept) else 0.0,
        kept.bytes / count,
        judging / len(judged),
    )


def _typical(model: FrozenModel, texts: Sequence[Example], size: int) -> tuple[list[Example], float]:
    """Texts of about the mean length; and what the mean text of a batch takes, with padding, as a multiple of them."""
    sample = random.Random(0).sample(list(texts), min(SAMPLED, len(texts)))
    lengths = [len(encoding.ids) if encoding.units else 0 for encoding in map(model.encode, sample)]
    readable = sorted((length, place) for place, length in enumerate(lengths) if length)
    if len(readable) < 2:
        raise DataUnavailable("A method learns from two texts or more that have words. Give more texts.")
    mean = sum(length for length, _ in readable) / len(readable)
    rows = max(2, min(size, len(readable), round(TIMED / mean) if model.device.type == "cpu" else size))
    middle = sum(length < mean for length, _ in readable)
    first = max(0, min(middle - rows // 2, len(readable) - rows))
    chosen = readable[first : first + rows]
    batches = [readable[start : start + size] for start in range(0, len(readable), size)]
    padded = sum(len(some) * some[-1][0] for some in batches) / len(readable)
    return [sample[place] for _, place in chosen], padded / chosen[-1][0]


def _timed(action: Callable[[], Result], meter: calls.Meter) -> tuple[float, Result]:
    """Seconds, without those in which another run had the model, and the result."""
    started, waited = time.perf_counter(), meter.waited
    result = action()
    return time.perf_counter() - started - (meter.waited - waited), result
