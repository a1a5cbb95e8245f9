"""How many steps of training it takes until every neuron of a layer took part in an exchange (CAuSE, Appendix C)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from app.interventions import computations
from app.interventions.computations import NarratedModel
from explainers.methods.narrator_specs import narrator_spec
from explainers.report.text import join_names

if TYPE_CHECKING:
    from explainers.narrative.recipe import NarratorRecipe


def neuron_coverage(narrated: NarratedModel, method: str, layer: int, sizes: tuple[int, ...]) -> str:
    """In sentences, of the weights that the page uses. `sizes` are those of the state and of every hidden layer."""
    return coverage_of(computations.narrator_card(narrated, method), narrator_spec(method).name, layer, sizes)


def coverage_of(card: Mapping[str, Any], name: str, layer: int, sizes: tuple[int, ...]) -> str:
    from explainers.narrative.recipe import NarratorRecipe

    recipe = NarratorRecipe(**card["recipe"])
    if recipe.losses != "cause":
        return f"{name} was trained without exchanges of neurons."
    drawn = _state_sentence(recipe, name) if layer == 0 else _layer_sentences(recipe, name, layer, sizes, card)
    places = ["the head's hidden layers"]
    if recipe.exchanges_in_state:
        places += ["the state", *([f"layer {recipe.layer} of the encoder"] if recipe.layer else [])]
    return f"{drawn} Only neurons of {join_names(places)} were ever changed, none in the rest of the network."


def _state_sentence(recipe: "NarratorRecipe", name: str) -> str:
    if not recipe.exchanges_in_state:
        return f"In the training of {name} the state was never exchanged."
    return (
        f"In the training of {name} the state was moved as exchanges in the first hidden layer require; its own "
        "neurons were not drawn."
    )


def _layer_sentences(
    recipe: "NarratorRecipe", name: str, layer: int, sizes: tuple[int, ...], card: Mapping[str, Any]
) -> str:
    from explainers.narrative.interchange import steps_to_cover  # brings torch

    hidden = len(sizes) - 1
    where = f"one of the head's {hidden} hidden layers" if hidden > 1 else "the head's hidden layer"
    steps = steps_to_cover(sizes[layer], recipe.share / hidden)
    return (
        f"In the training of {name} a step exchanged {recipe.share * 100:.0f} % of the neurons of {where}, so after "
        f"{steps:,} steps all {sizes[layer]} neurons of this layer have taken part with a probability of 99.999 % (the "
        f"paper's Appendix C).{_steps_made(recipe, card)}"
    )


def _steps_made(recipe: "NarratorRecipe", card: Mapping[str, Any]) -> str:
    """Those with exchanges, until the epoch whose weights were kept; empty where the card lacks the number of items."""
    if "items" not in card:
        return ""
    epochs = int(card.get("validation", {}).get("epoch", recipe.epochs)) - recipe.phi_epochs
    steps = replace(recipe, epochs=epochs).steps(card["items"]["learned from"])
    return f" These weights had {steps:,} such steps."
