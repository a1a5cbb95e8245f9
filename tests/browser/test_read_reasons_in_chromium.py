"""Reasons read in Chromium, by mouse and by keyboard alone."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from app.annotate import answers, people, projects
from app.annotate.projects import ProjectSpec
from app.server.login import ANYBODY
from app.store import FILE, Store
from explainers.annotations.records import GivenReason, Item, ReadReason
from explainers.datasets.example import Example
from tests.browser.conftest import PATIENCE, darkened, press_until, running_app, settled
from tests.browser.test_accessibility_in_chromium import serious

pytestmark = pytest.mark.browser
PREMISE, HYPOTHESIS = "A man plays a guitar <b>on stage</b>.", "A person sleeps."
REASON = GivenReason("a man can not be playing and sleeping", "contradiction", "cause_phi")
QUESTIONS = ("Is it grammatical?", "Is it true of the input?", "Does it support the class?", "Is it more than a copy?")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the store of the server that is started here."""
    return tmp_path_factory.mktemp("readings")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[str]:
    with running_app(folder) as address:
        yield address


@pytest.fixture
def store(folder: Path) -> Iterator[Store]:
    store = Store(f"sqlite:///{folder / FILE}")
    yield store
    store.close()


def invited(store: Store, count: int) -> tuple[projects.Project, str]:
    """A project of so many reasons, which no model has to read, and the link of a reader."""
    spec = ProjectSpec("nli-2", "nli", tasks=("read",), overlap=1)
    listed = [Item(f"{number}", Example(PREMISE, HYPOTHESIS), reason=REASON) for number in range(1, count + 1)]
    project = projects.create(store, spec, listed, ANYBODY)
    return project, people.invite(store, project.id, "A1")


def test_reasons_are_read_by_mouse_and_by_keyboard(visit: Callable[..., Any], server: str, store: Store) -> None:
    project, token = invited(store, 2)
    page = visit(f"{server}annotate?invite={token}").page
    box = page.locator(".crosslight-annotate")
    expect(box.get_by_role("heading")).to_have_text("Read a reason")
    expect(box.locator(".text").first).to_have_text(PREMISE)
    expect(box.locator(".of")).to_have_text(["Premise", "Hypothesis"])
    expect(box.locator("blockquote")).to_have_text(REASON.sentence)
    expect(box.get_by_text("Class: contradiction")).to_be_visible()
    assert "cause_phi" not in page.content()
    guide = box.get_by_text("somebody who believes it has a reason to answer this class")
    expect(guide).to_be_hidden()
    box.get_by_text("How to read").click()
    expect(guide).to_be_visible()

    for question, judged in zip(QUESTIONS, ("yes", "cannot tell", "no", "yes"), strict=True):
        box.get_by_role("group", name=question).get_by_role("radio", name=judged, exact=True).check()
    box.get_by_role("button", name="Confirm").click()
    expect(box.locator(".progress span")).to_have_text("1 of 2")

    first = box.get_by_role("group", name=QUESTIONS[0]).get_by_role("radio", name="yes")
    expect(first).to_be_focused()
    for number in range(4):
        page.keyboard.press("Space")
        if number == 1:
            page.keyboard.press("ArrowRight")
        if number == 3:
            break
        page.keyboard.press("Control+Enter")
        expect(box.get_by_text("Answer all four questions.")).to_be_visible()
        page.keyboard.press("Tab")
        expect(box.get_by_role("group", name=QUESTIONS[number + 1]).get_by_role("radio").first).to_be_focused()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("All items are done")).to_be_visible()
    assert [annotation.answer for annotation in answers.annotations(store, project)] == [
        ReadReason("yes", "?", "no", "yes"),
        ReadReason("yes", "no", "yes", "yes"),
    ]
    marks = page.get_by_role("button", name="Marks of reasons")
    press_until(settled(page).get_by_role("button", name="Download my annotations"), marks)
    with page.expect_download() as download:
        marks.click()
    assert download.value.suggested_filename == "nli-2.marks.A1.csv"
    assert Path(str(download.value.path())).read_text(encoding="utf-8").splitlines() == [
        "id,grammatical,true,supports,informative",
        "1,yes,?,no,yes",
        "2,yes,no,yes,yes",
    ]


@pytest.mark.parametrize("width", [390, 1280])
def test_a_reason_is_easy_to_read_on_any_screen(
    chromium: Browser, server: str, store: Store, screenshots: Path, width: int
) -> None:
    _, token = invited(store, 1)
    context = chromium.new_context(viewport={"width": width, "height": 900}, reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(f"{server}annotate?invite={token}")
    box = page.locator(".crosslight-annotate")
    box.get_by_text("How to read").click()
    box.get_by_role("group", name=QUESTIONS[0]).get_by_role("radio", name="yes").check()
    settled(page)
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth <= window.innerWidth")
    assert serious(page) == []
    page.screenshot(path=screenshots / f"read-{width}-light.png", full_page=True)
    assert serious(darkened(page)) == []
    page.screenshot(path=screenshots / f"read-{width}-dark.png", full_page=True)
    context.close()
