"""A virtual environment for each peer, in a folder of its own, made once and used again."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from explainers.errors import ExplanationError
from explainers.evaluation.peers.packages import Peer

FINISHED = "installed.txt"  # in the environment: what was installed, present once that is over
LOG = "pip.log"
PATIENCE = 1800  # seconds for one process of a peer


def python_of(peer: Peer, folder: Path) -> Path:
    """The interpreter of the peer's environment in `folder`, which is made if it is not there.

    Raises `ExplanationError` if pip cannot install the packages; what it said is in the environment's `LOG`.
    """
    home = folder / peer.id
    python = home / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    wanted = "\n".join(peer.all_requirements) + "\n"
    finished = home / FINISHED
    if finished.is_file() and finished.read_text(encoding="utf-8") == wanted:
        return python
    home.mkdir(parents=True, exist_ok=True)
    logged([sys.executable, "-m", "venv", "--clear", str(home)], home, peer)
    logged([str(python), "-m", "pip", "install", "--quiet", *peer.all_requirements], home, peer)
    finished.write_text(wanted, encoding="utf-8")
    return python


def logged(command: Sequence[str], home: Path, peer: Peer) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=PATIENCE)
    except subprocess.TimeoutExpired as error:
        raise ExplanationError(
            f"{peer.name} is left out: its packages were not installed after {PATIENCE // 60} minutes."
        ) from error
    home.mkdir(parents=True, exist_ok=True)
    (home / LOG).write_text(done.stdout + done.stderr, encoding="utf-8")
    if done.returncode:
        packages = ", ".join(peer.requirements)
        raise ExplanationError(
            f"{peer.name} is left out: pip could not install {packages}. Its messages are in {peer.id}/{LOG}."
        )
