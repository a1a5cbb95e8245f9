"""What owners decided where annotators differ. A later decision replaces an earlier one, which stays in the store."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.annotate.projects import Project, locked
from app.annotate.tables import DECIDED_BY, DecisionRow
from app.store import Store
from explainers.annotations.record_json import answer_json, read_answer
from explainers.annotations.records import Annotation, Answer, Task
from explainers.errors import ExplanationError

OVERTAKEN = "There is a newer decision on this item. Look at it, then decide again."
BY = "decided by "  # in the comment of a download
LONGEST_ORIGIN = 200  # characters
Decided = tuple[int, Task]  # the number of the item, and the task


@dataclass(frozen=True)
class OwnerDecision:
    """What an owner decided, at `at` seconds since 1970.

    `origin` is the name of the person whose answer was taken, or how it was made; `by` is the owner's name, empty
    without login. Marks are evidence for `own_class`, the name of a class.
    """

    answer: Answer
    origin: str
    by: str
    at: float
    own_class: str = ""

    @property
    def comment(self) -> str:
        """Return origin and owner, for a download."""
        return "; ".join(filter(None, (self.origin, f"{BY}{self.by}" if self.by else "")))


def origin_and_owner(comment: str) -> tuple[str, str]:
    """Return both from the `comment` of a decision."""
    origin, separator, by = comment.rpartition(BY)
    return (origin.removesuffix("; "), by) if separator else (comment, "")


def histories(store: Store, project: Project) -> dict[Decided, tuple[OwnerDecision, ...]]:
    """Return all decisions by item and task, the earliest first; the last one counts."""
    query = select(DecisionRow).where(DecisionRow.project == project.id).order_by(DecisionRow.id)
    result: dict[Decided, list[OwnerDecision]] = defaultdict(list)
    with store.read() as session:
        for row in session.scalars(query):
            task = cast(Task, row.task)
            answer = read_answer(task, json.loads(row.answer))
            result[row.item, task].append(OwnerDecision(answer, row.origin, row.decided_by, row.decided, row.own_class))
    return {key: tuple(value) for key, value in result.items()}


def decide(
    store: Store,
    project: Project,
    decided: Decided,
    answer: Answer,
    origin: str,
    by: str = "",
    seen: int | None = None,
    *,
    own_class: str = "",
) -> None:
    """Store one more decision; the same one, sent twice, once. `seen` is how many of them the owner knew.

    Raises `ExplanationError` if there are more, or the project was deleted, and `StoreUnavailable`.
    """
    item, task = decided
    with store.begin() as session:
        if locked(session, project.id) is None:
            raise ExplanationError("This project was deleted.")
        content = json.dumps(answer_json(answer), ensure_ascii=False)
        origin = origin.replace("\x00", "")[:LONGEST_ORIGIN]
        later = _stored(session, project, decided)[seen:] if seen is not None else []
        given = (content, own_class, origin, by)
        if later and (later[-1].answer, later[-1].own_class, later[-1].origin, later[-1].decided_by) != given:
            raise ExplanationError(OVERTAKEN)
        if later:
            return
        session.add(
            DecisionRow(
                project=project.id,
                item=item,
                task=task,
                answer=content,
                origin=origin,
                decided_by=by,
                own_class=own_class,
            )
        )


def _stored(session: Session, project: Project, decided: Decided) -> list[DecisionRow]:
    item, task = decided
    own = (DecisionRow.project == project.id, DecisionRow.item == item, DecisionRow.task == task)
    return list(session.scalars(select(DecisionRow).where(*own).order_by(DecisionRow.id)))


def as_annotations(
    project: Project, decisions: Mapping[Decided, Sequence[OwnerDecision]], items: Mapping[int, str]
) -> list[Annotation]:
    """Return decisions as an annotator's of their own, decision a version; `items` are the ids by number."""
    return [
        Annotation(
            project.spec.name,
            items[item],
            DECIDED_BY,
            task,
            version,
            0.0,
            decision.at,
            decision.answer,
            comment=decision.comment,
            own_class=decision.own_class,
        )
        for (item, task), own in decisions.items()
        if item in items
        for version, decision in enumerate(own, start=1)
    ]
