import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, WebSocketRoute, expect

from explainers.datasets.example import Example
from explainers.methods.narrator_specs import NARRATORS
from explainers.methods.registry import METHODS, applicable, default_methods, select
from explainers.models.bundle_cards import bundle_names
from tests.browser.conftest import settled

Visit = Callable[..., Any]
ALL = 1 + len(applicable(select(default_methods()), Example("a single text")))  # rows, the consensus among them
SENTENCE = "A dull plot, but a wonderful cast."
ATTACKS = (
    "<script>__xss=1</script>",
    "<img src=x onerror=__xss=2>",
    '"><svg onload=__xss=3>',
    "[a](javascript:__xss=4)",
    "</textarea><iframe srcdoc=<script>top.__xss=5</script>>",
)
QUICK = {"learned": "", "gradient": "", "perturbation": "Occlusion"}  # where each row would cost seconds
PAGE, HEADING = "Train", "Train a method"  # another page, which is drawn within a second
ROWS, FULL = 7, 4  # of a visit with few methods, the consensus among them; those that are not folded
pytestmark = pytest.mark.browser


def labels(rows: Locator) -> list[str]:
    """Every word of every row with its score and rank, as a screen reader says it."""
    texts: list[str] = rows.locator(".unit").evaluate_all("units => units.map(unit => unit.ariaLabel)")
    return texts


def sideways(visit: Any) -> dict[str, int]:
    """How much wider than the window the page and its main part are."""
    widths: dict[str, int] = visit.page.evaluate(
        """() => Object.fromEntries(
            [document.documentElement, document.body, document.querySelector('[data-testid=stMain]')]
            .filter(part => part.scrollWidth > window.innerWidth)
            .map(part => [part.tagName, part.scrollWidth]))"""
    )
    return widths


def test_a_sentence_is_typed_explained_and_played_with(visit: Visit) -> None:
    window = visit(model="sst2", text="good").done().write(SENTENCE)
    page = window.page
    expect(window.rows).to_have_count(ROWS)
    expect(page.locator(".answer")).to_contain_text(re.compile("carr(y|ies) the decision|No order here|cannot be told"))
    before = window.bars

    window.unit("wonderful").hover()
    scores = page.locator(".row[data-method] .score")
    for index in range(ROWS):
        expect(scores.nth(index)).to_have_text(re.compile(r"^[+-]?\d\.\d{4}( ± \d\.\d{4})?, rank \d of 9$"))
    page.mouse.move(5, 5)
    expect(scores.first).not_to_contain_text("rank")

    window.unit("wonderful", row=2).click()
    expect(page.locator(".unit.removed")).to_have_count(ROWS)
    expect(page.locator(".bars")).to_contain_text("→")
    window.done()
    assert window.bars != before
    assert "removed=6" in page.url
    assert all(" of 8;" in label for label in labels(window.rows) if "rank" in label)

    page.get_by_role("button", name="Restore all").click()
    expect(page.locator(".unit.removed")).to_have_count(0)
    window.done()
    assert window.bars == before
    assert "removed" not in page.url


def test_two_people_at_once_each_have_their_own_page(visit: Visit) -> None:
    one, other = visit(text=SENTENCE), visit(text="A wonderful film")
    one.unit("dull").click()
    expect(one.page.locator(".row.full .unit.removed").first).to_have_text("dull")
    one.done()
    other.done()
    expect(other.page.locator(".unit.removed")).to_have_count(0)
    assert other.rows.first.locator(".text").text_content() == "A wonderful film"
    assert "removed" not in other.page.url


def set_to(page: Any, choice: str) -> None:
    """Chooses one of the settings, which are folded."""
    page.get_by_role("button", name="Settings", exact=True).click()
    page.get_by_role("radio", name=choice).or_(page.get_by_role("button", name=choice, exact=True)).first.click()
    page.keyboard.press("Escape")


def test_back_and_undo_take_one_step(visit: Visit) -> None:
    window = visit(text=SENTENCE).done()
    removed = window.page.locator(".row.full .unit.removed")
    for count, word in enumerate(("dull", "wonderful"), start=1):
        window.unit(word).click()
        expect(removed).to_have_count(FULL * count)
        window.done()
    window.page.go_back()
    expect(removed).to_have_count(FULL)
    window.done()
    expect(window.page.get_by_role("textbox", name="Text", exact=True)).to_have_value(SENTENCE)
    window.page.get_by_role("button", name="Undo").click()
    expect(removed).to_have_count(2 * FULL)
    window.done()


