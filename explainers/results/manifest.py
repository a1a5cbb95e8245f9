"""What somebody else needs to reproduce the numbers.

JSON that every reader takes: a number that is not finite, which JSON does not have, becomes null.
"""

import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import asdict
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from explainers.datasets.example import InputImage
from explainers.models.inputs.encoding import Encoding
from explainers.results.decision import RANDOM_ORDERS, ModelCard, Settings

LIBRARIES = ("torch", "transformers", "captum", "numpy", "scikit-learn", "tokenizers")


@lru_cache(maxsize=1)
def libraries() -> dict[str, str]:
    """Installed versions by package name."""
    return {name: installed_version(name) for name in LIBRARIES}


def installed_version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"


def image_checksum(image: InputImage | None) -> dict[str, Any] | None:
    """Size and SHA-256 of the upright pixels, which do not depend on the file format."""
    if image is None:
        return None
    pixels = image.pixels()
    return {"size": list(image.size), "pixels_sha256": hashlib.sha256(pixels.tobytes()).hexdigest()}


def manifest(card: ModelCard, encoding: Encoding, settings: Settings, methods: Iterable[str]) -> dict[str, Any]:
    """Model with its checksum, device and precision, inputs, methods, settings, seeds and versions."""
    return {
        "crosslight": card.crosslight,
        "model": {
            "name": card.name,
            "version": card.version,
            "sha256": card.sha256,
            "device": card.device,
            "precision": card.precision,
            **({"precision_note": card.precision_note} if card.precision_note else {}),
        },
        **({} if card.prompt is None else {"prompt": asdict(card.prompt)}),
        "texts": list(encoding.texts),
        "picture": image_checksum(encoding.image),
        "settings": settings.as_dict(),
        "random_orders": RANDOM_ORDERS,
        "methods": list(methods),
        "python": card.python,
        "libraries": dict(card.libraries),
    }


def strict_json(content: Any) -> str:
    """`content` as indented JSON, with the text as it was typed."""
    return json.dumps(_finite(content), ensure_ascii=False, allow_nan=False, indent=2)


def _finite(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content
