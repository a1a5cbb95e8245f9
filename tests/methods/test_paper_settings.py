"""The lists of deviations against the settings with which the shipped weights were trained."""

import json
from typing import Any

import pytest

from explainers.methods.narrator_specs import NARRATORS
from explainers.methods.paper_settings import unnamed_deviations
from explainers.methods.registry import METHODS
from explainers.models.bundle_cards import BUNDLES

DEVIATIONS = {spec.id: spec.deviations for spec in (*METHODS, *NARRATORS)}
CARDS = sorted(path for family in ("learned", "narrative") for path in BUNDLES.glob(f"*/{family}/*.json"))


def trainings() -> list[tuple[str, str, dict[str, Any]]]:
    """File, method and recipe of every shipped training."""
    cards = [(path, json.loads(path.read_text(encoding="utf-8"))) for path in CARDS]
    return [
        (f"{path.parents[1].name}/{path.stem}", card.get("method", path.stem), card["recipe"])
        for path, card in cards
        if "recipe" in card
    ]


def test_every_shipped_training_is_compared() -> None:
    assert {method for _, method, _ in trainings()} >= {"aml", "cimi", "ciem", "ivra", "cause_phi", "cause_tokens"}


@pytest.mark.parametrize(
    ("name", "method", "recipe"), trainings(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_what_differs_from_the_paper_is_among_the_deviations(name: str, method: str, recipe: dict[str, Any]) -> None:
    assert unnamed_deviations(method, recipe, DEVIATIONS[method]) == [], name


@pytest.mark.parametrize(
    ("recipe", "deviations", "unnamed"),
    [
        ({"epochs": 10}, (), []),  # as in the paper
        ({"epochs": 5}, (), ["epochs=5"]),
        ({"epochs": 5}, ("5 epochs instead of 10.",), []),
        ({"epochs": 5}, ("15 epochs, and 0.5 epochs.",), ["epochs=5"]),
        ({"rank": 16}, ("A LoRA adapter.",), []),
        ({"learning_rate": 0.001}, ("5 epochs at 0.001.",), []),
        ({"learning_rate": 0.002}, ("5 epochs at 0.001.",), ["learning_rate=0.002"]),
        ({"novel": 1}, (), ["novel=1"]),
        ({"seed": 3}, (), []),
    ],
)
def test_a_setting_is_named_by_its_word_and_its_number(
    recipe: dict[str, Any], deviations: tuple[str, ...], unnamed: list[str]
) -> None:
    assert unnamed_deviations("aml", recipe, deviations) == unnamed
