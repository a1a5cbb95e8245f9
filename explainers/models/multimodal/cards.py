"""Heads: what was trained on top of a frozen encoder of pictures and texts. Their cards are readable without torch.

<folder>/card.json           labels, architecture, encoder, what it asks for, recipe, accuracy, checksum
<folder>/head.safetensors    the head, and the fusion or projection below it; never the encoder

`encoder`, and where they are needed `vision` and `tokenizer`, are hub ids with a revision, or folders seen from here.
"""

import json
from pathlib import Path
from typing import Any

from explainers.errors import ModelUnavailable
from explainers.models.asking import SINGLE
from explainers.models.names import HUB_NAME

CARD, WEIGHTS = "card.json", "head.safetensors"
PARTS = ("encoder", "vision", "tokenizer")


def is_head(folder: Path) -> bool:
    return (folder / WEIGHTS).is_file() and (folder / CARD).is_file()


def head_card(folder: Path) -> dict[str, Any]:
    """What is known about a head. Raises `ModelUnavailable` if the card is missing or not readable."""
    try:
        found: dict[str, Any] = json.loads((folder / CARD).read_text(encoding="utf-8"))
        names = [found["architecture"], found["encoder"], found["sha256"], *found["labels"], *asks_of(found)]
        if not all(isinstance(each, str) and each for each in names):
            raise TypeError
        if not isinstance(found["labels"], list) or len(set(found["labels"])) < 2 or len(asks_of(found)) != 1:
            raise TypeError
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise damaged(folder, f"{CARD} cannot be read") from error
    return found


def asks_of(card: dict[str, Any]) -> tuple[str, ...]:
    """What the text is called that the head reads beside the picture."""
    return tuple(card.get("asks", SINGLE))


def parts(folder: Path) -> dict[str, str]:
    """What a head stands on, by its role: hub ids, and folders by their whole path."""
    card = head_card(folder)
    return {role: _named(folder, card[role]) for role in PARTS if card.get(role)}


def damaged(folder: Path, why: str) -> ModelUnavailable:
    return ModelUnavailable(f"The head in {folder.name!r} is damaged: {why}. Train it again or fetch its files again.")


def fetched_head(identifier: str, revision: str | None) -> Path | None:
    """The folder into which a head of the hub was fetched; None where there is no head by this name."""
    from huggingface_hub import hf_hub_download

    try:
        found = [Path(hf_hub_download(identifier, each, revision=revision)) for each in (CARD, WEIGHTS)]
    except Exception:  # offline, no such name, or no head under it: what the caller tried before says more
        return None
    if any(Path(each).is_absolute() for each in parts(found[0].parent).values()):
        raise damaged(found[0].parent, "it stands on folders of another machine")
    return found[0].parent


def _named(folder: Path, part: object) -> str:
    try:
        if isinstance(part, str) and (folder / part).is_dir():
            return str((folder / part).resolve())
    except OSError:  # longer than any file's name
        pass
    if isinstance(part, str) and HUB_NAME.fullmatch(part):
        return part
    raise damaged(folder, f"{str(part)[:80]!r}, on which it stands, is neither a folder nor a hub id")
