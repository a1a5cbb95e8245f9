from typing import Any

import pytest

from app.interventions.interchange import coverage_of

SIZES = (384, 128, 64)
HIDDEN = (
    "In the training of CAuSE a step exchanged 20 % of the neurons of one of the head's 2 hidden layers, so after "
    "156 steps all 128 neurons of this layer have taken part with a probability of 99.999 % (the paper's "
    "Appendix C)."  # (ln 128 + 5 ln 10) / -ln 0.9 = 155.3
)


def card(**recipe: Any) -> dict[str, Any]:
    return {"recipe": {"losses": "cause", "epochs": 3, "batch": 32, **recipe}, "items": {"learned from": 100}}


def test_the_neurons_of_a_hidden_layer_are_covered_long_before_the_training_ends() -> None:
    text = coverage_of(card(), "CAuSE", 1, SIZES)
    assert text == (
        f"{HIDDEN} These weights had 12 such steps. Only neurons of the head's hidden layers and the state were ever "
        "changed, none in the rest of the network."
    )
    assert "after 149 steps all 64 neurons" in coverage_of(card(), "CAuSE", 2, SIZES)


def test_the_steps_are_those_with_exchanges_until_the_epoch_whose_weights_were_kept() -> None:
    assert "had 8 such steps" in coverage_of({**card(), "validation": {"epoch": 2}}, "CAuSE", 1, SIZES)
    assert "had 4 such steps" in coverage_of({**card(phi_epochs=1), "validation": {"epoch": 2}}, "CAuSE", 1, SIZES)
    without = {"recipe": card()["recipe"]}
    assert coverage_of(without, "CAuSE", 1, SIZES).startswith(f"{HIDDEN} Only neurons")


@pytest.mark.parametrize(
    ("recipe", "start", "places"),
    [
        ({}, "In the training of X the state was moved as", "hidden layers and the state were"),
        ({"layer": 2}, "In the training of X the state was moved", "the state and layer 2 of the encoder were"),
        ({"leak": "leaky"}, "In the training of X the state was never exchanged. ", "of the head's hidden layers were"),
        ({"losses": "phi_ts"}, "X was trained without exchanges of neurons.", ""),
    ],
)
def test_where_neurons_were_exchanged_depends_on_the_training(recipe: dict[str, Any], start: str, places: str) -> None:
    text = coverage_of(card(**recipe), "X", 0, SIZES)
    assert text.startswith(start)
    assert places in text
