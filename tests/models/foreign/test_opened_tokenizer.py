import json
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from explainers.errors import ExplanationError, ModelUnavailable
from explainers.models.catalog import load
from explainers.models.foreign import opened_tokenizer
from explainers.models.foreign.opened_tokenizer import (
    LineProcess,
    Opening,
    ProcessEnded,
    ProcessTimeout,
    RequestFailed,
    opening,
)

Change = Callable[[dict[str, object]], None]


@pytest.fixture
def changed(hub_folder: Path) -> Callable[[Change], Path]:
    """The folder with another tokenizer.json."""

    def change(apply: Change) -> Path:
        path = hub_folder / "tokenizer.json"
        content = json.loads(path.read_text())
        apply(content)
        path.write_text(json.dumps(content))
        return hub_folder

    return change


def test_what_is_said_of_a_tokenizer(hub_folder: Path) -> None:
    with opening("small", hub_folder) as started:
        opened = started.result()
    assert (opened.mask, opened.unk, opened.pad, opened.largest, opened.segmented) == (4, 1, 0, 19, True)


def test_the_same_files_are_opened_once(hub_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opening("small", hub_folder) as started:
        first = started.result()
    monkeypatch.setattr(opened_tokenizer, "_taken", lambda: pytest.fail("a process was asked"))
    with opening("small", hub_folder) as started:
        assert started.result() == first


def test_a_vocabulary_without_a_tokenizer_json_is_converted(hub_folder: Path) -> None:
    words = json.loads((hub_folder / "tokenizer.json").read_text())["model"]["vocab"]
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (hub_folder / name).unlink()
    (hub_folder / "vocab.txt").write_text("\n".join(words) + "\n")
    encoding = load(str(hub_folder), device="cpu").encode("the good film was unwatchable!")
    assert [unit.text for unit in encoding.units] == ["the", "good", "film", "was", "unwatchable", "!"]


def nothing(content: dict[str, object]) -> None:
    content["model"] = {"type": "WordLevel", "vocab": {"[UNK]": 0}, "unk_token": "[UNK]"}
    content["added_tokens"] = []


def test_a_tokenizer_of_special_tokens_alone_is_refused(changed: Callable[[Change], Path]) -> None:
    with pytest.raises(ModelUnavailable, match="knows no words"):
        load(str(changed(nothing)))


def evil_regex(content: dict[str, object]) -> None:
    content["pre_tokenizer"] = {"type": "Split", "pattern": {"Regex": "("}, "behavior": "Isolated", "invert": False}


def unreadable(content: dict[str, object]) -> None:
    content["model"] = {"type": "nothing"}


@pytest.mark.parametrize("change", [evil_regex, unreadable])
def test_a_damaged_tokenizer_is_a_sentence(changed: Callable[[Change], Path], change: Change) -> None:
    with pytest.raises(ModelUnavailable, match=r"The tokenizer of .* could not be loaded: ") as raised:
        load(str(changed(change)))
    assert "\n" not in str(raised.value)


def endless(content: dict[str, object]) -> None:
    step = {"type": "Replace", "pattern": {"String": "e"}, "content": "e" * 100}
    content["normalizer"] = {"type": "Sequence", "normalizers": [step] * 8}


@pytest.mark.slow
def test_a_hostile_tokenizer_is_noticed_before_anybody_gets_the_model(changed: Callable[[Change], Path]) -> None:
    folder = changed(endless)
    with pytest.raises(ExplanationError, match=r"The tokenizer of .* (did not finish|crashed)"):
        load(str(folder))


def test_the_next_files_are_opened_by_the_same_process(hub_folder: Path) -> None:
    (hub_folder / "merges.txt").write_text("files that are remembered nowhere")
    with opening("small", hub_folder) as started:
        first = started._process
        started.result()
    (hub_folder / "merges.txt").write_text("other files, so that nothing is remembered")
    with opening("small", hub_folder) as started:
        assert first is not None
        assert started._process is first
        with opening("small", hub_folder) as beside:
            assert beside._process is not first
            assert beside.result() == started.result()


ANSWERS = """
import os, time
from explainers.models.foreign import process_limits

def answer(request):
    match request["do"]:
        case "wait":
            time.sleep(60)
        case "fill":
            return {"never": len(bytearray(2**30))}
        case "crash":
            os.abort()
        case "fail":
            raise ValueError("no such file")
        case "leave":
            os._exit(0)
        case "answer and crash":
            process_limits._alarm = lambda _seconds: os.abort()  # after the answer
    return {"process": os.getpid()}

process_limits.serve_in_forks(answer, 2**29)
"""


def test_what_a_file_does_ends_its_fork_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "answers.py").write_text(ANSWERS)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    process = LineProcess("answers")
    process.ask({"do": "answer"}, 10)
    for request, error in (
        ({"do": "wait"}, ProcessTimeout),
        ({"do": "fill"}, ProcessEnded),
        ({"do": "crash"}, ProcessEnded),
        ({"do": "fail"}, RequestFailed),
        ({"do": "leave"}, ProcessEnded),
        ({"do": "answer and crash"}, ProcessEnded),
    ):
        with pytest.raises(error):
            process.ask(request, 0.5 if request["do"] == "wait" else 10)
    first, second = (process.ask({"do": "answer"}, 10)["process"] for _ in range(2))
    assert len({first, second, process._process.pid}) == 3
    process.close()
    assert not process.is_running()


def test_an_answer_that_nobody_waits_for_is_not_given_to_the_next(
    hub_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (hub_folder / "merges.txt").write_text("files that are remembered nowhere, and opened by nobody")

    def interrupted(_answer: str) -> None:
        raise KeyboardInterrupt

    with opening("small", hub_folder) as started:
        process = started._process
        assert process is not None
        with monkeypatch.context() as patch:
            patch.setattr(opened_tokenizer.json, "loads", interrupted)
            with pytest.raises(KeyboardInterrupt):
                started.result()
    assert process._process.wait(10) == -signal.SIGKILL
    with opening("small", hub_folder) as started:
        assert started._process is not process
        assert started.result().mask == 4


def test_a_file_too_large_to_be_a_tokenizer_is_refused(hub_folder: Path) -> None:
    with (hub_folder / "tokenizer.json").open("ab") as file:
        file.truncate(2**28)
    with pytest.raises(ModelUnavailable, match=r"tokenizer\.json of 'small' takes 256 MB; at most 128 MB are read"):
        Opening("small", hub_folder)
