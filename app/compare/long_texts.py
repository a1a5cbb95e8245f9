"""Texts that are too long for an address, which holds only a name for them."""

import hashlib
from dataclasses import dataclass, field
from typing import Any

NAME = "own"  # the parameter of the address
KEPT = 20  # texts of a session
Texts = tuple[str, str]


@dataclass
class LongTexts:
    """Those that a session has, by their names; `awaited` is the name of texts that it was asked for and does not have,
    and `of_units` are the controls that the address sets and that refer to their units."""

    known: dict[str, Texts] = field(default_factory=dict)
    awaited: str = ""
    of_units: dict[str, Any] = field(default_factory=dict)

    def remember(self, texts: Texts) -> str:
        """Return by what the address calls these texts."""
        name = name_of(texts)
        others = {key: value for key, value in self.known.items() if key != name}
        self.known = dict([*others.items(), (name, texts)][-KEPT:])
        return name

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
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:8]
