"""What is put under load: an app that is started or runs already, watched from outside, and a small model for it."""

import asyncio
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import psutil  # type: ignore[import-untyped]

from explainers.errors import ExplanationError
from explainers.studies.speed import measure

Query = dict[str, str | list[str]]  # an address after the question mark
Result = TypeVar("Result")

ENDING = 20.0  # seconds from asking the app to end to ending it
STATUS = "status"  # the folder of the store in which every app writes a file of its own
STALE = 60.0  # seconds after which it says nothing about now
ONE_LAYER = "one-layer"
LOCAL = ("127.0.0.1", "localhost", "::1")
ROOTS_VARIABLE = "CROSSLIGHT_MODELS"
WITHOUT_FITTED: Query = {"learned": ""}  # in the address: none of the methods that need fitted weights
NOT_LOCAL = "The load test only runs against an app on this machine. Give its address as 127.0.0.1, or use --start."
ONE_TARGET = "Give either the address of a running app (--url), or --start."
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
LONGEST = 64  # tokens
VOCABULARY = (
    "good bad film the was a not dull plot very story actor slow bright long short music quiet ending scene funny sad "
    "clever simple deep flat warm cold rich poor strong weak fresh old new first last best worst light dark great "
    "honest false loud soft plain sharp gentle rough early late young tired happy angry small"
)
WORDS = tuple(VOCABULARY.split())


@dataclass(frozen=True)
class Sample:
    """The server process at one moment: MB of memory, threads, share of one core since the last sample."""

    memory: float
    threads: int
    load: float
    status: dict[str, Any] | None = None


class Watched:
    """The server process, and its status file in the folder of its store."""

    def __init__(self, pid: int, store: Path | None = None) -> None:
        try:
            self.process = psutil.Process(pid)
        except psutil.NoSuchProcess as error:
            raise ExplanationError(f"There is no process {pid}. Give the number of the app's process.") from error
        self.store = store
        self.process.cpu_percent()

    def sample(self) -> Sample:
        """Raises `ExplanationError` when the process has ended."""
        try:
            with self.process.oneshot():
                memory, threads = self.process.memory_info().rss / 1e6, self.process.num_threads()
                return Sample(memory, threads, self.process.cpu_percent() / 100, self.status())
        except psutil.NoSuchProcess as error:
            raise ExplanationError("The app has ended during the test.") from error

    def status(self) -> dict[str, Any] | None:
        """What the app last wrote, None if it wrote nothing, or nothing lately."""
        for path in (self.store / STATUS).glob("*.json") if self.store is not None else ():
            try:
                content = json.loads(path.read_text(encoding="utf-8"))
                if content["process"] == self.process.pid and time.time() - content["written"] < STALE:
                    return dict(content)
            except (OSError, ValueError, KeyError, TypeError):
                continue  # replaced in this moment, or not the app's
        return None


@contextmanager
def started(environment: Mapping[str, str]) -> Iterator[tuple[str, Watched]]:
    """The app with a store of its own: its address and its process. Raises `ExplanationError` if it does not start."""
    port = measure.free_port()
    with tempfile.TemporaryDirectory(prefix="crosslight-load-") as name:
        store = Path(name)
        with (store / "app.log").open("wb") as log:
            app = subprocess.Popen(
                [*measure.COMMAND, f"--server.port={port}"],
                cwd=measure.ROOT,
                env={**os.environ, "CROSSLIGHT_STORE": name, **environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
            try:
                measure.wait_for(port)
                yield f"http://127.0.0.1:{port}/", Watched(app.pid, store)
            finally:
                _end(app)


def _end(app: "subprocess.Popen[bytes]") -> None:
    app.send_signal(signal.SIGTERM)
    try:
        app.wait(timeout=ENDING)
    except subprocess.TimeoutExpired:
        app.kill()
        app.wait()


async def watched(server: Watched | None, every: float, work: Awaitable[Result]) -> tuple[Result, list[Sample]]:
    """The result of `work`, and samples: one before, one every so many seconds, one after. None without a server.

    Raises `ExplanationError` if the server ends.
    """
    if server is None:
        return await work, []
    samples = [server.sample()]
    task = asyncio.ensure_future(work)
    try:
        while not (await asyncio.wait([task], timeout=every))[0]:
            samples.append(server.sample())
    finally:
        task.cancel()  # of no effect where it is done
    samples.append(server.sample())
    return task.result(), samples


@contextmanager
def target(
    url: str, model: str, pid: int = 0, store: Path | None = None
) -> Iterator[tuple[str, Query, Watched | None]]:
    """The app's address, the query of a tab, and the process where it is known. Without `url` an app is started.

    Raises `ExplanationError` with a sentence.
    """
    if url and urlsplit(url).hostname not in LOCAL:
        raise ExplanationError(NOT_LOCAL)
    with ExitStack() as stack:
        environment: dict[str, str] = {}
        query: Query = {"model": model}
        if model == ONE_LAYER:
            root = Path(os.environ.get(ROOTS_VARIABLE, ".").split(os.pathsep)[0]) if url else None
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="crosslight-model-", dir=root))
            query = {"model": str(write_one_layer(Path(folder).resolve() / ONE_LAYER)), **WITHOUT_FITTED}
            environment[ROOTS_VARIABLE] = folder
        if url:
            yield url, query, Watched(pid, store) if pid else None
        else:
            address, process = stack.enter_context(started(environment))
            yield address, query, process


def write_one_layer(folder: Path, seed: int = 0) -> Path:
    """Saves the model and its tokenizer, which knows the words of the test's texts, as anyone would for the hub."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    config = BertConfig(
        vocab_size=len(SPECIAL) + len(WORDS),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=LONGEST,
        id2label={0: "negative", 1: "positive"},
        label2id={"negative": 0, "positive": 1},
        initializer_range=0.4,  # large enough for every word to change the answer
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = BertForSequenceClassification(config)
    model.save_pretrained(folder)
    _save_tokenizer(folder)
    return folder


def _save_tokenizer(folder: Path) -> None:
    """A word-piece tokenizer of whole words; any other word is unknown."""
    from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
    from tokenizers.models import WordPiece
    from transformers import PreTrainedTokenizerFast

    vocabulary = {piece: number for number, piece in enumerate((*SPECIAL, *WORDS))}
    tokenizer = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=LONGEST,
        **{f"{name[1:-1].lower()}_token": name for name in SPECIAL},
    ).save_pretrained(folder)
