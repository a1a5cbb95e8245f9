"""What differs between two stored results, beyond what fp32 leaves open.

On another processor, with another number of threads or in other batches a layer's sums come in another order. Three
times what such noise does to scores and probabilities is allowed (see tests/contracts). A method that optimises for
each input amplifies it step by step, and where two units change places its curve is another one: SEARCHED is for those.
"""

from collections.abc import Iterator
from typing import Any

from explainers.comparison.stored_results import StoredResult
from explainers.methods.registry import METHODS
from explainers.results.packing import packed

NUMBERS = 5e-4  # of the larger of 1 and the number
SEARCHED = 0.1
FREE = {"seconds", "sha256", "device", "crosslight", "python", "libraries"}  # differs between machines
FREE |= {"new_calls"}  # differs with what was asked before
FREE_IF_SEARCHED = FREE | {"curves", "model_calls"}


def differences(old: StoredResult, new: StoredResult) -> Iterator[str]:
    """Sentences, each with the path to the value."""
    searched = {spec.id for spec in METHODS if spec.optimised}
    yield from _differences(packed(old), packed(new), searched, NUMBERS, "")


def _differences(old: Any, new: Any, searched: set[str], within: float, at: str) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        within = SEARCHED if _method(old) in searched else within
        free = FREE_IF_SEARCHED if within == SEARCHED else FREE
        if set(old) - free != set(new) - free:
            yield f"{at}: the names {', '.join(old)} became {', '.join(new)}"
            return
        for name in (name for name in old if name not in free):
            bound = SEARCHED if name in searched else within
            yield from _differences(old[name], new[name], searched, bound, f"{at}/{name}")
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield f"{at}: {len(old)} values became {len(new)}"
            return
        for number, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _differences(one, other, searched, within, f"{at}/{number}")
    elif not same(old, new, within):
        yield f"{at}: {old!r} became {new!r}"


def _method(values: dict[str, Any]) -> object:
    """The method whose result these are."""
    return values.get("attribution", values).get("method")


def same(old: Any, new: Any, within: float) -> bool:
    """Equal, or for numbers within that part of the larger of 1 and the old one.

    Whole numbers are equal or not, but may stand for floats: packing drops the point of 1.0.
    """
    numbers = (int, float)
    if isinstance(old, bool) or isinstance(new, bool) or not isinstance(old, numbers) or not isinstance(new, numbers):
        return type(old) is type(new) and bool(old == new)
    if isinstance(old, int) and isinstance(new, int):
        return old == new
    return abs(old - new) <= within * max(1, abs(old))
