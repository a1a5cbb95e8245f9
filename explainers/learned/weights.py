"""Fitted weights as files: where they lie, how they are kept, and how a method gets them.

    assets/bundles/<model>/learned/<method>-<variant>.safetensors    shipped with the embedded models
    <store>/learned/<model>-<version>/<method>-<variant>.safetensors what a person has fitted, for any model
    …/<method>-<variant>.json                                        beside each: recipe, data, seed, command, figures

The store is the folder `store`, or the one that CROSSLIGHT_STORE names.
"""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, get_args, get_origin, get_type_hints

from explainers.errors import ExplanationError, ModelUnavailable
from explainers.learned.entries import DEFAULT_VARIANTS
from explainers.models.cards import BUNDLES, bundled

if TYPE_CHECKING:
    from torch import nn

    from explainers.learned.recipe import Recipe
    from explainers.models.classifier import FrozenModel

STORE_VARIABLE = "CROSSLIGHT_STORE"
COUNTS = ("epochs", "batch", "rank", "hidden", "r")  # settings of which there must be at least one
VARIANT = re.compile(r"[a-z0-9][a-z0-9_.-]{0,39}")


@dataclass(frozen=True)
class Fitted:
    """One set of weights that lies on the disk. `variant` tells those of one method apart."""

    method: str
    variant: str
    path: Path  # the .safetensors file

    @property
    def card(self) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads(self.path.with_suffix(".json").read_text(encoding="utf-8"))
            dict(found["recipe"]), found["model"]["version"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ModelUnavailable(f"The card of {self.path.name} is missing or damaged. Fit it again.") from error
        return found


def store() -> Path:
    return Path(os.environ.get(STORE_VARIABLE, "store"))


def own_folder(model: str, version: str) -> Path:
    """Where a person's own weights for this model lie."""
    safe = re.sub(r"[^\w.-]+", "_", model).strip("._")[-60:] or "model"
    return store() / "learned" / f"{safe}-{version[:12]}"


def folders(model: str, version: str) -> Iterator[Path]:
    """Where weights for a model are looked for: a person's own before the shipped ones."""
    if version:
        yield own_folder(model, version)
    else:  # not known before the model is loaded
        yield from sorted(store().glob(f"learned/{own_folder(model, '').name}*"))
    if model in bundled():
        yield BUNDLES / model / "learned"


def available(model: str, version: str) -> tuple[Fitted, ...]:
    """Everything that was fitted to this model, each variant once, in the order of names."""
    found: dict[tuple[str, str], Fitted] = {}
    for folder in folders(model, version):
        for path in sorted(folder.glob("*.safetensors")):
            method, _, variant = path.stem.partition("-")
            found.setdefault((method, variant), Fitted(method, variant, path))
    return tuple(found[key] for key in sorted(found))


def place(model: str, version: str, method: str, variant: str) -> Fitted:
    """The weights of `variant`; of the empty one the method's first choice. Raises `ExplanationError` if none."""
    mine = [each for each in available(model, version) if each.method == method]
    wanted = [each for each in mine if each.variant == variant] if variant else preferred(method, mine)
    if not wanted:
        missing = f"a variant {variant!r} of it" if mine else "it"
        raise ExplanationError(
            f"This method learns to explain one model, and {missing} has not been fitted to {model}. "
            f"Fit it on the Train page, or with `python -m explainers fit {method} --model {model}`."
        )
    return wanted[0]


def preferred(method: str, mine: list[Fitted]) -> list[Fitted]:
    """The method's default variant first, where it is there."""
    first = DEFAULT_VARIANTS.get(method, "")
    return sorted(mine, key=lambda each: each.variant != first)


def fitted(model: "FrozenModel", method: str, variant: str) -> "tuple[Recipe, nn.Module]":
    """Recipe and trained module, loaded once per model and file."""
    found = place(model.name, model.version, method, variant)
    key = (found, found.path.stat().st_mtime_ns)
    if key not in model.fitted:
        model.fitted[key] = loaded(found, model)
    return cast("tuple[Recipe, nn.Module]", model.fitted[key])


def loaded(found: Fitted, model: "FrozenModel") -> "tuple[Recipe, nn.Module]":
    """From the disk. Raises `ModelUnavailable` if the files are damaged or belong to another model."""
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    from explainers.learned.recipe import learned
    from explainers.models.base import sha256

    card = found.card
    if card["model"]["version"] != model.version:
        raise ModelUnavailable(f"{found.path.name} was fitted to another version of {model.name}. Fit it again.")
    recipe = recipe_of(found.method, card["recipe"])
    try:
        weights = load_file(found.path)
        if sha256(found.path) != card.get("sha256", ""):
            raise KeyError("the checksum is not the one on the card")
        with model.lock, torch.random.fork_rng():  # nobody hangs hooks on what is copied
            module = recipe.module(model).to(model.device)
        missing = set(learned(module)) ^ set(weights)
        if missing:
            raise KeyError(", ".join(sorted(missing)[:3]))
        module.load_state_dict({name: tensor.float() for name, tensor in weights.items()}, strict=False)
    except (OSError, SafetensorError, KeyError, RuntimeError) as error:
        raise ModelUnavailable(f"{found.path.name} is damaged or of another architecture. Fit it again.") from error
    return recipe, module.requires_grad_(False).eval()


def recipe_of(method: str, values: dict[str, Any]) -> "Recipe":
    """The recipe with these hyperparameters. Raises `ExplanationError` for an unknown name or a bad value."""
    from explainers.learned.recipes import RECIPES

    if method not in RECIPES:
        raise ExplanationError(f"{method!r} does not learn. Choose one of: {', '.join(RECIPES)}.")
    found: Recipe = with_settings(RECIPES[method], method, values)
    return found


def with_settings(recipe: Any, method: str, values: dict[str, Any]) -> Any:
    """A recipe's dataclass with these values, perhaps as typed. Raises `ExplanationError` for what does not fit."""
    kinds = {field.name: field.default for field in fields(recipe)}
    hints = get_type_hints(recipe)
    known = set(kinds) - {"method", "distribution"}
    ready: dict[str, Any] = {}
    for name, value in values.items():
        if name not in kinds:
            raise ExplanationError(f"{method} has no setting {name!r}. Choose from: {', '.join(sorted(known))}.")
        if name in known:
            ready[name] = _typed(method, name, value, kinds[name])
            _possible(method, name, ready[name], hints[name])
    return recipe(**ready)


def _typed(method: str, name: str, value: Any, default: Any) -> Any:
    """`value`, perhaps as typed on the command line, in the type of the default."""
    try:
        if isinstance(default, bool):
            return {"true": True, "false": False, "1": True, "0": False}[str(value).lower()]
        return type(default)(value)
    except (ValueError, KeyError, TypeError) as error:
        raise ExplanationError(f"The setting {name} of {method} must be like {default!r}, not {value!r}.") from error


def _possible(method: str, name: str, value: Any, hint: Any) -> None:
    """Raises `ExplanationError` for a choice that does not exist and for numbers that make no sense."""
    choices = get_args(hint) if get_origin(hint) is Literal else ()
    if choices and value not in choices:
        raise ExplanationError(
            f"The setting {name} of {method} cannot be {value!r}. Choose from: {', '.join(choices)}."
        )
    least = 1 if name in COUNTS else 0
    if isinstance(value, int | float) and not least <= value < float("inf"):
        raise ExplanationError(f"The setting {name} of {method} must be at least {least}, not {value!r}.")
