"""What somebody else needs to get the same figures again."""

import platform
from collections.abc import Iterable
from dataclasses import asdict
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from explainers.comparison import Question
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
        "settings": asdict(question.settings),
        "random_orders": ORDERS,
        "methods": list(methods),
        "python": platform.python_version(),
        "libraries": libraries(),
    }
