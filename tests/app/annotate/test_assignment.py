from collections import Counter
from collections.abc import Callable
from threading import Barrier, Thread

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.annotate import answers, people, projects
from app.annotate.answers import Confirmation
from app.annotate.projects import Project
from app.annotate.tables import AssignmentRow, ItemRow
from app.store import Store
from explainers.annotations.records import Marked, Span
from explainers.errors import ExplanationError

Make = Callable[..., Project]
MARKED = Marked((Span(0, 1),))


def joined(store: Store, project: Project, *names: str) -> list[int]:
    return [people.annotator(store, project.id, f"account {name}", name) for name in names]


def finish(store: Store, project: Project, annotator: int) -> int | None:
    """Confirms the open item; returns its number."""
    item = people.current_item(store, project.id, annotator)
    if item is not None:
        answers.confirm(store, project, annotator, Confirmation(item, "mark", 1, MARKED))
    return item


def slots(store: Store) -> list[tuple[int, int | None]]:
    with store.read() as session:
        return [(row.item, row.slot) for row in session.scalars(select(AssignmentRow))]


def test_items_that_the_fewest_people_have_come_first(annotation_store: Store, make_project: Make) -> None:
    project = make_project(("a", "b"), tasks=("mark",), overlap=2)
    one, two = joined(annotation_store, project, "one", "two")
    first = finish(annotation_store, project, one)
    assert people.current_item(annotation_store, project.id, two) != first


def test_nobody_gets_an_item_twice_and_none_goes_to_more_people_than_asked(
    annotation_store: Store, make_project: Make
) -> None:
    project = make_project(("a", "b", "c"), tasks=("mark",), overlap=2)
    annotators = joined(annotation_store, project, "one", "two", "three")
    for _ in range(4):
        for annotator in annotators:
            finish(annotation_store, project, annotator)
    given = slots(annotation_store)
    assert Counter(item for item, _ in given) == {1: 2, 2: 2, 3: 2}
    assert len(set(given)) == 6
    assert all(people.current_item(annotation_store, project.id, annotator) is None for annotator in annotators)


def test_two_people_at_once_never_get_the_same_last_slot(annotation_store: Store, make_project: Make) -> None:
    project = make_project(("a",) * 10, tasks=("mark",), overlap=1)
    annotators = joined(annotation_store, project, *map(str, range(4)))
    start, given = Barrier(4), []

    def work(annotator: int) -> None:
        start.wait()
        while (item := finish(annotation_store, project, annotator)) is not None:
            given.append(item)

    threads = [Thread(target=work, args=(annotator,)) for annotator in annotators]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(given) == list(range(1, 11))  # each item once


def test_an_open_item_stays_with_its_person(annotation_store: Store, make_project: Make) -> None:
    project = make_project()
    (one,) = joined(annotation_store, project, "one")
    assert people.current_item(annotation_store, project.id, one) == people.current_item(
        annotation_store, project.id, one
    )


def test_a_skipped_item_is_free_for_others(annotation_store: Store, make_project: Make) -> None:
    project = make_project(("a", "b"), tasks=("mark",), overlap=1)
    one, two = joined(annotation_store, project, "one", "two")
    item = people.current_item(annotation_store, project.id, one)
    assert item is not None
    answers.confirm(annotation_store, project, one, Confirmation(item, "mark", 1, None, comment="unclear"))
    assert people.current_item(annotation_store, project.id, one) != item
    assert people.current_item(annotation_store, project.id, two) == item
    (skipped,) = answers.skipped_items(annotation_store, one)
    assert (skipped.item, skipped.comment) == (item, "unclear")


def test_a_skipped_item_can_be_answered_later(annotation_store: Store, make_project: Make) -> None:
    project = make_project(("a",), tasks=("mark",), overlap=1)
    (one,) = joined(annotation_store, project, "one")
    item = people.current_item(annotation_store, project.id, one)
    assert item is not None
    answers.confirm(annotation_store, project, one, Confirmation(item, "mark", 1, None))
    answers.confirm(annotation_store, project, one, Confirmation(item, "mark", 2, MARKED))
    assert people.progress(annotation_store, project.id, one, 1) == people.Progress(1, 0, 1)
    assert answers.skipped_items(annotation_store, one) == []


