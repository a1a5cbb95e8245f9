from collections.abc import Callable
from typing import Any

import pytest

from explainers.methods import METHODS
from explainers.metrics.faithfulness import METRICS

Opened = Callable[..., Any]


@pytest.fixture
def said(opened: Opened, small: None) -> str:
    page = opened()
    page.at.switch_page("pages/methods.py")
    page.run()
    shown = [*page.at.markdown, *page.at.caption, *page.at.header, *page.at.title]
    return "\n".join([*(each.value for each in shown), *(each.label for each in page.at.expander)]).replace("\\", "")


def test_every_method_says_what_it_is_and_when_not_to_believe_it(said: str) -> None:
    for entry in METHODS:
        assert entry.name in said
        assert entry.idea in said
        assert entry.caution in said
        assert entry.source in said


def test_every_figure_is_explained_with_its_direction(said: str) -> None:
    for metric in METRICS:
        better = "higher" if metric.higher_is_better else "lower"
        assert f"**{metric.name}** ({better} is better). {metric.meaning}" in said


@pytest.mark.usefixtures("small")
def test_every_method_has_its_formula(opened: Opened) -> None:
    page = opened()
    page.at.switch_page("pages/methods.py")
    page.run()
    formulas = [each.value.strip("$ \n") for each in page.at.latex]
    assert formulas == [entry.formula for entry in METHODS]
    assert all(formula.count("{") == formula.count("}") for formula in formulas)
