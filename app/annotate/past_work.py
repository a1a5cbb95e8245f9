"""Annotations that came with a project's data: they count like those that are confirmed here."""

from collections import defaultdict
from collections.abc import Sequence

from sqlalchemy import select

from app.annotate import answers, assignment
from app.annotate.answers import Confirmation
from app.annotate.projects import Project
from app.annotate.tables import AnnotatorRow, AssignmentRow, ItemRow
from app.store import Store
from explainers.annotations.records import Annotation


def store_annotations(store: Store, project: Project, given: Sequence[Annotation]) -> int:
    """Stores what fits the project's tasks, in one transaction; returns how many that are."""
    fitting = [each for each in given if each.task in project.tasks]
    if not fitting:
        return 0
    with store.begin() as session:
        people: dict[str, int] = {}
        for name in dict.fromkeys(each.annotator for each in fitting):
            row = AnnotatorRow(project=project.id, person=f"import {name}", name=name)
            session.add(row)
            session.flush()
            people[name] = row.id
        items = {
            name: number
            for name, number in session.execute(select(ItemRow.name, ItemRow.id).where(ItemRow.project == project.id))
        }
        last: dict[tuple[int, int], list[Annotation]] = defaultdict(list)
        for each in sorted(fitting, key=lambda one: one.version):
            key = items[each.item], people[each.annotator]
            if not last[key]:
                assignment.take(session, *key, project.spec.overlap)
            last[key].append(each)
            session.add(answers.imported_row(project, key[1], _confirmation(key[0], each), each))
        for (item, person), own in last.items():
            assigned = session.scalar(
                select(AssignmentRow).where(AssignmentRow.item == item, AssignmentRow.annotator == person)
            )
            if assigned is not None:
                assigned.status = "skipped" if own[-1].skipped else "done"
    return len(fitting)


def _confirmation(item: int, each: Annotation) -> Confirmation:
    return Confirmation(item, each.task, each.version, each.answer, each.seconds, each.flagged, each.comment)
