import json
import math
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explainers.annotations.record_json import (
    annotation_json,
    item_line,
    parse_item,
    parsed_json,
    read_annotation,
)
from explainers.annotations.records import (
    ANSWERS,
    JUDGEMENTS,
    Annotation,
    Answer,
    Corrected,
    GivenReason,
    Inspected,
    Item,
    Marked,
    Ranked,
    Rated,
    Rating,
    ReadReason,
    Several,
    Simulated,
    Span,
    Task,
    check_marked,
    latest,
)
from explainers.datasets.example import Example, InputImage
from explainers.errors import DataUnavailable

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20)
SPANS = st.builds(lambda start, length: Span(start, start + length), st.integers(0, 99), st.integers(1, 9))
BOXES = st.builds(lambda left, top: (left, top, left + 4, top + 2), st.integers(0, 99), st.integers(0, 99))
MARKS = st.builds(Marked, *(st.lists(part, max_size=3).map(tuple) for part in (SPANS, SPANS, BOXES)))
METHODS = st.lists(NAMES, min_size=1, max_size=4, unique=True)
SCORES = st.integers(1, 5)
ANSWER_STRATEGIES: dict[Task, st.SearchStrategy[Answer]] = {
    "mark": MARKS,
    "rate": METHODS.flatmap(
        lambda ids: st.tuples(*(st.builds(Rating, TEXTS, st.just(i), SCORES, SCORES) for i in ids))
    ).map(Rated),
    "rank": METHODS.map(tuple).map(Ranked),
    "simulate": st.builds(Simulated, NAMES, st.integers(0, 99))
    | METHODS.map(lambda ids: Several(tuple(Simulated(method, 1) for method in ids))),
    "inspect": st.builds(Inspected, NAMES, st.just("correct"), MARKS)
    | st.builds(Inspected, NAMES, st.sampled_from(["accept", "reject"])),
    "correct": st.builds(Corrected, NAMES, TEXTS),
    "read": st.builds(ReadReason, *[st.sampled_from(JUDGEMENTS)] * 4),
}


@st.composite
def annotations(draw: st.DrawFn) -> Annotation:
    task = draw(st.sampled_from(get_args(Task)))
    answer = draw(st.none() | ANSWER_STRATEGIES[task])
    times = st.floats(0, 1e10)
    return Annotation(
        draw(NAMES), draw(NAMES), draw(NAMES), task, draw(st.integers(1, 9)), draw(times), draw(times), answer,
        answer is None, draw(st.booleans()), draw(st.just("") | NAMES),
        draw(st.just("") | NAMES) if isinstance(answer, Marked) else "",
    )  # fmt: skip


MARK = Annotation("p", "1", "Ann", "mark", 1, 2.5, 1e9, Marked((Span(0, 4),)))


def test_every_task_has_its_answer() -> None:
    assert tuple(ANSWERS) == get_args(Task)
    assert set(ANSWERS.values()) == set(get_args(Answer)) - {Several}


@given(annotations())
def test_an_annotation_survives_json(annotation: Annotation) -> None:
    assert read_annotation(parsed_json(json.dumps(annotation_json(annotation)))) == annotation


@settings(max_examples=50)
@given(NAMES, TEXTS, st.none() | TEXTS, st.none() | st.integers(0, 9), TEXTS, st.lists(TEXTS, max_size=3).map(tuple))
def test_an_item_survives_its_line_of_json(
    id: str, text: str, pair: str | None, label: int | None, name: str, explanations: tuple[str, ...]
) -> None:
    rationale = (Marked((Span(0, len(text)),)), Marked()) if text else None
    reason = GivenReason(text, f"for {name}", name) if text.strip() else None
    item = Item(id, Example(text, pair, label, explanations), rationale, name, reason)
    assert parse_item(item_line(item)) == item


