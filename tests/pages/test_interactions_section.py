import time
from collections.abc import Callable
from typing import Any

import pytest

from app.compare.duel import TOO_FEW
from app.compare.follow_ups import FEATURED_UNITS, INTERACTIONS, MOST_UNITS

Opened = Callable[..., Any]
LABEL = "Compute interactions"


@pytest.mark.usefixtures("small")
class TestInteractions:
    def test_they_are_computed_when_somebody_asks(self, opened: Opened) -> None:
        page = opened(text="good film but dull", perturbation="KernelSHAP").settle()
        run = page.state.run
        assert INTERACTIONS not in run.follow_ups
        assert page.at.button(key="interactions").label == LABEL
        page.press("interactions")
        end = time.monotonic() + 20
        while run.follow_ups[INTERACTIONS].active and time.monotonic() < end:
            time.sleep(0.01)
        page.run()
        assert page.html.count('<th scope="row">') == 6  # pairs of four words
        assert not [button for button in page.at.button if button.key == "interactions"]

    def test_of_a_long_text_it_says_which_words_are_asked(self, opened: Opened) -> None:
        page = opened(text="good " * (MOST_UNITS + 1), perturbation="KernelSHAP").settle()
        sentence = (
            f"Interactions are computed for the {FEATURED_UNITS} with the largest scores of Consensus, of either"
            " sign; the others"
        )
        assert any(f"This input has {MOST_UNITS + 1} words. {sentence}" in text for text in page.plain())
        assert page.at.button(key="interactions").label == LABEL

    def test_a_single_word_says_why_there_are_none(self, opened: Opened) -> None:
        page = opened(text="good", perturbation="KernelSHAP").settle()
        assert "Interactions need at least two words." in page.plain()
        assert not [button for button in page.at.button if button.key == "interactions"]


@pytest.mark.usefixtures("small")
def test_a_single_method_has_nobody_to_duel_with(opened: Opened) -> None:
    page = opened(text="good film but dull", perturbation="", controls="Random").settle()  # besides AML
    assert list(page.state.run.columns) == ["aml", "random"]
    assert TOO_FEW.format("words") in page.captions
    assert not [box for box in page.at.selectbox if box.label == "One method"]
    page = opened(text="good film but dull", perturbation="KernelSHAP", controls="Random").settle()
    assert TOO_FEW.format("words") not in page.captions
    assert [box for box in page.at.selectbox if box.label == "One method"]
