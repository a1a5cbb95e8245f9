"""A form for the hyperparameters of any method that learns, made from the fields of its dataclass."""

import math
from dataclasses import fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

import streamlit as st

from explainers.training.hyperparameters import HELP, setting_label, with_hyperparameters

NOT_SETTINGS = ("method", "distribution", "seed")  # what a recipe is, and what stands beside the settings
USUAL = ("epochs", "learning_rate", "batch")  # what a person changes first
AT_LEAST_ONE = ("epochs", "validations", "batch")


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
    settable.sort(key=lambda each: USUAL.index(each.name) if each.name in USUAL else len(USUAL))
    cells = [cell for _ in range(0, len(settable) + 1, 3) for cell in st.columns(3)]
    with cells[0]:
        seed = st.number_input("Seed", 0, 9999, 0, 1, key="train seed", persist_state="session", help=HELP["seed"])
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
        "help": f"{HELP.get(name, 'See the method’s formula.')} On the command line: `--set {name}=…`",
    }
    label = setting_label(name)
    if get_origin(hint) is Literal:
        options = list(get_args(hint))
        return st.selectbox(label, options, index=options.index(default), **rest)
    if hint is bool:
        return st.checkbox(label, default, **rest)
    if hint is str:
        return st.text_input(label, default, max_chars=100, **rest)
    if hint is int:
        least = min(default, 1 if name in AT_LEAST_ONE else 0)
        return int(st.number_input(label, min_value=least, value=default, step=1, **rest))
    step = 10.0 ** math.floor(math.log10(abs(default))) if default else 0.01
    return float(
        st.number_input(label, min_value=min(default, 0.0), value=float(default), step=step, format="%g", **rest)
    )
