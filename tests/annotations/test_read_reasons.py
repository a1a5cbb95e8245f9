"""Reasons that people read: their files, what they answer, and how often they say yes."""

import csv
import io
import json
from pathlib import Path

import pytest

from explainers.annotations.agreement import overall
from explainers.annotations.formats.items_file import parse_items
from explainers.annotations.opinions import judged_question, marks_csv, reason_shares
from explainers.annotations.records import READ_QUESTIONS, Annotation, GivenReason, Item, Judgement, ReadReason
from explainers.datasets.example import Example
from explainers.installation import ASSETS
from explainers.studies.readings.measure import read_items, read_marks

NLI = ("entailment", "neutral", "contradiction")
ITEMS = [
    Item(f"{number}", Example("a", "b"), reason=GivenReason(f"reason {number}", "neutral", writer))
    for number, writer in enumerate(("people", "people", "cause", "cause"))
]


def read(item: str, annotator: str, *judgements: Judgement, version: int = 1) -> Annotation:
    return Annotation("p", item, annotator, "read", version, 1.0, 1.0, ReadReason(*judgements))


ANSWERS = [
    read("0", "Ann", "no", "no", "no", "no"),
    read("0", "Ann", "yes", "yes", "yes", "no", version=2),
    read("0", "Bob", "yes", "yes", "no", "no"),
    read("1", "Ann", "yes", "?", "yes", "yes"),
    read("2", "Ann", "no", "yes", "yes", "yes"),
    read("2", "Bob", "no", "yes", "yes", "?"),
]


@pytest.mark.parametrize("name", ["nli-2", "nli", "scenes"])
def test_the_items_of_a_reading_are_read_as_they_are(name: str) -> None:
    path = ASSETS / "readings" / f"{name}.items.csv"
    imported = parse_items(path.read_bytes(), path.name, classes=NLI)
    assert imported.problems() == ()
    assert len(imported.items) == len(read_items(path))
    for item, known in zip(imported.items, read_items(path).values(), strict=True):
        assert item.reason == GivenReason(known.reason, known.stated)
        assert item.id == known.id
        texts = item.example.texts
        assert known.shown == (f"PREMISE: {texts[0]} HYPOTHESIS: {texts[1]}" if len(texts) == 2 else texts[0])


def test_a_file_of_reasons_may_have_texts_numbers_of_classes_and_no_ids() -> None:
    content = "text,reason,class,writer,label\na film,it is good,1,people,POS\na film,it is good,1,cause,POS\n"
    imported = parse_items(content.encode(), "mine.csv", classes=("negative", "positive"))
    assert [(item.id, item.reason) for item in imported.items] == [
        ("1", GivenReason("it is good", "positive", "people")),
        ("2", GivenReason("it is good", "positive", "cause")),
    ]
    assert imported.items[0].label == "POS"
    lines = '{"text": "a film", "reason": "it is good", "class": 0}\n{"text": "a film", "reason": "it is good"}\n'
    imported = parse_items(lines.encode(), "mine.jsonl", classes=("negative", "positive"))
    assert [item.reason for item in imported.items] == [GivenReason("it is good", "negative")]
    assert imported.problems() == ("Row 2: A reason needs the class for which it is given, in a column class.",)


NUMBER, UNKNOWN = "The class {} is not one of the model's, 0 to 1.", "The class {} is a number; the model's classes"
NEEDED, NO_NAME = "A reason needs the class for which it is given", "The class {} is neither a name nor a number."


@pytest.mark.parametrize(
    ("given", "classes", "sentence"),
    [
        ("null", ("bad", "good"), NEEDED),
        ('""', ("bad", "good"), NEEDED),
        ('" "', ("bad", "good"), NEEDED),
        ("2", ("bad", "good"), NUMBER.format(2)),
        ('"5"', ("bad", "good"), NUMBER.format(5)),
        ('"-1"', ("bad", "good"), NUMBER.format(-1)),
        ("0.5", ("bad", "good"), NUMBER.format(0.5)),
        ("true", ("bad", "good"), NO_NAME.format("true")),
        ('["good"]', ("bad", "good"), NO_NAME.format('["good"]')),
        ('"1"', (), UNKNOWN.format(1)),
        ("1", (), UNKNOWN.format(1)),
    ],
)
def test_a_class_that_the_model_does_not_have_is_refused(given: str, classes: tuple[str, ...], sentence: str) -> None:
    lines = f'{{"text": "a film", "reason": "it is good", "class": {given}}}\n'
    lines += '{"text": "a film", "reason": "it is good", "class": "good"}\n'
    imported = parse_items(lines.encode(), "mine.jsonl", classes=classes)
    assert [item.reason for item in imported.items] == [GivenReason("it is good", "good")]
    (problem,) = imported.problems()
    assert problem.startswith(f"Row 1: {sentence}")


