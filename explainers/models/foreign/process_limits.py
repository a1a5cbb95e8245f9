"""What a process that opens foreign files sets for itself before it reads them, and how it answers.

Memory: private memory above what the libraries take (Linux; elsewhere only time is limited). Time: the system's alarm,
which ends the process even while native code does not come back, and even if nobody waits for the answer any more.

The library's configuration object, from the content that was checked and from nothing else in the folder.
"""

import json
import os
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO


def can_fork() -> bool:
    """Return whether fork is safe here. macOS has fork too, but its own libraries may crash after it."""
    return sys.platform == "linux"


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
    reaches no later request. A fork that gave no whole answer is {"ended": "late"} or {"ended": "crashed"}.

    There is one answer to each request, and no other request before it. Call it with a single thread.
    """
    lines = _answers()
    for line in sys.stdin:
        own, theirs = os.pipe()  # what a fork writes too late, or twice, is nobody's answer
        fork = os.fork()
        if not fork:
            try:
                os.close(own)
                sys.stdin.close()
                os.close(lines.fileno())
                limit_memory(memory)
                _answered(answer, line, os.fdopen(theirs, "w", encoding="utf-8"))
            finally:
                os._exit(0)  # what is not whole counts as no answer
        os.close(theirs)
        with os.fdopen(own, encoding="utf-8", errors="replace") as written:
            text = written.read()
        status = os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1])
        if status or not _is_whole(text):
            text = json.dumps({"ended": "late" if status == -signal.SIGALRM else "crashed"}) + "\n"
        print(text, end="", file=lines, flush=True)


def _is_whole(text: str) -> bool:
    """Return whether it is one line with a JSON object."""
    try:
        return text.endswith("\n") and text.count("\n") == 1 and isinstance(json.loads(text), dict)
    except ValueError:
        return False


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
