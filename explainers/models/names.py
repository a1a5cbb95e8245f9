"""Which names of models are allowed, readable without torch: the one rule for whatever loads or starts something."""

import re
from pathlib import Path

from explainers.errors import ModelUnavailable
from explainers.models.cards import bundled

HUB_NAME = re.compile(r"\w[\w.-]{0,95}/\w[\w.-]{0,95}(@[\w.-]{1,95})?")
LONGEST = 300  # characters of a name that a sentence repeats


def permitted(name: str, roots: tuple[Path, ...] | None) -> str:
    """The name of a bundle, the real path of a folder, or a hub id (`owner/model[@revision]`).

    With `roots`, a folder must lie inside one of them, links resolved. Raises `ModelUnavailable` with a sentence.
    """
    if name in bundled():
        return name
    folder = _folder(name)
    if folder is not None:
        if roots is not None and not any(folder.is_relative_to(root.resolve()) for root in roots):
            raise ModelUnavailable(f"The folder {name!r} lies outside the folders that this app may read.")
        return str(folder)
    if HUB_NAME.fullmatch(name) and _folder(name.partition("@")[0]) is None:  # a folder must not slip past the roots
        return name
    raise ModelUnavailable(
        f"There is no model {name[:LONGEST]!r}. Choose one of: {', '.join(bundled())}; "
        "or give a hub id such as owner/model, or a folder."
    )


def _folder(name: str) -> Path | None:
    try:
        found = Path(name).expanduser()
        return found.resolve() if name and found.is_dir() else None
    except (OSError, RuntimeError, ValueError):  # longer than any file's name, the home of nobody, or NUL in it
        return None
