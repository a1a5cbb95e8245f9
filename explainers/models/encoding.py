"""What a model reads, and the units in which it is explained.

This is the only place where text becomes ids, and nothing ever decodes ids back: every unit keeps the span of
characters that it stands for in the text as it was typed, so what is shown is always what was written.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding as Tokens
from tokenizers import Tokenizer

from explainers.datasets.picture import Picture
from explainers.models.canvas import Canvas
from explainers.models.seen import Seen
from explainers.models.words import words

UnitKind = Literal["word", "token"]
Erasure = Literal["mask", "delete", "zero", "blur"]
UNIT_KINDS: tuple[UnitKind, ...] = get_args(UnitKind)
ERASURES: tuple[Erasure, ...] = ("mask", "delete", "zero")
OF_PICTURES: tuple[Erasure, ...] = get_args(Erasure)  # by "blur" patches lose their detail, and words are masked
FIXED = -1  # the owner of a token that belongs to no unit: special tokens and what a person has removed


@dataclass(frozen=True)
class Unit:
    """Characters `start` to `end` (exclusive, in code points) of text number `segment`, or a patch of the picture.

    A patch has a `box`: left, top, right and bottom (exclusive) in pixels of the picture as it was given, upright.
    Its `text` is a name for people, such as "row 2, column 5".
    """

    text: str
    start: int
    end: int
    segment: int = 0
    box: tuple[int, int, int, int] | None = None

    @property
    def kind(self) -> Literal["word", "patch"]:
        return "word" if self.box is None else "patch"


@dataclass(frozen=True)
class Encoding:
    """Token ids and, for each token, the index of the unit that owns it (or `FIXED`)."""

    texts: tuple[str, ...]
    units: tuple[Unit, ...]
    ids: tuple[int, ...]
    segments: tuple[int, ...]
    owners: tuple[int, ...]
    zeroed: frozenset[int] = frozenset()  # positions whose embedding is zero whatever the mask says
    notice: str = ""  # what the reader must know, such as truncation
    picture: Picture | None = None  # as it was given
    seen: Seen | None = None  # where the picture's patches are tokens: what the model sees in their places
    canvas: Canvas | None = None  # where they are not: the picture, and which unit owns each of its pixels

    @property
    def pictured(self) -> bool:
        """Whether a picture was given with the text."""
        return self.picture is not None

    def tokens_kept(self, keeps: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """From masks over units (B, units) to masks over tokens (B, tokens); fixed tokens are kept, zeroed ones not."""
        owners = np.asarray(self.owners)
        kept = np.ones((len(keeps), len(owners)), dtype=bool)
        owned = owners != FIXED
        kept[:, owned] = keeps[:, owners[owned]]
        kept[:, sorted(self.zeroed)] = False
        return kept

    def without(self, removed: Iterable[int], erasure: Erasure, filler: int) -> "Encoding":
        """The input with some units erased for good; the remaining ones are what is left to explain.

        `filler` is the id that takes a removed token's place when `erasure` is "mask".
        """
        gone = set(removed)
        left = [index for index in range(len(self.units)) if index not in gone]
        place = {old: new for new, old in enumerate(left)}
        erased = {position for position, owner in enumerate(self.owners) if owner in gone}
        positions = [p for p in range(len(self.ids)) if erasure != "delete" or p not in erased]
        zeroed = self.zeroed | erased if erasure == "zero" else self.zeroed
        covered = {p for p in erased if erasure in ("mask", "blur") and not (self.seen and self.seen.at[p])}
        return replace(
            self,
            units=tuple(self.units[index] for index in left),
            ids=tuple(filler if p in covered else self.ids[p] for p in positions),
            segments=tuple(self.segments[p] for p in positions),
            owners=tuple(place.get(self.owners[p], FIXED) for p in positions),
            zeroed=frozenset(new for new, old in enumerate(positions) if old in zeroed),
            seen=self.seen and self.seen.without(erased, positions, erasure),
            canvas=self.canvas and self.canvas.without(gone, place, erasure),
        )


def encode(tokenizer: Tokenizer, texts: tuple[str, ...], kind: UnitKind) -> Encoding:
    """One text, or a pair. Longer inputs than the tokenizer's truncation allows are cut, and the notice says where."""
    texts = tuple(text.encode("utf-8", "replace").decode() for text in texts)  # lone surrogates cannot be shown
    found = tokenizer.encode(texts[0], texts[1] if len(texts) > 1 else None)
    owners, units = _units(texts, found, kind)
    return Encoding(
        texts=texts,
        units=units,
        ids=tuple(found.ids),
        segments=tuple(found.type_ids),
        owners=owners,
        notice=_truncation(texts, found),
    )


def _spans(found: Tokens) -> list[tuple[int, int, int] | None]:
    """Per token its text's number and its characters; None for special tokens."""
    return [
        None if segment is None else (segment, start, end)
        for segment, (start, end) in zip(found.sequence_ids, found.offsets, strict=True)
    ]


def _units(texts: Sequence[str], found: Tokens, kind: UnitKind) -> tuple[tuple[int, ...], tuple[Unit, ...]]:
    """The owner of each token, and the units. A token that straddles two words makes one unit of both."""
    borders = [words(text) if kind == "word" else () for text in texts]
    owners: list[int] = []
    made: list[Unit] = []
    for span in _spans(found):
        if span is None:
            owners.append(FIXED)
            continue
        segment, start, end = span
        text = texts[segment]
        while start < end and text[start].isspace():  # byte-level tokenizers count the space before a word in
            start += 1
        if start >= end:  # a token of spaces alone is nothing that could be erased
            owners.append(FIXED)
            continue
        at = bisect_right(borders[segment], start, key=lambda border: border[1])  # the first word not yet over
        if at < len(borders[segment]) and borders[segment][at][0] < end:
            start, end = min(start, borders[segment][at][0]), max(end, borders[segment][at][1])
        last = made[-1] if made and made[-1].segment == segment else None
        if last and start < last.end:
            end = max(end, last.end)
            made[-1] = Unit(text[last.start : end], last.start, end, segment)
        else:
            made.append(Unit(text[start:end], start, end, segment))
        owners.append(len(made) - 1)
    return tuple(owners), tuple(made)


def _truncation(texts: Sequence[str], found: Tokens) -> str:
    if not found.overflowing:
        return ""
    read = [
        max((end for at, (_, end) in zip(found.sequence_ids, found.offsets, strict=True) if at == number), default=0)
        for number in range(len(texts))
    ]
    parts = " and ".join(f"{seen:,} of {len(text):,} characters" for seen, text in zip(read, texts, strict=True))
    return f"The text is too long for this model: it reads {parts}, and only these are explained."
