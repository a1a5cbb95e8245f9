"""Items that people annotate, and their answers. Offsets are Unicode code points, boxes pixels of the upright image.

Every record checks itself when it is made and raises `ValueError` with a sentence; `record_json` reads and writes them.
"""

import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, PlainSerializer, StrictBool, StrictFloat, StrictInt, StrictStr

from explainers.datasets.example import Example

Task = Literal["mark", "rate", "rank", "simulate", "inspect", "correct", "read"]
Verdict = Literal["accept", "correct", "reject"]
Judgement = Literal["yes", "no", "?"]  # "?": cannot tell
Box = tuple[StrictInt, StrictInt, StrictInt, StrictInt]  # left, top, right and bottom (exclusive)
TASKS: tuple[Task, ...] = get_args(Task)
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
JUDGEMENTS: tuple[Judgement, ...] = get_args(Judgement)
READ_QUESTIONS = ("grammatical", "true", "supports", "informative")  # assets/docs/readings.md says what they mean
LARGEST = 2**31 - 1  # of whole numbers in a database
LATEST = 10**11  # seconds since 1970: the year 5138
SURROGATE = re.compile(r"[\ud800-\udfff]")
LOWEST, HIGHEST = 1, 5  # relatedness and fluency, as in CAuSE's human study (Table 4)
ItemText = Example  # a text, a pair, or an image with a text


@dataclass(frozen=True, order=True)
class Span:
    """The code points `start` to `end` (exclusive) of one text."""

    start: StrictInt
    end: StrictInt

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise ValueError(f"A span needs 0 ≤ start < end, not {self.start} and {self.end}.")


def _span(pair: Any) -> Any:
    """Return the span of a list of its two ends, as JSON has it; a span itself stays."""
    if isinstance(pair, list | tuple):
        if [type(end) for end in pair] != [int, int]:
            raise ValueError(f"A span is a list of two whole numbers, not {list(pair)}.")
        return Span(*pair)
    return pair


SpanPair = Annotated[
    Span, BeforeValidator(_span), PlainSerializer(lambda span: [span.start, span.end], return_type=list[int])
]


@dataclass(frozen=True)
class Marked:
    """What a person marked as evidence. All three empty: nothing in the input is evidence."""

    spans_of_text: tuple[SpanPair, ...] = ()
    spans_of_pair: tuple[SpanPair, ...] = ()
    patches: tuple[Box, ...] = ()

    def __post_init__(self) -> None:
        for left, top, right, bottom in self.patches:
            if not (0 <= left < right and 0 <= top < bottom):
                raise ValueError(f"A box needs left < right and top < bottom, not {[left, top, right, bottom]}.")


@dataclass(frozen=True)
class Rating:
    """One sentence, shown under the name `shown`, judged 1 to 5 without knowing its `method`."""

    shown: StrictStr
    method: StrictStr
    relatedness: StrictInt
    fluency: StrictInt

    def __post_init__(self) -> None:
        for name, score in (("relatedness", self.relatedness), ("fluency", self.fluency)):
            if not LOWEST <= score <= HIGHEST:
                raise ValueError(f"The {name} is a number from {LOWEST} to {HIGHEST}, not {score}.")


@dataclass(frozen=True)
class Rated:
    """In the order in which the sentences were shown."""

    scores: tuple[Rating, ...]

    def __post_init__(self) -> None:
        _check_methods(tuple(score.method for score in self.scores))


@dataclass(frozen=True)
class Ranked:
    """Method ids, the best first."""

    methods: tuple[StrictStr, ...]

    def __post_init__(self) -> None:
        _check_methods(self.methods)


@dataclass(frozen=True)
class Simulated:
    """The class number that a person expects of the model after seeing one method's map alone."""

    method: StrictStr
    label: StrictInt


@dataclass(frozen=True)
class Inspected:
    """A verdict on a method's rationale; `marked` is the corrected one, or None where there is no correction."""

    method: StrictStr
    verdict: Verdict
    marked: Marked | None = None

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"A verdict is one of {', '.join(VERDICTS)}, not {self.verdict!r}.")
        if (self.verdict == "correct") != (self.marked is not None):
            raise ValueError('The verdict "correct" comes with the corrected marks, and no other verdict does.')


