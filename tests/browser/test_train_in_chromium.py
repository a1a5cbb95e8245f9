import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import press_until, running_app, settled

Visit = Callable[..., Any]
ATTACK = "<img src=x onerror=__xss=1> [a](javascript:__xss=2)"
TEXTS = "\n".join([ATTACK, *(f"A wonderful film, and number {number} of a dull series." for number in range(24))])
pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def store_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def server(store_of_its_own: Path, quick_model: str) -> Iterator[str]:
    with running_app(store_of_its_own, quick_model) as address:
        yield address


@pytest.fixture
def train(visit: Visit) -> Callable[..., Any]:
    """Opens the app and then, as a person does, the Train page."""

    def opened(**window: Any) -> Any:
        train = visit(**window)
        expect(train.page.locator('.row[data-status="done"]').first).to_be_visible()  # the example's stored results
        if window.get("width", 1280) < 640:
            train.page.get_by_test_id("stExpandSidebarButton").click()
        train.page.get_by_role("link", name="Train").first.click()
        expect(train.page.get_by_role("button", name="Start training")).to_be_visible()
        return train

    return opened


def start(page: Page, variant: str, epochs: int) -> None:
    name = page.get_by_role("textbox", name="Name of the result")
    name.fill(variant)
    name.press("Enter")
    page.get_by_text("Settings", exact=True).click()
    box = page.get_by_role("spinbutton", name="epochs")
    box.fill(str(epochs))
    box.press("Enter")
    expect(page.get_by_test_id("stCode").first).to_contain_text(f"--variant {variant} --seed 0 --set epochs={epochs}")
    page.get_by_text("Settings", exact=True).click()
    page.get_by_role("button", name="Start training").click()


def test_a_method_is_trained_cancelled_and_appears_on_the_compare_page(
    visit: Visit, server: str, store_of_its_own: Path, quick_model: str
) -> None:
    page = visit(f"{server}train?{urlencode({'model': quick_model})}").page
    box = page.get_by_role("textbox", name="Texts, one per line")
    box.fill("only one")
    box.press("Control+Enter")
    expect(page.get_by_text("1 given.")).to_be_visible()
    box.fill(TEXTS)
    box.press("Control+Enter")
    expect(page.get_by_text("25 texts, each once, from the box")).to_be_visible()

    start(page, "long", 10_000)
    expect(page.get_by_text(re.compile(r"Step \d+ of 20,?000"))).to_be_visible()
    page.reload()  # the training does not care
    expect(page.get_by_text(re.compile(r"Step \d+ of 20,?000"))).to_be_visible()
    press_until(page.get_by_role("button", name="Cancel"), page.get_by_text("cancelled", exact=True))
    expect(page.get_by_role("button", name="Resume")).to_be_visible()

    box = page.get_by_role("textbox", name="Texts, one per line")
    box.fill(TEXTS)
    box.press("Control+Enter")
    expect(page.get_by_text("25 texts, each once, from the box")).to_be_visible()
    start(page, "short", 1)
    expect(page.get_by_text("done", exact=True)).to_be_visible()
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    assert list(store_of_its_own.glob("learned/*/aml-short.safetensors"))

    compare = settled(page).get_by_role("link", name="Compare with the other methods")
    press_until(compare, page.locator(".crosslight-sheet .text").first)
    expect(page.locator('.row[data-status="done"]').filter(has_text="AML (short)")).to_have_count(1)
    assert page.evaluate("window.__xss") is None


@pytest.mark.parametrize(("name", "size", "dark"), [("light", (1280, 900), False), ("phone-dark", (390, 844), True)])
def test_nothing_scrolls_sideways(
    train: Visit, screenshots: Path, name: str, size: tuple[int, int], dark: bool
) -> None:
    window = train(width=size[0], height=size[1], dark=dark)
    page = window.page
    expect(page.get_by_role("textbox", name="Texts, one per line")).to_be_visible()
    settled(page)
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth <= window.innerWidth")
    page.screenshot(path=screenshots / f"train-{name}.png")
