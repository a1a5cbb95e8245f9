"""Projects whose data came with annotations and decisions: they count like those that are made here."""

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from sqlalchemy import insert, select, update
from sqlalchemy.orm import Session

from app.annotate import answers, projects
from app.annotate.answers import Confirmation
from app.annotate.decisions import LONGEST_ORIGIN, origin_and_owner
from app.annotate.past_rows import DECIDED_BY
from app.annotate.projects import Project, ProjectSpec
from app.annotate.tables import AnnotatorRow, AnswerRow, AssignmentRow, DecisionRow, ItemRow
from app.login.account import Account
from app.store import Store
from explainers.annotations.record_json import answer_json
from explainers.annotations.records import Annotation, Item

MOST_NAMED = 500  # items in one statement
Last = dict[tuple[int, int], Annotation]  # the newest annotation by item and annotator


def create_with_annotations(
    store: Store, spec: ProjectSpec, items: Sequence[Item], given: Sequence[Annotation], account: Account
) -> Project:
    """Stores the project, its items and those annotations that fit its tasks, all or nothing. No two annotations have
    the same item, annotator, task and version. Raises what `projects.create` raises."""
    with store.begin() as session:
        project = projects.added(session, spec, items, account)
        fitting = [each for each in given if each.task in project.tasks]
        in_order = sorted(fitting, key=lambda one: (one.confirmed, one.version))
        decided = [each for each in in_order if each.annotator == DECIDED_BY]
        confirmed = [each for each in in_order if each.annotator != DECIDED_BY]
        if confirmed:
            _store(session, project, confirmed)
        if decided:
            _store_decisions(session, project, decided)
        return project


def _store_decisions(session: Session, project: Project, given: Sequence[Annotation]) -> None:
    items = _numbers(session, project)
    rows = [
        DecisionRow(
            project=project.id,
            item=items[each.item],
            task=each.task,
            answer=json.dumps(answer_json(each.answer), ensure_ascii=False),
            origin=origin[:LONGEST_ORIGIN],
            decided=each.confirmed,
            decided_by=by,
            own_class=each.own_class,
        )
        for each in given
        if each.answer is not None
        for origin, by in [origin_and_owner(each.comment)]
    ]
    session.add_all(rows)


def _numbers(session: Session, project: Project) -> dict[str, int]:
    """The numbers of the items by their names."""
    known = session.execute(select(ItemRow.name, ItemRow.id).where(ItemRow.project == project.id))
    return {name: number for name, number in known}


def _store(session: Session, project: Project, given: Sequence[Annotation]) -> None:
    """In the order of confirmation."""
    names = dict.fromkeys(each.annotator for each in given)
    rows = [AnnotatorRow(project=project.id, person=f"import {name}", name=name) for name in names]
    session.add_all(rows)
    session.flush()
    people = {row.name: row.id for row in rows}
    items = _numbers(session, project)
    values: list[dict[str, Any]] = []
    last: Last = {}
    for each in given:
        item, person = items[each.item], people[each.annotator]
        values.append(answers.imported(project, person, _confirmation(item, each), each))
        last[item, person] = each
    session.execute(insert(AnswerRow), values)
    _assign(session, project, last)


def _assign(session: Session, project: Project, last: Last) -> None:
    """Who has finished an item has a slot of it, as long as there are slots; a skipped item is free for others."""
    taken: dict[int, int] = defaultdict(int)
    rows: list[dict[str, Any]] = []
    for (item, person), newest in last.items():
        slot = None
        if not newest.skipped and taken[item] < project.spec.overlap:
            slot = taken[item] = taken[item] + 1
        status = "skipped" if newest.skipped else "done"
        rows.append({"item": item, "annotator": person, "slot": slot, "status": status})
    session.execute(insert(AssignmentRow).execution_options(render_nulls=True), rows)  # else one by one
    by_count: dict[int, list[int]] = defaultdict(list)
    for item, count in taken.items():
        by_count[count].append(item)
    for count, listed in by_count.items():
        for start in range(0, len(listed), MOST_NAMED):
            some = ItemRow.id.in_(listed[start : start + MOST_NAMED])
            session.execute(update(ItemRow).where(some).values(taken=count))


def _confirmation(item: int, each: Annotation) -> Confirmation:
    return Confirmation(
        item, each.task, each.version, each.answer, each.seconds, each.flagged, each.comment, each.own_class
    )
