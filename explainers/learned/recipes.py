"""The recipes of all learned methods, and the variants that are shipped for each embedded model."""

from collections.abc import Mapping
from typing import Any

from explainers.errors import ExplanationError
from explainers.learned.aml import Aml
from explainers.learned.ciem import Ciem
from explainers.learned.cimi import Cimi
from explainers.learned.ivra import Ivra
from explainers.learned.recipe import Recipe
from explainers.training.hyperparameters import with_hyperparameters

RECIPES: dict[str, Any] = {"aml": Aml, "cimi": Cimi, "ciem": Ciem, "ivra": Ivra}

MIDDLE: dict[str, Any] = {"layer": 3, "learning_rate": 3e-3, "epochs": 3, "validations": 1}
ZERO: dict[str, Any] = {"erasure": "zero", "sparsity": 0.0, "epochs": 3, "validations": 1, "select": "last"}
SIM: dict[str, Any] = {"epochs": 10, "learning_rate": 2e-2, "select": "last"}
CONS: dict[str, Any] = {"consistency": "correlation", "epochs": 6, "select": "cons"}
WITH_CONS: dict[str, Any] = {"consistency": "correlation", "select": "last"}
MIXED: dict[str, dict[str, Any]] = {  # two criteria at once, with equal weights (Xie et al., 2024, Fig. 5)
    "comp+suff": {},
    "comp+cons": WITH_CONS,
    "comp+sim": {"select": "last"},
    "suff+cons": WITH_CONS,
    "suff+sim": {"select": "last"},
    "cons+sim": WITH_CONS,
}

SHIPPED: dict[str, dict[str, dict[str, Any]]] = {
    "aml": {
        "difference": {"select": "difference"},
        "comp": {"select": "comp", "lambda_p": 0.8, "lambda_inv": 0.8, "lambda_a": 1.0},
        "suff": {"select": "suff", "lambda_inv": 0.5, "epochs": 4},
    },
    "cimi": {"mask": {"erasure": "mask"}, "zero": ZERO},
    "ciem": {"last": {"layer": 0}, "middle": MIDDLE},
    "ivra": {
        **{
            f"{criterion}-{norm}": {"criterion": criterion, "norm": norm, **settings}
            for criterion, settings in (("comp", {}), ("suff", {}), ("cons", CONS), ("sim", SIM))
            for norm in ("sparsemax", "softmax")
        },
        "smat": {"criterion": "sim", "norm": "softmax", "smat": True, **SIM},
        "smat-comp": {"criterion": "comp", "norm": "softmax", "smat": True},
        "smat-suff": {"criterion": "suff", "norm": "softmax", "smat": True},
        **{
            f"{criteria.replace('+', '-')}-softmax": {"criterion": criteria, "norm": "softmax", **settings}
            for criteria, settings in MIXED.items()
        },
    },
}


def recipe_of(method: str, values: Mapping[str, Any]) -> Recipe:
    """The recipe with these hyperparameters. Raises `ExplanationError` for an unknown method, name or value."""
    recipe: Recipe = with_hyperparameters(recipe_class(method), method, values)
    return recipe


def recipe_class(method: str) -> Any:
    """Raises `ExplanationError` for a method that does not learn."""
    if method not in RECIPES:
        raise ExplanationError(f"{method!r} does not learn. Choose one of: {', '.join(RECIPES)}.")
    return RECIPES[method]
