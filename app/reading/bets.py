"""Which choice of a bet is right, computed; and how often each was bet on."""

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from app.reading.observations import is_observed, observed
from app.reading.story import Bet

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison


def answer(bet: Bet, comparison: "Comparison | None") -> int:
    """The number of the right choice. Raises `UnknownQuantity`, and `ValueError` where no range holds the number."""
    if bet.pick == "range":
        value = observed(comparison, bet.quantity)
        return next(at for at, choice in enumerate(bet.choices) if choice.at_least <= value < choice.below)
    values = [observed(comparison, choice.quantity) for choice in bet.choices]
    return values.index(max(values) if bet.pick == "largest" else min(values))


def is_stored(bet: Bet) -> bool:
    """Whether the answer follows from stored numbers alone, so that nobody has to wait for the example."""
    return not any(is_observed(name) for name in (bet.quantity, *(choice.quantity for choice in bet.choices)) if name)


def values(bet: Bet, comparison: "Comparison | None") -> tuple[float, ...]:
    """By choice, the number that was compared; of a range, the one number that decides."""
    if bet.pick == "range":
        return (observed(comparison, bet.quantity),)
    return tuple(observed(comparison, choice.quantity) for choice in bet.choices)


def counts(bet: Bet, chosen: Iterable[int]) -> tuple[int, ...]:
    """How often each choice was bet on."""
    given = Counter(chosen)
    return tuple(given[number] for number in range(len(bet.choices)))
