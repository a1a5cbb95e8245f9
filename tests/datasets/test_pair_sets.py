from pathlib import Path

import pandas as pd
import pytest

from explainers.datasets.example import Example
from explainers.datasets.pair_sets import MOST, read_pairs, shipped_pairs
from explainers.errors import DataUnavailable


def test_the_shipped_set_has_sixty_different_short_pairs() -> None:
    result = shipped_pairs("nli")
    assert len(set(result)) == 60
    assert all(example.pair and len(example.text) + len(example.pair) < 160 for example in result)


@pytest.mark.parametrize("name", ["sst2", "../examples", "/etc/passwd", ""])
def test_other_models_have_none(name: str) -> None:
    assert shipped_pairs(name) == ()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "premise,hypothesis\na,b\nc,d\na,b\n"),
        ("a.TSV", "\ufefftext\ttext_pair\na\tb\nc\td\n"),
    ],
)
def test_a_table_of_pairs_is_read_each_once(name: str, content: str) -> None:
    assert read_pairs(content.encode(), name) == (Example("a", "b"), Example("c", "d"))


def test_a_parquet_file_of_pairs_is_read_each_once(tmp_path: Path) -> None:
    pd.DataFrame({"text": ["a", "c", "a"], "pair": ["b", "d", "b"]}).to_parquet(tmp_path / "a.parquet")
    assert read_pairs((tmp_path / "a.parquet").read_bytes(), "a.Parquet") == (Example("a", "b"), Example("c", "d"))


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.txt", b"a", "ends in .csv, .tsv or .parquet"),
        ("a.csv", b"premise,hypothesis\n\xff,b", "not UTF-8"),
        ("a.parquet", b"premise,hypothesis\na,b", "a.parquet is not a readable Parquet file"),
        ("a.csv", b"one,two\na,b", "it has one, two"),
        ("a.csv", b"", "it has none"),
        ("a.csv", b"text\na\nb", "2 of 2 rows have only one text: 1, 2"),
        ("a.csv", b"premise,hypothesis\na,b", "these are 1"),
        ("a.csv", b"premise,hypothesis\n" + b"".join(b"a%d,b\n" % n for n in range(MOST + 1)), "these are 501"),
        ("a.csv", b"premise,hypothesis\na,b\n" + b"x" * 10_001 + b",b", "10,002 characters"),
    ],
)
def test_a_bad_table_gives_a_sentence(name: str, content: bytes, sentence: str) -> None:
    with pytest.raises(DataUnavailable, match=sentence):
        read_pairs(content, name)