def test_skipped_items_come_in_the_order_of_skipping(annotation_store: Store, make_project: Make) -> None:
    project = make_project(("a", "b"), tasks=("mark",), overlap=1)
    (one,) = joined(annotation_store, project, "one")
    given = []
    for _ in range(2):
        item = people.current_item(annotation_store, project.id, one)
        assert item is not None
        given.append(item)
        answers.confirm(annotation_store, project, one, Confirmation(item, "mark", 1, None))
    answers.confirm(annotation_store, project, one, Confirmation(given[0], "mark", 2, None))  # skipped once more
    assert [item.item for item in answers.skipped_items(annotation_store, one)] == [given[1], given[0]]


def test_unbegun_items_can_be_freed(annotation_store: Store, make_project: Make) -> None:
    project = make_project(("a",), tasks=("mark",), overlap=1)
    one, two = joined(annotation_store, project, "one", "two")
    item = people.current_item(annotation_store, project.id, one)
    assert people.current_item(annotation_store, project.id, two) is None
    people.release_open(annotation_store, project.id, one)
    assert people.current_item(annotation_store, project.id, two) == item
    with pytest.raises(ExplanationError, match="not yours any more"):
        answers.confirm(annotation_store, project, one, Confirmation(item or 0, "mark", 1, MARKED))


@pytest.mark.parametrize("action", ["free", "remove"])
def test_the_project_is_locked_before_anything_is_changed(
    annotation_store: Store, make_project: Make, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    project = make_project(("a",), tasks=("mark",), overlap=1)
    (one,) = joined(annotation_store, project, "one")
    people.current_item(annotation_store, project.id, one)
    seen: list[int] = []

    def counted(session: Session, number: int) -> None:
        assert number == project.id
        seen.append(session.query(AssignmentRow).count())

    for module in (people, projects):
        monkeypatch.setattr(module, "locked", counted)
    if action == "free":
        people.release_open(annotation_store, project.id, one)
    else:
        projects.remove(annotation_store, project.id)
    assert seen == [1]


def test_progress_counts_what_is_there_for_a_person(annotation_store: Store, make_project: Make) -> None:
    project = make_project(("a", "b", "c"), tasks=("mark",), overlap=1)
    one, two = joined(annotation_store, project, "one", "two")
    finish(annotation_store, project, one)
    finish(annotation_store, project, two)
    assert people.progress(annotation_store, project.id, one, 1) == people.Progress(1, 0, 2)


def test_an_item_is_open_until_as_many_people_as_asked_have_finished_it(
    annotation_store: Store, make_project: Make
) -> None:
    project, other = (make_project(("a", "b"), tasks=("mark",), overlap=2) for _ in range(2))
    one, two = joined(annotation_store, project, "one", "two")
    counts = [people.open_items(annotation_store, project.id, 2)]
    for annotator in (one, two, one, two):
        finish(annotation_store, project, annotator)
        counts.append(people.open_items(annotation_store, project.id, 2))
    assert counts == [2, 2, 2, 1, 0]
    assert people.open_items(annotation_store, other.id, 2) == 2


def test_a_deleted_project_leaves_nothing(annotation_store: Store, make_project: Make) -> None:
    project = make_project(tasks=("mark",))
    (one,) = joined(annotation_store, project, "one")
    finish(annotation_store, project, one)
    people.exchange(annotation_store, people.invite(annotation_store, project.id, "A1"), people.Tries(), "")
    projects.remove(annotation_store, project.id)
    assert projects.project(annotation_store, project.id) is None
    with annotation_store.read() as session:
        assert session.query(ItemRow).count() == session.query(AssignmentRow).count() == 0
    with pytest.raises(ExplanationError, match="deleted"):
        answers.confirm(annotation_store, project, one, Confirmation(1, "mark", 2, MARKED))