@dataclass(frozen=True)
class Corrected:
    """A method's sentence as a person would have written it."""

    method: StrictStr
    sentence: StrictStr


OneMethod = Simulated | Inspected | Corrected


@dataclass(frozen=True)
class Several:
    """Answers about several methods of one item, to a task that asks about one at a time, in the order shown."""

    answers: tuple[OneMethod, ...]

    def __post_init__(self) -> None:
        _check_methods(tuple(answer.method for answer in self.answers))
        if len({type(answer) for answer in self.answers}) > 1:
            raise ValueError("The answers about several methods are of one task.")


@dataclass(frozen=True)
class ReadReason:
    """What a person says of the `GivenReason` of an item: a judgement of each of `READ_QUESTIONS`."""

    grammatical: Judgement
    true: Judgement
    supports: Judgement
    informative: Judgement

    def __post_init__(self) -> None:
        for question, judgement in self.judgements.items():
            if judgement not in JUDGEMENTS:
                raise ValueError(f"{question} is answered by one of {', '.join(JUDGEMENTS)}, not {judgement!r}.")

    @property
    def judgements(self) -> dict[str, Judgement]:
        """The answer to every question, by the question's name."""
        return {question: getattr(self, question) for question in READ_QUESTIONS}

    @property
    def holds(self) -> bool:
        """Return whether the reason holds: it is true of the input and supports the stated class."""
        return self.true == self.supports == "yes"


Answer = Marked | Rated | Ranked | Simulated | Inspected | Corrected | ReadReason | Several
ANSWERS: dict[Task, type[Answer]] = {
    "mark": Marked,
    "rate": Rated,
    "rank": Ranked,
    "simulate": Simulated,
    "inspect": Inspected,
    "correct": Corrected,
    "read": ReadReason,
}


@dataclass(frozen=True)
class GivenReason:
    """A sentence that gives a reason for the class `stated`; readers never learn its `writer`, "" if unknown."""

    sentence: StrictStr
    stated: StrictStr
    writer: StrictStr = ""

    def __post_init__(self) -> None:
        if not self.sentence.strip():
            raise ValueError("The reason is empty.")
        if not self.stated.strip():
            raise ValueError("A reason needs the class for which it is given, in a column class.")
        check_whole(reason=self.sentence, stated=self.stated, writer=self.writer)


@dataclass(frozen=True)
class Item:
    """An input of a project. `label` is its class as the data names it, such as "POS", or "".

    `rationale` is the evidence that came with the data, one `Marked` per person who gave it; None without any. `reason`
    is what people read and judge in the task "read".
    """

    id: str
    example: ItemText
    rationale: tuple[Marked, ...] | None = None
    label: str = ""
    reason: GivenReason | None = None

    def __post_init__(self) -> None:
        if not self.id:
            raise ValueError("An item needs an id.")
        example = self.example
        check_whole(id=self.id, label=self.label, text=example.text, pair=example.pair or "")
        for sentence in example.explanations:
            check_whole(explanations=sentence)
        check_name(id=self.id)
        if example.label is not None and not 0 <= example.label <= LARGEST:
            raise ValueError(f"A class is a number from 0 to {LARGEST:,}, not {short(example.label)}.")
        for marked in self.rationale or ():
            check_marked(marked, self.example)


