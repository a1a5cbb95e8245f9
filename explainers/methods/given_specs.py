"""Orders that are given and not computed. They are not among the methods that can be chosen."""

from collections.abc import Iterable
from dataclasses import replace

from explainers.methods.spec import MethodSpec
from explainers.results.registry import Registry

GUESS = MethodSpec(
    id="guess",
    name="Your order",
    group="Given",
    kind="given",
    signed=False,
    idea="The units that you marked, in your order, measured as the methods are.",
    caution="It says what you find important, not what the model used. Units that you did not mark all score 0.",
    formula=r"s_u=n+1-\text{position of } u \text{ among the } n \text{ marked units}",
    source="your marks",
    made_by="explainers.attribution.given_order:GivenOrder",
    colour="#8c5a2b",
    passes=lambda _units, _samples, _steps: 0,
)
GIVEN: Registry[MethodSpec] = Registry("given order", (GUESS,))


def guess_spec(marked: Iterable[int], removed: Iterable[int] = ()) -> MethodSpec | None:
    """The method that ranks the `marked` units of the whole input, without the removed ones; None if none is left."""
    gone = sorted(set(removed))
    order = tuple(unit - sum(each < unit for each in gone) for unit in dict.fromkeys(marked) if unit not in gone)
    return replace(GUESS, fixed=(("order", order),)) if order else None
