import time
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from explainers.api import explain
from explainers.comparison.decision import decide
from explainers.datasets.example import Example
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import NO_UNIT, TEXT_UNITS
from explainers.models.inputs.words import sentence_spans, sentences_of, word_spans
from explainers.results.decision import Settings


def pieces(text: str) -> list[str]:
    return [text[start:end] for start, end in word_spans(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("  \t\n ", []),
        ("good", ["good"]),
        ("a good film", ["a", "good", "film"]),
        ("good, bad.", ["good", ",", "bad", "."]),
        ("well...", ["well", "..."]),
        ("what?!", ["what", "?", "!"]),
        ("!!!", ["!!!"]),
        ("! !", ["!", "!"]),
        ("don't", ["don't"]),
        ("3.14 and 1,000", ["3.14", "and", "1,000"]),
        ("cafe\u0301 noir", ["cafe\u0301", "noir"]),  # e and a combining accent
        ("👍🏽 yes", ["👍🏽", "yes"]),  # a skin tone belongs to its hand
        ("👩‍👩‍👧 yes", ["👩‍👩‍👧", "yes"]),  # a family is joined by zero-width joiners
        ("🇫🇷🇩🇪", ["🇫🇷", "🇩🇪"]),  # two letters make a flag
        ("שלום עולם", ["שלום", "עולם"]),
        ("فيلم جيد!", ["فيلم", "جيد", "!"]),
        ("good good", ["good", "good"]),
    ],
)
def test_words_are_what_a_person_counts_as_words(text: str, expected: list[str]) -> None:
    assert pieces(text) == expected


