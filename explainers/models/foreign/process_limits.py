"""What a process that opens foreign files sets for itself before it reads them, and how it answers.

Memory: private memory above what the libraries take (Linux; elsewhere only time is limited). Time: the system's alarm,
which ends the process even while native code does not come back, and even if nobody waits for the answer any more.

The library's configuration object, from the content that was checked and from nothing else in the folder.
"""

import json
import os
import re
import select
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

IDLE = 600.0  # seconds; it is started again within two


def limit_memory(more: int) -> None:
    """From now on this process may take `more` bytes; beyond them an allocation fails, which ends it."""
    status = Path("/proc/self/status")
    if status.is_file():
        import resource

        taken = re.search(r"VmData:\s+(\d+) kB", status.read_text())
        most = (int(taken[1]) * 1024 if taken else 0) + more
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def serve(answer: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Answers each line of standard input, a JSON object with its time limit "seconds", by a line of JSON.

    After an error it answers {"error": …} and ends: native code may have left anything behind. Ends with its input.
    """
    lines = _answers()
    for line in sys.stdin:
        if "error" in _answered(answer, line, lines):
            break


def serve_in_forks(answer: Callable[[dict[str, Any]], dict[str, Any]], memory: int) -> None:
    """As `serve`, each line in a fork of this process that may take `memory` bytes more: what a file does to the fork
    reaches no later one. A fork that gave no answer is {"ended": "late"} or {"ended": "crashed"}.

    Ends with its input, or when nothing was asked for `IDLE` seconds. Call it with a single thread.
    """
    lines = _answers()
    while select.select([sys.stdin], [], [], IDLE)[0] and (line := sys.stdin.readline()):
        fork = os.fork()
        if not fork:
            sys.stdin.close()
            limit_memory(memory)
            _answered(answer, line, lines)
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1])
        if status:
            print(json.dumps({"ended": "late" if status == -signal.SIGALRM else "crashed"}), file=lines, flush=True)


def _answers() -> TextIO:
    """Where the answers are written; nothing that a library prints gets between them."""
    lines = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return lines


def _answered(answer: Callable[[dict[str, Any]], dict[str, Any]], line: str, lines: TextIO) -> dict[str, Any]:
    request = json.loads(line)
    _alarm(request["seconds"])
    try:
        result = answer(request)
    except MemoryError:
        os._exit(1)
    except BaseException as error:  # Rust's panics are no `Exception`
        result = {"error": str(error) or type(error).__name__}
    print(json.dumps(result), file=lines, flush=True)
    _alarm(0)
    return result


def _alarm(seconds: float) -> None:
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


# code; other files instead of those that were checked; and what only a loss reads, yet the library checks
IGNORED = ("auto_map", "configuration_files", "problem_type")
CLASSES = ("id2label", "label2id", "num_labels")


def library_config(content: dict[str, Any], *, outputs: int | None = None) -> Any:
    """`content` is that of a config.json; with `outputs` the head has so many. Raises what the library raises."""
    from transformers import CONFIG_MAPPING

    known = {name: value for name, value in content.items() if name not in IGNORED}
    if outputs is not None:
        known = {name: value for name, value in known.items() if name not in CLASSES} | {"num_labels": outputs}
    kind = known.get("model_type")
    if not isinstance(kind, str) or kind not in CONFIG_MAPPING:
        raise ValueError(f"its architecture (model_type {kind!r}) is not known to the library transformers")
    return CONFIG_MAPPING[kind].from_dict(known)
