"""Hyperparameters of a training, from typed values to the fields of its dataclass."""

from collections.abc import Collection, Mapping
from dataclasses import fields
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from explainers.errors import ExplanationError

COUNTS = ("epochs", "validations", "batch", "hidden", "r")  # at least 1
SHARES = ("dropout", "epsilon", "share")  # from 0 to 1
NOT_SETTINGS = ("method", "distribution")  # fields that say what a recipe is

HELP = {
    "lambda_p": "Weight of the loss that asks for the model's probabilities from the kept words alone.",
    "lambda_inv": "Weight of the loss that asks for another class without the kept words.",
    "lambda_a": "Weight of the price for keeping words. More keeps fewer.",
    "filler": "What stands in place of words that are not kept: the mask token, a learned embedding or random words.",
    "dropout": "How many shares are 0 at random where the kept words are removed, so that each counts by itself.",
    "sufficiency": "Weight of the loss that asks for the model's answer from the causes alone.",
    "intervention_weight": "Weight α of the loss that asks for the same mask when the rest is mixed with another text.",
    "weak_supervision": "Weight of the loss that asks for higher masks for words of this text than for another text's.",
    "sparsity": "Price for the mean of the mask. With 0, the paper's loss, a mask of ones is the optimum.",
    "states": "Whether the decoder also reads the model's states, and not only the embeddings.",
    "intervention": "How two masks are compared: by squared error as in the paper, or by cosine as in the code.",
    "epsilon": "How much of another text is mixed into the rest at most, from 0 to 1.",
    "discrete": "How the mask becomes 0 or 1 in training: not at all, by Gumbel softmax, or by deep hashing.",
    "hidden": "Width of the network that is trained.",
    "layer": "The layer k of the model whose states are explained, from 1; 0 is the last.",
    "r": "Width of the two latent variables whose product is the matrix of the scores.",
    "alpha": "Weight of the evidence lower bound (ELBO).",
    "tau": "Weight of the faithfulness term, which alone fixes the sign of the scores.",
    "cross_entropy": "Whether the latent variables also have to lead to the model's answer.",
    "conditional": "Whether encoder, prior and decoder also read the model's answer Y.",
    "decoder_input": "What the decoder reads: Z, or every token's latent variables side by side.",
    "criterion": "What the weights are trained for: sim, comp, suff or cons, or several joined by +.",
    "norm": "NORM in the formula. Sparsemax gives most words exactly 0, softmax none.",
    "levels": "Which weights are learned: feature, head and layer, joined by +. The others stay uniform.",
    "smat": "Learn a weight per attention head alone, as SMaT does, instead of the read-out with three levels.",
    "relaxation": "How the cut at the top k % gets a gradient. soft: words fade near the cut. straight: the loss is "
    "that of the hard cut, its gradient that of the soft one.",
    "temperature": "How soft the cut is at the start, more than 0.",
    "last_temperature": "How soft the cut is at the end, more than 0. In between it falls evenly.",
    "student_rate": "Learning rate of SIM's student. Only the criterion sim reads it.",
    "consistency": "The loss of CONS. ratio: divergence of explanations by distance of states, as in the paper. "
    "correlation: of both distances, which is what CONS measures. Only the criterion cons reads it.",
    "select": "The weights that are kept: the best by AOPC-C minus AOPC-S, by one of them or by CONS, or the last.",
    "epochs": "How often every text is read.",
    "validations": "How often in an epoch the metrics are measured on held-out texts.",
    "precision": "Of the model's passes in training. bfloat16 is quicker on processors and GPUs that compute in it.",
    "batch": "Texts per step.",
    "learning_rate": "Size of the steps. If the loss jumps or is not a number, make it smaller.",
    "weight_decay": "How strongly weights are pulled to zero.",
    "rank": "Size of the adapters that are trained on top of the model's encoder; 0 trains all weights of its layers.",
    "erasure": "What replaces an erased word in training.",
    "seed": "Of everything random. The same seed gives the same weights.",
}

