"""The files of a foreign model in a folder: which are read, that weights are safetensors, and that all lie in it.

Compares the network that a configuration describes with the weights in the files, before memory is taken for it.

The errors of libraries as sentences for people.

What a foreign configuration may ask for: checked in its JSON, before anything is made of it.

A number in a config.json decides how much is allocated, or how often a loop runs. The limits are some times what the
largest published encoders have; which one counts is decided by the name of the entry.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import nn

from explainers.errors import ExplanationError, ModelUnavailable, without_folders

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
SHARD = re.compile(r"[\w-][\w.-]*\.safetensors")  # a plain file name
SUFFIXES = (".safetensors", ".json", ".txt", ".model", ".bpe", ".jinja")  # of the files that are read
MAX_FILE = 2**27  # bytes of a file that is no weights; the largest vocabularies take a quarter
BYTES_VARIABLE = "CROSSLIGHT_MAX_MODEL_BYTES"
MAX_MODEL_BYTES = 10 * 10**9  # Qwen2-VL-2B, the largest that an adapter was made for, takes 8.8 GB of memory


def most_model_bytes() -> int:
    """The most bytes of weights, in files and in memory. Raises `ModelUnavailable` if the setting is no number."""
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
    missing = [file.name for file in files if not file.is_file()]
    if missing:
        raise ModelUnavailable(f"The model {name!r} could not be loaded: {missing[0]} is missing.")
    check_model_bytes(name, sum(file.stat().st_size for file in files))
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


BYTES = 4  # of a number in memory: fp32
TENSORS = 2**16
TIMES, MORE = 2, 10**7  # a network may have weights that its files lack: a new head, a pooler, tables of positions

Shapes = dict[str, tuple[int, ...]]


def stored_shapes(name: str, files: Iterable[Path]) -> Shapes:
    """The shape of every tensor in the files. Raises `ModelUnavailable` if one is damaged, or all is too large."""
    shapes: Shapes = {}
    for path in files:
        try:
            with safe_open(path, "pt") as file:
                for key in file.keys():  # noqa: SIM118  # it is no dict
                    shapes[key] = tuple(file.get_slice(key).get_shape())
        except Exception as error:  # the library's own, or the system's
            raise ModelUnavailable(f"The model {name!r} could not be loaded: {path.name} cannot be read.") from error
        if not shapes:
            raise ModelUnavailable(f"The model {name!r} could not be loaded: {path.name} holds no weights.")
    if len(shapes) > TENSORS:
        raise ModelUnavailable(f"The model {name!r} has {len(shapes):,} tensors; at most {TENSORS:,} are supported.")
    check_model_bytes(name, BYTES * _shape_numbers(shapes.values()))
    return shapes


def described_shapes(auto: Any, config: Any) -> Shapes:
    """The shape of every weight and buffer of the network, which is built without memory."""
    with torch.device("meta"):
        network: nn.Module = auto.from_config(config, attn_implementation="eager")
    tensors = [*network.named_parameters(), *network.named_buffers()]
    return {name: tuple(tensor.shape) for name, tensor in tensors}


def check_network(name: str, described: Shapes, stored: Shapes) -> None:
    """Raises `ModelUnavailable` if the network is too large, or much larger than its files."""
    numbers, kept = _shape_numbers(described.values()), _shape_numbers(stored.values())
    if numbers > TIMES * kept + MORE:
        raise ModelUnavailable(
            f"The configuration of {name!r} describes a network of {numbers:,} weights, but its files hold {kept:,}."
        )
    check_model_bytes(name, BYTES * numbers)


def check_finite(name: str, module: nn.Module) -> None:
    """Raises `ModelUnavailable` if a weight is NaN or infinite."""
    for weight, tensor in module.named_parameters():
        if not bool(torch.isfinite(tensor).all()):
            raise ModelUnavailable(
                f"The weights of {name!r} are damaged: {weight} holds numbers that are NaN or infinite. Fetch it again."
            )


def _shape_numbers(shapes: Iterable[tuple[int, ...]]) -> int:
    total = 0
    for shape in shapes:
        size = 1
        for side in shape:
            size *= side
        total += size
    return total


LONGEST = 200  # characters of a library's message


@contextmanager
def load_errors(name: str, expected: str) -> Iterator[None]:
    """During the block every error of the libraries becomes `ModelUnavailable`; `expected` is the kind of model.

    Also those that are no `Exception`, such as Rust's panics; only what ends the program itself passes.
    """
    try:
        yield
    except (ExplanationError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        raise ModelUnavailable(
            f"The model {name!r} could not be loaded: {first_sentence(error)} "
            f"Give the id of {expected} on the Hugging Face hub or a folder with its files."
        ) from error


def first_sentence(error: BaseException) -> str:
    """The first line of a library's message, without the folders of this machine; a sentence of ours as it is."""
    if isinstance(error, ExplanationError) and str(error):
        return str(error)
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return without_folders(lines[0]).rstrip(".: ")[:LONGEST] + "."