@dataclass(frozen=True)
class Annotation:
    """What one person confirmed for one item and task; `answer` is None where the item was skipped.

    `annotator` is a pseudonym. `version` counts 1, 2, … what this person confirmed for this item and task. `seconds`
    is the time spent on it, `confirmed` the moment in seconds since 1970. `own_class` is the class, by name, that this
    person gave the input and marked evidence for; "" where none was recorded.
    """

    project: StrictStr
    item: StrictStr
    annotator: StrictStr
    task: Task
    version: StrictInt
    seconds: StrictFloat
    confirmed: StrictFloat
    answer: Answer | None
    skipped: StrictBool = False
    flagged: StrictBool = False
    comment: StrictStr = ""
    own_class: StrictStr = ""

    def __post_init__(self) -> None:
        if self.task not in TASKS:
            raise ValueError(f"A task is one of {', '.join(TASKS)}, not {self.task!r}.")
        if self.skipped != (self.answer is None):
            raise ValueError("A skipped item has no answer, and every other one has one.")
        if not all(isinstance(answer, ANSWERS[self.task]) for answer in single_answers(self.answer)):
            raise ValueError(f"The task {self.task} is answered by {ANSWERS[self.task].__name__}.")
        if self.own_class and not isinstance(self.answer, Marked):
            raise ValueError("Only marks come with the annotator's own class.")
        if not 1 <= self.version <= LARGEST:
            raise ValueError(f"Versions count from 1 to {LARGEST:,}, not {short(self.version)}.")
        if not (0 <= self.seconds <= LATEST and 0 <= self.confirmed <= LATEST):
            raise ValueError(
                f"Times are finite numbers of seconds below 10¹¹, not {self.seconds} and {self.confirmed}."
            )
        names = {
            "project": self.project,
            "item": self.item,
            "annotator": self.annotator,
            "comment": self.comment,
            "own_class": self.own_class,
        }
        check_whole(**names)
        check_name(**names)
        for answer in single_answers(self.answer):
            if isinstance(answer, Corrected):
                check_whole(sentence=answer.sentence)
        if not (self.item and self.annotator):
            raise ValueError("An annotation needs an item and an annotator.")


def check_whole(**texts: str) -> None:
    """Raises `ValueError` for a text with half of a character, which is no Unicode, by the name of its field."""
    for name, text in texts.items():
        if SURROGATE.search(text):
            raise ValueError(f"The field {name} holds half of a character (a lone surrogate). Remove it.")


def check_name(**texts: str) -> None:
    """Raises `ValueError` for a name with a null character, which PostgreSQL does not store."""
    for name, text in texts.items():
        if "\0" in text:
            raise ValueError(f"The field {name} holds a null character. Remove it.")


def short(number: int) -> str:
    """A number as it is written, or of more than 20 digits its first ones."""
    digits = str(number)
    return digits if len(digits) <= 20 else f"{digits[:10]}… ({len(digits)} digits)"


def single_answers(answer: Answer | None) -> tuple[Answer, ...]:
    """The answer itself, or one by one those about several methods; nothing for None."""
    if answer is None:
        return ()
    return answer.answers if isinstance(answer, Several) else (answer,)


def one_method_answers(answer: Answer | None) -> tuple[OneMethod, ...]:
    """Those of `single_answers` that are about one method."""
    return tuple(single for single in single_answers(answer) if isinstance(single, OneMethod))


def check_marked(marked: Marked, example: Example) -> None:
    """Raises `ValueError` for a span beyond its text, and for marks on a text or an image that is not there."""
    for spans, text, name in (
        (marked.spans_of_text, example.text, "text"),
        (marked.spans_of_pair, example.pair, "pair"),
    ):
        for span in spans:
            if text is None:
                raise ValueError("The input has no second text in which something could be marked.")
            if span.end > len(text):
                raise ValueError(
                    f"The span {span.start} to {span.end} ends beyond the {name} of {len(text):,} characters."
                )
    if marked.patches and example.image is None:
        raise ValueError("The input has no image in which something could be marked.")


def latest(annotations: tuple[Annotation, ...]) -> tuple[Annotation, ...]:
    """The highest version of each person, item and task, in the order in which they first appear."""
    newest: dict[tuple[str, str, str, str], Annotation] = {}
    for annotation in annotations:
        key = (annotation.project, annotation.item, annotation.annotator, annotation.task)
        if key not in newest or newest[key].version <= annotation.version:
            newest[key] = annotation
    return tuple(newest.values())


def _check_methods(methods: tuple[str, ...]) -> None:
    if not methods or len(set(methods)) != len(methods):
        raise ValueError(f"Every method is judged once, not {', '.join(methods) or 'none'}.")
