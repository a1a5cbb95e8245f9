from collections.abc import Callable
from threading import Barrier, Thread

import pytest
from sqlalchemy import text

from app.annotate import answers, people
from app.annotate.answers import Confirmation
from app.annotate.projects import Project
from app.store import Store
from explainers.annotations.records import Marked, Rated, Rating, Span
from explainers.errors import ExplanationError

Make = Callable[..., Project]
MARKED, OTHER = Marked((Span(0, 1),)), Marked((Span(2, 6),))


@pytest.fixture
def begun(annotation_store: Store, make_project: Make) -> tuple[Project, int, int]:
    """A project of two tasks, a person and their item."""
    project = make_project(tasks=("mark", "rate"))
    annotator = people.annotator(annotation_store, project.id, "account ", "P1")
    item = people.current_item(annotation_store, project.id, annotator)
    assert item is not None
    return project, annotator, item


def test_what_is_sent_twice_counts_once(annotation_store: Store, begun: tuple[Project, int, int]) -> None:
    project, annotator, item = begun
    assert answers.confirm(annotation_store, project, annotator, Confirmation(item, "mark", 1, MARKED))
    assert not answers.confirm(annotation_store, project, annotator, Confirmation(item, "mark", 1, OTHER))
    (stored,) = answers.annotations(annotation_store, project)
    assert stored.answer == MARKED


@pytest.mark.parametrize("by", ["item = 1 AND annotator = 1", "annotator = 1", "project = 1 ORDER BY id"])
def test_answers_are_looked_up_by_an_index(annotation_store: Store, by: str) -> None:
    with annotation_store.read() as session:
        plan = session.execute(text(f"EXPLAIN QUERY PLAN SELECT * FROM annotation_answers WHERE {by}")).all()
    assert "SEARCH annotation_answers USING INDEX" in str(plan)
    assert "TEMP B-TREE" not in str(plan)


def test_the_same_answer_twice_is_fine_and_another_one_is_refused(
    annotation_store: Store, begun: tuple[Project, int, int]
) -> None:
    project, annotator, item = begun
    for _ in range(2):
        answers.confirm_new(annotation_store, project, annotator, Confirmation(item, "mark", 1, MARKED, 3.0))
    for other in (OTHER, None):
        with pytest.raises(ExplanationError, match="already confirmed"):
            answers.confirm_new(annotation_store, project, annotator, Confirmation(item, "mark", 1, other))
    other_class = Confirmation(item, "mark", 1, MARKED, 3.0, own_class="negative")
    with pytest.raises(ExplanationError, match="already confirmed"):
        answers.confirm_new(annotation_store, project, annotator, other_class)


def test_two_tabs_at_once_store_one_version(annotation_store: Store, begun: tuple[Project, int, int]) -> None:
    project, annotator, item = begun
    start, kept = Barrier(4), []

    def send() -> None:
        start.wait()
        kept.append(answers.confirm(annotation_store, project, annotator, Confirmation(item, "mark", 1, MARKED)))

    threads = [Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(kept) == [False, False, False, True]
    assert len(answers.annotations(annotation_store, project)) == 1


def test_a_second_version_stands_beside_the_first(annotation_store: Store, begun: tuple[Project, int, int]) -> None:
    project, annotator, item = begun
    for version, marked in enumerate((MARKED, OTHER), start=1):
        answers.confirm(annotation_store, project, annotator, Confirmation(item, "mark", version, marked))
    assert [annotation.answer for annotation in answers.annotations(annotation_store, project)] == [MARKED, OTHER]
    (newest,) = answers.latest(annotation_store, item, annotator)
    assert (newest.answer, newest.version) == (OTHER, 2)


def test_a_version_out_of_order_is_refused(annotation_store: Store, begun: tuple[Project, int, int]) -> None:
    project, annotator, item = begun
    with pytest.raises(ExplanationError, match="Nothing was lost"):
        answers.confirm(annotation_store, project, annotator, Confirmation(item, "mark", 3, MARKED))


def test_an_item_is_done_after_its_last_task(annotation_store: Store, begun: tuple[Project, int, int]) -> None:
    project, annotator, item = begun
    answers.confirm(annotation_store, project, annotator, Confirmation(item, "mark", 1, MARKED))
    assert answers.next_task(answers.latest(annotation_store, item, annotator), project.tasks) == "rate"
    assert people.current_item(annotation_store, project.id, annotator) == item
    rated = Rated((Rating("A", "cause", 4, 5),))
    answers.confirm(annotation_store, project, annotator, Confirmation(item, "rate", 1, rated))
    assert people.current_item(annotation_store, project.id, annotator) != item


def test_undo_goes_back_one_answer_after_the_other(annotation_store: Store, begun: tuple[Project, int, int]) -> None:
    project, annotator, item = begun
    answers.confirm(annotation_store, project, annotator, Confirmation(item, "mark", 1, MARKED))
    rated = Rated((Rating("A", "cause", 4, 5),))
    answers.confirm(annotation_store, project, annotator, Confirmation(item, "rate", 1, rated))
    last = answers.before(annotation_store, annotator, None)
    assert last is not None
    assert last.task == "rate"
    earlier = answers.before(annotation_store, annotator, last.id)
    assert earlier is not None
    assert (earlier.task, earlier.answer) == ("mark", MARKED)
    assert answers.before(annotation_store, annotator, earlier.id) is None


def test_another_persons_item_cannot_be_answered(annotation_store: Store, begun: tuple[Project, int, int]) -> None:
    project, _, item = begun
    other = people.annotator(annotation_store, project.id, "account other", "P2")
    with pytest.raises(ExplanationError, match="not yours"):
        answers.confirm(annotation_store, project, other, Confirmation(item, "mark", 1, MARKED))


def test_time_and_comment_are_kept_within_bounds(annotation_store: Store, begun: tuple[Project, int, int]) -> None:
    project, annotator, item = begun
    sent = Confirmation(item, "mark", 1, MARKED, float("inf"), True, "naïve 🎬\x00" + "x" * 3000)
    answers.confirm(annotation_store, project, annotator, sent)
    (stored,) = answers.annotations(annotation_store, project)
    assert (stored.seconds, stored.flagged, len(stored.comment)) == (0.0, True, answers.LONGEST_COMMENT)
    assert stored.comment.startswith("naïve 🎬x")


def test_a_revoked_invitation_stores_nothing_more(annotation_store: Store, make_project: Make) -> None:
    """Its tab is still open, and what it sends arrives before the page looks."""
    project = make_project(tasks=("mark",))
    people.invite(annotation_store, project.id, "A1")
    (invited,) = people.invites(annotation_store, project.id)
    annotator = people.annotator(annotation_store, project.id, f"invite {invited.id}", "A1")
    item = people.current_item(annotation_store, project.id, annotator)
    assert item is not None
    answers.confirm(annotation_store, project, annotator, Confirmation(item, "mark", 1, MARKED))
    people.revoke(annotation_store, project.id, invited.id)
    with pytest.raises(ExplanationError, match="Your invitation has ended"):
        answers.confirm_new(annotation_store, project, annotator, Confirmation(item, "mark", 2, OTHER))
    with pytest.raises(ExplanationError, match="Your invitation has ended"):
        answers.confirm(annotation_store, project, annotator, Confirmation(item, "mark", 2, None))
    assert [annotation.answer for annotation in answers.annotations(annotation_store, project)] == [MARKED]
