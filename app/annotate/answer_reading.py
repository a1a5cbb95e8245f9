"""What the component sent, as an answer: letters become methods, units become spans. The browser is not trusted."""

from collections.abc import Mapping
from typing import Any, cast

from app.annotate.payload import TaskQuestion, suggestion
from explainers.annotations.records import (
    Answer,
    Corrected,
    Inspected,
    Marked,
    OneMethod,
    Ranked,
    Rated,
    Rating,
    Several,
    Simulated,
    Verdict,
)
from explainers.annotations.units import marks_of
from explainers.errors import ExplanationError

LONGEST_SENTENCE = 2_000  # characters
INCOMPLETE = "The answer did not arrive complete. Your work is still here. Confirm again."


def read_sent(question: TaskQuestion, sent: Mapping[str, Any]) -> Answer:
    """Raises `ExplanationError` with a sentence if it is no answer to the question."""
    try:
        return _answer(question, sent)
    except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
        raise ExplanationError(INCOMPLETE) from error


def read_class(question: TaskQuestion, sent: Mapping[str, Any]) -> str:
    """The name of the person's own class, which comes with marks. Raises `ExplanationError` if none was sent."""
    if question.task != "mark" or not question.classes:
        return ""
    return question.classes[chosen_class(sent, len(question.classes))]


def chosen_class(sent: Mapping[str, Any], classes: int) -> int:
    """The number of the class that the component sent. Raises `ExplanationError` if it is none."""
    label = sent.get("label")
    if not isinstance(label, int) or not 0 <= label < classes:
        raise ExplanationError(INCOMPLETE)
    return label


def _answer(question: TaskQuestion, sent: Mapping[str, Any]) -> Answer:
    letters = question.letters
    match question.task:
        case "mark":
            return _marked(question, sent["marked"])
        case "rank":
            if sorted(sent["order"]) != sorted(letters):
                raise ValueError(sent["order"])
            return Ranked(tuple(letters[letter] for letter in sent["order"]))
        case "rate":
            return Rated(
                tuple(
                    Rating(
                        letter, id, int(sent["scores"][letter]["relatedness"]), int(sent["scores"][letter]["fluency"])
                    )
                    for letter, id in letters.items()
                )
            )
        case _:
            given = tuple(_of_method(question, id, sent["given"][letter]) for letter, id in letters.items())
            return given[0] if len(given) == 1 else Several(given)


def _of_method(question: TaskQuestion, method: str, sent: Mapping[str, Any]) -> OneMethod:
    if question.task == "inspect":
        return _inspected(question, method, sent)
    if question.task == "correct":
        sentence = str(sent["sentence"]).strip()
        if not sentence:
            raise ValueError("no sentence")
        return Corrected(method, sentence[:LONGEST_SENTENCE])
    label = int(sent["label"])
    if not 0 <= label < len(question.prepared.labels):
        raise ValueError(label)
    return Simulated(method, label)


def _inspected(question: TaskQuestion, method: str, sent: Mapping[str, Any]) -> Inspected:
    verdict = cast(Verdict, str(sent["verdict"]))
    if verdict != "correct":
        return Inspected(method, verdict)
    proposed = suggestion(question.prepared.maps[method])
    if sorted(map(int, sent["marked"])) == proposed:
        raise ValueError("nothing was corrected")
    return Inspected(method, verdict, _marked(question, sent["marked"]))


def _marked(question: TaskQuestion, units: list[Any]) -> Marked:
    numbers = {int(unit) for unit in units}
    if not numbers <= set(range(len(question.prepared.units))):
        raise IndexError(units)
    return marks_of(numbers, question.prepared.encoding)
