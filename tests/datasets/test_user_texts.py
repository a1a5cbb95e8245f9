from pathlib import Path

import pandas as pd
import pytest

from explainers.datasets.example import Example
from explainers.datasets.user_texts import (
    FEWEST,
    LONGEST,
    MOST,
    MOST_PAIRS,
    SUFFIXES,
    check_texts,
    parse_lines,
    parse_table,
    read_pairs,
    read_texts,
    shipped_pairs,
)
from explainers.errors import DataUnavailable

MANY = tuple(f"text {number}" for number in range(25))


def rows(content: str, suffix: str) -> list[Example]:
    return parse_table(content.encode(), f"texts{suffix}")


def written(folder: Path, name: str, content: str, encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes(content.encode(encoding))
    return path


def test_a_text_file_holds_one_text_a_line(tmp_path: Path) -> None:
    content = "\r\n".join([" good film ", "", "  ", *MANY, "good film", "naïve 🎬"])
    expected = (Example("good film"), *map(Example, MANY), Example("naïve 🎬"))  # without empty ones, each once
    assert read_texts(written(tmp_path, "texts.txt", content)) == expected


def test_a_byte_order_mark_belongs_to_no_text(tmp_path: Path) -> None:
    assert read_texts(written(tmp_path, "texts.txt", "\n".join(MANY), "utf-8-sig"))[0] == Example("text 0")
    table = "\n".join(["text", *MANY])
    assert read_texts(written(tmp_path, "texts.csv", table, "utf-8-sig"))[0] == Example("text 0")


@pytest.mark.parametrize(
    ("suffix", "content"),
    [
        (".csv", 'id,text,pair\n1,"so, good",\n2, dull ,plot\n3,,nothing\n'),
        (".tsv", "text\tpair\tid\nso, good\t\t1\ndull\tplot\t2\n\tnothing\t3\n"),
    ],
)
def test_a_table_has_a_column_text_and_perhaps_pair(suffix: str, content: str) -> None:
    assert rows(content, suffix) == [Example("so, good"), Example("dull", "plot"), Example("", "nothing")]


def test_the_suffix_may_be_in_capitals(tmp_path: Path) -> None:
    assert read_texts(written(tmp_path, "TEXTS.CSV", "\n".join(["text", *MANY]))) == tuple(map(Example, MANY))


def test_labels_of_a_table_are_not_read() -> None:
    assert rows("text,label\ngood,1\n", ".csv") == [Example("good")]


def test_a_row_that_is_too_short_or_too_long_is_read_as_far_as_it_goes() -> None:
    assert rows("id,text,pair\n1\n2,good\n3,dull,plot,more\n", ".csv") == [
        Example(""),
        Example("good"),
        Example("dull", "plot"),
    ]


@pytest.mark.parametrize("between", ["\n", "\r\n", "\u2028", "\x85"])
def test_a_line_break_inside_quotes_stays_between_its_words(between: str) -> None:
    (result,) = rows(f'text,id\n"good film{between}dull plot",1\n', ".csv")
    assert result.text.split() == ["good", "film", "dull", "plot"]


def test_the_same_text_with_another_pair_is_another_text() -> None:
    pairs = [Example("good", str(number % 20)) for number in range(40)]
    assert check_texts(pairs) == tuple(pairs[:20])


@pytest.mark.parametrize("number", [FEWEST, MOST])
def test_the_limits_themselves_are_allowed(number: int) -> None:
    assert len(check_texts([Example(f"text {i}") for i in range(number)])) == number


@pytest.mark.parametrize(("number", "count"), [(FEWEST - 1, "19"), (MOST + 1, "20,001"), (0, "0")])
def test_too_few_or_too_many_are_a_sentence(number: int, count: str) -> None:
    with pytest.raises(DataUnavailable) as raised:
        check_texts([Example(f"text {i}") for i in range(number)])
    assert str(raised.value) == f"A method learns from 20 to 20,000 different texts; {count} given."


def test_a_text_and_its_pair_together_may_not_be_too_long() -> None:
    few = [Example(text) for text in MANY]
    assert check_texts([*few, Example("x" * (LONGEST - 1), "y")])[-1].pair == "y"
    with pytest.raises(DataUnavailable, match="One text has 10,001 characters; each may have at most 10,000"):
        check_texts([*few, Example("x" * LONGEST, "y")])


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.csv", b"sentence,label\ngood,1\n", "The table needs a column named text; it has sentence, label."),
        ("a.tsv", b"text,label\ngood,1\n", "The table needs a column named text; it has text,label."),
        ("a.csv", b"", "The table needs a column named text"),
        (
            "a.csv",
            b"text\n" + b"x" * 200_000,
            "Line 2 has a cell of more than 131,072 characters.",
        ),
        ("a.txt", "naïve".encode("latin-1"), "a.txt is not UTF-8 text. Give text that is saved as UTF-8."),
        ("a.txt", b"\xff\xfet\x00", "a.txt is not UTF-8 text."),
    ],
    ids=["no column", "another delimiter", "empty", "a huge field", "latin-1", "utf-16"],
)
def test_a_file_that_does_not_do_is_a_sentence(tmp_path: Path, name: str, content: bytes, sentence: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataUnavailable) as raised:
        read_texts(tmp_path / name)
    assert str(raised.value).startswith(sentence)


