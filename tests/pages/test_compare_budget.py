"""The time that a person gives a comparison, on the page."""

from collections.abc import Callable

import pytest

from app.compare import computation
from tests.counted_budget import CountedBudget
from tests.pages.conftest import Page

pytestmark = pytest.mark.usefixtures("small", "own_engine")
Opened = Callable[..., Page]
TEXT = "the film was not good but the plot and a very dull story was bad and not watchable"
METHODS = {"gradient": "", "perturbation": ["Occlusion", "LIME"], "attention": ["Attention, mean"], "controls": ""}


class SlowBudget(CountedBudget):
    per_pass = 1 / 20


@pytest.fixture
def short(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> Page:
    monkeypatch.setattr(computation, "Budget", SlowBudget)
    page = opened(text=TEXT, learned="", budget="5", samples=None, **METHODS)
    return page.settle()


def test_what_did_not_fit_is_in_its_row_and_can_be_computed(short: Page) -> None:
    late = {row["id"]: row["note"] for row in short.sheet["rows"] if row["status"] == "postponed"}
    assert late == {"lime": "no time within 5 s"}
    assert any("s: 0 complete, 2 in part, 1 not started. " in caption for caption in short.captions)
    notes = {row["id"]: row["note"] for row in short.sheet["rows"] if row["status"] == "done"}
    assert notes["occlusion"] == "measured in part in 5 s"
    assert "So far, " in short.html
    assert "Not decided" not in short.html
    short.press("again").settle()
    assert {row["status"] for row in short.sheet["rows"]} == {"done"}
    assert "So far, " not in short.html
    assert not any(row["note"] for row in short.sheet["rows"])
    assert short.address["budget"] == ["5"] or short.address["budget"] == "5"
    rerun = short.state.run
    short.run()
    assert short.state.run is rerun  # which had more time than the page gives


def test_more_time_goes_on_by_itself(short: Page) -> None:
    before = short.state.run.meter.calls
    short.choose("budget", 0).settle()
    assert {row["status"] for row in short.sheet["rows"]} == {"done"}
    assert short.state.run.result("occlusion") is not None
    assert before > 0


def test_an_unknown_budget_is_a_sentence(opened: Opened) -> None:
    page = opened(text=TEXT, budget="17").settle()
    assert any("“17”" in sentence for sentence in page.plain("warning"))
