"""The items on which people's newest answers differ, by task, and their answers in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.annotate.payload import GUIDE
from app.annotate.results import AGREED, ItemState, uninfluenced
from app.annotate.tables import method_name
from explainers.annotations.judged import answer_codes, marked_units
from explainers.annotations.records import (
    Annotation,
    Answer,
    Corrected,
    Inspected,
    Judgement,
    Marked,
    OneMethod,
    Ranked,
    Rated,
    Rating,
    ReadReason,
    Several,
    Simulated,
    Task,
    latest,
    one_method_answers,
    single_answers,
)
from explainers.errors import ExplanationError

DISPUTED: tuple[Task, ...] = (*AGREED, "correct")  # sentences have no agreement, but can differ
READ_WORDS: dict[Judgement, str] = {"yes": "yes", "no": "no", "?": "cannot tell"}
INCOMPLETE = "Decide every row of the table."
NO_SENTENCE = "Take or write a sentence in every field."


@dataclass(frozen=True)
class Dispute:
    """An item and the answers to one task of the people who answered it, by name.

    For marks also the class for which each person marked them.
    """

    state: ItemState
    task: Task
    answers: Mapping[str, Answer]
    classes: Mapping[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return f"{self.state.number} {self.task}"


def disputes(
    tasks: Sequence[Task], states: Mapping[str, ItemState], annotations: Sequence[Annotation]
) -> dict[Task, list[Dispute]]:
    """Return by task where two people answered the same question differently; no tasks without such items."""
    given: dict[tuple[str, Task], dict[str, Answer]] = {}
    for annotation in latest(tuple(uninfluenced(annotations))):
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
        name: marked_units(answer, encoding) for name, answer in dispute.answers.items() if isinstance(answer, Marked)
    }


def values(dispute: Dispute) -> dict[str, dict[str, str]]:
    """Return by question, such as a method, what each person answered in words; marks have no questions."""
    rows: dict[str, dict[str, str]] = {}
    for name, answer in dispute.answers.items():
        for question, word in words(dispute.state, answer).items():
            rows.setdefault(question, {})[name] = word
    return rows


def words(state: ItemState, answer: Answer) -> dict[str, str]:
    """Return the answer by question in words; different answers have different words."""
    result: dict[str, str] = {}
    for single in single_answers(answer):
        match single:
            case Simulated(method=method, label=label):
                result[method] = class_name(state, label)
            case Inspected(method=method, verdict=verdict, marked=marked):
                result[method] = verdict if marked is None else f"{verdict}: {marked_words(state, marked)}"
            case Corrected(method=method, sentence=sentence):
                result[method] = sentence.strip()
            case ReadReason() as read:
                result |= {question: READ_WORDS[judged] for question, judged in read.judgements.items()}
            case Ranked() | Rated():
                result |= {question: f"{code:.0f}" for question, code in answer_codes(single).items()}
    return result


def class_name(state: ItemState, label: int) -> str:
    labels = state.prepared.labels
    return labels[label] if 0 <= label < len(labels) else f"class {label}"


def marked_words(state: ItemState, marked: Marked) -> str:
    units = state.prepared.units
    return " | ".join(units[unit].text for unit in sorted(marked_units(marked, state.prepared.encoding))) or "none"


def title(question: str) -> str:
    """Return the title of a row: a question about a reason, or a method's name and, of ratings, the scale."""
    if question in GUIDE:
        return GUIDE[question][0]
    method, _, scale = question.partition(": ")
    try:
        return ": ".join(filter(None, (method_name(method), scale)))
    except ExplanationError:  # a method that no longer exists
        return "Another method"


def options(dispute: Dispute, question: str) -> list[str]:
    """Return what can be decided about a question of a task with a form, people's own answers first."""
    given = list(dict.fromkeys(values(dispute)[question].values()))
    every: dict[Task, list[str]] = {
        "simulate": list(dispute.state.prepared.labels),
        "rate": list("12345"),
        "read": list(READ_WORDS.values()),
        "rank": [str(place + 1) for place in range(len(values(dispute)))],
    }
    return list(dict.fromkeys([*given, *every[dispute.task]]))


def decided_answer(dispute: Dispute, chosen: Mapping[str, str | None]) -> Answer:
    """Return the answer that the words make.

    Raises `ExplanationError` where one is missing, or a place is given twice.
    """
    complete = {question: (word or "").strip() for question, word in chosen.items()}
    if set(complete) != set(values(dispute)) or not all(complete.values()):
        raise ExplanationError(NO_SENTENCE if dispute.task == "correct" else INCOMPLETE)
    if dispute.task == "rank":
        if sorted(complete.values(), key=int) != [str(place + 1) for place in range(len(complete))]:
            raise ExplanationError("Give every map a place of its own.")
        return Ranked(tuple(sorted(complete, key=lambda question: int(complete[question]))))
    if dispute.task == "read":
        judged = {word: judgement for judgement, word in READ_WORDS.items()}
        return ReadReason(**{question: judged[word] for question, word in complete.items()})
    if dispute.task == "rate":
        return _ratings(complete)
    single = tuple(_single(dispute, method, word) for method, word in complete.items())
    return single[0] if len(single) == 1 else Several(single)


def _ratings(chosen: Mapping[str, str]) -> Rated:
    methods = list(dict.fromkeys(question.rpartition(": ")[0] for question in chosen))

    def score(method: str, scale: str) -> int:
        return int(chosen[f"{method}: {scale}"])

    ratings = (Rating(method, method, score(method, "relatedness"), score(method, "fluency")) for method in methods)
    return Rated(tuple(ratings))


def _single(dispute: Dispute, method: str, word: str) -> OneMethod:
    """Return people's own answer of these words, or a new one."""
    for answer in dispute.answers.values():
        for single in one_method_answers(answer):
            if words(dispute.state, single) == {method: word}:
                return single
    if dispute.task == "correct":
        return Corrected(method, word)
    return Simulated(method, dispute.state.prepared.labels.index(word))
