"""The numbers of a comparison on the screen by name, for bets and for the sentences under a figure.

metric/aml/aopc_c            a metric of a method on this input; of `random`, the mean of the random orders
without/aml/20, only/aml/20  p(class) without, or with only, the top 20 % of the units
score/aml/charming           the score of the first unit with this text
agreement/aml/lime           Spearman's ρ of two methods
probability/positive         of a class
states/cause                 1 where the narrator's sentence names the predicted class, else 0
effect/cause_tokens          how far p falls without the words that the sentence names, beyond random words

Other names are those of stored numbers.

The sentences let a reader see where the text says otherwise: first what the step leads one to expect and whether it is
so here, then the methods' AOPC-C beside that of random orders, what the answer says of them, and how many sentences
name the predicted class.
"""

from collections.abc import Callable, Container, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from app.reading.story import Expectation, LiveExample
from explainers.attribution.given import GUESS
from explainers.methods.registry import method_spec
from explainers.metrics import agreement, faithfulness
from explainers.report import quantities, wording
from explainers.report.answer import chance_sentence, group_lines, heading
from explainers.results.answer import Answer

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison
    from explainers.results.events import MethodResult, NarrativeCheck

YES_OR_NO = ("states",)  # kinds of numbers that are 1 or 0
SHOWN_DIFFERENCE = 5e-4  # values are shown with three decimals
PLACES = 3  # decimals
ERASED = "Without the words that were erased:"
AS_EXPECTED, OPPOSITE, LEVEL = "as expected", "the opposite", "level"


def observed(comparison: "Comparison | None", name: str) -> float:
    """Return the number of this name, of the comparison or stored; raises `UnknownQuantity`."""
    kind, *rest = name.split("/")
    if not is_observed(name):
        return quantities.stored_quantity(name)
    if comparison is None:
        raise quantities.UnknownQuantity(f"The number {name!r} needs a comparison.")
    try:
        return OBSERVERS[kind](comparison, *rest)
    except (KeyError, TypeError, ValueError, StopIteration) as error:
        raise quantities.UnknownQuantity(f"There is no number {name!r} in this comparison.") from error


def is_observed(name: str) -> bool:
    """Return whether the number is one of a comparison, and not a stored one."""
    return name.partition("/")[0] in OBSERVERS


def is_yes_or_no(name: str) -> bool:
    """Return whether the number is 1 for yes or 0 for no."""
    return name.partition("/")[0] in YES_OR_NO


def _result(comparison: "Comparison", method: str) -> "MethodResult":
    return next(result for result in comparison.results if result.attribution.method == method)


def _metric(comparison: "Comparison", method: str, metric: str) -> float:
    control = comparison.random_control
    if control is not None and method == control.method:
        return control.metrics[metric]
    return _result(comparison, method).metrics[metric]


def _without(comparison: "Comparison", method: str, percent: str) -> float:
    return _result(comparison, method).curves.when_removed(float(percent))


def _only(comparison: "Comparison", method: str, percent: str) -> float:
    return _result(comparison, method).curves.when_kept(float(percent))


def _score(comparison: "Comparison", method: str, word: str) -> float:
    attribution = _result(comparison, method).attribution
    units = [unit.text.casefold() for unit in attribution.encoding.units]
    return attribution.scores[units.index(word.casefold())]


def _agreement(comparison: "Comparison", one: str, other: str) -> float:
    return agreement.spearman(
        _result(comparison, one).attribution.scores, _result(comparison, other).attribution.scores
    )


def _probability(comparison: "Comparison", label: str) -> float:
    return comparison.probabilities[comparison.decision.card.labels.index(label)]


def _states(comparison: "Comparison", narrator: str) -> float:
    narrative = next(narrative for narrative in comparison.narratives if narrative.method == narrator)
    return float(narrative.stated == comparison.predicted)


def _effect(comparison: "Comparison", narrator: str) -> float:
    check = next((check for check in comparison.narrative_checks if check.method == narrator), None)
    return _beyond_random(check) if check is not None else 0.0


def _beyond_random(check: "NarrativeCheck") -> float:
    """Return the fall beyond random words; 0 where the sentence names no word of the input."""
    if check.removed is None or not check.random_removed:
        return 0.0
    return float(np.mean(check.random_removed)) - check.removed


OBSERVERS: dict[str, Callable[..., float]] = {
    "metric": _metric,
    "without": _without,
    "only": _only,
    "score": _score,
    "agreement": _agreement,
    "probability": _probability,
    "states": _states,
    "effect": _effect,
}


def level(comparison: "Comparison | None", one: str, other: str) -> bool:
    """Return whether two numbers differ by less than is shown, or by at most 1.96 standard deviations of the sampling
    noise of both."""
    spread = float(np.hypot(_noise(comparison, one), _noise(comparison, other)))
    return abs(observed(comparison, one) - observed(comparison, other)) <= max(SHOWN_DIFFERENCE, 1.96 * spread)


