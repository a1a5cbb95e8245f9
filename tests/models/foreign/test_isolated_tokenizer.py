"""Tokenizers that hang, panic or fill the memory on some texts, in a process of their own."""

import gc
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers, processors

from explainers.errors import ExplanationError
from explainers.models.foreign.opened_tokenizer import IsolatedTokenizer, LineProcess
from explainers.models.inputs.encoding import encode

PIECES = ("good", "bad", "film", "un", "##watch", "##able")
Isolated = Callable[..., IsolatedTokenizer]
Make = Callable[[Tokenizer], None]


@pytest.fixture
def tokenizer(pieces_tokenizer: Callable[[tuple[str, ...]], Tokenizer]) -> Tokenizer:
    return pieces_tokenizer(PIECES)


@pytest.fixture
def isolated(tokenizer: Tokenizer) -> Iterator[Isolated]:
    """The tokenizer in a process of its own, at most 8 tokens of 11; `limits` replace those of the object."""
    started = []

    def start(**limits: Any) -> IsolatedTokenizer:
        fields = {"longest": 8, "vocabulary": 11, "types": 2} | limits
        started.append(IsolatedTokenizer("owner/model", tokenizer.to_str(), **fields))
        return started[-1]

    yield start
    for isolated_tokenizer in started:
        isolated_tokenizer.close()


@pytest.mark.parametrize(
    "texts",
    [
        ("good unwatchable film",),
        ("bad 🎬 film", "good\tnaïve"),
        ("",),
        ("good " * 20,),
        ("good " * 200,),
        ("x" * 999, "good"),
    ],
)
def test_it_says_what_the_tokenizer_says(isolated: Isolated, tokenizer: Tokenizer, texts: tuple[str, ...]) -> None:
    tokenizer.enable_truncation(8, strategy="longest_first")
    ours = isolated()
    for unit in ("word", "token"):
        for windows in (False, True):
            assert encode(ours, texts, unit, windows=windows) == encode(tokenizer, texts, unit, windows=windows)


def endless(tokenizer: Tokenizer) -> None:
    """Makes a million letters of one, and looks through them a thousand times."""
    longer = [normalizers.Replace("q", "q" * 1000) for _ in range(2)]
    tokenizer.normalizer = normalizers.Sequence([*longer, *(normalizers.Replace("q", "q") for _ in range(1000))])


def hungry(tokenizer: Tokenizer) -> None:
    tokenizer.normalizer = normalizers.Sequence([normalizers.Replace("q", "q" * 100) for _ in range(4)])


def panicking(tokenizer: Tokenizer) -> None:
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"(a+)+$|(a|aa)+b"), "isolated")


@pytest.mark.parametrize(
    ("make", "text", "seconds", "sentence"),
    [
        (endless, "q", 3, r"The tokenizer of 'owner/model' did not finish within 3 s on this text\."),
        (panicking, "a" * 60 + "!", 10, "The tokenizer of 'owner/model' failed on this text: "),
        pytest.param(hungry, "q", 120, "crashed or needed too much memory on this text", marks=pytest.mark.slow),
    ],
)
def test_a_text_that_a_tokenizer_cannot_stand_is_a_sentence_and_the_next_is_read(
    isolated: Isolated,
    tokenizer: Tokenizer,
    make: Make,
    text: str,
    seconds: float,
    sentence: str,
) -> None:
    make(tokenizer)
    ours, started = isolated(seconds=seconds), time.monotonic()
    with pytest.raises(ExplanationError, match=sentence):
        ours.tokens([text])
    assert time.monotonic() - started < seconds + 20
    assert ours.tokens(["good"]).ids == tuple(tokenizer.encode("good").ids)


def test_a_tokenizer_that_does_not_open_is_a_sentence() -> None:
    broken = IsolatedTokenizer("owner/model", '{"model": 1}', longest=8, vocabulary=9)
    with pytest.raises(ExplanationError, match="The tokenizer of 'owner/model' failed on this text"):
        broken.tokens(["good"])


def template(single: str, number: int) -> processors.TemplateProcessing:
    return processors.TemplateProcessing(single=single, special_tokens=[("[CLS]", number)])


@pytest.mark.parametrize(
    ("post_processor", "sentence"),
    [
        (template("[CLS] $A", 10**6), r"gives the token id 1,000,000, but the model has 11 tokens"),
        (template("[CLS]:7 $A", 2), "numbers a text 7, but the model knows 2 kinds of text"),
    ],
)
def test_ids_that_the_model_has_no_row_for_are_refused(
    isolated: Isolated, tokenizer: Tokenizer, post_processor: processors.TemplateProcessing, sentence: str
) -> None:
    tokenizer.post_processor = post_processor
    with pytest.raises(ExplanationError, match=sentence):
        isolated().tokens(["good"])


def test_many_threads_get_their_own_answers(isolated: Isolated, tokenizer: Tokenizer) -> None:
    tokenizer.enable_truncation(8)
    texts = [" ".join(PIECES[:3][: number % 4]) for number in range(64)]
    ours = isolated()
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda text: ours.tokens([text]).ids, texts))
    assert answers == [tuple(tokenizer.encode(text).ids) for text in texts]


def test_a_killed_process_is_replaced(isolated: Isolated) -> None:
    ours = isolated()
    expected = ours.tokens(["good film"])
    os.kill(process_id(ours), signal.SIGKILL)
    with pytest.raises(ExplanationError, match="crashed"):
        ours.tokens(["good film"])
    assert ours.tokens(["good film"]) == expected


def test_a_fork_has_a_process_of_its_own(isolated: Isolated) -> None:
    ours = isolated()
    expected = ours.tokens(["good film"])
    child = os.fork()
    if not child:
        os._exit(0 if ours.tokens(["good film"]) == expected and ours._process else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert ours.tokens(["good film"]) == expected


def test_the_process_ends_with_the_model(isolated: Isolated, tokenizer: Tokenizer) -> None:
    ours = IsolatedTokenizer("owner/model", tokenizer.to_str(), longest=8, vocabulary=11)
    ours.tokens(["good"])
    number = process_id(ours)
    del ours
    gc.collect()
    assert not is_running(number)


def test_the_process_ends_with_ours(tokenizer: Tokenizer) -> None:
    process = LineProcess("explainers.models.foreign.tokenizer_process")
    process.ask({"tokenizer": tokenizer.to_str(), "longest": 8}, 10)
    assert process._process.stdin is not None
    process._process.stdin.close()  # as the system closes it when we end
    assert process._process.wait(timeout=10) == 0


def test_secrets_are_not_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTGRES_PASSWORD", "postgresql secret")
    process = LineProcess("explainers.models.foreign.tokenizer_process")
    with open(f"/proc/{process._process.pid}/environ") as file:
        assert "postgresql" not in file.read()
    process.close()


def process_id(isolated: IsolatedTokenizer) -> int:
    assert isolated._process is not None
    return isolated._process._process.pid


def is_running(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True
