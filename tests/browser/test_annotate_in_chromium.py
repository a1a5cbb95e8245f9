"""Annotators in Chromium: keyboard, touch, two people at once, a server that is killed, and what a blind page receives.

The items are prepared beforehand, so that no model is needed.
"""

import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from sqlalchemy import select

from app.annotate import answers, people, projects
from app.annotate.projects import ORDER, Prepared, PreparedMap, Project, ProjectSpec, read_prepared
from app.annotate.tables import ItemRow
from app.server.login import ANYBODY
from app.store import FILE, URL_VARIABLE, Store
from explainers.annotations.judged import word_encoding
from explainers.annotations.records import Annotation, GivenReason, Item, Marked, Several, Span
from explainers.datasets.example import Example
from explainers.installation import STORE_VARIABLE
from explainers.studies.speed import measure
from tests.app.database.conftest import Server as DatabaseServer
from tests.app.database.conftest import postgresql
from tests.browser.conftest import PATIENCE, running_app, settled, started
from tests.browser.test_accessibility_in_chromium import serious

pytestmark = pytest.mark.browser
assert postgresql  # the fixture
METHODS, NARRATORS = ("integrated_gradients", "occlusion", "kernel_shap"), ("cause_phi", "cause_published")
TELLING = re.compile(rb"integrated.gradients|occlusion|kernel.?shap|cause_p|\xcf\x86", re.IGNORECASE)
REASON = GivenReason("a naïve film", "positive", "cause_phi")
TEXT = "naïve 🎬 film, naïve plot – שלום"
OPPOSING = PreparedMap((-1.0,) * 8, True, {})  # of as many words
WORDS = ["naïve", "🎬", "film", ",", "naïve", "plot", "–", "שלום"]


