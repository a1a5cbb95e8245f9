"""The tokenizer of a foreign model, which lives in a process of its own.

A tokenizer.json is a program: its regular expressions may never come back, panic in Rust or fill the memory, on some
texts only. So the process has limits, and is started anew after it failed.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from explainers.errors import ExplanationError
from explainers.models.foreign.line_process import LineProcess, ProcessEnded, ProcessTimeout, RequestFailed
from explainers.models.foreign.sentences import first_sentence
from explainers.models.inputs.tokens import Tokens

MODULE = "explainers.models.foreign.tokenizer_process"
SECONDS = 10.0  # for one text; a thousand words take a hundredth of a second


@dataclass(eq=False)
class IsolatedTokenizer:
    """`serialised` is a tokenizer.json as text; at most `longest` tokens of an input are read.

    `vocabulary` and `types` are how many ids and types of text the model knows; others end in a sentence, because the
    model's tables have no row for them.
    """

    name: str
    serialised: str = field(repr=False)
    longest: int
    vocabulary: int
    types: int | None = None  # None where the model does not read them
    seconds: float = SECONDS
    _process: LineProcess | None = field(default=None, repr=False)
    _owner: int = field(default_factory=os.getpid, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def tokens(self, texts: Sequence[str]) -> Tokens:
        """The tokens of a text or of a pair. Raises `ExplanationError` if there is no answer, or an impossible one."""
        if self._owner != os.getpid():  # after a fork: the process and the lock are the parent's
            self._owner, self._process, self._lock = os.getpid(), None, Lock()
        with self._lock:
            answer = self._answer(list(texts))
        tokens = Tokens(
            tuple(answer["ids"]),
            tuple(answer["type_ids"]),
            tuple(answer["sequence_ids"]),
            tuple((start, end) for start, end in answer["offsets"]),
            answer["truncated"],
        )
        self._check(tokens)
        return tokens

    def close(self) -> None:
        """Ends the process; the next text starts another."""
        process, self._process = self._process, None
        if process is not None:
            process.close()

    def _answer(self, texts: list[str]) -> dict[str, Any]:
        try:
            if self._process is None:
                self._process = LineProcess(MODULE)
                self._process.ask({"tokenizer": self.serialised, "longest": self.longest}, self.seconds)
            return self._process.ask({"texts": texts}, self.seconds)
        except BaseException as error:
            self.close()
            if isinstance(error, ProcessTimeout):
                why = f"did not finish within {self.seconds:g} s on this text."
            elif isinstance(error, ProcessEnded):
                why = "crashed or needed too much memory on this text."
            elif isinstance(error, RequestFailed):
                why = f"failed on this text: {first_sentence(error)}"
            else:
                raise
            raise ExplanationError(
                f"The tokenizer of {self.name!r} {why} Change the text or choose another model."
            ) from error

    def _check(self, tokens: Tokens) -> None:
        wrong = [each for each in tokens.ids if each >= self.vocabulary]
        types = [] if self.types is None else [each for each in tokens.type_ids if each >= self.types]
        if not (wrong or types or len(tokens.ids) > self.longest):
            return
        if wrong:
            why = f"gives the token id {wrong[0]:,}, but the model has {self.vocabulary:,} tokens."
        elif types:
            why = f"numbers a text {types[0]}, but the model knows {self.types} kinds of text."
        else:
            why = f"gives {len(tokens.ids):,} tokens, but at most {self.longest:,} are read."
        raise ExplanationError(f"The tokenizer of {self.name!r} does not fit the model: it {why} Choose another model.")
