"""The cards of the embedded models, readable without torch.

assets/bundles/<name>/card.json   labels, data, splits, seed, command, accuracy, checksum of the weights
"""

import json
from pathlib import Path
from typing import Any

from explainers.errors import ModelUnavailable

BUNDLES = Path(__file__).parents[2] / "assets" / "bundles"
CARD = "card.json"


def bundled(bundles: Path = BUNDLES) -> tuple[str, ...]:
    """The names of the models that come with the project."""
    return tuple(sorted(path.parent.name for path in bundles.glob(f"*/{CARD}")))


def card(folder: Path) -> dict[str, Any]:
    """What is known about a bundle. Raises `ModelUnavailable` if the card is missing or not readable."""
    try:
        found: dict[str, Any] = json.loads((folder / CARD).read_text(encoding="utf-8"))
        if not isinstance(found["labels"], list) or not isinstance(found["sha256"], str):
            raise TypeError
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise damaged(folder, f"{CARD} cannot be read") from error
    return found


def damaged(folder: Path, why: str) -> ModelUnavailable:
    return ModelUnavailable(
        f"The model {folder.name!r} is damaged: {why}. "
        f"Restore its files with `git checkout -- assets/bundles/{folder.name}`."
    )
