"""Crosslight: explanations of frozen Transformer classifiers side by side, and how far each can be trusted.

    from explainers import load, explain, METHODS
    explain(load("sst2"), "A charming and often affecting journey.")

The names are imported when they are first used, so that a page can be drawn while torch is still loading.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from explainers.installation import VERSION as __version__

if TYPE_CHECKING:
    from explainers.api import InputFailed, explain, explain_beside
    from explainers.errors import ExplanationError
    from explainers.methods.registry import METHODS
    from explainers.models.catalog import load
    from explainers.models.in_memory import wrap
    from explainers.models.prompt import Prompt
    from explainers.results.comparison import Comparison

__all__ = [
    "METHODS",
    "Comparison",
    "ExplanationError",
    "InputFailed",
    "Prompt",
    "__version__",
    "explain",
    "explain_beside",
    "load",
    "wrap",
]

HOMES = {
    "METHODS": "explainers.methods.registry",
    "Comparison": "explainers.api",
    "ExplanationError": "explainers.errors",
    "InputFailed": "explainers.api",
    "Prompt": "explainers.models.prompt",
    "explain": "explainers.api",
    "explain_beside": "explainers.api",
    "load": "explainers.models.catalog",
    "wrap": "explainers.models.in_memory",
}


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module 'explainers' has no attribute {name!r}")
    return getattr(import_module(HOMES[name]), name)
