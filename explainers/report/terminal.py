"""A comparison as plain lines for a terminal."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from explainers.metrics.faithfulness import METRICS
from explainers.metrics.spec import MetricSpec
from explainers.report import wording
from explainers.report.metric_rows import MetricRow, metric_rows
from explainers.report.narratives import narrative_lines
from explainers.report.summary import summary
from explainers.results.attribution import ranking

if TYPE_CHECKING:
    from explainers.models.inputs.encoding import Unit
    from explainers.results.attribution import Attribution
    from explainers.results.comparison import Comparison
    from explainers.results.events import MethodResult

STRONGEST_UNITS = 5
MARK = "*"  # of a method whose explanation is supported
LONGEST_SENTENCE = 40  # characters of it


def comparison_lines(comparison: "Comparison") -> Iterator[str]:
    """Yield the prediction, each method's strongest units, the metrics by group (`*`: supported) and the summary."""
    shares = ", ".join(f"{name} {p:.3f}" for name, p in comparison.as_probabilities().items())
    predicted = comparison.decision.card.labels[comparison.predicted]
    explained = "" if comparison.explains_predicted else f"; explained: {comparison.explained}"
    yield f"{comparison.decision.card.name} predicts {predicted} ({shares}){explained}"
    if comparison.ablated_inputs is not None:
        yield wording.ablated_inputs_line(comparison.ablated_inputs)
    decision, probabilities = comparison.decision, comparison.probabilities
    notes = (wording.labels_line(decision.card, probabilities), wording.class_words_line(decision))
    yield from filter(None, (*notes, wording.class_words_warning(decision, probabilities)))
    if comparison.decision.encoding.warning:
        yield comparison.decision.encoding.warning
    yield ""
    yield from (_strongest_units(comparison, result) for result in comparison.results)
    yield from narrative_lines(comparison)
    yield from (f"{failure.method:22} {failure.reason}" for failure in comparison.failures)
    yield ""
    yield from _metrics(comparison)
    yield ""
    yield summary(comparison)


def _strongest_units(comparison: "Comparison", result: "MethodResult") -> str:
    attribution, units = result.attribution, result.attribution.encoding.units
    strongest = (
        f"{_name(comparison, units[unit])}{_input_name(comparison, unit)} {_score(attribution, unit)}"
        for unit in ranking(attribution.scores)[:STRONGEST_UNITS]
    )
    return f"{attribution.method:22} {', '.join(strongest)}"


def _name(comparison: "Comparison", unit: "Unit") -> str:
    """A sentence has its number, from which `--open` opens it, and its beginning; punctuation stands in quotation
    marks."""
    kind = comparison.decision.kind_of(unit)
    if kind == "example":
        return f"“{wording.one_line(unit.text, LONGEST_SENTENCE)}”"
    if kind != "sentence":
        shown = wording.visible(unit.text)
        return shown if any(map(str.isalnum, shown)) else f"“{shown}”"
    return f"{comparison.decision.encoding.sentence_of(unit)}: “{wording.one_line(unit.text, LONGEST_SENTENCE)}”"


def _score(attribution: "Attribution", unit: int) -> str:
    """Signed scores with their sign; small unsigned ones, such as shares, keep three significant digits."""
    score = attribution.scores[unit]
    return f"{score:+.3f}" if attribution.signed else f"{score:.3g}"


def _metrics(comparison: "Comparison") -> Iterator[str]:
    widths = {metric.id: max(10, len(metric.name) + 2) for metric in METRICS}
    names = "".join(metric.name.rjust(widths[metric.id]) for metric in METRICS)
    yield f"{'erased by ' + comparison.decision.settings.erasure:22}{names}{'seconds':>10}{'calls':>8}"
    rows = metric_rows(comparison)
    for row in rows:
        values = "".join(_value(row, metric).rjust(widths[metric.id]) for metric in METRICS)
        cost = f"{row.seconds:10.2f}{row.calls:8}" if row.seconds is not None else ""
        yield f"{(MARK if row.group == 'supported' else '') + row.method:22}{values}{cost}"
    if any(row.group == "supported" for row in rows):
        yield f"{MARK} supported: better than random orders, and most of its first units are those of the consensus"


def _value(row: MetricRow, metric: MetricSpec) -> str:
    value = row.metrics[metric.id]
    return wording.UNDEFINED if math.isnan(value) else f"{value:.{metric.places}f}"


def _input_name(comparison: "Comparison", unit: int) -> str:
    """The input that the unit is from, for pairs and for images with text."""
    if comparison.decision.settings.unit == "example":
        return ""
    name = comparison.names[comparison.decision.encoding.units[unit].segment]
    return f" ({name.lower()})" if name else ""
