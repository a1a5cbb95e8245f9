"""Results are computed once for what is in the store."""

from collections.abc import Callable

import pytest

from app.annotate import answers, disputes, people, projects, results, shown_results
from app.annotate.answers import Confirmation
from app.annotate.projects import Project
from app.annotate.shown_results import MOST_KEPT
from app.annotate.tables import ItemRow, ProjectRow
from app.store import Store
from explainers.annotations.records import Marked, Span
from tests.app.annotate.conftest import TEXT, prepared

Make = Callable[..., Project]


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """A project for every computation."""
    shown_results._computed.clear()
    seen: list[object] = []
    original = results.agreements

    def agreements(project: Project, *about: object) -> object:
        seen.append(project.id)
        return original(project, *about)  # type: ignore[arg-type]

    monkeypatch.setattr(results, "agreements", agreements)
    return seen


def mark(store: Store, project: Project, name: str) -> None:
    annotator = people.annotator(store, project.id, f"account {name}", name)
    number = people.current_item(store, project.id, annotator)
    assert number is not None
    answers.confirm(store, project, annotator, Confirmation(number, "mark", 1, Marked((Span(0, 1),))))


def test_the_same_answers_are_computed_once_and_a_new_one_counts(
    annotation_store: Store, make_project: Make, computed: list[object]
) -> None:
    project = make_project(tasks=("mark",))
    mark(annotation_store, project, "A1")
    first = shown_results.shown_results(annotation_store, project)
    assert shown_results.shown_results(annotation_store, project) is first
    assert len(computed) == 1
    mark(annotation_store, project, "A2")
    assert len(shown_results.shown_results(annotation_store, project).annotations) == 2
    assert len(computed) == 2


def test_a_decision_changes_the_gold_marks_and_nothing_else(
    annotation_store: Store, make_project: Make, computed: list[object]
) -> None:
    project = make_project(("a fine film",), tasks=("mark",))
    mark(annotation_store, project, "A1")
    first = shown_results.shown_results(annotation_store, project)
    gold = shown_results.gold_results(annotation_store, project, first)
    assert shown_results.gold_results(annotation_store, project, first) is gold
    number = first.states["item 0"].number
    disputes.decide(annotation_store, project, (number, "mark"), Marked((Span(2, 6),)), "changed")
    assert shown_results.shown_results(annotation_store, project) is first
    after = shown_results.gold_results(annotation_store, project, first)
    # integrated gradients score the words 0, 1, 2: of "a" they say nothing, of "fine" the second best
    scores = [rows.against_people[0]["auc"] for rows in (gold, after)]
    assert [score.mean for score in scores] == [0.0, 0.5]  # type: ignore[attr-defined]


def test_an_explanation_that_comes_later_counts(
    annotation_store: Store, make_project: Make, computed: list[object]
) -> None:
    project = make_project(tasks=("mark",))
    mark(annotation_store, project, "A1")
    before = shown_results.shown_results(annotation_store, project).states["item 0"].prepared.label
    with annotation_store.begin() as session:
        session.query(ItemRow).filter_by(project=project.id).update({"prepared": prepared(TEXT, label=0).as_json()})
        session.query(ProjectRow).filter_by(id=project.id).update({"revision": 1})
    after = shown_results.shown_results(annotation_store, project).states["item 0"].prepared.label
    assert (before, after) == (1, 0)
    assert len(computed) == 2


def test_a_later_project_with_the_same_number_has_its_own_results(
    annotation_store: Store, make_project: Make, computed: list[object]
) -> None:
    one = make_project(tasks=("mark",))
    mark(annotation_store, one, "A1")
    shown_results.shown_results(annotation_store, one)
    projects.remove(annotation_store, one.id)
    other = make_project(("Another text",), tasks=("mark",))
    assert other.id == one.id
    assert projects.first_items(annotation_store, other.id, 9) == [1]
    mark(annotation_store, other, "B1")
    (annotation,) = shown_results.shown_results(annotation_store, other).annotations
    assert annotation.annotator == "B1"


def test_the_results_of_few_projects_stay_in_memory(
    annotation_store: Store, make_project: Make, computed: list[object]
) -> None:
    made = [make_project(("a film",), tasks=("mark",)) for _ in range(MOST_KEPT + 1)]
    for project in made:
        mark(annotation_store, project, "A1")
        shown_results.shown_results(annotation_store, project)
    shown_results.shown_results(annotation_store, made[-1])
    assert len(computed) == MOST_KEPT + 1
    shown_results.shown_results(annotation_store, made[0])
    assert len(computed) == MOST_KEPT + 2
