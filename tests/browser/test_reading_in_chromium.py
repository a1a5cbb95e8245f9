"""A presenter with followers in contexts of their own: steps arrive, bets are counted once, keys move, notes stay."""

import re
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect

from app.reading.story import stories
from tests.browser.conftest import darkened, press_until, settled
from tests.browser.test_accessibility_in_chromium import serious

pytestmark = pytest.mark.browser
FOLLOWERS = 4
ARRIVES = 10.0  # seconds; the fastest of several steps counts, so that a busy machine does not fail
STEPS = (("ArrowRight", 2), ("PageDown", 3), ("PageUp", 2), ("ArrowLeft", 1))


def step(page: Page, number: int) -> None:
    expect(page.get_by_text(f"Step {number} of 9")).to_be_visible()


@pytest.mark.crowded
def test_a_presenter_and_followers(visit: Callable[..., Any], server: str) -> None:
    presenter = visit(f"{server}reading?story=aml&step=1").page
    presenter.get_by_role("button", name="Present to a group").click()
    expect(presenter.get_by_role("button", name="Invite")).to_be_visible()
    query = parse_qs(urlsplit(presenter.url).query)
    (code,), (key,) = query["group"], query["key"]
    followers = [visit(f"{server}reading?group={code}", width=390).page for _ in range(FOLLOWERS)]
    expect(presenter.get_by_text(f"Group {code}: {FOLLOWERS} people follow")).to_be_visible()
    assert all(key not in page.url and key not in page.content() for page in followers)

    waits = []
    for name, number in STEPS:
        began = time.monotonic()
        presenter.keyboard.press(name)
        for page in followers:
            step(page, number)
        waits.append(time.monotonic() - began)
        step(presenter, number)
    assert min(waits) < ARRIVES, waits

    for number in (2, 3, 4):
        presenter.get_by_role("button", name="Next").click()
        step(presenter, number)
    for page, choice in zip(followers, (0, 2, 2, 2), strict=True):
        step(page, 4)
        page.locator(f".st-key-bet-{choice} button").click()
    expect(presenter.get_by_text(f"{FOLLOWERS} have bet")).to_be_visible()
    followers[0].reload()  # the same person, in another session
    chosen = followers[0].locator(".st-key-bet-1")
    press_until(chosen.locator("button"), chosen.get_by_test_id("stBaseButton-primary"))
    expect(followers[0].get_by_text(f"{FOLLOWERS} people follow, {FOLLOWERS} have bet")).to_be_visible()
    presenter.get_by_role("button", name="Show the answer").click()
    for page in (presenter, *followers):
        bets = page.locator(".reading-bets")
        expect(bets).to_contain_text("✓")
        assert [int(count) for count in bets.locator("span:nth-child(3n)").all_inner_texts()] == [0, 1, 3]
    presenter.go_back()
    for page in followers:
        step(page, 3)


def test_marks_of_a_group_become_a_row(visit: Callable[..., Any], server: str) -> None:
    presenter = visit(f"{server}reading?story=newcomers&step=2").page
    presenter.get_by_role("button", name="Present to a group").click()
    expect(presenter.get_by_role("button", name="Invite")).to_be_visible()
    code = parse_qs(urlsplit(presenter.url).query)["group"][0]
    followers = [visit(f"{server}reading?group={code}", width=390).page for _ in range(2)]
    for page, word in zip(followers, ("charming", "journey"), strict=True):
        page.locator(".crosslight-guess .unit").filter(has_text=word).click()
    expect(presenter.get_by_text("2 have marked")).to_be_visible()
    presenter.get_by_role("button", name="Show the explanations").click()
    expect(presenter.locator('.crosslight-sheet [data-method="guess"]').first).to_contain_text("The group's order")


@pytest.mark.parametrize("address", ["", "?story=aml&step=4", "?story=aml&step=7"])
def test_the_page_has_no_serious_fault(visit: Callable[..., Any], server: str, address: str) -> None:
    page = visit(f"{server}reading{address}").page
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert serious(page) == []
    assert serious(darkened(page)) == []


def test_every_story_of_the_list_shows_its_miniature(visit: Callable[..., Any], server: str) -> None:
    page = visit(f"{server}reading").page
    pictures = page.locator("img.reading-miniature")
    expect(pictures).to_have_count(len(stories()))
    pictures.evaluate_all("images => Promise.all(images.map(image => image.decode()))")  # fails if one cannot be drawn


def test_arrows_in_a_box_stay_there(visit: Callable[..., Any], server: str) -> None:
    page = visit(f"{server}reading?story=aml&step=3").page
    unit = page.locator(".crosslight-sheet .unit").first
    unit.focus()
    page.keyboard.press("ArrowRight")  # to the next word
    step(settled(page), 3)
    page.locator("h1").click()
    page.keyboard.press("ArrowRight")
    step(page, 4)


def test_keys_that_are_pressed_in_a_row_all_count(visit: Callable[..., Any], server: str) -> None:
    page = visit(f"{server}reading?story=aml&step=1").page
    step(settled(page), 1)
    for name in ("ArrowRight", "ArrowRight", "ArrowRight", "PageUp", "PageDown", "PageDown"):
        page.keyboard.press(name)
    step(page, 5)
    page.get_by_role("button", name="Previous").click()
    step(page, 4)
    settled(page)  # the arrows' own element knows the step
    page.keyboard.press("ArrowLeft")
    step(page, 3)


def test_a_press_that_is_lost_on_its_way_is_sent_again(visit: Callable[..., Any], server: str) -> None:
    page = visit("about:blank").page
    lost: list[str | bytes] = []

    def connected(browser: WebSocketRoute) -> None:
        sockets = browser.connect_to_server()

        def sent(message: str | bytes) -> None:
            if not lost and b"moment" in (message if isinstance(message, bytes) else message.encode()):
                lost.append(message)
            else:
                sockets.send(message)

        browser.on_message(sent)

    page.route_web_socket(re.compile("/_stcore/stream"), connected)
    page.goto(f"{server}reading?story=aml&step=1")
    step(settled(page), 1)
    page.keyboard.press("ArrowRight")
    step(page, 2)
    assert len(lost) == 1


def test_a_wide_table_of_a_step_scrolls_by_itself_on_a_phone(visit: Callable[..., Any], server: str) -> None:
    page = visit(f"{server}reading?story=cause&step=5", width=390).page
    expect(page.get_by_role("table").first).to_contain_text("composite")
    expect(page.get_by_text("Press a word to erase it")).to_be_visible()
    assert settled(page).evaluate("document.querySelector('[data-testid=stMain]').scrollWidth <= window.innerWidth")
