"""Any text: the units lie in it, in order and apart, and nothing but spaces and signs is left between them."""

import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

from explainers.models.inputs.encoding import (
    NO_UNIT,
    TEXT_UNITS,
    Encoding,
    UnitKind,
    encode,
    word_spans,
)

PIECES = ("good", "bad", "film", "##s", "un", "##able", "!", "a", "##a", "é", "日", "##日", "م", "🙂")
SIGNS = ["good", "Films", " ", "  ", "\n", "\t", "...", "é", "é", "日本", "مر", "👩‍👩‍👧", "🇩🇪", "​", "­", "\0", "�"]
LONE = ["\ud800", "\udfff"]  # half of a sign, which no file can hold
TEXTS = st.lists(st.sampled_from([*SIGNS, *LONE]) | st.text(st.characters(), max_size=4), max_size=30).map("".join)
PAIRS = st.tuples(TEXTS) | st.tuples(TEXTS, TEXTS)


def byte_level() -> Tokenizer:
    """As RoBERTa's, with no merges: a token for each byte, several of which are one sign."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {sign: number for number, sign in enumerate(["<s>", "</s>", *alphabet])}
    tokenizer = Tokenizer(models.BPE(vocabulary, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 1), ("<s>", 0), trim_offsets=True)
    return tokenizer


@pytest.fixture(params=["word pieces", "bytes", "cut after 12"])
def tokenizer(request: pytest.FixtureRequest, pieces_tokenizer: Callable[[tuple[str, ...]], Tokenizer]) -> Tokenizer:
    if request.param == "bytes":
        return byte_level()
    tokenizer = pieces_tokenizer(PIECES)
    if request.param == "cut after 12":
        tokenizer.enable_truncation(12)
    return tokenizer


@given(texts=PAIRS, kind=st.sampled_from(TEXT_UNITS), windows=st.booleans())
def test_units_lie_in_the_text_in_order_and_apart(
    tokenizer: Tokenizer, texts: tuple[str, ...], kind: UnitKind, windows: bool
) -> None:
    encoding = encode(tokenizer, texts, kind, windows=windows)
    assert [len(text) for text in encoding.texts] == [len(text) for text in texts]
    "".join(encoding.texts).encode()  # can be shown and stored
    ends = [0] * len(texts)
    for unit in encoding.units:
        assert ends[unit.segment] <= unit.start < unit.end <= len(texts[unit.segment])
        assert unit.text == encoding.texts[unit.segment][unit.start : unit.end]
        assert unit.text.strip()
        ends[unit.segment] = unit.end
    assert [unit.segment for unit in encoding.units] == sorted(unit.segment for unit in encoding.units)


@given(texts=PAIRS, kind=st.sampled_from(TEXT_UNITS), windows=st.booleans())
def test_every_token_has_a_unit_or_none_and_every_unit_a_token(
    tokenizer: Tokenizer, texts: tuple[str, ...], kind: UnitKind, windows: bool
) -> None:
    encoding = encode(tokenizer, texts, kind, windows=windows)
    assert len(encoding.ids) == len(encoding.owners) == len(encoding.segments)
    owners = [owner for owner in encoding.owners if owner != NO_UNIT]
    assert sorted(set(owners)) == list(range(len(encoding.units)))
    assert owners == sorted(owners)


@given(texts=PAIRS, kind=st.sampled_from(TEXT_UNITS))
def test_no_letter_and_no_digit_is_left_out(tokenizer: Tokenizer, texts: tuple[str, ...], kind: UnitKind) -> None:
    encoding = encode(tokenizer, texts, kind)
    if not encoding.warning:
        assert [sign for sign in left_out(encoding) if unicodedata.category(sign)[0] in "LN"] == []


def left_out(encoding: Encoding) -> list[str]:
    """The characters that belong to no unit."""
    covered = {(unit.segment, place) for unit in encoding.units for place in range(unit.start, unit.end)}
    return [
        sign
        for number, text in enumerate(encoding.texts)
        for place, sign in enumerate(text)
        if (number, place) not in covered
    ]


@given(text=TEXTS)
def test_words_leave_out_nothing_but_spaces(text: str) -> None:
    spans = word_spans(text)
    ends = [0, *(end for _, end in spans)]
    gaps = [text[end:start] for end, (start, _) in zip(ends, spans, strict=False)] + [text[ends[-1] :]]
    assert not "".join(gaps).strip()
    assert all(before <= start < end for before, (start, end) in zip(ends, spans, strict=False))
