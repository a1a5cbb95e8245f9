"""How what people gave compares with the methods, in a sentence of plain text."""

import math
from typing import TYPE_CHECKING

from explainers.methods.registry import method_spec
from explainers.metrics.faithfulness import decisive_metrics
from explainers.metrics.spec import MetricSpec
from explainers.report.text import decimals

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison
    from explainers.results.events import MethodResult

ENDINGS = {1: "st", 2: "nd", 3: "rd"}


def guess_sentence(comparison: "Comparison") -> str:
    """Its metrics and its places among the methods that may lead; empty without an order, or without its metrics."""
    given = [result for result in comparison.results if method_spec(result.attribution.method).is_given]
    return " ".join(filter(None, (_sentence(comparison, result) for result in given)))


def _sentence(comparison: "Comparison", guess: "MethodResult") -> str:
    name = method_spec(guess.attribution.method).name
    metrics = [metric for metric in decisive_metrics() if _defined(metric, guess)]
    places = [_place(metric, guess, _rivals(comparison, metric)) for metric in metrics]
    return f"{name}: {'; '.join(places)}." if places else ""


def _defined(metric: MetricSpec, result: "MethodResult") -> bool:
    return not math.isnan(result.metrics.get(metric.id, math.nan))


def _rivals(comparison: "Comparison", metric: MetricSpec) -> list["MethodResult"]:
    """Those that may lead and answered for the explained class; a single random order is none."""
    specs = {result.attribution.method: method_spec(result.attribution.method) for result in comparison.results}
    return [
        result
        for result in comparison.results
        if (spec := specs[result.attribution.method]).comparable
        and not spec.is_random
        and result.attribution.label == comparison.decision.label
        and _defined(metric, result)
    ]


def _place(metric: MetricSpec, guess: "MethodResult", rivals: list["MethodResult"]) -> str:
    """Shared places count as the better one."""
    value = metric.sign * guess.metrics[metric.id]
    place = 1 + sum(metric.sign * rival.metrics[metric.id] > value for rival in rivals)
    text = f"{metric.name} {decimals(guess.metrics[metric.id])}"
    return f"{text}, {ordinal(place)} of {len(rivals) + 1}" if rivals else text


def ordinal(number: int) -> str:
    """ "1st", "2nd", "3rd", "11th"."""
    ending = "th" if 10 <= number % 100 <= 20 else ENDINGS.get(number % 10, "th")
    return f"{number}{ending}"
