"""Drawing sentences for readers, and what becomes of their marks."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.annotate import data_files
from explainers.annotations.records import READ_QUESTIONS
from explainers.datasets.example import Example, InputImage
from explainers.errors import DataUnavailable
from explainers.metrics.bootstrap import wilson
from explainers.studies.readings import measure as readings
from explainers.studies.readings.measure import (
    AGREEMENT,
    DOCUMENT,
    FOLDER,
    PEOPLE,
    RESERVED,
    KeyEntry,
    ReadItem,
    agreements,
    document,
    holds,
    plain,
    read_items,
    read_key,
    read_marks,
    summary_table,
    unused,
    write,
    writers,
)
from explainers.studies.readings.summary import summary

ABOUT = {"command": "draw", "model": {"name": "nli", "version": "1"}, "weights": {"cause": "abc"}}
YES = {"grammatical": True, "true": True, "supports": True, "informative": True}
FALSE = {**YES, "true": False}
ITEMS = [ReadItem(str(n), "PREMISE: a HYPOTHESIS: b", "neutral", f"reason {n}") for n in range(1, 5)]
KEY = [
    KeyEntry("1", "cause", 0, True, ("reason 1", "other")),
    KeyEntry("2", "cause", 1, False, ("reason 2",)),
    KeyEntry("3", PEOPLE, 0, True, ("reason 3",)),
    KeyEntry("4", PEOPLE, 1, False, ("reason 4",), True),
]


def test_the_first_of_the_order_are_left_to_other_measurements() -> None:
    import random

    examples = [Example(str(number)) for number in range(RESERVED + 20)]
    order = list(examples)
    random.Random(3).shuffle(order)
    assert not set(unused(examples, 20, 3)) & set(order[:RESERVED])
    with pytest.raises(DataUnavailable, match="1,020 examples are too few"):
        unused(examples, 21, 3)


def test_what_earlier_readings_used_is_not_read_again() -> None:
    examples = [Example(str(number)) for number in range(RESERVED + 50)]
    first, second = unused(examples, 20, 3), unused(examples, 30, 3, skip=20)
    assert len(second) == 30
    assert not set(first) & set(second)
    with pytest.raises(DataUnavailable, match="and 20 were read"):
        unused(examples, 31, 3, skip=20)


def test_the_app_gets_the_shares_of_the_weights_that_wrote(tmp_path: Path) -> None:
    write(tmp_path, "small", ITEMS, KEY, ABOUT)
    assert json.loads(summary(tmp_path)) == []  # no marks yet
    rows = "".join(f"{n},yes,{'yes' if n == 1 else 'no'},yes,yes\n" for n in range(1, 5))
    (tmp_path / "small.marks.one.csv").write_text(f"id,{','.join(READ_QUESTIONS)}\n{rows}", encoding="utf-8")
    cause, people = json.loads(summary(tmp_path))
    assert (cause["writer"], cause["sha256"], people["writer"], people["sha256"]) == ("cause", "abc", PEOPLE, "")
    assert cause["holds"]["mean"] == 0.5
    assert (cause["holds_where_right"]["mean"], cause["holds_where_right"]["n"]) == (1.0, 1)
    assert cause["grammatical"]["mean"] == 1.0


def test_readers_do_not_see_who_wrote_a_sentence(tmp_path: Path) -> None:
    write(tmp_path, "small", ITEMS, KEY, ABOUT)
    shown = (tmp_path / "small.items.csv").read_text()
    assert "cause" not in shown
    assert PEOPLE not in shown
    assert read_items(tmp_path / "small.items.csv") == {item.id: item for item in ITEMS}
    assert read_key(tmp_path / "small.key.jsonl") == {entry.id: entry for entry in KEY}
    assert plain("A man is a person. ") == plain("a man is a person")


def test_readers_of_images_get_their_files(tmp_path: Path) -> None:
    images = [InputImage.of(np.full((4, 6, 3), value, np.uint8)) for value in (0, 200)]
    shown = "IMAGE: left box: empty. STATEMENT: There is a box."
    seen = [replace(item, shown=shown, image=images[entry.input]) for item, entry in zip(ITEMS, KEY, strict=True)]
    write(tmp_path, "small", seen, KEY, ABOUT)
    files = {path.name: path.read_bytes() for path in (tmp_path / "small.images").iterdir()}
    given = {"small.items.csv": (tmp_path / "small.items.csv").read_bytes(), **files}
    read = data_files.read_items(given, ("text",), multimodal=True)
    assert read.left_out == ()
    assert [item.id for item in read.items] == [item.id for item in ITEMS]
    for item, entry in zip(read.items, KEY, strict=True):
        assert item.example.image is not None
        assert item.example.text == "There is a box."
        assert np.array_equal(item.example.image.pixels(), images[entry.input].pixels())
    assert {item.shown for item in read_items(tmp_path / "small.items.csv").values()} == {shown}


def marked(path: Path, answers: dict[str, str]) -> Path:
    """`answers` are four letters by sentence."""
    names = {"y": "yes", "n": "no", "?": "?", "x": "perhaps"}
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(("id", *READ_QUESTIONS))
        table.writerows((id, *(names[letter] for letter in letters)) for id, letters in answers.items())
    return path


def test_marks_are_read_and_damaged_ones_are_named(tmp_path: Path) -> None:
    marks = read_marks(marked(tmp_path / "a.csv", {"1": "yyyy", "2": "yn?y"}), ["1", "2"])
    assert marks["2"] == {"grammatical": True, "true": False, "supports": None, "informative": True}
    assert [holds(marks[id]) for id in "12"] == [True, False]
    with pytest.raises(DataUnavailable, match=r"a\.csv has no marks for 1 sentences, such as 3"):
        read_marks(tmp_path / "a.csv", ["1", "3"])
    with pytest.raises(DataUnavailable, match=r"b\.csv, line 2: true is 'perhaps', not yes, no, \?"):
        read_marks(marked(tmp_path / "b.csv", {"1": "yxyy"}), ["1"])


def test_shares_are_means_of_the_readers_by_writer() -> None:
    key = {entry.id: entry for entry in KEY}
    one = {"1": YES, "2": FALSE, "3": YES, "4": YES}
    other = {"1": YES, "2": YES, "3": YES, "4": YES}
    table = summary_table(key, {"one": one, "other": other}, {item.id: item.reason for item in ITEMS})
    cause, people = table.cells(writers(key))
    # of two sentences one reader lets one hold, the other both: 1.5 of 2
    assert cause["holds"].startswith("75 % [")
    assert cause["holds, model right"].startswith("100 % [")
    assert cause["holds, model right"].endswith("(n = 1)")
    assert (people["written by"], people["n"], people["true by rules"]) == (PEOPLE, "2", "100 % of 1")


def test_agreement_of_two_readers() -> None:
    one = {"1": YES, "2": FALSE, "3": YES, "4": FALSE}
    other = {"1": YES, "2": FALSE, "3": FALSE, "4": YES}
    values = agreements({"one": one, "other": other})
    rows = {row["question"]: row for row in AGREEMENT.cells(values)}
    # two of four answers are equal, as chance would have it: (0.5 - 0.5) / (1 - 0.5)
    assert (rows["true"]["equal"], rows["true"]["κ"]) == ("50 %", "0.00")
    assert rows["grammatical"]["equal"] == "100 %"


def test_the_interval_of_a_share() -> None:
    low, high = wilson(5, 10)  # (0.5 + 0.192 ± 1.96 √(0.025 + 0.0096)) / 1.384
    assert (low, high) == pytest.approx((0.2366, 0.7634), abs=1e-4)


def test_the_document_has_the_results_of_the_stored_marks() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert document(text) == text, "run `python -m explainers study readings-table`"


@pytest.mark.parametrize("name", ["nli", "scenes"])
def test_stored_sentences_are_unnamed_and_marked_whole(name: str) -> None:
    items, key = read_items(FOLDER / f"{name}.items.csv"), read_key(FOLDER / f"{name}.key.jsonl")
    assert items.keys() == key.keys()
    assert all(item.reason == plain(item.reason) for item in items.values())
    (first, *_) = sorted(FOLDER.glob(f"{name}.marks.*.csv"))
    assert read_marks(first, key).keys() == key.keys()
    assert json.loads((FOLDER / f"{name}.key.jsonl").read_text(encoding="utf-8").splitlines()[0])["id"] in items


def test_a_reading_without_marks_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "small", ITEMS, KEY, ABOUT)
    assert "readers: none yet" in readings.results(tmp_path)