LABELS = {
    "lambda_p": "λ of L_p",
    "lambda_inv": "λ of L_inv",
    "lambda_a": "λ of L_a",
    "r": "r",
    "smat": "SMaT",
    "alpha": "α of the ELBO",
    "tau": "τ of faithfulness",
    "epsilon": "ε of the intervention",
    "sufficiency": "Weight of sufficiency",
    "intervention_weight": "Weight α of the intervention",
    "weak_supervision": "Weight of weak supervision",
    "sparsity": "Price of the mask",
    "select": "Weights that are kept",
    "batch": "Batch size",
    "hidden": "Hidden width",
    "norm": "NORM",
    "cross_entropy": "Cross-entropy",
}

Recipe = TypeVar("Recipe")


def setting_label(name: str) -> str:
    """A setting's name as a person reads it."""
    return LABELS.get(name, name.replace("_", " ").capitalize())


def settings_text(
    recipe: type, values: Mapping[str, Any], meaning: Mapping[str, str] = HELP, without: Collection[str] = ("seed",)
) -> str:
    """A line for every setting but those `without`: its name, its value among `values` or by default, its `meaning`."""
    hints = get_type_hints(recipe)
    lines = []
    for field in fields(recipe):
        if field.name in (*NOT_SETTINGS, *without):
            continue
        choices = get_args(hints[field.name]) if get_origin(hints[field.name]) is Literal else ()
        default = values.get(field.name, field.default)
        value = str(default).lower() if isinstance(default, bool) else str(default)
        about = [meaning.get(field.name, ""), f"One of: {', '.join(choices)}." if choices else ""]
        lines.append(f"{field.name}={value}  {' '.join(filter(None, about))}".rstrip())
    return "\n".join(lines)


def with_hyperparameters(recipe: type[Recipe], method: str, values: Mapping[str, Any]) -> Recipe:
    """A recipe with these values, which may be strings. Raises `ExplanationError` for unknown names and bad values."""
    defaults = {field.name: field.default for field in fields(recipe)}  # type: ignore[arg-type]
    hints = get_type_hints(recipe)
    settable = set(defaults) - set(NOT_SETTINGS)
    ready: dict[str, Any] = {}
    for name, value in values.items():
        if name not in defaults:
            raise ExplanationError(f"{method} has no setting {name!r}. Choose from: {', '.join(sorted(settable))}.")
        if name in settable:
            ready[name] = _typed(method, name, value, defaults[name])
            _check(method, name, ready[name], hints[name])
    return recipe(**ready)


def _typed(method: str, name: str, value: Any, default: Any) -> Any:
    """`value` in the type of the default."""
    try:
        if isinstance(default, bool):
            return {"true": True, "false": False, "1": True, "0": False}[str(value).lower()]
        return type(default)(value)
    except (ValueError, KeyError, TypeError) as error:
        kind = {bool: "true or false", int: "a whole number", float: "a number"}.get(type(default), "a value")
        example = "" if isinstance(default, bool) else f" such as {default!r}"
        raise ExplanationError(f"The setting {name} of {method} must be {kind}{example}, not {value!r}.") from error


def _check(method: str, name: str, value: Any, hint: Any) -> None:
    """Raises `ExplanationError` for an unknown choice and for a number out of range."""
    choices = get_args(hint) if get_origin(hint) is Literal else ()
    if choices and value not in choices:
        raise ExplanationError(
            f"The setting {name} of {method} cannot be {value!r}. Choose from: {', '.join(choices)}."
        )
    least = 1 if name in COUNTS else 0
    if isinstance(value, int | float) and not least <= value < float("inf"):
        raise ExplanationError(f"The setting {name} of {method} must be at least {least}, not {value!r}.")
    if name in SHARES and value > 1:
        raise ExplanationError(f"The setting {name} of {method} must be at most 1, not {value!r}.")
