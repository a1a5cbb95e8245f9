"""What somebody else needs to reproduce the numbers."""

import hashlib
import platform
from collections.abc import Iterable
from dataclasses import asdict
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from explainers.datasets.image import InputImage
from explainers.models.inputs.encoding import Encoding
from explainers.results.settings import RANDOM_ORDERS, Settings

if TYPE_CHECKING:
    from explainers.models.frozen_model import FrozenModel

VERSION = "0.1.0"
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


def manifest(model: "FrozenModel", encoding: Encoding, settings: Settings, methods: Iterable[str]) -> dict[str, Any]:
    """Model with its checksum, inputs, methods, settings, seeds and versions."""
    from explainers.models.catalog import fingerprint  # brings torch, which pages must not wait for

    return {
        "crosslight": VERSION,
        "model": {
            "name": model.name,
            "version": model.version,
            "sha256": fingerprint(model),
            "device": str(model.device),
        },
        "texts": list(encoding.texts),
        "picture": image_checksum(encoding.image),
        "settings": asdict(settings),
        "random_orders": RANDOM_ORDERS,
        "methods": list(methods),
        "python": platform.python_version(),
        "libraries": libraries(),
    }
