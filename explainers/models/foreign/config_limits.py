"""What a foreign configuration may ask for: checked in its JSON, before anything is made of it.

A number in a config.json decides how much is allocated, or how often a loop runs. The limits are some times what the
largest published encoders have; which one counts is decided by the name of the entry.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from explainers.errors import ModelUnavailable
from explainers.models.foreign.file_checks import check_file_size

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
        inner = [each for value in content for each in _numbers(value, name, entry)]
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