def test_undo_takes_back_a_text_a_unit_and_a_class(visit: Visit) -> None:
    window = visit(text=SENTENCE).done()
    page, box = window.page, window.page.get_by_role("textbox", name="Text", exact=True)
    set_to(page, "token")
    expect(page).to_have_url(re.compile("unit=token"))
    window.done()
    window.write("A wonderful film")
    for text, unit in (("A wonderful film", "token"), (SENTENCE, "token"), (SENTENCE, "word")):
        expect(box).to_have_value(text)
        expect(page).to_have_url(re.compile("unit=token") if unit == "token" else re.compile("^(?!.*unit=token)"))
        window.done()
        if unit == "token":
            page.get_by_role("button", name="Undo").click()
            expect(page.get_by_text(f"Undone: {'text' if text != SENTENCE else 'unit'}.")).to_be_visible()
    expect(page.get_by_role("button", name="Undo")).to_be_disabled()


def test_back_goes_from_a_long_text_to_a_short_one_and_forward_again(visit: Visit) -> None:
    window = visit(text=SENTENCE, attention="", **QUICK).done()
    box, long = window.page.get_by_role("textbox", name="Text", exact=True), f"A dull {'a' * 200} of {'b' * 200}."
    window.write(long)
    assert "text=" not in window.page.url
    window.page.go_back()
    expect(box).to_have_value(SENTENCE)
    window.done()
    window.page.go_forward()
    expect(box).to_have_value(long)
    window.done()
    window.page.reload()  # another session
    expect(box).to_have_value(long)
    window.done()


def test_what_can_be_tried_next_is_one_press(visit: Visit) -> None:
    text = "The cast is charming. The music is lovely. Then the plot falls apart. The jokes are stale. Avoid it."
    window = visit(text=text, unit="sentence", **QUICK).done()
    page = window.page
    sentence = page.locator(".row[data-method=consensus] .unit").filter(has_text="Then the plot falls apart.")
    expect(sentence).to_have_count(1)
    page.get_by_role("button", name=re.compile("Explain the words of the (marked|first)")).click()
    expect(page).to_have_url(re.compile("opened=[0-9.]+"))
    expect(page.get_by_role("button", name="Back to the sentences")).to_be_enabled()
    window.done()
    page.get_by_role("button", name="Erase by delete").click()
    expect(page).to_have_url(re.compile("erase=delete"))
    window.done()
    page.get_by_role("button", name="Back to the sentences").click()
    expect(page).not_to_have_url(re.compile("opened="))


def test_guess_first_hides_the_maps_and_adds_a_row(visit: Visit) -> None:
    window = visit(text=SENTENCE, guess="first")
    page = window.page
    word = page.locator(".crosslight-guess .unit", has_text="wonderful")
    expect(word).to_be_visible()
    assert not page.locator(".crosslight-sheet, .answer, .crosslight-curves").count()
    word.click()
    page.get_by_role("button", name="Show the explanations").click()
    expect(page.locator('[data-method="guess"]')).to_have_attribute("data-status", "done")
    expect(page.get_by_text(re.compile(r"Your order: AOPC-C .*of \d"))).to_be_visible()
    window.done()


@pytest.mark.parametrize(("name", "noun"), [("example", "example"), ("class", "class"), ("erase", "erasure operator")])
def test_what_the_address_asks_for_and_is_not_there_is_named(visit: Visit, name: str, noun: str) -> None:
    window = visit(**{name: "gibberish"}).done()
    sentence = f"The address names the {noun} “gibberish”, which is not available here. Choose another one."
    expect(window.page.get_by_role("alert")).to_have_text(sentence)


def test_the_address_of_a_view_restores_it_for_somebody_else(visit: Visit) -> None:
    first = visit(text=SENTENCE).done()
    page = first.page
    set_to(page, "delete")
    expect(page).to_have_url(re.compile("erase=delete"))
    expect(page.get_by_text("Erased by delete")).to_be_attached()  # below the metrics, which are folded
    first.done()
    first.unit("dull").click()
    expect(page.locator(".unit.removed")).to_have_count(ROWS)
    first.done()
    assert "erase=delete" in page.url
    second = visit(page.url).done()
    expect(second.page.get_by_role("textbox", name="Text", exact=True)).to_have_value(SENTENCE)
    expect(second.page.get_by_text("Erased by delete")).to_be_attached()
    assert second.bars == first.bars
    assert sorted(labels(second.rows)) == sorted(labels(first.rows))  # sorted by evidence without the word


def test_what_is_typed_is_shown_and_never_obeyed(visit: Visit) -> None:
    window = visit(text="good", attention="", **QUICK).done()
    attack = " ".join(ATTACKS[1:3])
    window.write(attack)
    window.unit("__xss").hover()
    shown = window.rows.locator(".text").evaluate_all("texts => texts.map(text => text.textContent)")
    assert set(shown) == {attack}
    assert window.page.evaluate("window.__xss") is None
    assert not window.page.locator(".row :is(script, img, iframe, a)").count()


