"""Two apps on one database give items away at the same time."""

from collections.abc import Callable
from threading import Barrier, Thread

from app.annotate import answers, assignment, people, projects
from app.annotate.answers import Confirmation
from app.annotate.projects import ProjectSpec
from app.login.account import ANYBODY
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
        while (item := assignment.current_item(store, project.id, annotator)) is not None:
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
    assert len({(each.item, each.annotator) for each in annotations}) == 16
    assert {each.comment for each in annotations} == {"naïve 🎬 "}
