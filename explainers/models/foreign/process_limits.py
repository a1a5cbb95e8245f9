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
from typing import Any


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
    lines = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # nothing that a library prints gets between the answers
    for line in sys.stdin:
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
        if "error" in result:
            break


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
