"""What readers found about a narrator's sentences, from `assets/readings/summary.json`."""

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from explainers.installation import ASSETS

SUMMARY = ASSETS / "readings" / "summary.json"


@dataclass(frozen=True)
class ReadShare:
    """A share of `n` sentences with its 95 % interval."""

    mean: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class Reading:
    """What `readers` found about the sentences that one set of weights wrote."""

    readers: tuple[str, ...]
    grammatical: ReadShare
    holds: ReadShare
    holds_where_right: ReadShare  # of inputs that the model classified correctly


def reading_of(narrator: str, sha256: str) -> Reading | None:
    """The largest reading of these weights; None where nobody has read theirs."""
    if not SUMMARY.is_file():
        return None
    entries = _entries(SUMMARY.stat().st_mtime_ns)
    own = [entry for entry in entries if entry["writer"] == narrator and entry["sha256"] == sha256]
    if not own:
        return None
    entry = max(own, key=lambda one: int(one["inputs"]))
    shares = {name: ReadShare(**entry[name]) for name in ("grammatical", "holds", "holds_where_right")}
    return Reading(tuple(entry["readers"]), **shares)


@lru_cache(maxsize=2)
def _entries(_changed: int) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads(SUMMARY.read_text(encoding="utf-8"))
    return entries
