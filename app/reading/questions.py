"""What the Compare page's engine is asked for a step."""

from dataclasses import replace

from app.compare.curated_examples import CuratedExample, curated_examples, example_of
from app.compare.runs import Request, Run
from app.reading.story import LiveExample
from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.results.attribution import ranking
from explainers.results.settings import Settings


def request_of(state: LiveExample, removed: tuple[int, ...] = (), order: tuple[int, ...] = ()) -> Request:
    """`removed` are units that the person has erased besides the step's own, `order` is a given one. Raises
    `ExplanationError` if there is no such example."""
    gone = tuple(sorted(set(state.removed) ^ set(removed)))
    settings = Settings(erasure=state.erasure)
    return Request(
        state.model, example_of_state(state), state.label or None, state.methods, settings, gone, state.narrators, order
    )


def curated(state: LiveExample) -> CuratedExample | None:
    return next((each for each in curated_examples() if (each.model, each.title) == (state.model, state.example)), None)


def example_of_state(state: LiveExample) -> Example:
    """The input. Raises `ExplanationError` if there is no such example."""
    if state.text:
        return Example(state.text, state.pair or None)
    example = curated(state)
    if example is None:
        raise ExplanationError(f"There is no example {state.example!r} for the model {state.model!r}.")
    return replace(example_of(example), label=None, explanations=(), evidence=None)


def reversed_order(run: Run, method: str) -> tuple[int, ...]:
    """All units from the method's last to its first, by numbers in the whole input; empty before it is done."""
    column = run.columns.get(method)
    if column is None or column.attribution is None:
        return ()
    total = len(run.whole.encoding.units) if run.whole is not None else 0
    left = [number for number in range(total) if number not in run.request.removed]
    return tuple(left[int(unit)] for unit in ranking(column.attribution.scores)[::-1])
