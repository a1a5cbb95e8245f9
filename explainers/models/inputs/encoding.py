"""The token ids that a model reads, and the units in which it is explained.

Text becomes ids only here, and ids are never decoded: every unit keeps its span of characters in the text as it was
typed, so the page always shows what was written.
"""

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Literal, NamedTuple, Protocol, get_args

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding as LibraryTokens
from tokenizers import Tokenizer

from explainers.datasets.example import InputImage
from explainers.errors import ExplanationError
from explainers.memoized import memoized
from explainers.models.inputs.canvas import Canvas, PatchEmbeddings
from explainers.models.inputs.words import sentences_of, word_spans


@dataclass(frozen=True)
class Tokens:
    """What a tokenizer says of a text: per token its id, the number of its text by the model and by
    position, and its characters (start, end).

    `following` are the tokens of what was truncated, cut in the same way, in order; empty for a pair."""

    ids: tuple[int, ...]
    type_ids: tuple[int, ...]
    sequence_ids: tuple[int | None, ...]  # None for special tokens
    offsets: tuple[tuple[int, int], ...]
    truncated: bool
    following: tuple["Tokens", ...] = ()


class TextTokenizer(Protocol):
    """Anything that reads a text or a pair; a `tokenizers.Tokenizer` is read by `tokens_of`."""

    def tokens(self, texts: Sequence[str]) -> Tokens: ...


def tokens_of(tokenizer: Tokenizer | TextTokenizer, texts: Sequence[str]) -> Tokens:
    """The tokens of one text, or of a pair."""
    if not isinstance(tokenizer, Tokenizer):
        return tokenizer.tokens(texts)
    tokens: LibraryTokens = tokenizer.encode(texts[0], texts[1] if len(texts) > 1 else None)
    rest = tokens.overflowing if len(texts) == 1 else []
    following = [
        _of_library(part, truncated=len(rest) > number == MOST_WINDOWS - 1)
        for number, part in enumerate(rest[: MOST_WINDOWS - 1], 1)
    ]
    return _of_library(tokens, truncated=bool(tokens.overflowing), following=tuple(following))


def _of_library(tokens: LibraryTokens, *, truncated: bool, following: tuple[Tokens, ...] = ()) -> Tokens:
    return Tokens(
        tuple(tokens.ids),
        tuple(tokens.type_ids),
        tuple(tokens.sequence_ids),
        tuple(tokens.offsets),
        truncated,
        following,
    )


UnitKind = Literal["word", "token", "sentence", "example"]  # the last one of a prompt
Erasure = Literal["mask", "delete", "zero", "blur"]
UNIT_KINDS: tuple[UnitKind, ...] = get_args(UnitKind)
TEXT_UNITS: tuple[UnitKind, ...] = ("word", "token", "sentence")  # into which every text can be cut
ERASURES: tuple[Erasure, ...] = ("mask", "delete", "zero")
MULTIMODAL_ERASURES: tuple[Erasure, ...] = get_args(Erasure)  # "blur" masks words and takes detail from patches
MOST_WINDOWS = 16  # of one text; what is behind them is not read
NO_UNIT = -1  # the owner of a token that belongs to no unit: special tokens and those removed for good


@dataclass(frozen=True)
class Unit:
    """Characters `start` to `end` (exclusive, in code points) of number `segment` of the shown texts, or a patch of the
    image.

    A patch has a `box`: left, top, right and bottom (exclusive) in pixels of the original image, upright. Its `text` is
    a name for people, such as "row 2, column 5".
    """

    text: str
    start: int
    end: int
    segment: int = 0
    box: tuple[int, int, int, int] | None = None

    @property
    def kind(self) -> Literal["word", "patch"]:
        return "word" if self.box is None else "patch"


class Window(NamedTuple):
    """A part of the tokens that the model reads at once: the position of its first token, and how many tokens of the
    text there were before any was removed."""

    start: int
    tokens: int