MAX_JSON = 2**23  # bytes; a configuration that names 20,000 classes takes one million
LAYERS = re.compile(r"^(?!.*(size|dim)$).*(layer|depth|block|group|expert|stage|network|repeat)|block_sizes")
LIMITS = tuple(
    (re.compile(pattern), limit)
    for pattern, limit in (
        (r"(ids?|index|theta|seed|steps?|pixels|flos|rate|version)$", 2**62),  # they allocate nothing
        (r"vocab", 2**21),
        (r"labels", 2**15),
        (r"position|length|seq|ctx|window", 2**20),
        (LAYERS.pattern, 512),
        (r"image_size|patch|height|width|crop", 4096),
        (r"", 2**16),  # sizes of states, heads and all else
    )
)
LISTS = 4096  # entries; a list may say something about each layer
CLASS_NAMES = ("id2label", "label2id")
MAX_SIDE, MAX_PIXELS = 4096, 2**24  # of an image as a model reads it


def read_config(name: str, path: Path) -> dict[str, Any]:
    """The configuration at `path`. Raises `ModelUnavailable` if it is no JSON object or asks for too much."""
    config = read_json(name, path)
    if "transformers_weights" in config:
        raise ModelUnavailable(f"{path.name} of {name!r} names a file of weights, which is not supported.")
    for entry in CLASS_NAMES:
        if isinstance(config.get(entry), dict):
            _check(name, "num_labels", len(config[entry]))
    for entry, number in _numbers(config, name):
        _check(name, entry, number)
    return config


def check_preprocessor(name: str, path: Path) -> None:
    """Raises `ModelUnavailable` if images would be resized to more than a model reads."""
    if not path.is_file():
        return
    settings = read_json(name, path)
    in_pixels = "Qwen" in str(settings.get("image_processor_type"))  # its edges are numbers of pixels
    for entry, number in _numbers(settings, name):
        most = MAX_PIXELS if "pixels" in entry or (in_pixels and "edge" in entry) else MAX_SIDE
        if abs(number) > most:
            raise _too_much(name, entry, number, most)


def read_json(name: str, path: Path) -> dict[str, Any]:
    """The JSON object at `path`. Raises `ModelUnavailable`."""
    if not path.is_file():
        raise ModelUnavailable(f"The model {name!r} could not be loaded: it has no {path.name}.")
    check_file_size(name, path, MAX_JSON)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelUnavailable(f"The model {name!r} could not be loaded: {path.name} cannot be read.") from error
    if not isinstance(content, dict):
        raise ModelUnavailable(f"The model {name!r} could not be loaded: {path.name} is not an object of JSON.")
    return content


def _numbers(content: Any, name: str, entry: str = "") -> Iterator[tuple[str, int]]:
    """Every whole number below `content` with the name of its entry; of a list its sum."""
    if isinstance(content, dict | list) and len(content) > LISTS:
        raise _too_much(name, f"entries in {entry or 'its configuration'}", len(content), LISTS)
    if isinstance(content, dict):
        for key, value in content.items():
            if key not in CLASS_NAMES:
                yield from _numbers(value, name, str(key))
    elif isinstance(content, list):
        inner = [number for value in content for number in _numbers(value, name, entry)]
        yield from inner
        if LAYERS.search(entry):  # such as the depths of stages
            yield entry, sum(number for key, number in inner if key == entry)
    elif isinstance(content, int) and not isinstance(content, bool):
        yield entry, content


def _check(name: str, entry: str, number: int) -> None:
    limit = next(limit for pattern, limit in LIMITS if pattern.search(entry))
    if abs(number) > limit:
        raise _too_much(name, entry, number, limit)


def _too_much(name: str, entry: str, number: int, limit: int) -> ModelUnavailable:
    shown = f"{number:,}" if abs(number) < 10**18 else "a number of more than 18 digits"
    return ModelUnavailable(f"The model {name!r} asks for {shown} {entry}; at most {limit:,} are supported.")