def _noise(comparison: "Comparison | None", name: str) -> float:
    """Return the standard deviation of a method's metric over its draws; 0 for what does not sample."""
    kind, *rest = name.split("/")
    result = comparison.result(rest[0]) if comparison is not None and kind == "metric" else None
    noise = result.noise.get(rest[1], 0.0) if result is not None else 0.0
    return 0.0 if np.isnan(noise) else noise


def figure_sentences(comparison: "Comparison", state: LiveExample, own: str = "", *, erased: bool = False) -> list[str]:
    """Return the sentences for a finished comparison; `own` is the name of a given order, `erased` whether the numbers
    are those of the input without words that the reader has erased."""
    sentences = [
        *filter(None, (expectation_sentence(comparison, expectation) for expectation in state.expected)),
        *_measured(comparison, state.methods, own or GUESS.name),
        *([] if "answer" in state.show else _answered(comparison, state.methods)),
        *_narrated(comparison),
    ]
    return [ERASED, *sentences] if erased and sentences else sentences


def expectation_sentence(comparison: "Comparison", expected: Expectation) -> str:
    """Return what was expected and what the two numbers are; empty where one of them is not there."""
    try:
        above, below = observed(comparison, expected.above), observed(comparison, expected.below)
        same = level(comparison, expected.above, expected.below)
    except quantities.UnknownQuantity:
        return ""
    outcome = LEVEL if same else AS_EXPECTED if above > below else OPPOSITE
    numbers = f"{wording.decimals(above, PLACES)} against {wording.decimals(below, PLACES)}"
    return f"Expected: {expected.text}. Here: {numbers}, {outcome}."


def _measured(comparison: "Comparison", methods: Container[str], own: str) -> Iterator[str]:
    """Return the highest and the lowest AOPC-C of methods beside that of random orders; nothing without methods."""
    metric, control = faithfulness.decisive_metric("removing"), comparison.random_control
    shown = [result for result in comparison.displayed_results if result.attribution.method in methods]
    scores = {method_spec(result.attribution.method).name: result.metrics[metric.id] for result in shown}
    given = comparison.result(GUESS.id)
    if given is not None:
        scores[own] = given.metrics[metric.id]
    written = {name: wording.decimals(value, PLACES) for name, value in scores.items()}
    defined = {name: scores[name] for name, text in written.items() if text != wording.UNDEFINED}
    if not defined:
        return
    highest = [name for name in defined if written[name] == written[max(defined, key=defined.__getitem__)]]
    lowest = [name for name in defined if written[name] == written[min(defined, key=defined.__getitem__)]]
    chance = (
        f"; random orders have {wording.decimals(control.metrics[metric.id], PLACES)} on average" if control else ""
    )
    verb = "has" if len(highest) == 1 else "have"
    if len(defined) == 1:
        yield f"{highest[0]} has an {metric.name} of {written[highest[0]]} here{chance}."
    elif highest == lowest:
        yield f"All have an {metric.name} of {written[highest[0]]} here{chance}."
    else:
        yield (
            f"{wording.join_names(highest)} {verb} the highest {metric.name} here, {written[highest[0]]}, and "
            f"{wording.join_names(lowest)} the lowest, {written[lowest[0]]}{chance}."
        )


def _answered(comparison: "Comparison", methods: Container[str]) -> Iterator[str]:
    """Return what the answer says, and these methods in their groups; nothing where too few methods were compared."""
    answer = comparison.answer
    if answer is not None and answer.p is not None and not answer.refusal:
        told, by = answer.status == "supported" or answer.leading, wording.counted(answer.compared, "method")
        yield f"By the consensus of {by}: {heading(answer, comparison)}." if told else chance_sentence(answer)
        yield from (f"{line}." for line in group_lines(of_methods(answer, methods), comparison))


def of_methods(answer: Answer, methods: Container[str]) -> Answer:
    """Return the answer with only these methods in its groups, and the one at which the test ended."""
    supported = tuple(method for method in answer.supported if method in methods)
    return replace(
        answer,
        supported=supported,
        differs=tuple((method, units) for method, units in answer.differs if method in methods),
        random=tuple(method for number, method in enumerate(answer.random) if number == 0 or method in methods),
        single=answer.single if len(supported) > 1 else None,
    )


def _narrated(comparison: "Comparison") -> Iterator[str]:
    """Return how many sentences name the predicted class; nothing without sentences."""
    told = comparison.narratives
    if told:
        naming = sum(narrative.stated == comparison.predicted for narrative in told)
        label = wording.one_line(comparison.decision.card.labels[comparison.predicted])
        of = "The sentence" if len(told) == 1 else f"{naming} of {len(told)} sentences"
        verb = ("names" if naming else "does not name") if len(told) == 1 else "names" if naming == 1 else "name"
        yield f"{of} {verb} the predicted class, {label}."
