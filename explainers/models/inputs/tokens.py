"""What a tokenizer says of a text, wherever it ran."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tokenizers import Encoding as LibraryTokens
from tokenizers import Tokenizer


@dataclass(frozen=True)
class Tokens:
    """Per token its id, the number of its text by the model and by position, and its characters (start, end)."""

    ids: tuple[int, ...]
    type_ids: tuple[int, ...]
    sequence_ids: tuple[int | None, ...]  # None for special tokens
    offsets: tuple[tuple[int, int], ...]
    truncated: bool


class TextTokenizer(Protocol):
    """Anything that reads a text or a pair; a `tokenizers.Tokenizer` is read by `tokens_of`."""

    def tokens(self, texts: Sequence[str]) -> Tokens: ...


def tokens_of(tokenizer: Tokenizer | TextTokenizer, texts: Sequence[str]) -> Tokens:
    """The tokens of one text, or of a pair."""
    if not isinstance(tokenizer, Tokenizer):
        return tokenizer.tokens(texts)
    tokens: LibraryTokens = tokenizer.encode(texts[0], texts[1] if len(texts) > 1 else None)
    return Tokens(
        tuple(tokens.ids),
        tuple(tokens.type_ids),
        tuple(tokens.sequence_ids),
        tuple(tokens.offsets),
        bool(tokens.overflowing),
    )
