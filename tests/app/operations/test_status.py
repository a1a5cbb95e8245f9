import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from threading import Event
from threading import enumerate as threads

import pytest

from app.operations import status
from app.operations.status import LONGEST_PAUSE, OLDEST, StatusWriter, Watch, fault, main, statuses
from explainers.installation import STORE_VARIABLE

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "store"))


def written(**values: object) -> StatusWriter:
    writer = StatusWriter(lambda: values)
    writer.write()
    return writer


def change(writer: StatusWriter, **values: object) -> None:
    writer.path.write_text(json.dumps({**json.loads(writer.path.read_text()), **values}))


def test_the_owner_reads_what_the_app_does(capsys: pytest.CaptureFixture[str]) -> None:
    written(queue=2, models=["sst2", "nli"], jobs={"done": 3}, hanging=0)
    assert main([]) == 0
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert (lines["queue"], lines["models"], lines["jobs"], lines["state"]) == ("2", "sst2, nli", "done 3", "healthy")
    assert int(lines["memory_mb"]) > 10
    assert main(["--json"]) == 0
    (report,) = json.loads(capsys.readouterr().out)
    assert (report["process"], report["queue"], report["fault"]) == (os.getpid(), 2, "")


def test_a_minute_without_a_status_is_a_fault() -> None:
    written()
    (status_now,) = statuses()
    assert fault(status_now, status_now["written"] + OLDEST) == ""
    assert fault(status_now, status_now["written"] + OLDEST + 1) == "The app has written nothing for 61 s, so it hangs."


def test_nobody_else_may_read_the_file() -> None:
    assert written().path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"written": 0}, "s, so it hangs."),
        ({"hanging": 1}, "A comparison has stopped moving."),
        ({"process": 2**22 + 1}, "The app has ended; its last status is 0 s old."),
        ({"created": 1.0}, "The app has ended; its last status is 0 s old."),  # its number is another process's now
    ],
)
def test_a_fault_is_named_and_is_the_exit_code(
    capsys: pytest.CaptureFixture[str], values: Mapping[str, object], sentence: str
) -> None:
    change(written(), **values)
    assert main([]) == 1
    assert sentence in capsys.readouterr().out


def test_without_an_app_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--json"]) == 1
    output = capsys.readouterr()
    assert (json.loads(output.out), output.err) == ([], f"{status.NONE}\n")


def test_an_app_that_crashed_earlier_is_no_fault_of_the_one_that_runs() -> None:
    crashed = written()
    change(crashed, process=2**22 + 1)
    crashed.path.rename(crashed.path.with_name(f"{status._host()}-1.json"))
    written()
    assert [status["process"] for status in statuses()] == [os.getpid()]
    assert main([]) == 0


def test_what_killed_apps_have_left_is_removed_at_the_next_start() -> None:
    killed = written()
    change(killed, created=1.0)
    killed.path.rename(killed.path.with_name(f"{status._host()}-1.json"))
    writer = StatusWriter(dict).start()
    writer.close()
    assert list(writer.path.parent.iterdir()) == []


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"written": "x", "process": 1}', "\x00"])
def test_a_damaged_file_is_passed_over(content: str) -> None:
    written().path.write_text(content)
    assert statuses() == []


def test_what_cannot_be_collected_leaves_the_last_status_to_grow_old() -> None:
    writer = written(queue=1)
    before = writer.path.read_text()

    def fail() -> dict[str, object]:
        raise RuntimeError

    writer.collect = fail
    assert writer.watch.attempt() > status.EVERY
    assert writer.path.read_text() == before


def test_a_writer_writes_by_itself_and_leaves_neither_thread_nor_file() -> None:
    writer = StatusWriter(lambda: {"queue": 1}).start()
    end = time.monotonic() + 60
    while not writer.path.is_file() and time.monotonic() < end:
        time.sleep(0.01)
    assert statuses()[0]["queue"] == 1
    writer.close()
    assert "status" not in {thread.name for thread in threads()}
    assert list(writer.path.parent.iterdir()) == []


def test_the_command_is_light() -> None:
    code = "import sys, app.operations.status; sys.exit('torch' in sys.modules or 'streamlit' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


class Looks:
    """Raises the next failure, or returns 5 s where it is None."""

    def __init__(self, *failures: str | None) -> None:
        self.failures = iter(failures)

    def __call__(self) -> float:
        failure = next(self.failures)
        if failure:
            raise OSError(failure)
        return 5.0


def test_pauses_double_up_to_a_minute_and_are_short_again_afterwards() -> None:
    watch = Watch("jobs", Looks(*["lost"] * 9, None, "lost"), pause=0.5)
    pauses = [watch.attempt() for _ in range(11)]
    assert pauses == [1, 2, 4, 8, 16, 32, LONGEST_PAUSE, LONGEST_PAUSE, LONGEST_PAUSE, 5, 1]


def test_the_log_has_one_traceback_and_a_line_for_each_other_failure(caplog: pytest.LogCaptureFixture) -> None:
    watch = Watch("jobs", Looks(*["damaged"] * 50, *["full"] * 50, "damaged", None, "damaged"))
    with caplog.at_level(logging.INFO):
        for _ in range(103):
            watch.attempt()
    lines = [(record.getMessage(), record.exc_info is not None) for record in caplog.records]
    first = ("jobs: failed, the next attempts follow at longer intervals", True)
    again = ("jobs: works again after 101 failed attempts", False)
    assert lines == [first, ("jobs: OSError: full", False), again, first]


def test_it_looks_when_it_is_called_and_ends_when_it_is_closed() -> None:
    looked = Event()

    def look() -> float:
        looked.set()
        return 60.0

    watch = Watch("a watch", look)
    watch.start()
    assert looked.wait(60)
    looked.clear()
    watch.call()
    assert looked.wait(60)
    began = time.monotonic()
    watch.close()
    assert time.monotonic() - began < 60
    assert "a watch" not in {thread.name for thread in threads()}
