"""The process in which a foreign tokenizer reads texts. It imports nothing but `tokenizers`, and starts at once."""

from typing import Any

from tokenizers import Encoding, Tokenizer

from explainers.models.foreign.process_limits import limit_memory, serve

MEMORY = 2**31  # bytes; the largest vocabularies in use take a quarter, and a text some thousand pieces


class TokenizerRequests:
    """{"tokenizer", "longest"} opens one; {"texts", "windows"} then encodes a pair, or a text in so many windows."""

    def __init__(self) -> None:
        self.tokenizer: Tokenizer | None = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        if self.tokenizer is None:
            self.tokenizer = Tokenizer.from_str(request["tokenizer"])
            self.tokenizer.no_padding()
            self.tokenizer.enable_truncation(request["longest"], strategy="longest_first")
            return {}
        tokens = self.tokenizer.encode(*request["texts"])
        rest = tokens.overflowing if len(request["texts"]) == 1 else []
        following = [
            _plain(part, truncated=len(rest) > number == request["windows"] - 1)
            for number, part in enumerate(rest[: request["windows"] - 1], 1)
        ]
        return {**_plain(tokens, truncated=bool(tokens.overflowing)), "following": following}


def _plain(tokens: Encoding, *, truncated: bool) -> dict[str, Any]:
    return {
        "ids": tokens.ids,
        "type_ids": tokens.type_ids,
        "offsets": tokens.offsets,
        "sequence_ids": tokens.sequence_ids,
        "truncated": truncated,
    }


if __name__ == "__main__":
    limit_memory(MEMORY)
    serve(TokenizerRequests().answer)
