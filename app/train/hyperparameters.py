"""A form for the hyperparameters of any method that learns, made from the fields of its dataclass."""

import math
from dataclasses import fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

import streamlit as st

from explainers.training.hyperparameters import with_hyperparameters

NOT_SETTINGS = ("method", "distribution", "seed")  # what a recipe is, and what stands beside the settings
AT_LEAST_ONE = ("epochs", "validations", "batch")
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


@st.cache_resource(show_spinner="Loading the methods that learn")
def recipes() -> tuple[dict[str, Any], dict[str, Any]]:
    """The methods that learn, as dataclasses of their settings, and the settings of the shipped variants."""
    from explainers.models.libraries import import_transformers

    import_transformers()  # with torch, after the page was drawn
    from explainers.learned.recipes import RECIPES, SHIPPED

    return RECIPES, SHIPPED


def settings(method: str, variant: str) -> tuple[int, tuple[tuple[str, str], ...]]:
    """The seed, and what differs from what the command line would take by itself for this method and variant."""
    by_name, shipped = recipes()
    recipe, standard = by_name[method], shipped.get(method, {}).get(variant, {})
    st.caption(recipe.__doc__ or "")
    hints = get_type_hints(recipe)
    settable = [each for each in fields(recipe) if each.name not in NOT_SETTINGS and _settable(hints[each.name])]
    cells = [cell for _ in range(0, len(settable) + 1, 3) for cell in st.columns(3)]
    with cells[0]:
        seed = st.number_input("seed", 0, 9999, 0, 1, key="train seed", persist_state="session", help=HELP["seed"])
    changed = []
    for cell, each in zip(cells[1:], settable, strict=False):
        with cell:
            value = _widget(method, each.name, each.default, hints[each.name])
        if value != standard.get(each.name, each.default):
            changed.append((each.name, str(value).lower() if isinstance(value, bool) else str(value)))
    return int(seed), tuple(changed)


def check_settings(method: str, variant: str, changed: tuple[tuple[str, str], ...]) -> None:
    """Raises `ExplanationError` if a training with these settings would be refused."""
    by_name, shipped = recipes()
    with_hyperparameters(by_name[method], method, shipped.get(method, {}).get(variant, {}) | dict(changed))


def _settable(hint: Any) -> bool:
    return hint in (bool, int, float, str) or get_origin(hint) is Literal


def _widget(method: str, name: str, default: Any, hint: Any) -> Any:
    """Chosen by the type; what it returns has that type."""
    rest: dict[str, Any] = {
        "key": f"set {method} {name}",
        "persist_state": "session",
        "help": HELP.get(name, f"See the method's formula. On the command line: --set {name}=…"),
    }
    if get_origin(hint) is Literal:
        options = list(get_args(hint))
        return st.selectbox(name, options, index=options.index(default), **rest)
    if hint is bool:
        return st.checkbox(name, default, **rest)
    if hint is str:
        return st.text_input(name, default, max_chars=100, **rest) or default
    if hint is int:
        least = min(default, 1 if name in AT_LEAST_ONE else 0)
        return int(st.number_input(name, min_value=least, value=default, step=1, **rest))
    step = 10.0 ** math.floor(math.log10(abs(default))) if default else 0.01
    return float(
        st.number_input(name, min_value=min(default, 0.0), value=float(default), step=step, format="%g", **rest)
    )
