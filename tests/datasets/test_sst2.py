import gzip
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from explainers.datasets import text_sets
from explainers.datasets.example import Example
from explainers.datasets.text_sets import FILES, letters, read_sst2, rows, without_overlap
from explainers.errors import DataUnavailable

Rows = list[tuple[str, int]]
MOVING, DULL = "a gripping , moving film .", "it 's dull from start to end ."
PHRASES: Rows = [
    (MOVING, 1),
    ("gripping , moving", 1),
    ("Gripping, moving", 1),  # the same phrase in another tokenisation
    (DULL, 0),
    ("dull from start", 0),
    ("a bore", 0),
    ("worth seeing", 1),
    ("!", 1),
]


def write(path: Path, rows: Rows) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "text\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in rows)
    path.write_bytes(gzip.compress(text.encode()))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, part in zip(FILES, (PHRASES, [(MOVING, 1), (DULL, 0)], [("what a bore !", 0)]), strict=True):
        write(tmp_path / "sst" / name, part)
    return tmp_path / "sst"


def texts(part: tuple[Example, ...]) -> list[str]:
    return [example.text for example in part]


@pytest.mark.parametrize("seed", range(6))
def test_no_phrase_of_a_held_out_sentence_is_learned(folder: Path, seed: int) -> None:
    parts = read_sst2(folder, validation=1, seed=seed)
    expected = {
        MOVING: [DULL, "dull from start", "worth seeing"],
        DULL: [MOVING, "gripping , moving", "Gripping, moving", "worth seeing"],
    }
    (held_out,) = texts(parts.validation)
    assert texts(parts.train) == expected[held_out]  # "a bore" stands in the test, and "!" is in every sentence
    assert texts(parts.test) == ["what a bore !"]


def test_every_sentence_is_held_out_by_some_seed(folder: Path) -> None:
    assert {read_sst2(folder, validation=1, seed=seed).validation[0].text for seed in range(6)} == {MOVING, DULL}


def test_the_same_seed_makes_the_same_parts(folder: Path) -> None:
    assert read_sst2(folder, validation=1, seed=3) == read_sst2(folder, validation=1, seed=3)


def test_labels_stay_with_their_texts(folder: Path) -> None:
    parts = read_sst2(folder, validation=1)
    labels = dict([*PHRASES, ("what a bore !", 0)])
    assert all(
        example.label == labels[example.text]
        for part in (parts.train, parts.validation, parts.test)
        for example in part
    )


@pytest.mark.parametrize(
    ("text", "expected"), [("It 's  FINE .", "itsfine"), ("don't", "dont"), ("Café 2", "café2"), ("--", "")]
)
def test_letters_are_what_two_tokenisations_share(text: str, expected: str) -> None:
    assert letters(text) == expected


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("one two three four five six", False),  # the same six words
        ("zero ONE two, three four five six seven", False),  # in another tokenisation
        ("one two three four five else six", True),  # five in a row are not six
        ("six five four three two one", True),
        ("one two", False),  # too short to tell
    ],
)
def test_a_text_that_shares_six_words_in_a_row_is_left_out(text: str, taken: bool) -> None:
    others = [Example("here are one two three four five six of them")]
    assert bool(without_overlap([Example(text)], others)) == taken


def test_other_sources_join_where_they_are(folder: Path) -> None:
    leaked = "what a bore ! it 's dull from start to end indeed"
    fresh = [f"a sentence that nobody has ever seen number {number}" for number in ("one", "two", "three", "four")]
    write(folder.parent / text_sets.TOMATOES, [(text, 1) for text in (leaked, *fresh)])
    write(folder.parent / text_sets.YELP, [("nice place", 1)])
    parts = read_sst2(folder, validation=1)
    assert texts(parts.warm_up) == ["nice place"]
    assert len(parts.explainer) == 2
    joined = [text for text in texts(parts.train) if text in fresh]
    assert sorted([*joined, *texts(parts.explainer)]) == sorted(fresh)  # halved, and the leaked one is in neither
    assert leaked not in texts(parts.train)


def test_without_other_sources_there_are_none(folder: Path) -> None:
    parts = read_sst2(folder, validation=1)
    assert (parts.warm_up, parts.explainer) == ((), ())


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(DataUnavailable, match=f"holds no {name}"):
        read_sst2(folder)


@pytest.mark.parametrize("row", ["good\t2", "good\t", "good\tpositive", "good", "\t1"])
def test_a_row_that_is_wrong_is_named_by_its_line(tmp_path: Path, row: str) -> None:
    path = tmp_path / "dev.tsv.gz"
    path.write_bytes(gzip.compress(f"text\tlabel\nfine\t1\n\n{row}\n".encode()))
    with pytest.raises(DataUnavailable, match=r"dev\.tsv\.gz, line 4: expected a text and a label 0 or 1"):
        list(rows(path))


def test_quotes_are_characters_like_any_other(tmp_path: Path) -> None:
    write(tmp_path / "dev.tsv.gz", [('"unfinished', 0), ('" quoted "', 1)])
    assert [example.text for example in rows(tmp_path / "dev.tsv.gz")] == ['"unfinished', '" quoted "']


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: b"text\tlabel\nfine\t1\n",
        lambda data: data[: len(data) // 2],
        lambda data: data[:10] + b"\x07" + data[11:],  # the first block is of a kind that does not exist
        lambda data: gzip.compress(b"text\tlabel\n\xff\xfe\t1\n"),
    ],
    ids=["not compressed", "truncated", "a byte changed", "not UTF-8"],
)
def test_a_damaged_file_is_a_sentence(folder: Path, spoil: Callable[[bytes], bytes]) -> None:
    path = folder / FILES[2]
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(DataUnavailable, match=r"dev\.tsv\.gz is not a gzip file of UTF-8 text"):
        read_sst2(folder)


def hub(monkeypatch: pytest.MonkeyPatch, load_dataset: Callable[[str], object]) -> None:
    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))


def test_without_a_folder_the_data_come_from_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    long, other = "one two three four five six seven eight ", "a b c d e f g h "
    rows = {"train": [(long, 1), ("three four", 1), (other, 0), ("x y", 0)], "validation": [("x y z ", 0)]}
    parts = {name: [{"sentence": text, "label": label} for text, label in part] for name, part in rows.items()}
    hub(monkeypatch, lambda name: parts)
    result = read_sst2(None, validation=1)
    assert texts(result.validation)[0] in (long.strip(), other.strip())  # only phrases of eight words are sentences
    assert texts(result.test) == ["x y z"]
    assert "x y" not in texts(result.train)
    assert ("three four" in texts(result.train)) == (result.validation[0].text == other.strip())


def test_a_hub_that_cannot_be_reached_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def offline(_name: str) -> object:
        raise ConnectionError("no route")

    hub(monkeypatch, offline)
    with pytest.raises(DataUnavailable, match=r"could not be fetched \(no route\)\. Give a folder with"):
        read_sst2(None)
