"""A text inside a template, and the examples in it: the template is never a unit, its examples can be.

Blank lines cut a template into blocks. The block with the slot is the question, and goes on after its last slot: there
the answer is asked for. An example is a block before it that reads like the question with a text in every slot and an
answer behind it. Other blocks, such as an instruction, are the template's own text and never units.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from explainers.errors import ExplanationError
from explainers.memoized import memoized
from explainers.models.inputs.encoding import TextTokenizer, Tokens
from explainers.models.prompt import PAIR, TEXT, PromptError

MOST_TEXT_TOKENS = 512  # of the person's texts
MARGIN = 4  # tokens by which a text inside a template may differ from the text alone

BLOCK = re.compile(r"[^\n]*\S[^\n]*(?:\n[^\n]*\S[^\n]*)*")
NO_EXAMPLES = (
    "The prompt has no examples that could be explained. An example is a block of the template, between blank lines, "
    "that reads like the one with {text}, with a text and an answer filled in; after the text the block must go on, as "
    "with “Label:”."
)
SEVERAL = "Two examples of the prompt stand in one block. Put a blank line between them."


@dataclass(frozen=True)
class PromptTokenizer:
    """`pieces` are what stands before, between and after the texts; `longest` tokens are read at most.

    A text that is too long is cut, the longer one of a pair first, so that the template stays whole. A token that holds
    a space of the template and the beginning of a text belongs to the text. One that joins a text with other characters
    of the template belongs to the template, which is never erased.
    """

    name: str
    tokenizer: TextTokenizer
    pieces: tuple[str, ...]
    longest: int

    @memoized
    def ending(self) -> int:
        """With how many tokens of its own the tokenizer ends a text."""
        owners = self.tokenizer.tokens(["A test."]).sequence_ids
        return next((count for count, owner in enumerate(reversed(owners)) if owner is not None), len(owners))

    def tokens(self, texts: Sequence[str]) -> Tokens:
        """The tokens of one text or of a pair, and of the template around. Raises `ExplanationError`."""
        if len(texts) != len(self.pieces) - 1:
            wanted = "one text" if len(self.pieces) == 2 else "two texts"
            raise ExplanationError(f"The prompt of {self.name} has a slot for {wanted}, not for {len(texts)}.")
        cut = self._cut(texts)
        filled = self._filled(cut)
        if filled.truncated:
            raise ExplanationError(f"The text does not fit into the prompt of {self.name}. Shorten it.")
        return Tokens(filled.ids, filled.type_ids, filled.sequence_ids, filled.offsets, truncated=cut != list(texts))

    def characters(self, texts: Sequence[str]) -> tuple[tuple[int, int] | None, ...]:
        """Which characters of the filled template each of the `tokens` has; None for those that stand for none."""
        tokens = self._read(self._whole(self._cut(texts))[0])
        return tuple(
            None if number is None else span for number, span in zip(tokens.sequence_ids, tokens.offsets, strict=True)
        )

    def _cut(self, texts: Sequence[str]) -> list[str]:
        """The texts without what does not fit."""
        alone = [self._read(text) for text in texts]
        counts = [sum(number is not None for number in tokens.sequence_ids) for tokens in alone]
        room = min(MOST_TEXT_TOKENS, self.longest - len(self.empty()) - MARGIN)
        kept = _shared_out(counts, room) if sum(counts) > room or any(t.truncated for t in alone) else counts
        return [
            text if count == most and not tokens.truncated else text[: _end(tokens, most)]
            for text, tokens, count, most in zip(texts, alone, counts, kept, strict=True)
        ]

    def check_template(self) -> None:
        """Raises `PromptError` if the template has no tokens, or leaves no room for a text."""
        tokens = self._read("".join(self.pieces))
        if not tokens.ids:
            raise PromptError("The template needs words beside the text, which ask for an answer.")
        if tokens.truncated or len(tokens.ids) > self.longest - 2 * MARGIN:
            raise PromptError(
                f"The prompt is longer than {self.name} reads ({self.longest:,} tokens). Shorten the template."
            )

    def shared_prefix(self) -> tuple[int, ...]:
        """The ids before the first text, which are the same for every text."""
        others = len(self.pieces) - 2
        first, second = (self._filled([text, *[text] * others]) for text in ("A test.", "7"))
        shared: list[int] = []
        for one, other, owner in zip(first.ids, second.ids, first.sequence_ids, strict=False):
            if one != other or (owner is not None):
                break
            shared.append(one)
        return tuple(shared)

    def empty(self) -> tuple[int, ...]:
        """The ids of the template with empty texts."""
        return self._read("".join(self.pieces)).ids

    def continuation(self, word: str, *, space: bool) -> tuple[tuple[int, ...], tuple[str, ...]]:
        """The ids that `word` has after the template, and their characters. Raises `PromptError` if they are not its
        own."""
        sample = "A test.".join(self.pieces)
        whole = f"{sample}{' ' if space else ''}{word}"
        before, after = self._read(sample), self._read(whole)
        start = len(before.ids)
        if after.ids[:start] != before.ids or len(after.ids) == start:
            raise PromptError(
                f"The word {word!r} cannot be told from the end of the template: the tokenizer of {self.name} joins "
                "them. End the template with a colon, or choose another word."
            )
        return after.ids[start:], tuple(whole[first:last] for first, last in after.offsets[start:])

    def ids_behind(self, before: str, word: str) -> tuple[int, ...]:
        """The ids that `word` has behind `before` and a space. Raises `ExplanationError` if they are not its own."""
        first, both = self._read(before).ids, self._read(f"{before} {word}").ids
        if both[: len(first)] != first or len(both) == len(first):
            raise ExplanationError(
                f"The tokenizer of {self.name} joins {word!r} with what stands before it, so that its probability "
                "cannot be read. Omit the method, or choose another model."
            )
        return both[len(first) :]

    def _read(self, text: str) -> Tokens:
        """The tokens of a text, without those with which the tokenizer ends one: the answer follows."""
        tokens = self.tokenizer.tokens([text])
        count = len(tokens.ids) - self.ending
        return Tokens(
            tokens.ids[:count],
            tokens.type_ids[:count],
            tokens.sequence_ids[:count],
            tokens.offsets[:count],
            tokens.truncated,
        )

    def _whole(self, texts: Sequence[str]) -> tuple[str, list[tuple[int, int]]]:
        """The filled template, and the characters of each text in it."""
        whole, spans = self.pieces[0], list[tuple[int, int]]()
        for text, piece in zip(texts, self.pieces[1:], strict=True):
            spans.append((len(whole), len(whole) + len(text)))
            whole += text + piece
        return whole, spans

    def _filled(self, texts: Sequence[str]) -> Tokens:
        whole, spans = self._whole(texts)
        tokens = self._read(whole)
        owners = [
            None if number is None else _owner(whole, offsets, spans)
            for number, offsets in zip(tokens.sequence_ids, tokens.offsets, strict=True)
        ]
        offsets = tuple(
            (0, 0) if owner is None else (max(0, start - spans[owner][0]), min(end, spans[owner][1]) - spans[owner][0])
            for owner, (start, end) in zip(owners, tokens.offsets, strict=True)
        )
        return Tokens(tokens.ids, (0,) * len(tokens.ids), tuple(owners), offsets, tokens.truncated)


def _owner(whole: str, offsets: tuple[int, int], spans: Iterable[tuple[int, int]]) -> int | None:
    """The number of the text whose characters are all that the token has, but for spaces before the text."""
    start, end = offsets
    own = ((number, first) for number, (first, last) in enumerate(spans) if start < last and first < end <= last)
    return next((number for number, first in own if not whole[start : max(start, first)].strip(" ")), None)


def _shared_out(counts: Sequence[int], room: int) -> list[int]:
    """How many tokens of each text are kept: the longer one gives first."""
    kept = list(counts)
    while sum(kept) > room:
        longest = kept.index(max(kept))
        others = max((count for number, count in enumerate(kept) if number != longest), default=0)
        kept[longest] = max(room - (sum(kept) - kept[longest]), min(others, room // len(kept)))
    return kept


def _end(tokens: Tokens, most: int) -> int:
    """Where the first `most` tokens of a text end, in characters."""
    spans = [offsets for number, offsets in zip(tokens.sequence_ids, tokens.offsets, strict=True) if number is not None]
    return spans[most - 1][1] if most else 0


class PromptExample(NamedTuple):
    """Its characters `start` to `end` in the template; it is erased with the blank lines up to `stop`."""

    start: int
    end: int
    stop: int


def prompt_examples(template: str) -> tuple[PromptExample, ...]:
    """The examples in a template, in order. Raises `ExplanationError` where there are none, or two in one block."""
    blocks = [match.span() for match in BLOCK.finditer(template)]
    slot = template.index(TEXT)
    question = next(number for number, (_, end) in enumerate(blocks) if slot < end)
    around = re.split(f"{re.escape(TEXT)}|{re.escape(PAIR)}", template[slice(*blocks[question])])
    around = [part.strip() for part in around]
    if not around[-1]:  # the answer is asked for in another block, or every block with a text would read like it
        raise ExplanationError(NO_EXAMPLES)
    alike = re.compile(r"\s*\S.*?\s*".join(map(re.escape, around)) + r"\s*\S.*", re.DOTALL)
    begin = re.compile(f"^{re.escape(around[0])}" if around[0] else re.escape(next(filter(None, around))), re.MULTILINE)
    examples = []
    for number, (start, end) in enumerate(blocks[:question]):
        block = template[start:end]
        if alike.fullmatch(block.strip()):
            if len(begin.findall(block)) > 1:
                raise ExplanationError(SEVERAL)
            examples.append(PromptExample(start, end, blocks[number + 1][0]))
    if not examples:
        raise ExplanationError(NO_EXAMPLES)
    return tuple(examples)


def has_examples(template: str) -> bool:
    """Return whether a template has examples that can be told apart."""
    try:
        return bool(prompt_examples(template))
    except ExplanationError:
        return False
