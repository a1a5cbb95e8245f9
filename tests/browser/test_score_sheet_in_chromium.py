"""The score sheet in the hands of a person: keys, touch, the matrix, and that nothing moves."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from explainers.methods.registry import method_spec
from tests.browser.conftest import LOOK, settled

Visit = Callable[..., Any]
SENTENCE = "A dull plot, but a wonderful cast."
ROWS = 7  # of a visit with few methods, the consensus among them
pytestmark = pytest.mark.browser


def focused(window: Any, kind: str) -> bool:
    """Return whether the focus is on an element of this class in the score sheet."""
    inside: bool = window.page.evaluate(
        """kind => {
            const host = [...document.querySelectorAll("*")].find(
                element => element.shadowRoot?.querySelector(".crosslight-sheet"));
            return Boolean(host?.shadowRoot.activeElement?.matches("." + kind));
        }""",
        kind,
    )
    return inside


def test_from_the_text_to_a_removed_word_takes_few_keys(visit: Visit) -> None:
    window = visit(text="A wonderful film").done()
    keyboard = window.page.keyboard
    window.page.get_by_role("textbox", name="Text", exact=True).focus()
    stops = 0
    while not focused(window, "open"):
        keyboard.press("Tab")
        stops += 1
        assert stops <= 12
    for _ in range(2):
        keyboard.press("ArrowRight")
    assert focused(window, "unit")
    expect(window.page.locator(".row[data-method] .score").nth(2)).to_have_text(re.compile(r", rank \d of 3$"))
    keyboard.press("Enter")
    expect(window.page.locator(".unit.removed")).to_have_count(ROWS)
    window.done()
    assert focused(window, "unit")  # stays where it was
    keyboard.press(" ")
    expect(window.page.locator(".unit.removed")).to_have_count(0)
    window.done()


def test_a_row_opens_for_what_it_is_and_its_exact_scores(visit: Visit) -> None:
    window = visit(text="A wonderful film").done()
    row = window.page.locator('[data-method="integrated_gradients"]')
    expect(row.locator(".detail")).to_have_count(0)
    row.locator(".open").click()
    expect(row.locator(".detail")).to_contain_text(method_spec("integrated_gradients").caution)
    expect(row.locator(".detail .entry")).to_have_count(3)
    expect(row.locator(".open")).to_have_attribute("aria-expanded", "true")


def test_nothing_moves_when_a_word_is_removed_and_comes_back(visit: Visit) -> None:
    window = visit(text="A rushed ending").done()
    places = positions(window)
    assert len(places) >= 6  # probabilities, answer, rows in full, and the buttons below them
    window.unit("rushed").click()
    expect(window.page.locator(".row[data-method]").first).to_have_class(re.compile("old"))  # pale, and still there
    assert positions(window) == places
    expect(window.page.locator(".bars")).to_contain_text("→")
    assert positions(window) == places
    window.done()
    assert positions(window) == places
    window.page.get_by_role("button", name="Undo").click()
    expect(window.page.locator(".unit.removed")).to_have_count(0)
    window.done()
    assert positions(window) == places


def positions(window: Any) -> dict[str, list[float]]:
    """Left, top, width and height of the answer, of every row and of the buttons below them, to the pixel."""
    result: dict[str, list[float]] = window.page.evaluate(
        """() => {
            const host = [...document.querySelectorAll("*")].find(
                element => element.shadowRoot?.querySelector(".crosslight-sheet"));
            const rows = [...host.shadowRoot.querySelectorAll(".row[data-method], .more")];
            const nodes = [document.querySelector(".bars"), document.querySelector(".answer"), ...rows]
                .filter(node => node.getBoundingClientRect().height);
            const scrolled = document.querySelector("[data-testid=stMain]").scrollTop; // to a button further down
            const place = ({ left, top, width, height }) => [left, top + scrolled, width, height].map(Math.round);
            return Object.fromEntries(nodes.map((node, i) => [
                node.dataset.method ?? `${node.className.split(" ")[0]} ${i}`, place(node.getBoundingClientRect())]));
        }"""
    )
    return result


def test_the_matrix_has_one_tab_stop_and_arrow_keys(visit: Visit) -> None:
    window = visit(text="A wonderful film", view="matrix").done()
    stops = window.page.locator('.matrix .unit[tabindex="0"]')
    expect(stops).to_have_count(1)
    stops.first.focus()
    window.page.keyboard.press("ArrowRight")
    window.page.keyboard.press("Enter")
    expect(window.page.locator(".matrix .unit.removed")).to_have_text("wonderful")
    window.done()


def test_the_matrix_shows_the_same_scores_and_takes_clicks(visit: Visit) -> None:
    window = visit(text=SENTENCE).done()
    score = window.unit("wonderful").get_attribute("aria-label")
    window.page.get_by_role("button", name="Matrix").click()
    lines = window.page.locator(".matrix tbody tr")
    expect(lines).to_have_count(ROWS)
    assert window.page.locator(".matrix td").nth(6).get_attribute("title").split(": ")[1] in score
    window.page.locator(".matrix .unit", has_text="wonderful").click()
    expect(window.page.locator(".matrix .unit.removed")).to_have_count(1)
    window.done()
    assert "view=matrix" in window.page.url


def test_a_touch_reads_a_word_and_a_second_one_removes_it(visit: Visit) -> None:
    window = visit(text=SENTENCE).done()
    word = window.unit("wonderful")
    touch = """(unit) => { for (const kind of ["pointerdown", "pointerup", "click"]) {
        const Kind = kind === "click" ? MouseEvent : PointerEvent;
        unit.dispatchEvent(new Kind(kind, { bubbles: true, composed: true, button: 0, pointerType: "touch" })); } }"""
    word.evaluate(touch)
    expect(window.page.locator(".row[data-method] .score").first).to_contain_text("rank")
    settled(window.page)
    expect(window.page.locator(".unit.removed")).to_have_count(0)
    word.evaluate(touch)
    expect(window.page.locator(".unit.removed")).to_have_count(ROWS)
    window.done()


def test_a_slow_press_during_a_run_is_not_lost(visit: Visit) -> None:
    window = visit(few=False, model="sst2", text="A wonderful cast that takes its time.")
    word = window.unit("wonderful")
    expect(word).to_be_visible()
    word.hover()
    done = window.page.locator('.row[data-status="done"]')
    before = done.count()
    window.page.mouse.down()
    window.page.wait_for_function(
        """before => [...document.querySelectorAll("*")].some((element) =>
            element.shadowRoot?.querySelectorAll('.row[data-status="done"]').length > before)""",
        arg=before,
        polling=LOOK,
    )  # the sheet was drawn again meanwhile
    window.page.mouse.up()
    expect(window.page.locator(".row.full .unit.removed").first).to_have_text("wonderful")


def test_the_first_decisive_sentence_of_a_long_text_is_in_sight(visit: Visit) -> None:
    neutral = " ".join(f"They met on day {day} in a small town by the sea." for day in range(9))
    text = f"{neutral} It is a wonderful, moving and brilliant film."
    window = visit(text=text, width=390, learned="", gradient="", perturbation="Occlusion", controls="").done()
    card, row = window.page.locator(".answer-input"), window.rows.first.locator(".map")
    first = card.locator("mark").first
    for inside, around in ((first, card), (row.locator(".unit").filter(has_text=first.inner_text()), row)):
        part, whole = inside.bounding_box(), around.bounding_box()
        assert part is not None
        assert whole is not None
        assert whole["y"] <= part["y"] <= whole["y"] + whole["height"] - 20
