"""The items on which people's newest answers differ, and what owners decided about them.

A later decision replaces an earlier one, which stays in the store.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.annotate import payload, projects, results
from app.annotate.tables import DECIDED_BY, DecisionRow, method_name
from app.store import Store
from explainers.annotations import record_json, records
from explainers.annotations.judged import answer_codes, marked_units
from explainers.errors import ExplanationError

OVERTAKEN = "There is a newer decision on this item. Look at it, then decide again."
BY = "decided by "  # in the comment of a download
LONGEST_ORIGIN = 200  # characters
Decided = tuple[int, records.Task]  # the number of the item, and the task
DISPUTED: tuple[records.Task, ...] = (*results.AGREED, "correct")  # sentences have no agreement, but can differ
READ_WORDS: dict[records.Judgement, str] = {"yes": "yes", "no": "no", "?": "cannot tell"}
INCOMPLETE = "Decide every row of the table."
NO_SENTENCE = "Take or write a sentence in every field."


@dataclass(frozen=True)
class OwnerDecision:
    """What an owner decided, at `at` seconds since 1970.

    `origin` is the name of the person whose answer was taken, or how it was made; `by` is the owner's name, empty
    without login. Marks are evidence for `own_class`, the name of a class.
    """

    answer: records.Answer
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


def histories(store: Store, project: projects.Project) -> dict[Decided, tuple[OwnerDecision, ...]]:
    """Return all decisions by item and task, the earliest first; the last one counts."""
    query = select(DecisionRow).where(DecisionRow.project == project.id).order_by(DecisionRow.id)
    result: dict[Decided, list[OwnerDecision]] = defaultdict(list)
    with store.read() as session:
        for row in session.scalars(query):
            task = cast(records.Task, row.task)
            answer = record_json.read_answer(task, json.loads(row.answer))
            result[row.item, task].append(OwnerDecision(answer, row.origin, row.decided_by, row.decided, row.own_class))
    return {key: tuple(value) for key, value in result.items()}


def decide(
    store: Store,
    project: projects.Project,
    decided: Decided,
    answer: records.Answer,
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
        if projects.locked(session, project.id) is None:
            raise ExplanationError("This project was deleted.")
        content = json.dumps(record_json.answer_json(answer), ensure_ascii=False)
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


def _stored(session: Session, project: projects.Project, decided: Decided) -> list[DecisionRow]:
    item, task = decided
    own = (DecisionRow.project == project.id, DecisionRow.item == item, DecisionRow.task == task)
    return list(session.scalars(select(DecisionRow).where(*own).order_by(DecisionRow.id)))


def as_annotations(
    project: projects.Project, decisions: Mapping[Decided, Sequence[OwnerDecision]], items: Mapping[int, str]
) -> list[records.Annotation]:
    """Return decisions as an annotator's of their own, decision a version; `items` are the ids by number."""
    return [
        records.Annotation(
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


@dataclass(frozen=True)
class Dispute:
    """An item and the answers to one task of the people who answered it, by name.

    For marks also the class for which each person marked them.
    """

    state: results.ItemState
    task: records.Task
    answers: Mapping[str, records.Answer]
    classes: Mapping[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return f"{self.state.number} {self.task}"


def disputes(
    tasks: Sequence[records.Task], states: Mapping[str, results.ItemState], annotations: Sequence[records.Annotation]
) -> dict[records.Task, list[Dispute]]:
    """Return by task where two people answered the same question differently; no tasks without such items."""
    given: dict[tuple[str, records.Task], dict[str, records.Answer]] = {}
    for annotation in records.latest(tuple(results.uninfluenced(annotations))):
        if annotation.answer is not None and annotation.item in states:
            given.setdefault((annotation.item, annotation.task), {})[annotation.annotator] = annotation.answer
    answered = {
        task: [
            Dispute(state, task, given[name, task], state.classes if task == "mark" else {})
            for name, state in states.items()
            if (name, task) in given
        ]
        for task in tasks
        if task in DISPUTED
    }
    differing = {task: [dispute for dispute in listed if differs(dispute)] for task, listed in answered.items()}
    return {task: listed for task, listed in differing.items() if listed}


def differs(dispute: Dispute) -> bool:
    if dispute.task == "mark":
        return len({(dispute.classes.get(name, ""), frozenset(own)) for name, own in marks(dispute).items()}) > 1
    return any(len(set(own.values())) > 1 for own in values(dispute).values())


def marks(dispute: Dispute) -> dict[str, set[int]]:
    """Return the units that each person marked."""
    encoding = dispute.state.prepared.encoding
    return {
        name: marked_units(answer, encoding)
        for name, answer in dispute.answers.items()
        if isinstance(answer, records.Marked)
    }


def values(dispute: Dispute) -> dict[str, dict[str, str]]:
    """Return by question, such as a method, what each person answered in words; marks have no questions."""
    rows: dict[str, dict[str, str]] = {}
    for name, answer in dispute.answers.items():
        for question, word in words(dispute.state, answer).items():
            rows.setdefault(question, {})[name] = word
    return rows


def words(state: results.ItemState, answer: records.Answer) -> dict[str, str]:
    """Return the answer by question in words; different answers have different words."""
    result: dict[str, str] = {}
    for single in records.single_answers(answer):
        match single:
            case records.Simulated(method=method, label=label):
                result[method] = class_name(state, label)
            case records.Inspected(method=method, verdict=verdict, marked=marked):
                result[method] = verdict if marked is None else f"{verdict}: {marked_words(state, marked)}"
            case records.Corrected(method=method, sentence=sentence):
                result[method] = sentence.strip()
            case records.ReadReason() as read:
                result |= {question: READ_WORDS[judged] for question, judged in read.judgements.items()}
            case records.Ranked() | records.Rated():
                result |= {question: f"{code:.0f}" for question, code in answer_codes(single).items()}
    return result


def class_name(state: results.ItemState, label: int) -> str:
    labels = state.prepared.labels
    return labels[label] if 0 <= label < len(labels) else f"class {label}"


def marked_words(state: results.ItemState, marked: records.Marked) -> str:
    units = state.prepared.units
    return " | ".join(units[unit].text for unit in sorted(marked_units(marked, state.prepared.encoding))) or "none"


def title(question: str) -> str:
    """Return the title of a row: a question about a reason, or a method's name and, of ratings, the scale."""
    if question in payload.GUIDE:
        return payload.GUIDE[question][0]
    method, _, scale = question.partition(": ")
    try:
        return ": ".join(filter(None, (method_name(method), scale)))
    except ExplanationError:  # a method that no longer exists
        return "Another method"


def options(dispute: Dispute, question: str) -> list[str]:
    """Return what can be decided about a question of a task with a form, people's own answers first."""
    given = list(dict.fromkeys(values(dispute)[question].values()))
    every: dict[records.Task, list[str]] = {
        "simulate": list(dispute.state.prepared.labels),
        "rate": list("12345"),
        "read": list(READ_WORDS.values()),
        "rank": [str(place + 1) for place in range(len(values(dispute)))],
    }
    return list(dict.fromkeys([*given, *every[dispute.task]]))


def decided_answer(dispute: Dispute, chosen: Mapping[str, str | None]) -> records.Answer:
    """Return the answer that the words make.

    Raises `ExplanationError` where one is missing, or a place is given twice.
    """
    complete = {question: (word or "").strip() for question, word in chosen.items()}
    if set(complete) != set(values(dispute)) or not all(complete.values()):
        raise ExplanationError(NO_SENTENCE if dispute.task == "correct" else INCOMPLETE)
    if dispute.task == "rank":
        if sorted(complete.values(), key=int) != [str(place + 1) for place in range(len(complete))]:
            raise ExplanationError("Give every map a place of its own.")
        return records.Ranked(tuple(sorted(complete, key=lambda question: int(complete[question]))))
    if dispute.task == "read":
        judged = {word: judgement for judgement, word in READ_WORDS.items()}
        return records.ReadReason(**{question: judged[word] for question, word in complete.items()})
    if dispute.task == "rate":
        return _ratings(complete)
    single = tuple(_single(dispute, method, word) for method, word in complete.items())
    return single[0] if len(single) == 1 else records.Several(single)


def _ratings(chosen: Mapping[str, str]) -> records.Rated:
    methods = list(dict.fromkeys(question.rpartition(": ")[0] for question in chosen))

    def score(method: str, scale: str) -> int:
        return int(chosen[f"{method}: {scale}"])

    ratings = (
        records.Rating(method, method, score(method, "relatedness"), score(method, "fluency")) for method in methods
    )
    return records.Rated(tuple(ratings))


def _single(dispute: Dispute, method: str, word: str) -> records.OneMethod:
    """Return people's own answer of these words, or a new one."""
    for answer in dispute.answers.values():
        for single in records.one_method_answers(answer):
            if words(dispute.state, single) == {method: word}:
                return single
    if dispute.task == "correct":
        return records.Corrected(method, word)
    return records.Simulated(method, dispute.state.prepared.labels.index(word))
