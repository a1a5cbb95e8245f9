"""Any bytes as a file of a user: texts, or a sentence."""

import csv
import gzip
import io
from contextlib import suppress

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explainers.datasets import tables
from explainers.datasets.example import Example
from explainers.datasets.user_texts import SUFFIXES, check_texts, parse_texts
from explainers.errors import DataUnavailable

HEADS = [b"text\n", b"text,text_pair\n", b"premise\thypothesis\n", b"\xef\xbb\xbftext\n", b"PAR1", b'"text"\r\n']
PARTS = st.sampled_from([b"a", b",", b"\t", b"\n", b"\r", b'"', b"\0", b"text", b"\xff", "é".encode()])
FILES = st.binary(max_size=300) | st.builds(
    lambda head, parts: head + b"".join(parts), st.sampled_from(HEADS), st.lists(PARTS | st.binary(max_size=3))
)
CHANGES = st.dictionaries(st.integers(0, 5000), st.integers(0, 255), max_size=6)
DIRECT = tuple(suffix for suffix in SUFFIXES if suffix != tables.PARQUET)  # read without a process of their own
CELLS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@given(content=FILES, suffix=st.sampled_from(DIRECT))
def test_any_file_gives_texts_or_a_sentence(content: bytes, suffix: str) -> None:
    with suppress(DataUnavailable):
        texts = parse_texts(content, f"file{suffix}")
        assert all(isinstance(text.text, str) for text in texts)
        check_texts(texts)


@pytest.fixture(scope="module")
def parquet() -> bytes:
    file = io.BytesIO()
    pd.DataFrame({"text": ["good film", "bad film", None], "text_pair": ["a", "b", "c"]}).to_parquet(file)
    return file.getvalue()


@pytest.mark.slow
@given(changes=CHANGES, cut=st.none() | st.integers(0, 3000))
@settings(max_examples=max(10, settings.default.max_examples // 25))  # each starts a process
def test_a_damaged_parquet_file_gives_texts_or_a_sentence(
    parquet: bytes, changes: dict[int, int], cut: int | None
) -> None:
    with suppress(DataUnavailable):
        parse_texts(damaged(parquet, changes)[:cut], "file.parquet")


def damaged(content: bytes, changes: dict[int, int]) -> bytes:
    """Some bytes replaced, by their place; beyond the end it starts again."""
    result = bytearray(content)
    for place, value in changes.items():
        result[place % len(result)] = value
    return bytes(result)


@given(rows=st.lists(st.tuples(CELLS, CELLS), max_size=8), suffix=st.sampled_from([".csv", ".tsv"]))
def test_a_table_is_read_as_it_was_written(rows: list[tuple[str, str]], suffix: str) -> None:
    file = io.StringIO(newline="")
    table = csv.writer(file, delimiter=tables.DELIMITERS[suffix])
    table.writerows([("text", "text_pair"), *rows])
    texts = parse_texts(file.getvalue().encode(), f"file{suffix}")
    assert texts == [Example(text.strip(), pair.strip() or None) for text, pair in rows]


@given(content=st.binary(max_size=200), packed=st.booleans())
def test_a_published_table_that_is_damaged_gives_rows_or_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, packed: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "table.tsv.gz"
    path.write_bytes(gzip.compress(content) if packed else content)
    with suppress(DataUnavailable):
        for number, cells in tables.rows(path):
            assert number >= 1
            assert all(isinstance(cell, str) for cell in cells.values())
