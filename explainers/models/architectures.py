"""The packages of `explainers.models` that hold one architecture each; readable without torch."""

import pkgutil
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).parent


@lru_cache
def architectures_with(module: str) -> tuple[str, ...]:
    """The names of the packages here that have a module of this name."""
    packages = (module.name for module in pkgutil.iter_modules([str(FOLDER)]) if module.ispkg)
    return tuple(name for name in packages if module in _modules(FOLDER / name))


def architecture_module(architecture: str, module: str) -> ModuleType:
    """`explainers.models.<architecture>.<module>`, imported now. Raises `ValueError` if there is none."""
    if architecture not in architectures_with(module):
        raise ValueError(f"no module {module} for the architecture {architecture!r}")
    return import_module(f"explainers.models.{architecture}.{module}")


def _modules(folder: Path) -> Iterator[str]:
    return (module.name for module in pkgutil.iter_modules([str(folder)]))
