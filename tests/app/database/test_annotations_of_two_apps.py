"""Annotations in either database: two apps give items away at once, and an earlier version's tables go on."""

from collections.abc import Callable
from threading import Barrier, Thread

from sqlalchemy import text

from app.annotate import answers, disputes, people, projects
from app.annotate.answers import Confirmation
from app.annotate.projects import ProjectSpec
from app.server.login import ANYBODY
from app.store import Store
from explainers.annotations.records import Item, Marked, Span
from explainers.datasets.example import Example

MARKED = Marked((Span(0, 1),))
NUL = "naïve 🎬 \x00"


def test_each_slot_is_given_once_and_each_confirmation_kept_once(database: str, opened: Callable[[], Store]) -> None:
    stores = [opened(), opened()]
    items = [Item(f"item {number}", Example(f"text {number}")) for number in range(8)]
    spec = ProjectSpec("Films", "small", overlap=2)
    project = projects.create(stores[0], spec, items, ANYBODY)
    annotators = [people.annotator(stores[number % 2], project.id, f"account {number}") for number in range(4)]
    start, kept = Barrier(4), []

    def work(number: int) -> None:
        store, annotator = stores[number % 2], annotators[number]
        start.wait()
        while (item := people.current_item(store, project.id, annotator)) is not None:
            sent = Confirmation(item, "mark", 1, MARKED, comment=NUL)
            kept.append((item, annotator, answers.confirm(store, project, annotator, sent)))

    threads = [Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(kept) == len(set(kept)) == 16
    assert all(stored for _, _, stored in kept)
    annotations = answers.annotations(stores[1], project)
    assert len({(annotation.item, annotation.annotator) for annotation in annotations}) == 16
    assert {annotation.comment for annotation in annotations} == {"naïve 🎬 "}


def test_annotations_of_a_version_without_classes_go_on(database: str, opened: Callable[[], Store]) -> None:
    first = opened()
    spec = ProjectSpec("Films", "small", tasks=("mark", "rank"), methods=("aml", "lime"))
    project = projects.create(first, spec, [Item("a", Example("good film"))], ANYBODY)
    annotator = people.annotator(first, project.id, "account ")
    item = people.current_item(first, project.id, annotator) or 0
    answers.confirm(first, project, annotator, Confirmation(item, "mark", 1, MARKED))
    disputes.decide(first, project, (item, "mark"), MARKED, "A1")
    with first.begin() as session:
        for table, column in (
            ("annotation_answers", "own_class"),
            ("annotation_decisions", "own_class"),
            ("annotation_projects", "maps_to_rank"),
        ):
            session.execute(text(f"ALTER TABLE {table} DROP COLUMN {column}"))
    later = opened()
    (listed,) = projects.projects(later, ANYBODY)
    assert listed.spec.maps_to_rank == projects.MOST_METHODS  # all maps, as when it was made
    answers.confirm(later, listed, annotator, Confirmation(item, "mark", 2, MARKED, own_class="negative"))
    assert [annotation.own_class for annotation in answers.annotations(later, listed)] == ["", "negative"]
    disputes.decide(later, listed, (item, "mark"), MARKED, "A1", own_class="positive")
    ((history,),) = [disputes.histories(later, listed).values()]
    assert [decision.own_class for decision in history] == ["", "positive"]
