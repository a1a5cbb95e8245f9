"""The sentences under a live figure, computed from its numbers, so that a reader sees where the text says otherwise.

First what the step leads one to expect and whether it is so here, then the methods' AOPC-C beside that of random
orders, what the answer says of them, and how many sentences name the predicted class.
"""

from collections.abc import Container, Iterator
from typing import TYPE_CHECKING

from app.reading.observed import level, observed
from app.reading.story import Expectation, LiveExample
from explainers.attribution.given import GUESS
from explainers.methods.registry import method_spec
from explainers.metrics.faithfulness import decisive_metric
from explainers.report.answer import group_lines, heading
from explainers.report.quantities import UnknownQuantity
from explainers.report.text import UNDEFINED, decimals, join_names, one_line

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison

PLACES = 3  # decimals
ERASED = "Without the words that were erased:"
AS_EXPECTED, OPPOSITE, LEVEL = "as expected", "the opposite", "level"


def figure_sentences(comparison: "Comparison", state: LiveExample, own: str = "", *, erased: bool = False) -> list[str]:
    """Return the sentences for a finished comparison; `own` is the name of a given order, `erased` whether the numbers
    are those of the input without words that the reader has erased."""
    sentences = [
        *filter(None, (expectation_sentence(comparison, expectation) for expectation in state.expected)),
        *_measured(comparison, state.methods, own or GUESS.name),
        *([] if "answer" in state.show else _answered(comparison)),
        *_narrated(comparison),
    ]
    return [ERASED, *sentences] if erased and sentences else sentences


def expectation_sentence(comparison: "Comparison", expected: Expectation) -> str:
    """Return what was expected and what the two numbers are; empty where one of them is not there."""
    try:
        above, below = observed(comparison, expected.above), observed(comparison, expected.below)
        same = level(comparison, expected.above, expected.below)
    except UnknownQuantity:
        return ""
    outcome = LEVEL if same else AS_EXPECTED if above > below else OPPOSITE
    numbers = f"{decimals(above, PLACES)} against {decimals(below, PLACES)}"
    return f"Expected: {expected.text}. Here: {numbers}, {outcome}."


def _measured(comparison: "Comparison", methods: Container[str], own: str) -> Iterator[str]:
    """Return the highest and the lowest AOPC-C of methods beside that of random orders; nothing without methods."""
    metric, control = decisive_metric("removing"), comparison.random_control
    shown = [result for result in comparison.displayed_results if result.attribution.method in methods]
    scores = {method_spec(result.attribution.method).name: result.metrics[metric.id] for result in shown}
    given = comparison.result(GUESS.id)
    if given is not None:
        scores[own] = given.metrics[metric.id]
    written = {name: decimals(value, PLACES) for name, value in scores.items()}
    defined = {name: scores[name] for name, text in written.items() if text != UNDEFINED}
    if not defined:
        return
    highest = [name for name in defined if written[name] == written[max(defined, key=defined.__getitem__)]]
    lowest = [name for name in defined if written[name] == written[min(defined, key=defined.__getitem__)]]
    chance = f"; random orders have {decimals(control.metrics[metric.id], PLACES)} on average" if control else ""
    verb = "has" if len(highest) == 1 else "have"
    if len(defined) == 1:
        yield f"{highest[0]} has an {metric.name} of {written[highest[0]]} here{chance}."
    elif highest == lowest:
        yield f"All have an {metric.name} of {written[highest[0]]} here{chance}."
    else:
        yield (
            f"{join_names(highest)} {verb} the highest {metric.name} here, {written[highest[0]]}, and "
            f"{join_names(lowest)} the lowest, {written[lowest[0]]}{chance}."
        )


def _answered(comparison: "Comparison") -> Iterator[str]:
    """Return what the answer says, and the methods in their groups; nothing where too few methods were compared."""
    answer = comparison.answer
    if answer is not None and answer.p is not None and not answer.refusal:
        yield f"{heading(answer, comparison)}."
        yield from (f"{line}." for line in group_lines(answer, comparison))


def _narrated(comparison: "Comparison") -> Iterator[str]:
    """Return how many sentences name the predicted class; nothing without sentences."""
    told = comparison.narratives
    if told:
        naming = sum(narrative.stated == comparison.predicted for narrative in told)
        label = one_line(comparison.decision.card.labels[comparison.predicted])
        of = "The sentence" if len(told) == 1 else f"{naming} of {len(told)} sentences"
        verb = ("names" if naming else "does not name") if len(told) == 1 else "names" if naming == 1 else "name"
        yield f"{of} {verb} the predicted class, {label}."
