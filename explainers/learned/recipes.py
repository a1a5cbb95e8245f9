"""The recipes of all learned methods, the variants that are shipped for each embedded model, and explaining with the
weights that were fitted: the same few lines for every learned method.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from explainers.errors import ExplanationError
from explainers.learned.aml import Aml
from explainers.learned.batches import Batch
from explainers.learned.ciem import Ciem
from explainers.learned.cimi import Cimi
from explainers.learned.cxplain import CxPlain
from explainers.learned.ivra import Ivra
from explainers.learned.recipe import Recipe, load_learned
from explainers.methods.registry import method_spec
from explainers.models import batching, internals
from explainers.results.attribution import Attribution, floats
from explainers.training.spec import with_hyperparameters

if TYPE_CHECKING:
    from torch import nn

    from explainers.models.frozen_model import FrozenModel
    from explainers.models.inputs.encoding import Encoding


RECIPES: dict[str, Any] = {recipe.method: recipe for recipe in (Aml, Cimi, Ciem, Ivra, CxPlain)}

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
    "cxplain": {"mask": {}},
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


@dataclass(frozen=True)
class LearnedAttribution:
    """Costs a pass of the frozen model and what the method itself needs. The scores explain the predicted class,
    whichever `label` is given, unless the network `reads_class`: what it is told is the prediction."""

    method: str
    variant: str = ""
    reads_class: bool = False

    def attribute(self, model: "FrozenModel", encoding: "Encoding", label: int) -> Attribution:
        recipe, module = load_trained(model, self.method, self.variant)
        inputs = model.padded([encoding])
        with batching.memory_errors(), torch.no_grad():
            whole = internals.forward_with_internals(model, inputs)
            text = Batch(inputs, whole.probabilities(model), whole)
            text = text.about(label) if self.reads_class else text
            scores = floats(recipe.scores(module, model, text)[0].cpu())
            sample = getattr(recipe, "draws", None)  # where the method is a distribution: equally likely scores
            draws = tuple(floats(row.cpu()) for row in sample(module, model, text)) if sample else ()
        spread = floats(torch.tensor(draws).std(0)) if draws else ()
        name = f"{self.method}:{self.variant}" if self.variant else self.method
        # the draws are not kept: they are not noise of the scores, which are deterministic
        signed = method_spec(self.method).signed
        return Attribution(name, encoding, label, scores, signed=signed, spread=spread, samples=len(draws))


def load_trained(model: "FrozenModel", method: str, variant: str = "") -> "tuple[Recipe, nn.Module]":
    """Recipe and trained module of any learned method."""
    return load_learned(model, recipe_class(method), method, variant)