def test_a_file_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataUnavailable, match=r"none.txt cannot be read: No such file or directory\."):
        read_texts(tmp_path / "none.txt")


@pytest.mark.parametrize("head", ["text,text_pair", "text,pair", "premise,hypothesis", "id,premise,text,hypothesis"])
def test_the_columns_of_a_pair_have_several_names(head: str) -> None:
    row = ",".join({"text": "dull", "premise": "dull", "id": "1"}.get(name, "plot") for name in head.split(","))
    assert rows(f"{head}\n{row}\n", ".csv") == [Example("dull", "plot")]


def test_a_model_of_pairs_reads_pairs_and_leaves_halves_out() -> None:
    whole = [Example(text, "other") for text in MANY]
    assert check_texts([*whole, Example("half"), Example("", "half")], ("premise", "hypothesis")) == tuple(whole)


def test_single_texts_do_not_do_for_a_model_of_pairs_nor_the_other_way_round(tmp_path: Path) -> None:
    with pytest.raises(DataUnavailable, match=r"reads pairs, premise and hypothesis, .* table \(\.csv, \.tsv or"):
        read_texts(written(tmp_path, "texts.txt", "\n".join(MANY)), ("premise", "hypothesis"))
    with pytest.raises(DataUnavailable, match="reads single texts, and these are pairs"):
        check_texts([Example(text, "other") for text in MANY], ("text",))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_kind_of_file_gives_the_texts_as_they_were_typed(tmp_path: Path, suffix: str) -> None:
    texts = ("naïve 🎬", "it's good", "NA", "007", "null", "1.50", *MANY)
    path = tmp_path / f"texts{suffix}"
    if suffix == ".parquet":
        pd.DataFrame({"id": range(len(texts)), "text": texts}).to_parquet(path)
    else:
        path.write_text("\n".join([*(() if suffix == ".txt" else ("text",)), *texts]), encoding="utf-8")
    assert read_texts(path, ("text",)) == tuple(map(Example, texts))


def test_a_parquet_file_of_pairs_may_lack_some_cells(tmp_path: Path) -> None:
    frame = pd.DataFrame({"hypothesis": ["b ", None, "d"], "premise": [" a", "c", None]})
    frame.to_parquet(tmp_path / "pairs.parquet")
    expected = [Example("a", "b"), Example("c"), Example("", "d")]
    assert parse_table((tmp_path / "pairs.parquet").read_bytes(), "pairs.PARQUET") == expected


def test_a_parquet_file_without_a_text_column_is_a_sentence(tmp_path: Path) -> None:
    pd.DataFrame({"sentence": ["good"]}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(DataUnavailable, match=r"^The table needs a column named text; it has sentence\."):
        read_texts(tmp_path / "a.parquet")


def test_lines_are_split_wherever_unicode_has_a_line_break() -> None:
    assert parse_lines("good film\u2028 dull\r\n\nplot") == [
        Example(text) for text in ("good film", "dull", "", "plot")
    ]


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
        ("a.csv", b"one,two\na,b", "A pair needs two columns, such as premise and hypothesis, and a.csv does not"),
        ("a.csv", b"", r"a\.csv is empty\. Choose another file\."),
        ("a.csv", b"text\na\nb", "2 of 2 rows have only one text: 1, 2"),
        ("a.csv", b"premise,hypothesis\na,b", "these are 1"),
        ("a.csv", b"premise,hypothesis\n", "a.csv has no pairs below the names of its columns"),
        ("a.csv", b"premise,hypothesis\n" + b"".join(b"a%d,b\n" % n for n in range(MOST_PAIRS + 1)), "these are 501"),
        ("a.csv", b"premise,hypothesis\na,b\n" + b"x" * 10_001 + b",b", "10,002 characters"),
    ],
)
def test_a_bad_table_gives_a_sentence(name: str, content: bytes, sentence: str) -> None:
    with pytest.raises(DataUnavailable, match=sentence):
        read_pairs(content, name)
