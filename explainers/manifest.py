"""What somebody else needs to get the same figures again."""

import hashlib
import platform
from collections.abc import Iterable
from dataclasses import asdict
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from explainers.comparison import Question
from explainers.datasets.picture import Picture
from explainers.evaluation_names import ORDERS
from explainers.models.catalog import fingerprint

VERSION = "0.1.0"
LIBRARIES = ("torch", "transformers", "captum", "numpy", "scikit-learn", "tokenizers")


@lru_cache(maxsize=1)
def libraries() -> dict[str, str]:
    return {name: installed(name) for name in LIBRARIES}


def installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"


def pixels_of(picture: Picture | None) -> dict[str, Any] | None:
    """Size and checksum of a picture's upright pixels, which are the same in whatever file it comes."""
    if picture is None:
        return None
    pixels = picture.pixels()
    return {"size": list(picture.size), "pixels_sha256": hashlib.sha256(pixels.tobytes()).hexdigest()}


def manifest(question: Question, methods: Iterable[str]) -> dict[str, Any]:
    """Model with its checksum, text, methods, parameters, seeds and versions."""
    model = question.model
    return {
        "crosslight": VERSION,
        "model": {
            "name": model.name,
            "version": model.version,
            "sha256": fingerprint(model),
            "device": str(model.device),
        },
        "texts": list(question.encoding.texts),
        "picture": pixels_of(question.encoding.picture),
        "settings": asdict(question.settings),
        "random_orders": ORDERS,
        "methods": list(methods),
        "python": platform.python_version(),
        "libraries": libraries(),
    }
