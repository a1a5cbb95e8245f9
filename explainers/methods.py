"""Every method, in the order of display. A learned one may be asked for with other weights: `aml:comp`.

Importing this module is cheap: the methods themselves, and torch with them, are imported when one is made.
"""

from collections.abc import Iterable, Sequence

from explainers.attribution.entries import CAPTUM, CONTROLS
from explainers.entry import Entry, Method
from explainers.errors import ExplanationError
from explainers.learned.entries import DEFAULT_VARIANTS, LEARNED

__all__ = ["DEFAULT", "DEFAULT_VARIANTS", "METHODS", "Entry", "Method", "chosen", "fitting"]

METHODS = (*LEARNED, *CAPTUM, *CONTROLS)
DEFAULT = tuple(entry.id for entry in METHODS if entry.id != "attention_last")


def chosen(ids: Iterable[str]) -> tuple[Entry, ...]:
    """The entries with these ids, in the order of display. Raises `ExplanationError` for an unknown one."""
    known = {entry.id: entry for entry in METHODS}
    order = list(known)
    found: dict[str, Entry] = {}
    for wanted in ids:
        base, colon, name = wanted.partition(":")
        entry = known.get(base)
        if entry is None or (colon and (entry.group != "Learned" or not name)):
            raise ExplanationError(f"There is no method {wanted!r}. Choose from: {', '.join(known)}.")
        found[wanted] = entry.variant(name) if colon else entry
    return tuple(sorted(found.values(), key=lambda entry: (order.index(entry.id.partition(":")[0]), entry.id)))


def fitting(entries: Iterable[Entry], texts: Sequence[str], *, pictured: bool = False) -> tuple[Entry, ...]:
    """Those of the methods that mean something for these texts, one or two, or for a picture with its text."""
    return tuple(
        entry
        for entry in entries
        if (len(texts) == 2 or not entry.pairs_only) and (pictured or not entry.pictures_only)
    )
