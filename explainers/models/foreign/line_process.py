"""A Python process that answers lines of JSON: foreign files are read there, and a hang or a crash stays there."""

import json
import os
import signal
import subprocess
import sys
import weakref
from contextlib import suppress
from pathlib import Path
from threading import Event, Timer
from typing import Any

ROOT = Path(__file__).parents[3]
GRACE = 2.0  # seconds that a process has to end by its own alarm, before it is killed
LONGEST_ANSWER = 2**28  # characters; a tokenizer of a million pieces takes a quarter
# it reads files that are already here, alone, in one thread
ENVIRONMENT = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1"}
ALARM = -getattr(signal, "SIGALRM", 0)  # the status of a process that its own alarm ended
KEPT = ("PATH", "HOME", "LANG", "LD_LIBRARY_PATH", "SYSTEMROOT", "TMPDIR", "HF_HOME", "HF_HUB_CACHE", "XDG_CACHE_HOME")


class ProcessTimeout(Exception):
    """There was no answer in time."""


class ProcessEnded(Exception):
    """It ended without an answer: it crashed, or took too much memory."""


class RequestFailed(Exception):
    """It answered with an error; the message is that of the library."""


class LineProcess:
    """`module` is run with `-m` and answers by `process_limits.serve`. It ends with this object, and with this process.

    One thread at a time; a process whose `ask` raised has ended.
    """

    def __init__(self, module: str) -> None:
        paths = filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))
        inherited = {name: os.environ[name] for name in KEPT if name in os.environ}  # no secrets
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

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Raises `ProcessTimeout`, `ProcessEnded` or `RequestFailed`."""
        process = self._process
        stdin, stdout = process.stdin, process.stdout
        assert stdin is not None
        assert stdout is not None
        late = Event()

        def end() -> None:
            late.set()
            process.kill()

        timer = Timer(seconds + GRACE, end)
        timer.daemon = True
        timer.start()
        try:
            stdin.write(json.dumps({**request, "seconds": seconds}) + "\n")
            stdin.flush()
            answer = json.loads(stdout.readline(LONGEST_ANSWER))
        except (OSError, ValueError) as error:  # the pipe is closed, or half an answer came
            process.kill()
            if late.is_set() or process.wait() == ALARM:
                raise ProcessTimeout from error
            raise ProcessEnded from error
        finally:
            timer.cancel()
        if "error" in answer:
            raise RequestFailed(answer["error"])
        result: dict[str, Any] = answer
        return result


def _end(process: "subprocess.Popen[str]", owner: int) -> None:
    if os.getpid() != owner:  # a fork of this process must not end what still serves this one
        return
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):  # for what was not sent any more
                stream.close()
