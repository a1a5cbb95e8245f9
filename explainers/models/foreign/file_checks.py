"""The files of a foreign model in a folder: which are read, that weights are safetensors, and that all lie in it."""

import json
import os
import re
from pathlib import Path

from explainers.errors import ModelUnavailable

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
SHARD = re.compile(r"[\w-][\w.-]*\.safetensors")  # a plain file name
SUFFIXES = (".safetensors", ".json", ".txt", ".model", ".bpe")  # of the files that are read
MAX_FILE = 2**27  # bytes of a file that is no weights; the largest vocabularies take a quarter
BYTES_VARIABLE = "CROSSLIGHT_MAX_MODEL_BYTES"
MAX_MODEL_BYTES = 10 * 10**9  # Qwen2-VL-2B, the largest that an adapter was made for, takes 8.8 GB of memory


def most_model_bytes() -> int:
    """Of weights, in the files and in memory. Raises `ModelUnavailable` if the setting is not a number."""
    typed = os.environ.get(BYTES_VARIABLE) or str(MAX_MODEL_BYTES)
    if not typed.isdecimal():
        raise ModelUnavailable(f"{BYTES_VARIABLE} must be a number of bytes such as {MAX_MODEL_BYTES}, not {typed!r}.")
    return int(typed)


def check_model_bytes(name: str, size: int) -> None:
    """Raises `ModelUnavailable` if weights of this size are not loaded here."""
    if size > most_model_bytes():
        raise ModelUnavailable(
            f"The weights of {name!r} take {size / 1e9:,.1f} GB; at most {most_model_bytes() / 1e9:,.1f} GB "
            f"are loaded. Choose a smaller model, or set {BYTES_VARIABLE}."
        )


def check_file_size(name: str, path: Path, most: int = MAX_FILE) -> None:
    """Raises `ModelUnavailable` if a file beside the weights is too large to be one."""
    if path.is_file() and path.stat().st_size > most:
        raise ModelUnavailable(
            f"{path.name} of {name!r} takes {path.stat().st_size / 2**20:,.0f} MB; at most {most >> 20} MB are read."
        )


def weight_files(name: str, folder: Path) -> list[Path]:
    """The files that hold the weights. Raises `ModelUnavailable` unless all are safetensors files of this folder."""
    every = sorted(folder.glob("*.safetensors"))
    if not every:
        raise ModelUnavailable(f"{name} holds no .safetensors file; other weight formats can run code and are refused.")
    for path in sorted(folder.iterdir()):
        if path.suffix in SUFFIXES and path.resolve().parent not in _inside(folder):
            raise ModelUnavailable(f"{path.name} in {name!r} links to a file outside the folder.")
    for index in sorted(folder.glob("*.index.json")):
        shards_of(name, index)
    if (folder / WEIGHTS).is_file():
        files = [folder / WEIGHTS]
    elif (folder / INDEX).is_file():
        files = [folder / shard for shard in shards_of(name, folder / INDEX)]
    else:
        raise ModelUnavailable(f"The model {name!r} could not be loaded: it has neither {WEIGHTS} nor {INDEX}.")
    missing = [each.name for each in files if not each.is_file()]
    if missing:
        raise ModelUnavailable(f"The model {name!r} could not be loaded: {missing[0]} is missing.")
    check_model_bytes(name, sum(each.stat().st_size for each in files))
    return files


def shards_of(name: str, index: Path) -> list[str]:
    """The file names in an index. It may name files beside it only: a path could lead to a pickle elsewhere."""
    check_file_size(name, index)
    try:
        shards = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ModelUnavailable(f"{index.name} of {name!r} cannot be read.") from error
    for shard in sorted(map(str, shards)):
        if not SHARD.fullmatch(shard):
            raise ModelUnavailable(
                f"{index.name} of {name!r} names {shard[:80]!r}; only .safetensors files beside it are read."
            )
    return sorted(shards)


def _inside(folder: Path) -> tuple[Path, ...]:
    """Where the files of a folder may lie: in it, or among the blobs of a snapshot in the hub's cache."""
    return folder.resolve(), folder.resolve().parent.parent / "blobs"
