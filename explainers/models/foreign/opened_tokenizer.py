"""Opens the tokenizer of a foreign model in a process of its own; what comes back is plain data.

A Python process that answers lines of JSON: foreign files are read there, and a hang or a crash stays there.

The tokenizer of a foreign model, which lives in a process of its own.

A tokenizer.json is a program: its regular expressions may never come back, panic in Rust or fill the memory, on some
texts only. So the process has limits, and is started anew after it failed.
"""

import hashlib
import json
import os
import signal
import subprocess
import sys
import weakref
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event, Lock, Timer
from typing import Any

from explainers.errors import ExplanationError, ModelUnavailable
from explainers.installation import IMPORTED_FROM
from explainers.models.foreign import file_checks, process_limits
from explainers.models.inputs.encoding import MOST_WINDOWS, Tokens

GRACE = 2.0  # seconds that a process has to end by its own alarm, before it is killed
LONGEST_ANSWER = 2**28  # characters; a tokenizer of a million pieces takes a quarter
# it reads files that are already here, alone, in one thread
ENVIRONMENT = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1"}
ALARM = -getattr(signal, "SIGALRM", 0)  # the status of a process that its own alarm ended
KEPT_VARIABLES = (
    "PATH",
    "HOME",
    "LANG",
    "LD_LIBRARY_PATH",
    "SYSTEMROOT",
    "TMPDIR",
    "HF_HOME",
    "HF_HUB_CACHE",
    "XDG_CACHE_HOME",
)


class ProcessTimeout(Exception):
    """There was no answer in time."""


class ProcessEnded(Exception):
    """It ended without an answer: it crashed, or took too much memory."""


class RequestFailed(Exception):
    """It answered with an error; the message is that of the library."""


