"""The embedded models, readable without torch: their cards, and the tasks that they are trained for.

assets/bundles/<name>/card.json   labels, data, splits, seed, command, accuracy, checksum of the weights; where they
                                  apply, "texts" (input names of a pair), "position" (order of display), "architecture"
                                  (package of `explainers.models` that loads the bundle), "pictures" (a multimodal
                                  model), "generated" (its data come from a generator), "generator" (name of an example)

An architecture is a package of `explainers.models`; its modules are imported when they are asked for. Its module
`tasks`, where it has one, names its tasks.
"""

import json
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, NotRequired, TypeVar, cast

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from explainers.datasets.entailment import NO_RULES, ReasonChecker, ReasonTruth, TopicChecker
from explainers.datasets.example import Example, Splits
from explainers.errors import ModelUnavailable
from explainers.installation import ASSETS
from explainers.models.inputs.requirements import SINGLE_TEXT

BUNDLES = ASSETS / "bundles"
CARD = "card.json"
TEXT = "text"  # the architecture of a card that names none


InputName = Annotated[str, Field(min_length=1)]


@with_config(ConfigDict(extra="allow"))
class BundleCard(TypedDict):
    """What the card of an embedded model must say; the rest is there where it applies."""

    labels: list[str]
    sha256: str
    texts: NotRequired[Annotated[list[InputName], Field(min_length=1, max_length=2)]]


BUNDLE_CARD = TypeAdapter(BundleCard)


def bundle_names(bundles: Path = BUNDLES) -> tuple[str, ...]:
    """The names of the models that come with the project: by their position, then by name. The app opens the first."""
    folders = [path.parent for path in bundles.glob(f"*/{CARD}")]
    return tuple(folder.name for folder in sorted(folders, key=lambda folder: (_position(folder), folder.name)))


def input_names_of(card: dict[str, Any]) -> tuple[str, ...]:
    """The names of the texts that the model reads: ("text",), or both names for a model of pairs."""
    return tuple(card.get("texts", SINGLE_TEXT))


def architecture_of(card: dict[str, Any]) -> str:
    """The sub-package of `explainers.models` that loads the bundle."""
    return str(card.get("architecture", TEXT))


def read_card(folder: Path) -> dict[str, Any]:
    """The card of a bundle. Raises `ModelUnavailable` if it is missing or not readable."""
    try:
        return cast(dict[str, Any], BUNDLE_CARD.validate_json((folder / CARD).read_bytes()))
    except (OSError, ValidationError) as error:
        raise damaged_bundle(folder, f"{CARD} cannot be read") from error


def input_names_of_bundle(name: str) -> tuple[str, ...]:
    """The input names of a bundle, without loading it; () for other models and for damaged cards."""
    card = _card_of(name)
    return () if card is None else input_names_of(card)


def is_generated(name: str) -> bool:
    """Return whether this is a bundle whose data come from a generator, so that no files are needed."""
    return bool((_card_of(name) or {}).get("generated"))


def generator_noun(name: str) -> str:
    """The noun that names a generated example of this bundle, as in "scene 7"; empty where there is no generator."""
    return str((_card_of(name) or {}).get("generator", ""))


def stands_on(name: str) -> str:
    """The bundle of which this one is a changed copy, so that its data are this one's; empty where there is none."""
    return str((_card_of(name) or {}).get("on", {}).get("name", ""))


def damaged_bundle(folder: Path, why: str) -> ModelUnavailable:
    return ModelUnavailable(
        f"The model {folder.name!r} is damaged: {why}. "
        f"Restore its files with `git checkout -- assets/bundles/{folder.name}`."
    )


def _card_of(name: str) -> dict[str, Any] | None:
    """The card of a bundle; None for other models and for damaged cards, whose loading says what is wrong."""
    if name not in {path.parent.name for path in BUNDLES.glob(f"*/{CARD}")}:
        return None
    try:
        return _readable_card(BUNDLES / name, (BUNDLES / name / CARD).stat().st_mtime_ns)
    except OSError:
        return None


@lru_cache(maxsize=64)
def _readable_card(folder: Path, _changed: int) -> dict[str, Any] | None:
    """Kept until it changes; nobody changes what is returned."""
    try:
        return read_card(folder)
    except ModelUnavailable:
        return None


def _position(folder: Path) -> float:
    try:
        return _position_on(folder / CARD, (folder / CARD).stat().st_mtime_ns)
    except OSError:
        return float("inf")


@lru_cache(maxsize=256)
def _position_on(card: Path, _changed: int) -> float:
    """Kept until the card changes: pages ask for the names of the models several times whenever they are drawn."""
    try:
        return float(json.loads(card.read_text(encoding="utf-8"))["position"])
    except (OSError, ValueError, KeyError, TypeError):
        return float("inf")


FOLDER = Path(__file__).parent


