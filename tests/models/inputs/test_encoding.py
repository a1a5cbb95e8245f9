from collections.abc import Callable

import numpy as np
import pytest
from tokenizers import Tokenizer, pre_tokenizers, processors
from tokenizers.models import BPE

from explainers.models.inputs.encoding import (
    NO_UNIT,
    Encoding,
    Erasure,
    UnitKind,
    encode,
)

PAD, UNK, CLS, SEP, MASK, GOOD, BAD, UN, WATCH, ABLE = range(10)
PIECES = ("good", "bad", "un", "##watch", "##able")
STRANGE = [
    "good 👍🏽 bad",
    "cafe\u0301 good",
    "שלום good עולם",
    "good good good",
    "go\x00od bad",
    "\x00",
    "  good\t\nbad  ",
    "naïve ﬁlm Å",
    "😀😀👩‍👩‍👧",
    "a\u200db\u00adc",
    "日本語 good",
    "\ud800 good",
]


@pytest.fixture
def tokenizer(pieces_tokenizer: Callable[[tuple[str, ...]], Tokenizer]) -> Tokenizer:
    return pieces_tokenizer(PIECES)


@pytest.fixture
def byte_level() -> Tokenizer:
    """Bytes as tokens, as in RoBERTa and GPT-2; the one merge joins the end of an é with the start of the next."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(BPE({byte: at for at, byte in enumerate([*alphabet, "©Ã"])}, [("©", "Ã")]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
    return tokenizer


@pytest.mark.parametrize("kind", ["word", "token"])
@pytest.mark.parametrize("text", STRANGE)
def test_every_unit_is_the_characters_that_its_span_names(tokenizer: Tokenizer, text: str, kind: UnitKind) -> None:
    encoding = encode(tokenizer, (text,), kind)
    assert [encoding.texts[unit.segment][unit.start : unit.end] for unit in encoding.units] == [
        u.text for u in encoding.units
    ]
    assert all(unit.text.strip() for unit in encoding.units)


@pytest.mark.parametrize("kind", ["word", "token"])
@pytest.mark.parametrize("text", STRANGE)
def test_byte_tokens_make_whole_characters(byte_level: Tokenizer, text: str, kind: UnitKind) -> None:
    encoding = encode(byte_level, (text,), kind)
    assert [encoding.texts[0][unit.start : unit.end] for unit in encoding.units] == [
        unit.text for unit in encoding.units
    ]
    assert "".join("".join(unit.text.split()) for unit in encoding.units) == "".join(encoding.texts[0].split())


@pytest.mark.parametrize(
    ("text", "kind", "units", "owners"),
    [
        ("good bad", "word", ["good", "bad"], (NO_UNIT, 0, 1, NO_UNIT)),
        ("unwatchable bad", "word", ["unwatchable", "bad"], (NO_UNIT, 0, 0, 0, 1, NO_UNIT)),
        ("unwatchable bad", "token", ["un", "watch", "able", "bad"], (NO_UNIT, 0, 1, 2, 3, NO_UNIT)),
        ("good xyz", "word", ["good", "xyz"], (NO_UNIT, 0, 1, NO_UNIT)),  # an unknown word is a unit like any other
        ("good good", "word", ["good", "good"], (NO_UNIT, 0, 1, NO_UNIT)),
        ("bad...", "word", ["bad", "..."], (NO_UNIT, 0, 1, 1, 1, NO_UNIT)),
        ("", "word", [], (NO_UNIT, NO_UNIT)),
        ("   ", "token", [], (NO_UNIT, NO_UNIT)),
    ],
)
def test_units_and_the_owners_of_tokens(
    tokenizer: Tokenizer, text: str, kind: UnitKind, units: list[str], owners: tuple[int, ...]
) -> None:
    encoding = encode(tokenizer, (text,), kind)
    assert [unit.text for unit in encoding.units] == units
    assert encoding.owners == owners


def test_a_pair_has_units_of_both_texts_with_spans_in_their_own(tokenizer: Tokenizer) -> None:
    encoding = encode(tokenizer, ("good bad", "bad"), "word")
    assert [(unit.text, unit.start, unit.end, unit.segment) for unit in encoding.units] == [
        ("good", 0, 4, 0),
        ("bad", 5, 8, 0),
        ("bad", 0, 3, 1),
    ]
    assert encoding.segments == (0, 0, 0, 0, 1, 1)


def test_words_at_the_border_of_a_pair_stay_apart(tokenizer: Tokenizer) -> None:
    encoding = encode(tokenizer, ("good", "good"), "token")
    assert [unit.segment for unit in encoding.units] == [0, 1]


def test_a_special_token_that_the_reader_types_is_text(tokenizer: Tokenizer) -> None:
    encoding = encode(tokenizer, ("good [SEP] bad",), "word")
    assert "".join(unit.text for unit in encoding.units) == "good[SEP]bad"
    assert encoding.ids.count(SEP) == 1


@pytest.mark.parametrize("kind", ["word", "token"])
def test_a_token_that_straddles_two_characters_makes_one_unit_of_both(byte_level: Tokenizer, kind: UnitKind) -> None:
    encoding = encode(byte_level, ("éé",), kind)  # tokens Ã | ©Ã | © with spans 0-1, 0-2, 1-2
    assert [(unit.text, unit.start, unit.end) for unit in encoding.units] == [("éé", 0, 2)]
    assert encoding.owners == (0, 0, 0)


def test_tokens_of_spaces_alone_belong_to_no_unit(byte_level: Tokenizer) -> None:
    encoding = encode(byte_level, ("a   b",), "word")
    assert [unit.text for unit in encoding.units] == ["a", "b"]
    assert encoding.owners == (0, NO_UNIT, NO_UNIT, NO_UNIT, 1)


def test_a_lone_surrogate_is_shown_as_a_question_mark(tokenizer: Tokenizer) -> None:
    assert encode(tokenizer, ("\ud800 good",), "word").texts == ("? good",)


def test_truncation_is_announced_with_the_characters_that_were_read(tokenizer: Tokenizer) -> None:
    tokenizer.enable_truncation(4)  # [CLS] good bad [SEP]
    encoding = encode(tokenizer, ("good bad good",), "word")
    assert [unit.text for unit in encoding.units] == ["good", "bad"]
    assert "it reads 8 of 13 characters" in encoding.warning


def test_truncation_of_a_pair_names_both_texts(tokenizer: Tokenizer) -> None:
    tokenizer.enable_truncation(5)  # [CLS] good [SEP] bad [SEP]
    encoding = encode(tokenizer, ("good bad bad", "bad"), "word")
    assert "it reads 4 of 12 characters and 3 of 3 characters" in encoding.warning


def test_a_text_that_fits_has_no_notice(tokenizer: Tokenizer) -> None:
    tokenizer.enable_truncation(4)
    assert encode(tokenizer, ("good bad",), "word").warning == ""


def test_masks_over_units_become_masks_over_tokens(tokenizer: Tokenizer) -> None:
    encoding = encode(tokenizer, ("unwatchable bad",), "word")
    kept = encoding.tokens_kept(np.array([[True, False], [False, True]]))
    assert kept.astype(int).tolist() == [[1, 1, 1, 1, 0, 1], [1, 0, 0, 0, 1, 1]]


@pytest.fixture
def three(tokenizer: Tokenizer) -> Encoding:
    return encode(tokenizer, ("good unwatchable bad",), "word")  # ids CLS GOOD UN WATCH ABLE BAD SEP


@pytest.mark.parametrize(
    ("erasure", "ids", "owners", "zeroed"),
    [
        ("mask", (CLS, GOOD, MASK, MASK, MASK, BAD, SEP), (NO_UNIT, 0, NO_UNIT, NO_UNIT, NO_UNIT, 1, NO_UNIT), set()),
        ("delete", (CLS, GOOD, BAD, SEP), (NO_UNIT, 0, 1, NO_UNIT), set()),
        (
            "zero",
            (CLS, GOOD, UN, WATCH, ABLE, BAD, SEP),
            (NO_UNIT, 0, NO_UNIT, NO_UNIT, NO_UNIT, 1, NO_UNIT),
            {2, 3, 4},
        ),
    ],
)
def test_without_erases_a_unit_for_good(
    three: Encoding, erasure: Erasure, ids: tuple[int, ...], owners: tuple[int, ...], zeroed: set[int]
) -> None:
    left = three.without([1], erasure, MASK)
    assert [unit.text for unit in left.units] == ["good", "bad"]
    assert (left.ids, left.owners, left.zeroed) == (ids, owners, zeroed)
    assert len(left.segments) == len(left.ids)
    assert [three.texts[0][unit.start : unit.end] for unit in left.units] == ["good", "bad"]


@pytest.mark.parametrize("erasure", ["mask", "delete", "zero"])
def test_removing_one_after_the_other_is_removing_both(three: Encoding, erasure: Erasure) -> None:
    at_once = three.without([0, 1], erasure, MASK)
    assert three.without([0], erasure, MASK).without([0], erasure, MASK) == at_once
    assert three.without([1], erasure, MASK).without([0], erasure, MASK) == at_once


def test_positions_that_are_zero_move_with_deleted_tokens(three: Encoding) -> None:
    # zero "bad" at position 5, then delete "good" at position 1: "bad" is at 4
    assert three.without([2], "zero", MASK).without([0], "delete", MASK).zeroed == {4}


def test_removing_nothing_changes_nothing(three: Encoding) -> None:
    assert three.without([], "mask", MASK) == three