@dataclass(frozen=True)
class WindowInput:
    """A window as an input of its own: `units` are the numbers in the whole input of its units, `share` is its part of
    the answer."""

    encoding: "Encoding"
    units: tuple[int, ...]
    share: float


@dataclass(frozen=True)
class Encoding:
    """Token ids and, for each token, the index of the unit that owns it (or `NO_UNIT`).

    A text that is longer than what the model reads at once may have several `windows`. The model's answer is then the
    mean of its answers to them, weighted by their tokens. Otherwise there are none.
    """

    texts: tuple[str, ...]
    units: tuple[Unit, ...]
    ids: tuple[int, ...]
    segments: tuple[int, ...]
    owners: tuple[int, ...]
    zeroed: frozenset[int] = frozenset()  # positions whose embedding is zero under every mask
    warning: str = ""  # for the reader, such as about truncation
    image: InputImage | None = None  # the original
    patch_embeddings: PatchEmbeddings | None = None  # where the image's patches are tokens
    canvas: Canvas | None = None  # where they are not
    windows: tuple[Window, ...] = ()
    examples: str = ""  # of the prompt, one below the other, where these are the units
    unlike_training: bool = False  # seen to be of another kind than what the model was trained and measured on

    @property
    def shown_texts(self) -> tuple[str, ...]:
        """Return the texts, below the examples of the prompt where these are explained."""
        return (self.examples, *self.texts) if self.examples else self.texts

    @property
    def multimodal(self) -> bool:
        """Return whether there is an image with the text."""
        return self.image is not None

    @memoized
    def content_key(self) -> bytes:
        """Equal for inputs of which the model reads the same under every mask over the units."""
        parts = [self.ids, self.segments, self.owners, sorted(self.zeroed), len(self.units)]
        parts += [self.windows] if self.windows else []
        digest = hashlib.blake2b(repr(parts).encode(), digest_size=16)
        for part in (self.patch_embeddings, self.canvas):
            for array in part.arrays() if part is not None else ():
                digest.update(repr((array.shape, array.dtype)).encode())
                digest.update(np.ascontiguousarray(array).data)
        return digest.digest()

    def tokens_kept(self, keeps: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """From masks over units (B, units) to masks over tokens (B, tokens); fixed tokens are kept, zeroed ones not."""
        owners = np.asarray(self.owners, dtype=int)
        kept = np.ones((len(keeps), len(owners)), dtype=bool)
        owned = owners != NO_UNIT
        kept[:, owned] = keeps[:, owners[owned]]
        kept[:, sorted(self.zeroed)] = False
        return kept

    @memoized
    def window_inputs(self) -> tuple[WindowInput, ...]:
        """Return the windows, also one of which nothing is left; none where the model reads the input at once."""
        ends = [*(window.start for window in self.windows[1:]), len(self.ids)][: len(self.windows)]
        whole = sum(window.tokens for window in self.windows)
        return tuple(
            self._window(range(window.start, end), window.tokens / whole)
            for window, end in zip(self.windows, ends, strict=True)
        )

    def _window(self, positions: range, share: float) -> WindowInput:
        owners = [self.owners[position] for position in positions]
        units = sorted({owner for owner in owners if owner != NO_UNIT})
        numbers = {old: new for new, old in enumerate(units)} | {NO_UNIT: NO_UNIT}
        part = slice(positions.start, positions.stop)
        encoding = Encoding(
            texts=self.texts,
            units=tuple(self.units[unit] for unit in units),
            ids=self.ids[part],
            segments=self.segments[part],
            owners=tuple(numbers[owner] for owner in owners),
            zeroed=frozenset(position - positions.start for position in self.zeroed if position in positions),
        )
        return WindowInput(encoding, tuple(units), share)

    def windows_from(self, sources: Sequence[int]) -> tuple[Window, ...]:
        """Return the windows where each token has its place from the position `sources` (tokens,), in order, of this
        input."""
        return tuple(Window(bisect_left(sources, window.start), window.tokens) for window in self.windows)

    @memoized
    def sentences(self) -> tuple[tuple[int, tuple[int, int]], ...]:
        """As `sentences_of`."""
        return sentences_of(self.texts)

    def sentence_of(self, unit: Unit) -> int:
        """Return the number, as in `sentences_of`, of the sentence in which the unit, no patch, begins."""
        return next(
            number
            for number, (segment, (_, end)) in enumerate(self.sentences)
            if segment == unit.segment and unit.start < end
        )

    def by_sentence(self) -> "Encoding":
        """The input with a unit per sentence in place of its words. A word belongs to the sentence in which it
        begins."""
        units, new_numbers = list[Unit](), list[int]()
        last: int | None = None  # the sentence of the last unit
        for unit in self.units:
            number = self.sentence_of(unit)
            if number == last:
                begun = units[-1]
                units[-1] = replace(begun, text=self.texts[unit.segment][begun.start : unit.end], end=unit.end)
            else:
                units.append(unit)
            last = number
            new_numbers.append(len(units) - 1)
        owners = tuple(owner if owner == NO_UNIT else new_numbers[owner] for owner in self.owners)
        return replace(self, units=tuple(units), owners=owners)

    def within_sentences(self, sentences: Collection[int]) -> "Encoding":
        """The input with the units of these sentences alone, numbers as in `sentences_of`: the rest of the text belongs
        to no unit, so that it stays as it is."""
        inside = [number for number, unit in enumerate(self.units) if self.sentence_of(unit) in sentences]
        new_numbers = {old: new for new, old in enumerate(inside)}
        owners = tuple(new_numbers.get(owner, NO_UNIT) for owner in self.owners)
        return replace(self, units=tuple(self.units[number] for number in inside), owners=owners)

    def without(self, removed: Iterable[int], erasure: Erasure, mask_token: int) -> "Encoding":
        """The input with some units erased for good; only the others remain to be explained.

        `mask_token` replaces a removed token when `erasure` is "mask" or "blur".
        """
        removed = set(removed)
        remaining = [index for index in range(len(self.units)) if index not in removed]
        new_numbers = {old: new for new, old in enumerate(remaining)}
        erased = {position for position, owner in enumerate(self.owners) if owner in removed}
        positions = [p for p in range(len(self.ids)) if erasure != "delete" or p not in erased]
        zeroed = self.zeroed | erased if erasure == "zero" else self.zeroed
        patches = self.patch_embeddings
        masked = {p for p in erased if erasure in ("mask", "blur") and not (patches and patches.is_patch[p])}
        return replace(
            self,
            units=tuple(self.units[index] for index in remaining),
            ids=tuple(mask_token if p in masked else self.ids[p] for p in positions),
            segments=tuple(self.segments[p] for p in positions),
            owners=tuple(new_numbers.get(self.owners[p], NO_UNIT) for p in positions),
            zeroed=frozenset(new for new, old in enumerate(positions) if old in zeroed),
            patch_embeddings=patches and patches.without(erased, positions, erasure),
            canvas=self.canvas and self.canvas.without(removed, new_numbers, erasure),
            windows=self.windows_from(positions),
        )


def encode(
    tokenizer: Tokenizer | TextTokenizer, texts: tuple[str, ...], kind: UnitKind, *, windows: bool = False
) -> Encoding:
    """One text, or a pair. Inputs beyond the tokenizer's truncation are cut, or, with `windows`, one text becomes
    several windows; the warning says where, or how many. Raises `ExplanationError` for the examples of a prompt."""
    if kind == "example":
        raise ExplanationError("Only a language model with examples in its prompt is explained by example.")
    texts = tuple(text.encode("utf-8", "replace").decode() for text in texts)  # lone surrogates cannot be shown
    tokens = tokens_of(tokenizer, texts)
    parts = (tokens, *tokens.following) if windows and tokens.following else ()
    tokens = _joined(parts) if parts else tokens
    owners, units = _units(texts, tokens, kind)
    encoding = Encoding(
        texts=texts,
        units=units,
        ids=tokens.ids,
        segments=tokens.type_ids,
        owners=owners,
        warning=_several(parts, texts[0], tokens) if parts else _truncation(texts, tokens),
        windows=_starts(parts),
    )
    return encoding.by_sentence() if kind == "sentence" else encoding


def check_windows(encoding: Encoding) -> None:
    """Raises `ExplanationError` where there are several: no layer has states of all of them."""
    if encoding.windows:
        raise ExplanationError(needs_one_window("This method", encoding))


def needs_one_window(method: str, encoding: Encoding) -> str:
    return (
        f"{method} reads the model's inner states of the whole text, and the text is read in {len(encoding.windows)} "
        "windows. Shorten the text or choose another method."
    )


def _joined(parts: Sequence[Tokens]) -> Tokens:
    """Windows as one row of tokens."""
    return Tokens(
        tuple(number for part in parts for number in part.ids),
        tuple(number for part in parts for number in part.type_ids),
        tuple(number for part in parts for number in part.sequence_ids),
        tuple(span for part in parts for span in part.offsets),
        parts[-1].truncated,
    )


def _starts(parts: Sequence[Tokens]) -> tuple[Window, ...]:
    starts = accumulate((len(part.ids) for part in parts), initial=0)
    read = (sum(number is not None for number in part.sequence_ids) for part in parts)
    return tuple(map(Window, starts, read))


def _several(parts: Sequence[Tokens], text: str, tokens: Tokens) -> str:
    end = max((span[2] for span in _spans(tokens) if span is not None), default=0)
    rest = (
        f" These are the most that there are: only {end:,} of {len(text):,} characters are read and explained."
        if tokens.truncated
        else ""
    )
    return (
        f"The text is longer than the {len(parts[0].ids):,} tokens that this model reads at once. It is read in "
        f"{len(parts)} windows, one after the other; the answer is the mean of theirs, weighted by their tokens.{rest}"
    )


def _spans(tokens: Tokens) -> list[tuple[int, int, int] | None]:
    """Per token its text's number and its characters; None for special tokens."""
    return [
        None if segment is None else (segment, start, end)
        for segment, (start, end) in zip(tokens.sequence_ids, tokens.offsets, strict=True)
    ]


def _units(texts: Sequence[str], tokens: Tokens, kind: UnitKind) -> tuple[tuple[int, ...], tuple[Unit, ...]]:
    """The owner of each token, and the units. A token that straddles two words makes one unit of both."""
    words = [() if kind == "token" else word_spans(text) for text in texts]
    owners: list[int] = []
    units: list[Unit] = []
    for span in _spans(tokens):
        if span is None:
            owners.append(NO_UNIT)
            continue
        segment, start, end = span
        text = texts[segment]
        while start < end and text[start].isspace():  # byte-level tokenizers include the space before a word
            start += 1
        if start >= end:  # a token of spaces alone cannot be explained
            owners.append(NO_UNIT)
            continue
        number = bisect_right(words[segment], start, key=lambda word: word[1])  # the first word that ends after `start`
        if number < len(words[segment]) and words[segment][number][0] < end:
            start, end = min(start, words[segment][number][0]), max(end, words[segment][number][1])
        last = units[-1] if units and units[-1].segment == segment else None
        if last and start < last.end:
            end = max(end, last.end)
            units[-1] = Unit(text[last.start : end], last.start, end, segment)
        else:
            units.append(Unit(text[start:end], start, end, segment))
        owners.append(len(units) - 1)
    return tuple(owners), tuple(units)


def _truncation(texts: Sequence[str], tokens: Tokens) -> str:
    if not tokens.truncated:
        return ""
    spans = list(filter(None, _spans(tokens)))
    ends = [max((end for segment, _, end in spans if segment == number), default=0) for number in range(len(texts))]
    parts = " and ".join(f"{end:,} of {len(text):,} characters" for end, text in zip(ends, texts, strict=True))
    return f"The text is too long for this model: it reads {parts}, and only these are explained."