@pytest.mark.parametrize(
    "text", ["a\u00a0b", "x\x00y", "a--b", "snake_case", "e\u0301\u0301e", "😀😀 😀", "日本語です"]
)
def test_words_are_in_order_do_not_overlap_and_leave_out_only_spaces(text: str) -> None:
    spans = word_spans(text)
    assert all(start < end for start, end in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert "".join(pieces(text)) == "".join(text.split())


TEXT = "The film was good. The plot was dull! Not bad, not good"


def sentences(text: str) -> list[str]:
    return [text[begin:end] for begin, end in sentence_spans(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ('"Really?" he asked. Yes.', ['"Really?" he asked.', "Yes."]),
        ('He said "No." She left.', ['He said "No."', "She left."]),
        ("Mr. Smith met Dr. Jones, e.g. Tom. J. K. Rowling wrote.", None),
        ("It costs 3.50 dollars... and more. Fine", ["It costs 3.50 dollars... and more.", "Fine"]),
        ("a dull film . it was bad . the end", ["a dull film .", "it was bad .", "the end"]),
        ("first line\nsecond line\n\nthird", ["first line", "second line", "third"]),
        ("One.<br /><br />Two.", ["One.<br /><br />", "Two."]),
        ("它很好。我喜欢！", ["它很好。", "我喜欢！"]),
        ("What?! No way… Yes.", ["What?!", "No way…", "Yes."]),
        ("no end", ["no end"]),
        ("It works.  but slowly. Yes", ["It works.  but slowly.", "Yes"]),
        ("He said no. Then he left.", ["He said no.", "Then he left."]),
        ("It is no. 7 of ten. So am I. It ends.", ["It is no. 7 of ten.", "So am I.", "It ends."]),
        ("   ", []),
        ("", []),
    ],
)
def test_a_text_is_cut_where_its_sentences_end(text: str, expected: list[str] | None) -> None:
    expected = ["Mr. Smith met Dr. Jones, e.g. Tom.", "J. K. Rowling wrote."] if expected is None else expected
    assert sentences(text) == expected


def test_a_text_without_points_is_cut_at_commas_and_without_those_at_spaces() -> None:
    words = [f"word{number}" for number in range(150)]
    assert [len(piece.split()) for piece in sentences(" ".join(words))] == [40, 40, 40, 30]
    words[4] += ","  # too early
    words[29] += ","
    words[34] += ";"
    assert [len(piece.split()) for piece in sentences(" ".join(words))] == [35, 40, 40, 35]
    assert len(sentences(" ".join(words[50:]))) == 1
    assert [len(piece.split()) for piece in sentences("It is so. W" + " ".join(words[49:])[1:])] == [3, 40, 40, 21]


@pytest.mark.parametrize("count", range(101, 130))
def test_no_piece_is_short_and_none_is_long(count: int) -> None:
    lengths = [len(piece.split()) for piece in sentences(" ".join(["word"] * count))]
    assert sum(lengths) == count
    assert min(lengths) >= 10
    assert max(lengths) <= 40


def test_texts_without_spaces_have_pieces_too() -> None:
    text = "我很喜欢这部电影，" * 40
    assert len(sentences(text)) > 5
    assert "".join(sentences(text)) == text
    assert all(piece.endswith("，") for piece in sentences(text))


def test_a_compound_is_not_cut() -> None:
    assert all(not piece.endswith(("well", "-")) for piece in sentences("well-known people " * 60))


@pytest.mark.parametrize(
    "text", ["b, " * 300, TEXT, "a . b", "...!?", "A.B.C. D", "x\n\ny. Z", "“Q.” R", "a" * 500, ". . ."]
)
def test_sentences_hold_every_word_in_order(text: str) -> None:
    spans = sentence_spans(text)
    assert all(one[1] <= two[0] for one, two in pairwise(spans))
    for begin, end in word_spans(text):
        assert sum(first <= begin < last for first, last in spans) == 1, (text, begin, end)


@pytest.mark.parametrize("piece", [".", " A.", ". ", "!?", "\n", "a ", "a, ", "很"])
def test_odd_texts_take_no_long_time(piece: str) -> None:
    began = time.process_time()
    sentence_spans(piece * 20_000)
    assert time.process_time() - began < 2


def test_a_sentence_is_one_unit(bert: FrozenModel) -> None:
    words, whole = bert.encode(TEXT), bert.encode(TEXT, "sentence")
    assert [unit.text for unit in whole.units] == ["The film was good.", "The plot was dull!", "Not bad, not good"]
    assert whole.ids == words.ids
    for owner, number in zip(whole.owners, words.owners, strict=True):
        assert (owner == NO_UNIT) == (number == NO_UNIT)
        if owner != NO_UNIT:
            unit, word = whole.units[owner], words.units[number]
            assert unit.start <= word.start < word.end <= unit.end
    assert whole.by_sentence() == whole


def test_within_a_sentence_its_words_alone_are_units_and_the_rest_stays(bert: FrozenModel) -> None:
    words = bert.encode(TEXT)
    opened = words.within_sentences([1])
    assert [unit.text for unit in opened.units] == ["The", "plot", "was", "dull", "!"]
    assert opened.ids == words.ids
    inside = [number for number, unit in enumerate(words.units) if unit in opened.units]
    kept = np.ones((2, len(words.units)), dtype=bool)
    kept[0, inside] = False
    kept[1, inside[3]] = False
    for erasure in bert.erasures:
        without = bert.probabilities(opened, [[False] * 5, [True, True, True, False, True]], erasure)
        assert without == pytest.approx(bert.probabilities(words, kept, erasure), abs=1e-6)
    assert words.within_sentences(range(3)) == words


def test_sentences_are_no_foreign_language(bert: FrozenModel) -> None:
    english = replace(bert, english_only=True)
    for unit in TEXT_UNITS:
        encoding = decide(english, TEXT, settings=Settings(unit)).decision.encoding
        assert (encoding.warning, encoding.unlike_training) == ("", False)


def test_another_language_is_unlike_what_an_english_model_was_trained_on(bert: FrozenModel) -> None:
    german = "der film war gut und die geschichte war nicht schlecht"
    for unit in TEXT_UNITS:
        encoding = decide(replace(bert, english_only=True), german, settings=Settings(unit)).decision.encoding
        assert "does not look like English" in encoding.warning
        assert encoding.unlike_training
        assert not decide(bert, german, settings=Settings(unit)).decision.encoding.unlike_training


def test_erasing_a_sentence_erases_its_words(bert: FrozenModel) -> None:
    words, whole = bert.encode(TEXT), bert.encode(TEXT, "sentence")
    kept = np.array([[unit.start >= whole.units[1].start for unit in words.units]])
    for erasure in bert.erasures:
        by_word = bert.probabilities(words, kept, erasure)
        by_sentence = bert.probabilities(whole, [[False, True, True]], erasure)
        assert by_sentence == pytest.approx(by_word, abs=1e-6)


def test_sentences_of_a_pair_are_counted_over_both_texts(pairs: FrozenModel) -> None:
    texts = ("The film. The plot.", "A film was good.")
    assert [segment for segment, _ in sentences_of(texts)] == [0, 0, 1]
    encoding = pairs.encode(Example(*texts)).within_sentences([2])
    assert [unit.text for unit in encoding.units] == ["A", "film", "was", "good", "."]


def test_files_name_the_kind_of_every_unit(bert: FrozenModel) -> None:
    def kinds(settings: Settings) -> list[str]:
        comparison = explain(bert, TEXT, methods="occlusion", unit=settings.unit, opened=settings.opened)
        (explanation,) = comparison.as_dict()["explanations"]
        assert list(comparison.to_frame()["kind"]) == [unit["kind"] for unit in explanation["units"]]
        return [unit["kind"] for unit in explanation["units"]]

    assert kinds(Settings(unit="sentence")) == ["sentence"] * 3
    assert kinds(Settings(unit="sentence", opened=(1,))) == ["word"] * 5
    assert set(kinds(Settings(unit="word"))) == {"word"}
    assert set(kinds(Settings(unit="token"))) == {"token"}
