"""The cards of the embedded models, readable without torch.

assets/bundles/<name>/card.json   labels, data, splits, seed, command, accuracy, checksum of the weights; for a model
                                  of pairs "texts", what they are called
"""

import json
from pathlib import Path
from typing import Any

from explainers.errors import ModelUnavailable
from explainers.models.asking import SINGLE

BUNDLES = Path(__file__).parents[2] / "assets" / "bundles"
CARD = "card.json"
FIRST = ("sst2", "nli", "scenes")  # the app opens with the first; others follow by name
DRAWN = ("scenes",)  # their data come from a generator, so no files are asked for


def bundled(bundles: Path = BUNDLES) -> tuple[str, ...]:
    """The names of the models that come with the project."""
    found = sorted(path.parent.name for path in bundles.glob(f"*/{CARD}"))
    return tuple(sorted(found, key=lambda name: FIRST.index(name) if name in FIRST else len(FIRST)))


def asks_of(card: dict[str, Any]) -> tuple[str, ...]:
    """What the model asks for: ("text",), or for a model of pairs the names of both texts."""
    return tuple(card.get("texts", SINGLE))


def card(folder: Path) -> dict[str, Any]:
    """What is known about a bundle. Raises `ModelUnavailable` if the card is missing or not readable."""
    try:
        found: dict[str, Any] = json.loads((folder / CARD).read_text(encoding="utf-8"))
        if not isinstance(found["labels"], list) or not isinstance(found["sha256"], str):
            raise TypeError
        if len(asks_of(found)) not in (1, 2) or not all(isinstance(each, str) and each for each in asks_of(found)):
            raise TypeError
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise damaged(folder, f"{CARD} cannot be read") from error
    return found


def asked_by(name: str) -> tuple[str, ...]:
    """What a model asks for, as far as it is known without loading it: () for what comes from elsewhere."""
    try:
        return asks_of(card(BUNDLES / name)) if name in bundled() else ()
    except ModelUnavailable:
        return ()  # loading it will say what is wrong with it


def damaged(folder: Path, why: str) -> ModelUnavailable:
    return ModelUnavailable(
        f"The model {folder.name!r} is damaged: {why}. "
        f"Restore its files with `git checkout -- assets/bundles/{folder.name}`."
    )