class LineProcess:
    """`module` is run with `-m` and answers by `process_limits`. It ends with this object, and with this process.

    One thread at a time. A process whose `ask` raised has ended, unless it answers in forks.
    """

    def __init__(self, module: str) -> None:
        paths = filter(None, (str(IMPORTED_FROM), os.environ.get("PYTHONPATH")))
        inherited = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}  # no secrets
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**inherited, **ENVIRONMENT, "PYTHONPATH": os.pathsep.join(paths)},
            encoding="utf-8",
            start_new_session=True,  # Ctrl-C is meant for us
        )
        self.close = weakref.finalize(self, _end, self._process, os.getpid())

    def is_running(self) -> bool:
        return self._process.poll() is None

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Raises `ProcessTimeout`, `ProcessEnded` or `RequestFailed`."""
        process = self._process
        stdin, stdout = process.stdin, process.stdout
        assert stdin is not None
        assert stdout is not None
        late = Event()

        def end() -> None:
            late.set()
            _kill(process)

        timer = Timer(seconds + GRACE, end)
        timer.daemon = True
        timer.start()
        try:
            stdin.write(json.dumps({**request, "seconds": seconds}) + "\n")
            stdin.flush()
            answer = json.loads(stdout.readline(LONGEST_ANSWER))
        except (OSError, ValueError) as error:  # the pipe is closed, or half an answer came
            _kill(process)
            if process.wait() == ALARM or late.is_set():
                raise ProcessTimeout from error
            raise ProcessEnded from error
        except BaseException:  # interrupted: the answer would be read as that to the next request
            _kill(process)
            process.wait()
            raise
        finally:
            timer.cancel()
        if late.is_set():  # just now
            process.wait()
            raise ProcessTimeout
        if "error" in answer:
            raise RequestFailed(answer["error"])
        if "ended" in answer:
            raise ProcessTimeout if answer["ended"] == "late" else ProcessEnded
        result: dict[str, Any] = answer
        return result


def _kill(process: "subprocess.Popen[str]") -> None:
    """Ends it and its forks, which are in its own group."""
    if process.poll() is not None:
        return
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):  # it has just ended
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


def _end(process: "subprocess.Popen[str]", owner: int) -> None:
    if os.getpid() != owner:  # a fork of this process must not end what still serves this one
        return
    _kill(process)
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):  # for what was not sent any more
                stream.close()


TOKENIZER_PROCESS = "explainers.models.foreign.tokenizer_process"
TOKENIZER_SECONDS = 10.0  # for one text; a thousand words take a hundredth of a second


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
    seconds: float = TOKENIZER_SECONDS
    _process: LineProcess | None = field(default=None, repr=False)
    _owner: int = field(default_factory=os.getpid, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def tokens(self, texts: Sequence[str]) -> Tokens:
        """The tokens of a text or of a pair. Raises `ExplanationError` if there is no answer, or an impossible one."""
        if self._owner != os.getpid():  # after a fork: the process and the lock are the parent's
            self._owner, self._process, self._lock = os.getpid(), None, Lock()
        with self._lock:
            answer = self._answer(list(texts))
        following = tuple(map(_tokens, answer["following"]))
        for part in (first := _tokens(answer), *following):
            self._check(part)
        return replace(first, following=following)

    def close(self) -> None:
        """Ends the process; the next text starts another."""
        process, self._process = self._process, None
        if process is not None:
            process.close()

    def _answer(self, texts: list[str]) -> dict[str, Any]:
        try:
            if self._process is None:
                self._process = LineProcess(TOKENIZER_PROCESS)
                self._process.ask({"tokenizer": self.serialised, "longest": self.longest}, self.seconds)
            return self._process.ask({"texts": texts, "windows": MOST_WINDOWS}, self.seconds)
        except BaseException as error:
            self.close()
            if isinstance(error, ProcessTimeout):
                why = f"did not finish within {self.seconds:g} s on this text."
            elif isinstance(error, ProcessEnded):
                why = "crashed or needed too much memory on this text."
            elif isinstance(error, RequestFailed):
                why = f"failed on this text: {file_checks.first_sentence(error)}"
            else:
                raise
            raise ExplanationError(
                f"The tokenizer of {self.name!r} {why} Change the text or choose another model."
            ) from error

    def _check(self, tokens: Tokens) -> None:
        wrong = [token_id for token_id in tokens.ids if token_id >= self.vocabulary]
        types = [] if self.types is None else [type_id for type_id in tokens.type_ids if type_id >= self.types]
        if not (wrong or types or len(tokens.ids) > self.longest):
            return
        if wrong:
            why = f"gives the token id {wrong[0]:,}, but the model has {self.vocabulary:,} tokens."
        elif types:
            why = f"numbers a text {types[0]}, but the model knows {self.types} kinds of text."
        else:
            why = f"gives {len(tokens.ids):,} tokens, but at most {self.longest:,} are read."
        raise ExplanationError(f"The tokenizer of {self.name!r} does not fit the model: it {why} Choose another model.")


def _tokens(answer: dict[str, Any]) -> Tokens:
    return Tokens(
        tuple(answer["ids"]),
        tuple(answer["type_ids"]),
        tuple(answer["sequence_ids"]),
        tuple((start, end) for start, end in answer["offsets"]),
        answer["truncated"],
    )


MODULE = "explainers.models.foreign.opening_process"
SECONDS = 60.0  # the import takes one to five; the conversion of a large sentencepiece model twenty
KEPT = 4  # opened tokenizers that are remembered by their files, at most some 20 MB each
MAX_TOKENS = 512  # tokens read at most, even by models with more positions: an explanation costs hundreds of passes
VOCABULARIES = (
    "tokenizer.json", "vocab.txt", "vocab.json", "vocab.bpe", "spm.model", "spiece.model", "sentencepiece.bpe.model",
    "sentencepiece.model", "tokenizer.model", "tiktoken.model",
)  # fmt: skip
CONFIG = "config.json"
SETTINGS = (
    "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "merges.txt", "chat_template.jinja", CONFIG
)  # fmt: skip
_idle: list[LineProcess] = []  # at most one, which has imported the library
_remembered: "OrderedDict[str, dict[str, Any]]" = OrderedDict()
_lock = Lock()


def _after_fork() -> None:
    """The pipes are the parent's, and a thread of it may hold the lock."""
    global _lock
    _lock = Lock()
    _idle.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


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
    rendered: str = ""  # the message that was given, in the chat format

    def isolated(self, config: Any, positions: int, most: int = MAX_TOKENS) -> IsolatedTokenizer:
        """The tokenizer of a model with this configuration. Raises `ModelUnavailable` if it does not fit."""
        text = config.get_text_config()
        if self.largest >= text.vocab_size:
            raise ModelUnavailable(
                f"The tokenizer of {self.name!r} has tokens up to number {self.largest:,}, but the model only "
                f"{text.vocab_size:,} embeddings. Use the tokenizer that the model was trained with."
            )
        types = getattr(text, "type_vocab_size", None) or None if self.segmented else None
        longest = min(self.longest, positions, most)
        return IsolatedTokenizer(self.name, self.serialised, longest, text.vocab_size, types)


