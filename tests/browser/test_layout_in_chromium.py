"""Nothing moves while a page comes: it has its style from the beginning, and placeholders are as large as the widgets.

The scripts that draw widgets are held back for a moment, so that the placeholders are there to see.
"""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.conftest import Visit, settled

pytestmark = pytest.mark.browser
WIDGETS = re.compile(
    r"/static/js/(Selectbox|TextArea|TextInput|NumberInput|Button|ButtonGroup|Checkbox|FileUploader|DownloadButton|BidiComponent)\."
)
MOST_SHIFT = 0.1  # of the window times its height; https://web.dev/articles/cls calls 0.1 good
TRIES = 2  # a visit in which something moved, as on a machine that was busy just then, is made once more
FARTHEST = 8  # pixels by which what can be clicked may move
LEGEND = 80  # pixels by which the plot, far down the page, may grow: once in some 20 visits its legend takes more lines
STEP = "reading?story=aml&step=5"
PROBE = """(() => {
  window.shift = { total: 0, entries: [], moves: [] };
  const name = (node) => node.tagName + " " + (node.ariaLabel || node.textContent || "").trim().slice(0, 30);
  const source = ({ node, previousRect, currentRect }) =>
    [node ? name(node.nodeType === 1 ? node : node.parentElement ?? document.body) : "", previousRect.y, currentRect.y];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries().filter((shift) => window.all || !shift.hadRecentInput)) {
      window.shift.total += entry.value;
      window.shift.entries.push([entry.value, entry.sources.map(source)]);
    }
  }).observe({ type: "layout-shift", buffered: true });
  const places = new WeakMap();
  const roots = (node) =>
    [node, ...[...node.querySelectorAll("*")].map((child) => child.shadowRoot).filter(Boolean).flatMap(roots)];
  const pressed = "a[href], button, input, textarea, summary, .unit";
  const visible = { opacityProperty: true, visibilityProperty: true };
  const inside = (node, part) => part?.contains(node) || part?.contains(node.getRootNode().host);
  const look = () => {
    const main = document.querySelector(".stMainBlockContainer");
    const top = main?.getBoundingClientRect().y ?? 0; // less where the page was scrolled
    for (const node of roots(document).flatMap((root) => [...root.querySelectorAll(pressed)])) {
      const box = node.getBoundingClientRect();
      if (!box.width || !box.height || !node.checkVisibility(visible)) continue;
      const before = places.get(node);
      const [x, y] = [Math.round(box.x), Math.round(inside(node, main) ? box.y - top : box.y)];
      const far = before && Math.max(Math.abs(x - before.x), Math.abs(y - before.y));
      if (before?.seen && far > FARTHEST) window.shift.moves.push([name(node), before.x, before.y, x, y]);
      const seen = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
      places.set(node, { x, y, seen });
    }
    requestAnimationFrame(look);
  };
  document.addEventListener("DOMContentLoaded", look);
})()""".replace("FARTHEST", str(FARTHEST))


def opened(visit: Callable[..., Visit], address: str, width: int, *, held: bool) -> Visit:
    """A window on the address, in which is watched what moves; `held`: the scripts of widgets come after the rest."""
    window = visit("about:blank", width=width)
    window.page.add_init_script(PROBE)
    if held:
        with_placeholders(window.page, address)
        window.page.unroute(WIDGETS)
    else:
        window.page.goto(address)
    return window


def with_placeholders(page: Page, address: str) -> Locator:
    """Opens the page without the scripts of its widgets, which come with the end of the route. Returns what stands for
    widgets."""
    held: list[Route] = []
    page.route(WIDGETS, lambda route: held.append(route))
    page.goto(address)
    places = page.locator(".stElementContainer[class*='st-key-']:has(> [data-testid=stSkeleton])")
    expect(places.first).to_be_attached()
    page.wait_for_function("() => document.querySelector('.stApp')?.dataset.testScriptState === 'notRunning'")
    return places


def shift(page: Page) -> Any:
    """What moved since the last call and by no doing of a person: the score, and what could be clicked; empty if
    hardly anything did."""
    found = settled(page).evaluate(
        "() => { const found = window.shift; window.shift = { total: 0, entries: [], moves: [] }; return found; }"
    )
    return found if found["total"] > MOST_SHIFT or found["moves"] else {}


@pytest.mark.parametrize(
    ("width", "held"),
    [(1280, False), (390, False), (390, True)],
    ids=["wide", "narrow", "narrow, scripts late"],
)
@pytest.mark.parametrize(
    ("address", "sign"),
    [
        ("", ".crosslight-sheet .text"),
        ("?guess=first", ".crosslight-guess .unit"),
        ("annotate", "h1"),
        ("reading", "h1"),
        (STEP, ".crosslight-sheet .text"),
        ("train", "h1"),
    ],
    ids=["compare", "guess", "annotate", "reading", "step", "train"],
)
def test_nothing_moves_while_a_page_opens(
    visit: Callable[..., Visit], server: str, width: int, address: str, sign: str, held: bool
) -> None:
    for _ in range(TRIES):
        page = opened(visit, server + address, width, held=held).page
        expect(page.locator(sign).first).to_be_visible()
        if not (found := shift(page)):
            break
    assert found == {}


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_moves_while_an_answer_comes_and_after_a_word_is_removed(
    visit: Callable[..., Visit], server: str, width: int
) -> None:
    unknown = "gradient=Saliency"  # its message above the answer stays when a word is removed
    few = f"samples=50&learned=AML&perturbation=Occlusion&attention=Attention%2C+mean&{unknown}&controls="
    for number in range(TRIES):
        text = f"text=A+dull+and+lifeless+film+in+{width + number}+parts"  # another one, so that nothing is remembered
        window = opened(visit, f"{server}?{few}&{text}", width, held=False)
        if not (found := shift(window.done().page)):
            break
    assert found == {}
    expect(window.page.get_by_text("The address names the method “Saliency”")).to_be_visible()
    window.page.evaluate("window.all = true")  # however soon after the press, so that no machine is too slow for it
    window.unit("dull").click()
    expect(window.page.locator(".unit.removed").first).to_have_text("dull")
    changed = shift(window.done().page)
    assert not changed or changed["total"] <= MOST_SHIFT / 10


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("address", ["", "annotate", "reading", STEP, "train"])
def test_a_placeholder_is_as_tall_as_its_widget(
    visit: Callable[..., Visit], server: str, width: int, address: str
) -> None:
    window = visit("about:blank", width=width)
    before = heights(with_placeholders(window.page, server + address))
    assert len(before) > 1
    window.page.unroute(WIDGETS)
    settled(window.page)
    after = heights(window.page.locator(".stElementContainer[class*='st-key-']"))
    farthest = {key: LEGEND if key == "st-key-curves" else FARTHEST for key in before}
    assert {key: after.get(key, 0) for key in before if abs(after.get(key, 0) - before[key]) > farthest[key]} == {}


def heights(places: Locator) -> dict[str, float]:
    """By the key of the widget; of what is shown."""
    found = places.evaluate_all(
        "places => places.map(place => [place.className.match(/st-key-\\S+/)[0], place.getBoundingClientRect().height])"
    )
    return {key: height for key, height in found if height}