@lru_cache
def architectures_with(module: str) -> tuple[str, ...]:
    """The names of the packages here that have a module of this name."""
    packages = (module.name for module in pkgutil.iter_modules([str(FOLDER)]) if module.ispkg)
    return tuple(name for name in packages if module in _modules(FOLDER / name))


def architecture_module(architecture: str, module: str) -> ModuleType:
    """`explainers.models.<architecture>.<module>`, imported now. Raises `ValueError` if there is none."""
    if architecture not in architectures_with(module):
        raise ValueError(f"no module {module} for the architecture {architecture!r}")
    return import_module(f"explainers.models.{architecture}.{module}")


def _modules(folder: Path) -> Iterator[str]:
    return (module.name for module in pkgutil.iter_modules([str(folder)]))


RecipeType = TypeVar("RecipeType")


@dataclass(frozen=True)
class TrainingOptions:
    """What `train-model` was given. None stands for the default of the model's recipe."""

    data: Path | None = None
    out: Path | None = None  # by default the folder of the embedded models
    resume: bool = False
    epochs: int | None = None
    steps: int | None = None
    rank: int | None = None
    learning_rate: float | None = None
    seed: int = 0
    uniform_masking: bool | None = None

    def recipe(self, recipe_class: type[RecipeType]) -> RecipeType:
        """The recipe with the hyperparameters given here; those that it does not have are ignored."""
        names = {field.name for field in fields(recipe_class)}  # type: ignore[arg-type]
        return recipe_class(
            **{name: value for name, value in vars(self).items() if name in names and value is not None}
        )


@dataclass(frozen=True, kw_only=True)
class TrainingData:
    """What a classifier is trained on, as its card says it."""

    labels: tuple[str, ...]  # in the order of their numbers
    data: str
    licence: str
    split_rule: str  # how the parts are kept disjoint
    read: Callable[[Path | None], Splits]
    input_names: tuple[str, ...] = SINGLE_TEXT
    position: int = 0  # in lists and selections
    decides: str = ""  # what the model decides, as "whether …"


@dataclass(frozen=True, kw_only=True)
class Task(TrainingData):
    """Data and training of an embedded model, and the examples that stand for it."""

    make: Callable[[TrainingOptions], dict[str, Any]]  # trains, writes the bundle and returns its card
    example: Callable[[], Example]  # the input of the benchmark
    multimodal: bool = False
    reason_source: str = ""  # name of the set of reasons in `data`; empty where the data have none
    sentences: Callable[[Path | None], Sequence[str]] | None = None  # more sentences than the splits hold
    generated_example: Callable[[int], Example] | None = None  # by seed; None where the data are not generated
    more_training: Callable[[int], Sequence[Example]] | None = None  # so many, generated, that `read` does not have
    check_reason: ReasonChecker | None = None  # None where no rules tell whether a reason is true of its input
    check_topic: TopicChecker | None = None  # None where no rules tell whether a reason is on the topic of another

    @property
    def generated(self) -> bool:
        """Return whether the data come from a generator, so that no files are needed."""
        return self.generated_example is not None


def _collected() -> dict[str, Task]:
    tasks: dict[str, Task] = {}
    for architecture in architectures_with("tasks"):
        tasks |= architecture_module(architecture, "tasks").TASKS
    return dict(sorted(tasks.items(), key=lambda item: item[1].position))


TASKS: dict[str, Task] = _collected()


def make_bundle(name: str, options: TrainingOptions) -> dict[str, Any]:
    """Trains the model `name` and writes its bundle. Returns the card."""
    if name not in TASKS:
        raise ModelUnavailable(f"The embedded model {name!r} is not available. Choose one of: {', '.join(TASKS)}.")
    return TASKS[name].make(options)


def task_of(model: str) -> Task | None:
    """The task of an embedded model, for a changed copy that of the model it was made from; None for other models."""
    return TASKS.get(model) or TASKS.get(stands_on(model))


def generated_example(name: str) -> Example:
    """The generated example of this name, such as "scene 7". Raises `ValueError` if no generator has the noun."""
    noun, _, number = name.rpartition(" ")
    for model in bundle_names():
        task = TASKS.get(model)
        if task is not None and task.generated_example is not None and generator_noun(model) == noun:
            return task.generated_example(int(number))
    raise ValueError(f"no generator of examples such as {name!r}")


def reason_truth(model: str, reason: str, example: Example) -> ReasonTruth:
    """Return whether the reason is true of the input, by the rules of the model's task if it has any."""
    task = TASKS.get(model)
    if task is None or task.check_reason is None:
        return NO_RULES
    return task.check_reason(reason, example)


def reason_on_topic(model: str, reason: str, references: Sequence[str]) -> bool | None:
    """Whether the reason is about what one of the true reasons is about; None where the task has no rule for it."""
    task = TASKS.get(model)
    return None if task is None or task.check_topic is None else task.check_topic(reason, references)
