"""An owner in Chromium decides where two annotators differ, decides anew, and reloads: nothing is lost, none is twice.

The annotators' answers and the explanations are stored beforehand, so that no model is needed.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from app.annotate import answers, people
from app.annotate.answers import Confirmation
from app.annotate.tables import DECIDED_BY
from explainers.annotations.formats.items_file import parse_items
from explainers.annotations.records import (
    Answer,
    Corrected,
    Inspected,
    Marked,
    Ranked,
    Span,
    Task,
)
from tests.browser.conftest import choose, settled
from tests.browser.test_accessibility_in_chromium import serious
from tests.browser.test_annotate_in_chromium import (
    METHODS,
    NARRATORS,
    Prepared10,
    annotation_store,
    at_item,
    confirmed,
    project,
    server,
    task,
)

pytestmark = pytest.mark.browser
assert all((annotation_store, project, server))  # the fixtures
NAIVE, FILM = Marked((Span(0, 5),)), Marked((Span(8, 12),))
GRADIENTS, OCCLUSION, SHAP = METHODS
PHI, _ = NARRATORS
DIFFERENT: dict[Task, tuple[Answer, Answer]] = {
    "mark": (NAIVE, FILM),
    "rank": (Ranked((GRADIENTS, OCCLUSION, SHAP)), Ranked((GRADIENTS, SHAP, OCCLUSION))),
    "inspect": (Inspected(OCCLUSION, "accept"), Inspected(OCCLUSION, "correct", FILM)),
    "correct": (Corrected(PHI, "It is naïve."), Corrected(PHI, "It is a naïve film.")),
}

DECISIONS: list[tuple[str, Task, int, Answer, str]] = [  # item, task, version, answer and whose it was
    ("0", "mark", 1, FILM, "A2"),
    ("0", "mark", 2, NAIVE, "A1"),
    ("1", "mark", 1, Marked((Span(8, 12), Span(20, 24))), "changed"),
    ("0", "rank", 1, Ranked((OCCLUSION, GRADIENTS, SHAP)), "changed"),
    ("0", "inspect", 1, Inspected(OCCLUSION, "correct", Marked((Span(8, 12), Span(20, 24)))), "changed"),
    ("0", "correct", 1, Corrected(PHI, "It is a <b>naïve</b> film with a plot."), "changed"),
]


def answered(made: Prepared10) -> None:
    """Two people differ in every task of every item."""
    for place, name in enumerate(("A1", "A2")):
        annotator = people.annotator(made.store, made.project.id, f"account {name}", name)
        while (item := people.current_item(made.store, made.project.id, annotator)) is not None:
            for asked in made.project.tasks:
                own_class = "positive" if asked == "mark" else ""
                sent = Confirmation(item, asked, 1, DIFFERENT[asked][place], own_class=own_class)
                answers.confirm(made.store, made.project, annotator, sent)


def row(page: Page, column: str, first: str) -> Locator:
    """The cells of the row that begins with `first`, in the table with this column."""
    table = page.get_by_test_id("stDataFrame").filter(has_text=column).first
    return table.locator("tbody tr").filter(has_text=first).locator("td")


def results(page: Page) -> None:
    settled(page).get_by_role("radio", name="Results").click()


def choose_task(page: Page, title: str) -> None:
    page.get_by_role("radio", name=title).click()
    expect(page.get_by_role("radio", name=title)).to_be_checked()


def store(page: Page) -> None:
    page.get_by_role("button", name="Store the decision").click()


def decided(page: Page, count: int) -> None:
    expect(page.get_by_role("combobox", name=f"Item ({count} of 2 decided)")).to_be_visible()


def auc(page: Page, value: str) -> None:
    """Of integrated gradients, which score the eight words 0 to 7, over both items."""
    expect(row(page, "ROC-AUC", "Integrated gradients").nth(3)).to_have_text(re.compile(rf"^{re.escape(value)} \("))


def place(decision: tuple[str, Task, int, Answer | None, str]) -> tuple[str, Task, int]:
    return decision[:3]


def decisions(page: Page) -> list[tuple[str, Task, int, Answer | None, str]]:
    """Those of the download."""
    with page.expect_download() as download:
        page.get_by_role("button", name="JSON lines").click()
    read = parse_items(Path(str(download.value.path())).read_bytes(), "annotations.jsonl")
    assert read.bad_rows == ()
    listed = [
        (annotation.item, annotation.task, annotation.version, annotation.answer, annotation.comment)
        for annotation in read.annotations
        if annotation.annotator == DECIDED_BY
    ]
    return sorted(listed, key=place)


def test_what_an_owner_decides_is_there_once_and_makes_the_gold_marks(
    visit: Callable[..., Any], server: str, project: Callable[..., Prepared10]
) -> None:
    made = project(2, tasks=tuple(DIFFERENT), methods=METHODS, narrators=NARRATORS)
    answered(made)
    page = visit(f"{server}annotate").page
    results(page)
    page.get_by_role("button", name="Open the results").click()
    auc(page, "0.08")  # "naïve" and "film", 0 and 2, by half of the people: 1 of 12 pairs is right
    expect(row(page, "Fleiss", "Mark the evidence").first).to_be_attached()
    agreement = row(page, "Fleiss", "Mark the evidence").all_inner_texts()
    at_item(page, 0, 2)
    group = task(page).get_by_role("group", name="The answer that the marks are evidence for")
    group.get_by_role("radio", name="positive").check()
    confirmed(page)  # nobody's marks are taken unasked
    expect(task(page).get_by_text("Take somebody's marks or mark the words, and choose the answer.")).to_be_visible()
    page.get_by_role("button", name="Take the marks of A2").click()
    confirmed(page)
    at_item(page, 1, 2)
    auc(page, "0.18")  # "film" beats 2 of 7 words: (2/7 + 1/12) / 2
    page.get_by_role("button", name="Take the marks of A2").click()
    task(page).get_by_role("group", name="Your decision").get_by_role("button", name="plot").click()
    confirmed(page)
    at_item(page, 2, 2)
    expect(page.get_by_role("combobox", name="Item (2 of 2 decided)")).to_have_value(re.compile("^decided: 0, "))
    auc(page, "0.39")  # with "plot", 5: (2/7 + 6/12) / 2
    choose(page, "Item (2 of 2 decided)", "decided: 0, ")
    page.get_by_role("button", name="Take the marks of A1").click()
    page.get_by_role("button", name="Confirm again").click()
    auc(page, "0.25")  # "naïve" beats no word: (0 + 6/12) / 2
    expect(page.get_by_text("Decision 2: the answer of A1")).to_be_visible()

    choose_task(page, "Rank maps")
    expect(page.locator(".crosslight-annotate .card")).to_have_count(3)
    choose(page, "Occlusion", "1")
    choose(page, "KernelSHAP", "3")
    store(page)
    expect(page.get_by_text("Give every map a place of its own.", exact=True)).to_be_visible()
    choose(page, "Integrated gradients", "2")
    store(page)
    decided(page, 1)
    choose_task(page, "Check a suggestion")
    expect(task(page).get_by_text("A1: accept")).to_be_visible()
    page.get_by_role("button", name="Take the verdict of A2").click()
    expect(task(page).get_by_role("radio", name="Correct")).to_be_checked()
    suggestion = task(page).get_by_role("group", name="The input with a suggestion")
    suggestion.get_by_role("button", name="plot").click()
    confirmed(page)
    decided(page, 1)
    choose_task(page, "Correct a sentence")
    page.get_by_role("button", name="Take this sentence").nth(1).click()
    box = page.get_by_role("textbox", name="Final sentence")
    expect(box).to_have_value("It is a naïve film.")
    box.fill("It is a <b>naïve</b> film with a plot.")
    page.get_by_role("button", name="Store the decision").dblclick()
    decided(page, 1)

    page.reload()
    results(page)
    at_item(page, 2, 2)
    auc(page, "0.25")
    expect(row(page, "Fleiss", "Mark the evidence")).to_have_text(agreement)
    assert decisions(page) == sorted(DECISIONS, key=place)
    choose_task(page, "Correct a sentence")
    choose(page, "Item (1 of 2 decided)", "decided: 0, ")
    expect(box).to_have_value("It is a <b>naïve</b> film with a plot.")
    assert serious(page) == []
