"""Orders and scores that are given and not computed. They are not among the methods that can be chosen."""

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
PEOPLE = MethodSpec(
    id="people",
    name="People's marks",
    group="Given",
    kind="given",
    signed=False,
    idea="The evidence that people marked for their own answer, measured as the methods are.",
    caution="It says what people find important, not what the model used. Units that nobody marked all score 0.",
    formula=r"s_u=\text{the share of people who marked } u",
    source="the data",
    made_by="explainers.attribution.given_scores:GivenScores",
    colour="#5a6e78",
    passes=lambda _units, _samples, _steps: 0,
)
ELSEWHERE = MethodSpec(
    id="elsewhere",
    name="From a file",
    group="Given",
    kind="one pass",
    signed=True,
    idea="Scores that another program computed, measured as the methods are.",
    caution="Whether they were computed for this model is not known here.",
    formula=r"s_u=\sum_{\text{spans } t}s_t\,\frac{|t\cap u|}{|t|}",
    source="your file",
    made_by="explainers.attribution.given_scores:GivenScores",
    colour="#965a96",
    passes=lambda _units, _samples, _steps: 0,
)
NEEDS = {  # what it takes to have their scores
    GUESS.id: "needs units that you mark. Use explain(…, guess=…) or the app for it.",
    PEOPLE.id: "needs people's marks. Give a file of items with rationales to the app.",
    ELSEWHERE.id: "needs a file with scores. Use `explain --attributions FILE` or the app for it.",
}
GIVEN: Registry[MethodSpec] = Registry("given order", (GUESS, PEOPLE, ELSEWHERE))


def given_spec(id: str) -> MethodSpec:
    """Of an id such as "guess", or "elsewhere:NAME" with the name that its file gives it."""
    base, _, name = id.partition(":")
    if name and base == ELSEWHERE.id:
        return replace(ELSEWHERE, id=id, name=f"{name} (from a file)")
    return GIVEN.get(id)


def guess_spec(marked: Iterable[int], removed: Iterable[int] = ()) -> MethodSpec | None:
    """The method that ranks the `marked` units of the whole input, without the removed ones; None if none is left."""
    gone = sorted(set(removed))
    order = tuple(unit - sum(each < unit for each in gone) for unit in dict.fromkeys(marked) if unit not in gone)
    return replace(GUESS, fixed=(("order", order),)) if order else None
