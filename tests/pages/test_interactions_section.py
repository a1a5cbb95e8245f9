import time
from collections.abc import Callable
from typing import Any

import pytest

from app.compare.interaction_runs import MOST_UNITS

Opened = Callable[..., Any]
LABEL = "Compute interactions"


@pytest.mark.usefixtures("small")
class TestInteractions:
    def test_they_are_computed_when_somebody_asks(self, opened: Opened) -> None:
        page = opened(text="good film but dull", captum="KernelSHAP").settle()
        run = page.session["run"]
        assert run.interactions is None
        assert page.at.button(key="interactions").label == LABEL
        page.press("interactions")
        end = time.monotonic() + 20
        while run.interactions.active and time.monotonic() < end:
            time.sleep(0.01)
        page.run()
        assert page.html.count('<th scope="row">') == 6  # pairs of four words
        assert not [button for button in page.at.button if button.key == "interactions"]

    def test_a_long_text_says_why_there_are_none(self, opened: Opened) -> None:
        page = opened(text="good " * (MOST_UNITS + 1)).settle()
        sentence = f"Interactions are computed for 2 to {MOST_UNITS} words; this input has {MOST_UNITS + 1}."
        assert sentence in page.captions
        assert not [button for button in page.at.button if button.key == "interactions"]