@pytest.fixture(scope="module")
def annotation_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the store of the server that is started here."""
    return tmp_path_factory.mktemp("annotations")


@pytest.fixture(scope="module")
def server(annotation_store: Path) -> Iterator[str]:
    with running_app(annotation_store) as address:
        yield address


@dataclass
class Prepared10:
    """A project and the links of its annotators."""

    store: Store
    project: Project
    tokens: tuple[str, ...]

    @property
    def annotations(self) -> tuple[Annotation, ...]:
        return answers.annotations(self.store, self.project)


def filled(text: str) -> str:
    encoding = word_encoding(Example(text))
    count = len(encoding.units)
    maps = {
        method: PreparedMap(tuple(float((unit + shift) % count) for unit in range(count)), True, {})
        for shift, method in enumerate(METHODS)
    }
    sentences = {narrator: "It is positive because it is good." for narrator in NARRATORS}
    return Prepared(
        encoding.texts, encoding.units, ("",), ("negative", "positive"), 1, (0.1, 0.9), "1", maps, sentences
    ).as_json()


@pytest.fixture
def project(annotation_store: Path) -> Iterator[Callable[..., Prepared10]]:
    store = Store(f"sqlite:///{annotation_store / FILE}")

    yield partial(made_in, store)
    store.close()


def made_in(store: Store, count: int = 10, **changes: Any) -> Prepared10:
    spec = ProjectSpec(**{"name": "Films", "model": "sst2", "guideline": "What decides?", **changes})
    made = projects.create(store, spec, [Item(f"{n}", Example(TEXT), reason=REASON) for n in range(count)], ANYBODY)
    with store.begin() as session:
        for row in session.scalars(select(ItemRow).where(ItemRow.project == made.id)):
            row.prepared = filled(TEXT)
    tokens = tuple(people.invite(store, made.id, name) for name in ("A1", "A2"))
    return Prepared10(store, made, tokens)


def task(page: Page) -> Locator:
    return page.locator(".crosslight-annotate")


def units(page: Page) -> Locator:
    return task(page).locator('.unit[role="button"]')


def at_item(page: Page, done: int, of: int) -> None:
    expect(task(page).locator(".progress span")).to_have_text(f"{done} of {of}")


def confirmed(page: Page) -> None:
    page.get_by_role("button", name="Confirm").click()


def answer(page: Page, name: str = "positive") -> None:
    task(page).get_by_role("radio", name=name).check()


def test_ten_items_by_keyboard_alone(
    visit: Callable[..., Any], server: str, project: Callable[..., Prepared10]
) -> None:
    made = project(tasks=("mark",))
    page = visit(f"{server}annotate?invite={made.tokens[0]}").page
    at_item(page, 0, 10)
    assert "invite" not in page.url
    assert units(page).all_inner_texts() == WORDS
    own = task(page).get_by_role("radio", name="negative")
    for _ in range(40):  # Tab until the first answer has the focus
        if page.evaluate("document.activeElement.shadowRoot?.activeElement?.type === 'radio'"):
            break
        page.keyboard.press("Tab")
    for number in range(10):
        expect(own).to_be_focused()
        page.keyboard.press("Space")
        page.keyboard.press("Tab")
        expect(units(page).first).to_be_focused()
        page.keyboard.press("Space")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Shift+ArrowRight")
        expect(units(page).nth(2)).to_have_attribute("aria-pressed", "true")
        page.keyboard.press("Control+Enter")
        if number < 9:
            at_item(page, number + 1, 10)
    expect(page.get_by_text("All items are done")).to_be_visible()
    marked = Marked((Span(0, 5), Span(8, 13)))  # "naïve" and "film,": code points, of which 🎬 is one
    assert [(annotation.answer, annotation.own_class) for annotation in made.annotations] == [(marked, "negative")] * 10
    assert all(0 < annotation.seconds < 600 for annotation in made.annotations)


def test_several_methods_of_an_item_are_judged_by_keyboard_and_come_back(
    visit: Callable[..., Any], server: str, project: Callable[..., Prepared10]
) -> None:
    tasks = ("simulate", "inspect", "correct")
    made = project(1, tasks=tasks, methods=METHODS, narrators=NARRATORS, methods_per_item=2)
    page = visit(f"{server}annotate?invite={made.tokens[0]}").page
    box = task(page)
    expect(box.get_by_role("heading")).to_have_text("Guess the model's answer from a map")
    groups = box.locator("fieldset")
    expect(groups).to_have_count(2)
    groups.nth(0).get_by_role("radio", name="positive").focus()
    page.keyboard.press("Space")
    page.keyboard.press("Control+Enter")
    expect(box.get_by_text("Choose an answer for every map.")).to_be_visible()
    groups.nth(1).get_by_role("radio", name="negative").focus()
    page.keyboard.press("Space")
    page.keyboard.press("Control+Enter")
    expect(box.get_by_role("heading")).to_have_text("Check a suggestion")
    groups.nth(0).get_by_role("radio", name="Accept").check()
    second = box.get_by_role("group", name=re.compile("The input with a suggestion")).nth(1).locator(".unit")
    second.nth(2).click()
    expect(groups.nth(1).get_by_role("radio", name="Correct")).to_be_checked()
    expect(groups.nth(0).get_by_role("radio", name="Accept")).to_be_checked()
    confirmed(page)
    expect(box.get_by_role("heading")).to_have_text("Correct a sentence")
    box.get_by_role("textbox", name="The sentence").nth(1).fill("Because of its plot.")
    box.get_by_role("button", name="Back").click()
    expect(box.get_by_text("already confirmed")).to_be_visible()
    expect(groups.nth(1).get_by_role("radio", name="Correct")).to_be_checked()
    second.nth(3).click()  # a draft of its own
    box.get_by_role("button", name="Keep as it was").click()
    expect(box.get_by_role("textbox", name="The sentence").nth(1)).to_have_value("Because of its plot.")
    confirmed(page)
    expect(page.get_by_text("All items are done")).to_be_visible()
    given = {annotation.task: annotation.answer for annotation in made.annotations}
    assert all(isinstance(answer, Several) and len(answer.answers) == 2 for answer in given.values())
    guessed, checked, corrected = (given[task].answers for task in tasks)  # type: ignore[index,union-attr]
    assert [guess.label for guess in guessed] == [1, 0]
    assert [inspection.verdict for inspection in checked] == ["accept", "correct"]
    assert [revised.sentence for revised in corrected] == ["It is positive because it is good.", "Because of its plot."]
    assert all(len({answer.method for answer in answers}) == 2 for answers in (guessed, checked, corrected))


def test_a_method_that_suggests_nothing_is_said_to(
    visit: Callable[..., Any], server: str, project: Callable[..., Prepared10]
) -> None:
    made = project(1, tasks=("inspect",), methods=METHODS[:1])
    with made.store.begin() as session:
        row = session.scalars(select(ItemRow).where(ItemRow.project == made.project.id)).one()
        row.prepared = replace(read_prepared(filled(TEXT)), maps={METHODS[0]: OPPOSING}).as_json()
    box = task(visit(f"{server}annotate?invite={made.tokens[0]}").page)
    expect(box.get_by_text("Here the method suggests no word.")).to_be_visible()
    expect(box.get_by_role("radio", name="Accept: no word is evidence")).to_be_visible()


def test_two_annotators_lose_nothing_when_the_server_is_killed(
    chromium: Browser, annotation_store: Path, project: Callable[..., Prepared10], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = project(3, tasks=("mark",))
    monkeypatch.setenv(STORE_VARIABLE, str(annotation_store))
    port = measure.free_port()
    app = started(port)
    try:
        measure.wait_for(port)
        pages = [chromium.new_context(reduced_motion="reduce").new_page() for _ in range(2)]
        for page in pages:
            page.set_default_timeout(PATIENCE)
        for page, token in zip(pages, made.tokens, strict=True):
            page.goto(f"http://127.0.0.1:{port}/annotate?invite={token}")
        for page in pages:
            at_item(page, 0, 3)
            answer(page)
            units(page).nth(0).click()
            confirmed(page)
        for page in pages:
            at_item(page, 1, 3)
        answer(pages[0], "negative")
        units(pages[0]).nth(3).click()  # not confirmed when the server dies
        app.send_signal(signal.SIGKILL)
        app.wait()
        app = started(port)
        measure.wait_for(port)
        for page in pages:
            page.reload()
            at_item(page, 1, 3)
        expect(units(pages[0]).nth(3)).to_have_attribute("aria-pressed", "true")  # the draft
        expect(task(pages[0]).get_by_role("radio", name="negative")).to_be_checked()
        for page in pages:
            for done in (1, 2):
                at_item(page, done, 3)
                answer(page)
                units(page).nth(0).click()
                confirmed(page)
            expect(page.get_by_text("All items are done")).to_be_visible()
            page.context.close()
    finally:
        end(app)
    stored = made.annotations
    assert len(stored) == 6
    assert len({(annotation.item, annotation.annotator) for annotation in stored}) == 6


def test_a_database_that_goes_away_loses_no_mark(
    chromium: Browser, postgresql: DatabaseServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    postgresql.query("postgres", "CREATE DATABASE annotations")
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path))
    monkeypatch.setenv(URL_VARIABLE, postgresql.url("annotations"))
    store = Store()
    made = made_in(store, 2, tasks=("mark",))
    port = measure.free_port()
    app = started(port)
    context = chromium.new_context(reduced_motion="reduce")
    try:
        measure.wait_for(port)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(f"http://127.0.0.1:{port}/annotate?invite={made.tokens[0]}")
        at_item(page, 0, 2)
        answer(page)
        units(page).nth(0).click()
        postgresql.end()
        units(page).nth(2).click()
        confirmed(page)
        expect(page.get_by_text("The database does not answer").first).to_be_visible()
        expect(page.get_by_text("Your marks stay in this page")).to_be_visible()
        for number, on in ((0, "true"), (1, "false"), (2, "true")):
            expect(units(page).nth(number)).to_have_attribute("aria-pressed", on)
        units(page).nth(1).click()  # work goes on
        postgresql.begin()
        confirmed(page)
        at_item(page, 1, 2)
        expect(page.get_by_text("The database does not answer")).to_have_count(0)
        assert [annotation.answer for annotation in made.annotations] == [Marked((Span(0, 12),))]
    finally:
        context.close()
        end(app)
        store.close()


def end(app: "subprocess.Popen[bytes]") -> None:
    app.terminate()
    try:
        app.wait(timeout=20)
    except subprocess.TimeoutExpired:
        app.kill()
        app.wait()


def test_a_blind_page_receives_no_name_of_a_method(
    chromium: Browser, server: str, project: Callable[..., Prepared10]
) -> None:
    made = project(1, tasks=ORDER, methods=METHODS, narrators=NARRATORS, guideline="")
    context = chromium.new_context(accept_downloads=True, reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    received: list[bytes] = []
    sockets: list[int] = []

    def keep(payload: str | bytes) -> None:
        received.append(payload.encode() if isinstance(payload, str) else payload)

    def listen(socket: Any) -> None:
        sockets.append(1)
        socket.on("framereceived", keep)
        socket.on("framesent", keep)

    page.on("websocket", listen)
    page.goto(f"{server}annotate?invite={made.tokens[0]}")
    box = task(page)
    expect(box.get_by_role("heading")).to_have_text("Mark the evidence")
    units(page).first.click()
    confirmed(page)
    expect(box.get_by_text("Choose your own answer first.")).to_be_visible()
    answer(page)
    confirmed(page)
    expect(box.get_by_role("heading")).to_have_text("Guess the model's answer from a map")
    box.get_by_role("radio", name="positive").check()
    confirmed(page)
    expect(box.get_by_role("heading")).to_have_text("Read a reason")
    for group in box.locator("fieldset").all():
        group.get_by_role("radio", name="yes").check()
    confirmed(page)
    expect(box.get_by_role("heading")).to_have_text("Rank maps")
    for letter in "BAC":
        box.get_by_role("button", name=f"Map {letter}, choose").click()
    confirmed(page)
    expect(box.get_by_role("heading")).to_have_text("Rate sentences")
    confirmed(page)
    expect(box.get_by_text("Give every sentence both scores.")).to_be_visible()
    for group in box.locator("fieldset").all():
        group.get_by_role("radio", name="4").check()
    confirmed(page)
    expect(box.get_by_role("heading")).to_have_text("Check a suggestion")
    units(page).first.click()
    expect(box.get_by_role("radio", name="Correct:")).to_be_checked()
    confirmed(page)
    expect(box.get_by_role("heading")).to_have_text("Correct a sentence")
    box.get_by_role("textbox", name="The sentence").fill("Because it is <b>good</b>.")
    confirmed(page)
    expect(page.get_by_text("All items are done")).to_be_visible()

    page.get_by_role("button", name="Download my annotations").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="JSON lines").click()
    received += [page.content().encode(), Path(str(download.value.path())).read_bytes()]
    assert sockets
    assert any(b"relatedness" in content for content in received)  # the frames can be read
    assert [match for content in received for match in TELLING.findall(content)] == []
    assert {annotation.task for annotation in made.annotations} == set(ORDER)
    context.close()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_finger_marks_and_nothing_is_hard_to_read(
    chromium: Browser, server: str, project: Callable[..., Prepared10], screenshots: Path, dark: bool
) -> None:
    made = project(1, tasks=("mark",))
    context = chromium.new_context(
        has_touch=True,
        is_mobile=True,
        viewport={"width": 390, "height": 844},
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(f"{server}annotate?invite={made.tokens[0]}")
    units(page).nth(0).tap()
    expect(units(page).nth(0)).to_have_attribute("aria-pressed", "true")
    drag(settled(page), units(page).nth(2), units(page).nth(5))
    for number in (2, 3, 4, 5):
        expect(units(page).nth(number)).to_have_attribute("aria-pressed", "true")
    expect(units(page).nth(1)).to_have_attribute("aria-pressed", "false")
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth <= window.innerWidth")
    assert serious(page) == []
    page.screenshot(path=screenshots / f"annotate-{'dark' if dark else 'light'}.png")
    task(page).get_by_text("positive", exact=True).tap()
    page.get_by_role("button", name="Confirm").tap()
    expect(page.get_by_text("All items are done")).to_be_visible()
    assert made.annotations[0].own_class == "positive"
    assert made.annotations[0].answer == Marked((Span(0, 5), Span(8, 24)))
    context.close()


def drag(page: Page, start: Locator, end: Locator) -> None:
    """A finger that moves from one word to another."""
    session = page.context.new_cdp_session(page)
    one, other = start.bounding_box(), end.bounding_box()
    assert one is not None
    assert other is not None

    def touch(kind: str, x: float, y: float) -> None:
        points = [] if kind == "touchEnd" else [{"x": x, "y": y}]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    (x0, y0), (x1, y1) = ((box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in (one, other))
    touch("touchStart", x0, y0)
    for step in range(1, 11):
        touch("touchMove", x0 + (x1 - x0) * step / 10, y0 + (y1 - y0) * step / 10)
    touch("touchEnd", x1, y1)