def test_a_class_without_a_reason_is_said() -> None:
    content = b"input,class,reason\na film,neutral,it is one\na film,neutral,\n"
    imported = parse_items(content, "few.csv", classes=NLI)
    assert [item.reason.sentence for item in imported.items if item.reason] == ["it is one"]
    assert [(row.row, row.reason) for row in imported.bad_rows] == [(2, "The row has a class and no reason for it.")]


def test_a_name_of_digits_is_a_name() -> None:
    content = b"text,reason,class\na film,it is good,1\n"
    (item,) = parse_items(content, "mine.csv", classes=("1", "2")).items
    assert item.reason == GivenReason("it is good", "1")


@pytest.mark.parametrize(
    ("given", "ids"),
    [
        (("2", "", "x"), ["2", "row 2", "x"]),
        (("", "", "2"), ["1", "row 2", "2"]),
        (("row 2", "", "2"), ["row 2", "row row 2", "2"]),
        (("", "", ""), ["1", "2", "3"]),
        (("3", "2", "1"), ["3", "2", "1"]),
    ],
)
def test_numbers_of_rows_are_no_ids_of_others(given: tuple[str, ...], ids: list[str]) -> None:
    rows = [f"{id},a film,it is good,good\n" for id in given]
    imported = parse_items("".join(["id,text,reason,class\n", *rows]).encode(), "mine.csv")
    assert [item.id for item in imported.items] == ids
    assert imported.problems() == ()
    row = {"text": "a film", "reason": "it is good", "class": "good"}
    lines = [json.dumps({**row, "id": int(id) if id.isdecimal() else id}) for id in given]
    assert [item.id for item in parse_items("\n".join(lines).encode(), "mine.jsonl").items] == ids


def test_a_sentence_counts_once_with_the_mean_of_its_readers() -> None:
    cause, people = reason_shares(ITEMS, ANSWERS)
    assert (cause.writer, cause.readers, people.writer, people.readers) == ("cause", 2, "people", 2)
    shares = {question: share.mean for question, share in people.shares.items()}
    # sentence 0 has true from both and supports from one of two; sentence 1 supports, and nobody can tell if it is true
    assert shares == {"grammatical": 1, "true": 0.5, "supports": 0.75, "informative": 0.5, "holds": 0.25}
    assert people.shares["true"].texts == 2
    assert people.shares["true"].low == pytest.approx(0.0945, abs=1e-4)  # Wilson's of 1 in 2
    assert cause.shares["holds"].mean == 1


def test_agreement_is_that_on_one_question() -> None:
    answers = [read(f"{n}", who, "yes", true, "yes", "no") for n, true in enumerate(("yes", "no")) for who in "AB"]
    (kappa, *_rest) = overall(judged_question(answers, "holds"), ordinal=False)
    assert (kappa.value, kappa.items) == (1, 2)
    (kappa, *_rest) = overall(judged_question(answers, "grammatical"), ordinal=False)
    assert kappa.value is None
    codes = {item.id: item.codes for item in judged_question(ANSWERS, "true")}
    assert codes["1"] == {"Ann": {"true": 2}}  # "?" is an answer of its own
    assert codes["0"] == {"Ann": {"true": 0}, "Bob": {"true": 0}}


def test_marks_are_those_that_the_study_reads(tmp_path: Path) -> None:
    content = marks_csv(ANSWERS, "Ann")
    assert next(csv.reader(io.StringIO(content))) == ["id", *READ_QUESTIONS]
    path = tmp_path / "nli.marks.Ann.csv"
    path.write_text(content, encoding="utf-8", newline="")
    marks = read_marks(path, ["0", "1", "2"])
    assert marks["0"] == {"grammatical": True, "true": True, "supports": True, "informative": False}
    assert marks["1"]["true"] is None
    assert content.splitlines()[1] == "0,yes,yes,yes,no"
