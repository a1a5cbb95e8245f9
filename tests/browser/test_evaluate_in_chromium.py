"""The Evaluate page as a person uses it: a file, an evaluation, its result, a point opened on Compare."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import press_until, running_app, settled

Visit = Callable[..., Any]
SENTENCES = ("A moving film.", "<img src=x onerror=__xss=1> good", "[a](javascript:__xss=2) dull", "A dull plot.")
PLACES = """() => {
  window.__places = new Set();
  const look = () => {
    for (const button of document.querySelectorAll("button")) {
      if (button.innerText === "Resume" && button.offsetWidth) {
        window.__places.add(Math.round(button.getBoundingClientRect().left));
      }
    }
    requestAnimationFrame(look);
  };
  look();
}"""  # where Resume is in every frame, from the left
pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, quick_model: str) -> Iterator[str]:
    with running_app(tmp_path_factory.mktemp("store"), quick_model) as address:
        yield address


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "mine.csv"
    pd.DataFrame({"sentence": [*SENTENCES, ""], "label": [1, 1, 0, 0, 1]}).to_csv(path, index=False)
    return path


def begun(visit: Visit, server: str, model: str, **window: Any) -> Any:
    opened = visit(f"{server}evaluate?{urlencode({'model': model})}", **window)
    expect(opened.page.get_by_role("heading", name="Evaluations", exact=True)).to_be_visible()
    return opened


def started(page: Page, table: Path) -> None:
    expect(page.get_by_role("button", name="Start evaluation")).to_be_visible()
    settled(page).locator("input[type=file]").set_input_files(str(table))
    expect(page.get_by_text("Line 6 has no text.")).to_be_visible()
    expect(page.get_by_text("4 rows")).to_be_visible()
    expect(page.get_by_text(re.compile(r"4 inputs × \d+ methods: on average at most [\d,]+ passes"))).to_be_visible()
    page.get_by_role("button", name="Start evaluation").click()


def test_a_table_is_evaluated_and_a_point_is_opened_on_compare(
    visit: Visit, server: str, quick_model: str, table: Path, tmp_path: Path, screenshots: Path
) -> None:
    window = begun(visit, server, quick_model)
    page = window.page
    started(page, table)
    cancel, resume = (page.get_by_role("button", name=name) for name in ("Cancel", "Resume"))
    expect(cancel).to_be_visible()
    page.reload()  # the evaluation does not care, neither while its process starts nor while it computes
    press_until(cancel, resume)
    page.evaluate(PLACES)
    page.get_by_role("button", name="Resume").click()
    assert len(page.evaluate("[...window.__places]")) == 1  # or a press on it goes beside it
    page.reload()
    expect(page.get_by_text("done", exact=True)).to_be_visible()
    for heading in ("Methods", "How often an answer is supported", "Words over the set", "Trust map"):
        expect(page.get_by_role("heading", name=heading, exact=True)).to_be_visible()
    settled(page).screenshot(path=screenshots / "evaluate-light.png", full_page=True)

    table_of_methods = page.locator("[data-testid=stDataFrame]").first
    toolbar = table_of_methods.locator("[data-testid=stElementToolbar]")
    table_of_methods.hover()
    expect(toolbar).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 844})
    settled(page)
    table_of_methods.hover()
    expect(toolbar).to_be_hidden()  # on a phone it would cover text
    page.set_viewport_size({"width": 1280, "height": 900})
    settled(page)

    with page.expect_download() as download:
        page.get_by_role("button", name="Inputs, Parquet").click()
    download.value.save_as(tmp_path / "inputs.parquet")
    assert sorted(pd.read_parquet(tmp_path / "inputs.parquet")["text"]) == sorted(SENTENCES)

    page.locator(".js-plotly-plot .scatterlayer .point").last.click(force=True)
    page.get_by_role("link", name="Open on Compare").click()
    expect(page.locator(".crosslight-sheet .text").first).to_be_visible()
    assert page.evaluate("window.__xss") is None


@pytest.mark.parametrize(("name", "size", "dark"), [("phone-dark", (390, 844), True)])
def test_nothing_scrolls_sideways(
    visit: Visit, server: str, quick_model: str, screenshots: Path, name: str, size: tuple[int, int], dark: bool
) -> None:
    """With the result of the evaluation before it, or with the form alone."""
    page = begun(visit, server, quick_model, width=size[0], height=size[1], dark=dark).page
    settled(page)
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth <= window.innerWidth")
    page.screenshot(path=screenshots / f"evaluate-{name}.png")