@pytest.mark.parametrize("names", [("model",), ("class", "example", "removed", "sort", "nothing")])
def test_an_attack_in_the_address_is_harmless(visit: Visit, names: tuple[str, ...]) -> None:
    window = visit(text="good", **dict.fromkeys(names, "".join(ATTACKS)))
    window.page.get_by_role("textbox", name="Text", exact=True).wait_for()
    if names == ("model",):
        alert = window.page.get_by_role("alert")
        expect(alert).to_contain_text("is not available")
        expect(alert).to_contain_text("<img src=x onerror=__xss=2>")
        assert not alert.locator("img, script, a, svg:not([aria-hidden]), iframe").count()
    else:
        window.done()
    assert window.page.evaluate("window.__xss") is None


def test_what_is_typed_and_not_yet_confirmed_stays_while_the_page_is_redrawn(visit: Visit) -> None:
    text = "A dull plot, to be continued."
    window = visit(model="sst2", text=text)
    box = window.page.get_by_role("textbox", name="Text", exact=True)
    expect(window.page.get_by_role("button", name="Stop", exact=True).first).to_be_visible()
    box.press("End")
    box.press_sequentially(" And more")
    window.done()
    expect(box).to_have_value(f"{text} And more")


def test_leaving_in_the_middle_of_a_run_leaves_a_right_address_and_one_step_back(visit: Visit) -> None:
    window = visit(few=False, model="sst2", text="A dull plot that nobody reads to its end.")
    page = window.page
    expect(window.unit("dull")).to_be_visible()
    page.get_by_role("link", name=PAGE, exact=True).click()
    expect(page.get_by_role("heading", name=HEADING)).to_be_visible()
    settled(page)  # no tick of the page that was left is on its way
    assert page.url.split("?")[0].endswith(f"/{PAGE.lower()}")
    page.go_back()
    expect(window.unit("dull")).to_be_visible()


@pytest.mark.parametrize("results", [0, 1, 4])
def test_a_page_link_that_is_pressed_slowly_during_a_run_opens_its_page(visit: Visit, results: int) -> None:
    """Pressed and released in two different states of the page, as by a hand; after so many results."""
    window = visit(few=False, model="sst2", text=f"{SENTENCE} {results}")
    link = window.page.get_by_role("link", name=PAGE, exact=True)
    expect(link).to_be_visible()
    if results:
        window.page.locator('.row[data-status="done"]').nth(results - 1).wait_for(state="attached")
    link.hover()
    window.page.mouse.down()
    window.page.evaluate("() => new Promise((done) => setTimeout(done, 150))")
    window.page.mouse.up()
    expect(window.page.get_by_role("heading", name=HEADING)).to_be_visible()


