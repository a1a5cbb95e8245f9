from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from app.compare import sidebar

Opened = Callable[..., Any]


def named(page: Any) -> list[str]:
    return [name for box in page.at.multiselect if box.key == "variants" for name in box.value]


@pytest.mark.usefixtures("small")
def test_other_weights_are_chosen_where_the_model_has_no_default_ones(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    artifacts = sidebar.available_artifacts("small", "1")
    (ivra,) = (each for each in artifacts if each.method == "ivra")
    mine = replace(ivra, variant="mine")
    monkeypatch.setattr(sidebar, "available_artifacts", lambda *_: [*artifacts, mine])
    assert named(opened(text="good film")) == []
    others = [each for each in artifacts if each.method != "ivra"]
    monkeypatch.setattr(sidebar, "available_artifacts", lambda *_: [*others, mine])
    assert named(opened(text="good film")) == ["IvRA (mine)"]
