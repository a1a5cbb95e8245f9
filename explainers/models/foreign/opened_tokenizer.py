"""Opens the tokenizer of a foreign model in a process of its own; what comes back is plain data."""

import hashlib
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from explainers.errors import ModelUnavailable
from explainers.models.foreign.config_limits import read_config
from explainers.models.foreign.file_checks import check_file_size
from explainers.models.foreign.isolated_tokenizer import IsolatedTokenizer
from explainers.models.foreign.line_process import LineProcess, ProcessEnded, ProcessTimeout, RequestFailed
from explainers.models.foreign.sentences import first_sentence

MODULE = "explainers.models.foreign.opening_process"
SECONDS = 60.0  # the import takes one to five; the conversion of a large sentencepiece model twenty
KEPT = 4  # opened tokenizers that are remembered by their files, at most some 20 MB each
MAX_TOKENS = 512  # tokens read at most, even by models with more positions: an explanation costs hundreds of passes
VOCABULARIES = (
    "tokenizer.json", "vocab.txt", "vocab.json", "vocab.bpe", "spm.model", "spiece.model", "sentencepiece.bpe.model",
    "sentencepiece.model", "tokenizer.model", "tiktoken.model",
)  # fmt: skip
CONFIG = "config.json"
SETTINGS = ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "merges.txt", CONFIG)
_remembered: "OrderedDict[str, dict[str, Any]]" = OrderedDict()
_lock = Lock()


@dataclass(frozen=True)
class OpenedTokenizer:
    """A tokenizer.json as text, and what the library says of it. Ids are None where there is no such token."""

    name: str
    serialised: str
    longest: int  # tokens, by the tokenizer's own settings
    segmented: bool  # whether the model is to read the numbers of the texts
    largest: int  # the largest id
    mask: int | None
    unk: int | None
    pad: int | None
    bos: int | None
    eos: int | None
    stop: int | None  # the first token of a full stop

    def isolated(self, config: Any, positions: int) -> IsolatedTokenizer:
        """The tokenizer of a model with this configuration. Raises `ModelUnavailable` if it does not fit."""
        text = config.get_text_config()
        if self.largest >= text.vocab_size:
            raise ModelUnavailable(
                f"The tokenizer of {self.name!r} has tokens up to number {self.largest:,}, but the model only "
                f"{text.vocab_size:,} embeddings. Use the tokenizer that the model was trained with."
            )
        types = getattr(text, "type_vocab_size", None) or None if self.segmented else None
        longest = min(self.longest, positions, MAX_TOKENS)
        return IsolatedTokenizer(self.name, self.serialised, longest, text.vocab_size, types)


class Opening:
    """A tokenizer that is being opened, while the caller loads the model."""

    def __init__(self, name: str, folder: Path, *, ends: bool = False) -> None:
        if not any((folder / each).is_file() for each in VOCABULARIES):
            raise ModelUnavailable(
                f"{name!r} has no tokenizer: it needs one of {', '.join(VOCABULARIES[:4])} or a sentencepiece model. "
                "Save the tokenizer into the same folder."
            )
        for each in (*VOCABULARIES, *SETTINGS):
            check_file_size(name, folder / each)
        self.name = name
        config = read_config(name, folder / CONFIG) if (folder / CONFIG).is_file() else None
        self._request = {"folder": str(folder.resolve()), "ends": ends, "config": config}
        self._key = _checksum(folder, ends)
        with _lock:
            self._answer = _remembered.get(self._key)
        self._process = None if self._answer else LineProcess(MODULE)

    def result(self) -> OpenedTokenizer:
        """Waits for it. Raises `ModelUnavailable` with what is wrong."""
        answer = self._answer or self._answered()
        if not answer["fast"]:
            raise ModelUnavailable(f"{self.name!r} has no fast tokenizer, so its tokens have no positions in the text.")
        if answer["words"] < 1:
            raise ModelUnavailable(f"The tokenizer of {self.name!r} knows no words. Save the model's own beside it.")
        with _lock:
            _remembered[self._key] = answer
            while len(_remembered) > KEPT:
                _remembered.popitem(last=False)
        fields = {name: value for name, value in answer.items() if name not in ("fast", "words", "tokenizer")}
        return OpenedTokenizer(name=self.name, serialised=answer["tokenizer"], **fields)

    def close(self) -> None:
        if self._process is not None:
            self._process.close()

    def _answered(self) -> dict[str, Any]:
        assert self._process is not None
        try:
            return self._process.ask(self._request, SECONDS)
        except ProcessTimeout as error:
            raise self._unavailable(f"did not open within {SECONDS:g} s.") from error
        except ProcessEnded as error:
            raise self._unavailable("crashed or needed too much memory when it was opened.") from error
        except RequestFailed as error:
            raise self._unavailable(f"could not be loaded: {first_sentence(error)}") from error

    def _unavailable(self, why: str) -> ModelUnavailable:
        return ModelUnavailable(f"The tokenizer of {self.name!r} {why} Choose another model.")


@contextmanager
def opening(name: str, folder: Path, *, ends: bool = False) -> Iterator[Opening]:
    """The process ends with the block. Raises `ModelUnavailable` if the folder holds no tokenizer."""
    started = Opening(name, folder, ends=ends)
    try:
        yield started
    finally:
        started.close()


def _checksum(folder: Path, ends: bool) -> str:
    digest = hashlib.sha256(str(ends).encode())
    for name in (*VOCABULARIES, *SETTINGS):
        if (folder / name).is_file():
            digest.update(name.encode() + hashlib.sha256((folder / name).read_bytes()).digest())
    return digest.hexdigest()