def test_a_word_pressed_on_the_page_that_is_left_does_not_take_the_new_page_away(visit: Visit, server: str) -> None:
    """The page that is left can be pressed as long as the server's answer is on its way."""
    window = visit("about:blank")
    page = window.page
    held: list[tuple[WebSocketRoute, str | bytes]] = []
    slow: list[bool] = []

    def connected(browser: WebSocketRoute) -> None:
        def answered(message: str | bytes) -> None:
            held.append((browser, message)) if slow else browser.send(message)

        browser.connect_to_server().on_message(answered)

    page.route_web_socket(re.compile("/_stcore/stream"), connected)
    page.goto(f"{server}?perturbation=Occlusion&learned=&gradient=&attention=&controls=")
    settled(window.done().page)
    link, word = page.get_by_role("link", name=PAGE, exact=True), window.unit("charming")
    places = [element.bounding_box() for element in (link, word)]
    slow.append(True)
    for place in places:
        assert place is not None
        page.mouse.click(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    slow.clear()
    for browser, message in held:
        browser.send(message)
    expect(page.get_by_role("heading", name=HEADING)).to_be_visible()


def test_stop_keeps_what_is_finished(visit: Visit) -> None:
    window = visit(few=False, example="A longer review", samples="5000")
    window.page.locator('.row[data-status="done"]').first.wait_for()
    window.page.get_by_role("button", name="Stop", exact=True).last.click()
    expect(window.page.get_by_role("button", name="Continue")).to_be_visible()
    expect(window.page.get_by_text("Stopped. Finished results stay.")).to_be_visible()
    assert window.page.locator('.row[data-status="done"]').count() > 0
    expect(window.page.locator('.row[data-status="stopped"]')).not_to_have_count(0)


def test_everything_on_the_page_can_be_exported_as_files(visit: Visit, tmp_path: Path) -> None:
    window = visit(text=SENTENCE).done()

    def file(name: str) -> bytes:
        with window.page.expect_download() as download:
            settled(window.page).get_by_role("button", name=name).click()
        download.value.save_as(tmp_path / download.value.suggested_filename)
        return (tmp_path / download.value.suggested_filename).read_bytes()

    assert file("Page, HTML").lower().startswith(b"<!doctype html>")
    assert file("Curves, PNG").startswith(b"\x89PNG\r\n")
    assert b"<svg" in file("Curves, SVG")[:1000]
    for table in ("Scores, CSV", "Metrics, CSV", "Curves, CSV"):
        assert len(list(csv.reader(io.StringIO(file(table).decode())))) > 4
    assert json.loads(file("All, JSON"))["manifest"]["texts"] == [SENTENCE]
    assert {path.suffix for path in tmp_path.iterdir()} == {".html", ".png", ".svg", ".csv", ".json"}


def test_the_exported_page_stands_alone(visit: Visit, tmp_path: Path) -> None:
    window = visit(text="<script>__xss=1</script> <img src=x onerror=__xss=2> good", attention="", **QUICK).done()
    with window.page.expect_download() as download:
        window.page.get_by_role("button", name="Page, HTML").click()
    download.value.save_as(tmp_path / "page.html")
    alone = window.context.new_page()
    asked: list[str] = []
    alone.on("request", lambda request: asked.append(request.url))
    alone.goto((tmp_path / "page.html").as_uri())
    assert alone.evaluate("window.__xss") is None
    assert "<script>__xss=1</script>" in alone.locator("body").inner_text()
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []


@pytest.mark.parametrize(
    ("name", "size", "dark"),
    [
        ("light", (1280, 900), False),
        ("dark", (1280, 900), True),
        ("phone", (390, 844), False),
        ("phone-dark", (390, 844), True),
    ],
)
def test_nothing_scrolls_sideways(
    visit: Visit, screenshots: Path, name: str, size: tuple[int, int], dark: bool
) -> None:
    window = visit(width=size[0], height=size[1], dark=dark, few=False).done()
    assert sideways(window) == {}
    main = window.page.get_by_test_id("stMain")
    height = main.evaluate("main => main.scrollHeight")
    window.page.set_viewport_size({"width": size[0], "height": min(height, 8000)})
    settled(window.page)  # plots are drawn again at another size
    window.page.screenshot(path=screenshots / f"compare-{name}.png")
    assert sideways(window) == {}


def test_the_methods_page_shows_every_formula(visit: Visit, server: str, screenshots: Path) -> None:
    window = visit(f"{server}methods")
    settled(window.page).get_by_text("Integrated gradients").first.click()
    expect(window.page.locator(".katex").filter(visible=True).first).to_be_visible()
    closed = "details:not([open]) > summary"
    window.page.evaluate("closed => document.querySelectorAll(closed).forEach(summary => summary.click())", closed)
    expect(window.page.locator(".katex").filter(visible=True)).to_have_count(len(METHODS) + len(NARRATORS))
    expect(window.page.locator("[data-testid=stDataFrame] canvas").first).to_be_attached()
    assert not settled(window.page).locator(".katex-error").count()
    for width in (1280, 390):
        window.page.set_viewport_size({"width": width, "height": 900})
        settled(window.page).screenshot(path=screenshots / f"methods-{width}.png")
        assert sideways(window) == {}


def test_a_pair_is_shown_and_clicked_in_both_texts(visit: Visit) -> None:
    if "nli" not in bundle_names():
        pytest.skip("the bundle nli is not in assets/bundles")
    window = visit(model="nli", text="Two dogs run.", pair="Animals are asleep.", **QUICK).done()
    expect(window.page.get_by_role("textbox", name="Premise")).to_have_value("Two dogs run.")
    expect(window.page.get_by_role("textbox", name="Hypothesis")).to_have_value("Animals are asleep.")
    expect(window.rows.first.locator(".of")).to_have_text(["Premise", "Hypothesis"])
    window.unit("asleep").click()
    expect(window.page.locator(".unit.removed").first).to_have_text("asleep")
    window.done()


def test_a_word_that_a_sentence_mentions_is_outlined_in_the_heat_maps(visit: Visit) -> None:
    if "nli" not in bundle_names():
        pytest.skip("the bundle nli is not in assets/bundles")
    window = visit(model="nli", example="Contradiction", **QUICK).done()
    mentioned = window.page.locator(".crosslight-words .word").first
    word = mentioned.inner_text()
    mentioned.hover()
    expect(window.page.locator(".crosslight-sheet .unit.near").first).to_have_text(word)
    window.page.mouse.move(5, 5)
    expect(window.page.locator(".crosslight-sheet .unit.near")).to_have_count(0)
