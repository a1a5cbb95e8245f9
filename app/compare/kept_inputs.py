"""Inputs too large for an address, kept in memory under the name that the address holds.

The name is 128 bits of a checksum, so that only those who have the address, or the input itself, can ask for it. A text
that the server no longer has is asked for again, and what the address says of its units waits until it is there.
"""

import hashlib
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from explainers.datasets.example import InputImage

TEXTS_NAME, IMAGE_NAME = "own", "own-image"  # parameters of the address
LONGEST_IN_ADDRESS = 400  # characters of a text
MOST_BYTES, HOURS = 128 * 2**20, 24  # of all sessions together; the oldest go first
Texts = tuple[str, str]


class ServerMemory:
    """Inputs of all sessions by their names, with the moments at which they were last given. Safe for threads."""

    def __init__(self, most_bytes: int = MOST_BYTES, seconds: float = HOURS * 3600) -> None:
        self.most_bytes, self.seconds = most_bytes, seconds
        self._kept: OrderedDict[str, tuple[float, int, Texts | InputImage]] = OrderedDict()  # the oldest first
        self._bytes = 0
        self._lock = Lock()

    def remember(self, name: str, size: int, content: Texts | InputImage) -> None:
        """Keep an input of `size` bytes; one larger than the memory is not kept."""
        if size > self.most_bytes:
            return
        with self._lock:
            if name in self._kept:
                self._bytes -= self._kept.pop(name)[1]
            self._kept[name] = time.monotonic(), size, content
            self._bytes += size
            self._forget()

    def find(self, name: str) -> Texts | InputImage | None:
        """Return the input of this name, whoever gave it; None for one that is not here, or too old."""
        with self._lock:
            self._forget()
            return self._kept[name][2] if name in self._kept else None

    def _forget(self) -> None:
        """Forget the oldest, as long as they are too old or all are too large together."""
        oldest = time.monotonic() - self.seconds
        while self._kept and (self._bytes > self.most_bytes or next(iter(self._kept.values()))[0] < oldest):
            self._bytes -= self._kept.popitem(last=False)[1][1]


SERVER = ServerMemory()


@dataclass
class AwaitedTexts:
    """The name of texts that a session was asked for and that are not here, and the controls that the address sets and
    that refer to their units."""

    awaited: str = ""
    of_units: dict[str, Any] = field(default_factory=dict)

    def wait_for(self, name: str, of_units: dict[str, Any]) -> None:
        """Keep what the address says of the units of texts that are still to be pasted."""
        self.awaited, self.of_units = name, of_units

    def pasted(self, texts: Texts) -> dict[str, Any]:
        """Return what the address says of the units of these texts, once; empty where they are not those it means. The
        second text counts only where it was asked about."""
        if self.awaited not in (name_of(texts), name_of((texts[0], ""))):
            return {}
        of_units, self.awaited, self.of_units = self.of_units, "", {}
        return of_units


def name_of(texts: Texts) -> str:
    """Return the name of texts in the address."""
    return _name("\0".join(texts).encode())


def address_of(texts: Texts) -> dict[str, str]:
    """Return the parameters of an address that open the texts, of which the second may be empty: the texts themselves,
    or the name of long ones, which are kept."""
    if any(len(text) > LONGEST_IN_ADDRESS for text in texts):
        return {TEXTS_NAME: remember_texts(texts)}
    return {name: text for name, text in zip(("text", "pair"), texts, strict=True) if text}


def remember_texts(texts: Texts) -> str:
    """Keep the texts; return their name."""
    name = name_of(texts)
    SERVER.remember(name, sum(len(text.encode()) for text in texts), texts)
    return name


def find_texts(name: str) -> Texts | None:
    """Return the texts that a session has left here; None where there are none."""
    there = SERVER.find(name)
    return there if isinstance(there, tuple) else None


def remember_image(image: InputImage) -> str:
    """Keep the image, which has a content; return its name."""
    name = _name(image.content)
    SERVER.remember(name, len(image.content), image)
    return name


def find_image(name: str) -> InputImage | None:
    """Return the image that a session has left here; None where there is none."""
    there = SERVER.find(name)
    return there if isinstance(there, InputImage) else None


def _name(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]
