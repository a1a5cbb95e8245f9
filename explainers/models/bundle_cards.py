"""The cards of the embedded models, readable without torch.

assets/bundles/<name>/card.json   labels, data, splits, seed, command, accuracy, checksum of the weights; where they
                                  apply, "texts" (input names of a pair), "position" (order of display), "architecture"
                                  (package of `explainers.models` that loads the bundle), "pictures" (a multimodal
                                  model), "generated" (its data come from a generator), "generator" (name of an example)

An architecture is a package of `explainers.models`; its modules are imported when they are asked for.
"""

import json
import pkgutil
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, NotRequired, cast

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

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
