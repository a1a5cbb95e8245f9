"""Heads, trained on top of a frozen encoder of images and texts. Their cards are readable without torch.

<folder>/card.json           labels, architecture, encoder, input names, recipe, accuracy, checksum
<folder>/head.safetensors    the head, and the fusion or projection below it; never the encoder

`encoder`, and if needed `vision` and `tokenizer`, are hub ids with a revision, or folders relative to this one.
"""

import json
from pathlib import Path
from typing import Any

from explainers.errors import ModelUnavailable
from explainers.models.inputs.requirements import SINGLE_TEXT
from explainers.models.model_names import HUB_NAME

CARD, WEIGHTS = "card.json", "head.safetensors"
TOKENIZER = "tokenizer"  # of which no weights are read
PARTS = ("encoder", "vision", TOKENIZER)


def is_head(folder: Path) -> bool:
    return (folder / WEIGHTS).is_file() and (folder / CARD).is_file()


def head_card(folder: Path) -> dict[str, Any]:
    """The card of a head. Raises `ModelUnavailable` if the card is missing or not readable."""
    try:
        card: dict[str, Any] = json.loads((folder / CARD).read_text(encoding="utf-8"))
        names = [card["architecture"], card["encoder"], card["sha256"], *card["labels"], *head_input_names(card)]
        if not all(isinstance(name, str) and name for name in names):
            raise TypeError
        if not isinstance(card["labels"], list) or len(set(card["labels"])) < 2 or len(head_input_names(card)) != 1:
            raise TypeError
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise damaged_head(folder, f"{CARD} cannot be read") from error
    return card


def head_input_names(card: dict[str, Any]) -> tuple[str, ...]:
    """The name of the text that the head reads beside the image."""
    return tuple(card.get("asks", SINGLE_TEXT))


def encoder_parts(folder: Path) -> dict[str, str]:
    """The models that a head needs, by role: hub ids, and folders by their absolute path."""
    card = head_card(folder)
    return {role: _named(folder, card[role]) for role in PARTS if card.get(role)}


def damaged_head(folder: Path, why: str) -> ModelUnavailable:
    return ModelUnavailable(f"The head in {folder.name!r} is damaged: {why}. Train it again or fetch its files again.")


def check_portable(folder: Path) -> None:
    """Raises `ModelUnavailable` if a head that was fetched from the hub names folders, which would be those of here."""
    if any(Path(part).is_absolute() for part in encoder_parts(folder).values()):
        raise damaged_head(folder, "it needs folders of another machine")


def _named(folder: Path, part: object) -> str:
    try:
        if isinstance(part, str) and (folder / part).is_dir():
            return str((folder / part).resolve())
    except OSError:  # longer than any file's name
        pass
    if isinstance(part, str) and HUB_NAME.fullmatch(part):
        return part
    raise damaged_head(folder, f"{str(part)[:80]!r}, which it needs, is neither a folder nor a hub id")
