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
from explainers.results.stored_model import StoredModel

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
    computed = versions(model)
    return {
        "crosslight": computed.pop("crosslight"),
        "model": {
            "name": model.name,
            "version": model.version,
            "sha256": checksum(model),
            "device": str(model.device),
        },
        "texts": list(encoding.texts),
        "picture": image_checksum(encoding.image),
        "settings": asdict(settings),
        "random_orders": RANDOM_ORDERS,
        "methods": list(methods),
        **computed,
    }


def checksum(model: "FrozenModel | StoredModel") -> str:
    if isinstance(model, StoredModel):
        return model.sha256
    from explainers.models.catalog import fingerprint  # brings torch, which pages must not wait for

    return fingerprint(model)


def versions(model: "FrozenModel | StoredModel") -> dict[str, Any]:
    """Of this program, Python and the libraries: those that computed the results."""
    if isinstance(model, StoredModel):
        return {"crosslight": model.crosslight, "python": model.python, "libraries": dict(model.libraries)}
    return {"crosslight": VERSION, "python": platform.python_version(), "libraries": libraries()}