def test_an_item_keeps_its_image() -> None:
    image = InputImage.of(np.arange(48, dtype=np.uint8).reshape(4, 4, 3))
    item = Item("1", Example("a cat", image=image), (Marked(patches=((0, 0, 2, 2),)),))
    assert parse_item(item_line(item)) == item


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"task": "guess"}, "A task is one of mark"),
        ({"version": 0}, "Versions count from 1"),
        ({"version": 10**30}, r"Versions count from 1 to 2,147,483,647, not 1000000000… \(31 digits\)"),
        ({"version": 2**31}, r"not 2147483648\."),
        ({"annotator": "A\0"}, "The field annotator holds a null character"),
        ({"comment": "\ud83d"}, "half of a character"),
        ({"version": 1.5}, "The field version must be a whole number, not 1.5"),
        ({"version": True}, "must be a whole number, not True"),
        ({"seconds": -1}, "finite numbers of seconds"),
        ({"seconds": 10**400}, "The field seconds must be a number, not 1000"),
        ({"confirmed": math.nan}, "finite numbers of seconds"),
        ({"skipped": True}, "A skipped item has no answer"),
        ({"answer": None}, "A skipped item has no answer"),
        ({"annotator": ""}, "needs an item and an annotator"),
        ({"comment": 3}, "The field comment must be text, not 3"),
        ({"answer": {"spans_of_text": [[4, 4]]}}, "0 ≤ start < end"),
        ({"answer": {"spans_of_text": [[0, 1.5]]}}, r"A span is a list of two whole numbers, not \[0, 1.5\]"),
        ({"answer": {"spans_of_text": [[0]]}}, r"A span is a list of two whole numbers, not \[0\]"),
        ({"answer": {"patches": [[0, 0, 0, 4]]}}, "left < right"),
        ({"answer": [1]}, "It is not an answer, but a list"),
        ({"task": "rank", "answer": {"methods": ["lime", "lime"]}}, "Every method is judged once"),
        ({"task": "rank", "answer": {"methods": [1]}}, r"The field methods.0 must be text, not 1"),
        ({"task": "inspect", "answer": {"method": "lime", "verdict": "correct"}}, "comes with the corrected marks"),
        (
            {"task": "inspect", "answer": {"method": "lime", "verdict": "maybe"}},
            "The field verdict must be 'accept', 'correct' or",
        ),
        ({"task": "simulate", "answer": {"method": "lime"}}, "The field label is missing"),
        (
            {"task": "rate", "answer": {"scores": [{"shown": "A", "method": "m", "relatedness": 6, "fluency": 1}]}},
            "The relatedness is a number from 1 to 5, not 6",
        ),
        ({"task": "read", "answer": {"grammatical": "yes", "true": "yes", "supports": "no"}}, "informative is missing"),
        (
            {"task": "read", "answer": dict.fromkeys(("grammatical", "true", "supports", "informative"), "maybe")},
            "The field grammatical must be 'yes', 'no' or",
        ),
    ],
)
def test_a_broken_annotation_is_refused_with_a_sentence(change: dict[str, Any], sentence: str) -> None:
    content = {**annotation_json(MARK), **change}
    with pytest.raises(DataUnavailable, match=sentence):
        read_annotation(parsed_json(json.dumps(content)))


@pytest.mark.parametrize("line", ["", "{", "[" * 100_000, "3", "null"])
def test_what_is_no_object_is_refused(line: str) -> None:
    with pytest.raises(DataUnavailable, match=r"^It is not (JSON|an annotation)"):
        read_annotation(parsed_json(line))


def test_an_item_with_a_broken_image_is_refused() -> None:
    with pytest.raises(DataUnavailable, match="not base64"):
        parse_item('{"id": "1", "text": "a", "image": "é"}')


@pytest.mark.parametrize(
    ("marked", "sentence"),
    [
        (Marked((Span(0, 5),)), "ends beyond the text of 4 characters"),
        (Marked((), (Span(0, 1),)), "no second text"),
        (Marked((), (), ((0, 0, 1, 1),)), "no image"),
    ],
)
def test_marks_must_lie_within_the_input(marked: Marked, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        check_marked(marked, Example("good"))


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        ({"sentence": " ", "stated": "neutral"}, "The reason is empty"),
        ({"sentence": "It is.", "stated": ""}, "A reason needs the class for which it is given"),
        ({"sentence": "It is.", "stated": 1}, "The field reason.stated must be text, not 1"),
    ],
)
def test_a_reason_without_words_or_class_is_refused(reason: dict[str, object], sentence: str) -> None:
    with pytest.raises(DataUnavailable, match=sentence):
        parse_item(json.dumps({"id": "1", "text": "a", "reason": reason}))


def test_a_reason_holds_if_it_is_true_and_supports_the_class() -> None:
    assert ReadReason("no", "yes", "yes", "?").holds
    assert not ReadReason("yes", "yes", "?", "yes").holds
    assert not ReadReason("yes", "no", "yes", "yes").holds


def test_a_record_of_an_earlier_version_has_no_class() -> None:
    content = dict(annotation_json(MARK))
    del content["own_class"]
    assert read_annotation(parsed_json(json.dumps(content))) == MARK


def test_a_class_comes_with_marks_alone() -> None:
    with pytest.raises(ValueError, match="Only marks come with the annotator's own class"):
        replace(MARK, task="rank", answer=Ranked(("aml",)), own_class="positive")
    with pytest.raises(ValueError, match="Only marks"):
        replace(MARK, answer=None, skipped=True, own_class="positive")


def test_an_answer_of_another_task_is_refused() -> None:
    with pytest.raises(ValueError, match="The task rank is answered by Ranked"):
        replace(MARK, task="rank")


def test_the_latest_version_of_each_person_item_and_task_counts() -> None:
    second, other = replace(MARK, version=2, answer=Marked()), replace(MARK, annotator="Bob")
    assert latest((second, MARK, other)) == (second, other)