class Opening:
    """A tokenizer that is being opened, while the caller loads the model."""

    def __init__(self, name: str, folder: Path, *, ends: bool = False, chat: str | None = None) -> None:
        if not any((folder / vocabulary).is_file() for vocabulary in VOCABULARIES):
            raise ModelUnavailable(
                f"{name!r} has no tokenizer: it needs one of {', '.join(VOCABULARIES[:4])} or a sentencepiece model. "
                "Save the tokenizer into the same folder."
            )
        for file in (*VOCABULARIES, *SETTINGS):
            file_checks.check_file_size(name, folder / file)
        self.name = name
        config = file_checks.read_config(name, folder / CONFIG) if (folder / CONFIG).is_file() else None
        self._request = {"folder": str(folder.resolve()), "ends": ends, "config": config, "chat": chat}
        self._key = _checksum(folder, f"{ends} {chat}")
        with _lock:
            self._answer = _remembered.get(self._key)
        self._process = None if self._answer else _taken()

    def result(self) -> OpenedTokenizer:
        """Waits for it. Raises `ModelUnavailable` with what is wrong."""
        answer = self._answer or self._answered()
        if not answer["fast"]:
            raise ModelUnavailable(f"{self.name!r} has no fast tokenizer, so its tokens have no positions in the text.")
        if answer["words"] < 1:
            raise ModelUnavailable(f"The tokenizer of {self.name!r} knows no words. Save the model's own beside it.")
        if self._request["chat"] is None:
            self._remember(answer)
        fields = {name: value for name, value in answer.items() if name not in ("fast", "words", "tokenizer")}
        return OpenedTokenizer(name=self.name, serialised=answer["tokenizer"], **fields)

    def _remember(self, answer: dict[str, Any]) -> None:
        with _lock:
            _remembered[self._key] = answer
            while len(_remembered) > KEPT:
                _remembered.popitem(last=False)

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            _put_back(process)

    def _answered(self) -> dict[str, Any]:
        assert self._process is not None
        try:
            return self._process.ask(self._request, SECONDS)
        except ProcessTimeout as error:
            raise self._unavailable(f"did not open within {SECONDS:g} s.") from error
        except ProcessEnded as error:
            raise self._unavailable("crashed or needed too much memory when it was opened.") from error
        except RequestFailed as error:
            raise self._unavailable(f"could not be loaded: {file_checks.first_sentence(error)}") from error

    def _unavailable(self, why: str) -> ModelUnavailable:
        return ModelUnavailable(f"The tokenizer of {self.name!r} {why} Choose another model.")


def _taken() -> LineProcess:
    with _lock:
        kept = _idle.pop() if _idle else None
    return kept if kept is not None and kept.is_running() else LineProcess(MODULE)


def _put_back(process: LineProcess) -> None:
    """Where it answered in itself instead of in a fork, it ends: what it has read may have left anything behind."""
    if process_limits.can_fork() and process.is_running():
        with _lock:
            if not _idle:
                _idle.append(process)
                return
    process.close()


@contextmanager
def opening(name: str, folder: Path, *, ends: bool = False, chat: str | None = None) -> Iterator[Opening]:
    """The block need not take the result. With `chat`, this message is put into the chat format of the tokenizer.

    Raises `ModelUnavailable` if the folder holds no tokenizer.
    """
    started = Opening(name, folder, ends=ends, chat=chat)
    try:
        yield started
    finally:
        started.close()


def _checksum(folder: Path, options: str) -> str:
    digest = hashlib.sha256(options.encode())
    for name in (*VOCABULARIES, *SETTINGS):
        if (folder / name).is_file():
            digest.update(name.encode() + hashlib.sha256((folder / name).read_bytes()).digest())
    return digest.hexdigest()
