from dataclasses import replace

import pytest
from sqlalchemy import event

from app.annotate import answers, disputes, people, projects
from app.annotate.answers import usable
from app.annotate.data_files import create_with_annotations
from app.annotate.projects import Project, ProjectSpec
from app.annotate.tables import DECIDED_BY
from app.server.login import ANYBODY
from app.store import Store
from explainers.annotations.records import Annotation, Inspected, Item, Marked, Ranked, Span
from explainers.datasets.example import Example
from explainers.errors import ExplanationError

MARK = Annotation("Films", "a", "A1", "mark", 1, 1.0, 10.0, Marked((Span(0, 1),)))
RANK = Annotation("Films", "a", "A1", "rank", 1, 1.0, 5.0, Ranked(("aml", "occlusion")))
SPEC = ProjectSpec("Films", "small", tasks=("mark", "rank"), methods=("aml", "occlusion"), overlap=1)


def made(store: Store, *given: Annotation) -> Project:
    items = [Item("a", Example("good film")), Item("b", Example("bad film"))]
    return create_with_annotations(store, SPEC, items, given, ANYBODY)


def test_answers_about_unknown_methods_are_left_out_with_a_sentence() -> None:
    unknown = replace(RANK, version=2, answer=Ranked(("aml", "method-1a2b3c")))
    inspected = replace(MARK, task="inspect", answer=Inspected("method-1a2b3c", "accept"))
    kept, sentences = usable([MARK, unknown, RANK, inspected])
    assert kept == (MARK, RANK)
    assert [sentence.partition(":")[0] for sentence in sentences] == [
        "Annotation (rank) of item a by A1",
        "Annotation (inspect) of item a by A1",
    ]
    assert all("method-1a2b3c" in sentence for sentence in sentences)


def test_the_second_of_two_equal_annotations_and_decisions_without_an_answer_are_left_out() -> None:
    twice = replace(MARK, answer=Marked())
    decided = replace(MARK, annotator=DECIDED_BY, answer=None, skipped=True)
    kept, sentences = usable([MARK, twice, replace(MARK, version=2), decided])
    assert kept == (MARK, replace(MARK, version=2))
    assert ["twice" in sentence for sentence in sentences] == [True, False]
    assert "decision" in sentences[1]


def test_a_project_whose_annotations_cannot_be_stored_is_not_made(annotation_store: Store) -> None:
    with pytest.raises(ExplanationError):
        made(annotation_store, MARK, MARK)
    assert projects.projects(annotation_store, ANYBODY) == []


def test_the_class_of_marks_and_of_decisions_is_kept(annotation_store: Store) -> None:
    given = replace(MARK, own_class="negative")
    decided = replace(given, annotator=DECIDED_BY, own_class="positive", comment="changed")
    project = made(annotation_store, given, decided)
    (stored,) = answers.annotations(annotation_store, project)
    ((history,),) = disputes.histories(annotation_store, project).values()
    assert (stored.own_class, history.own_class) == ("negative", "positive")


def test_the_newest_answer_tells_whether_an_item_is_skipped(annotation_store: Store) -> None:
    """The task rank was skipped in its second version, and the mark confirmed after that."""
    skipped = replace(RANK, version=2, answer=None, skipped=True)
    project = made(annotation_store, skipped, MARK, RANK, replace(skipped, item="b"))
    stored = answers.annotations(annotation_store, project)
    assert [(annotation.item, annotation.task) for annotation in stored] == [
        ("a", "rank"),
        ("a", "rank"),
        ("b", "rank"),
        ("a", "mark"),
    ]
    (one,) = people.names(annotation_store, project.id)
    assert people.progress(annotation_store, project.id, one, 1) == people.Progress(1, 1, 2)
    other = people.annotator(annotation_store, project.id, "account other")
    assert people.upcoming(annotation_store, project.id, other, 1, 5) == [2]  # the skipped one


def test_many_annotations_are_stored_with_few_statements(annotation_store: Store) -> None:
    items = [Item(str(number), Example("good film")) for number in range(1000)]
    given = [replace(MARK, item=item.id, annotator=name) for item in items for name in ("A1", "A2", "A3")]
    statements: list[object] = []
    event.listen(annotation_store.engine, "before_cursor_execute", lambda *about: statements.append(about[2]))
    project = create_with_annotations(annotation_store, SPEC, items, given, ANYBODY)
    assert 0 < len(statements) < 100
    assert len(answers.annotations(annotation_store, project)) == 3000
