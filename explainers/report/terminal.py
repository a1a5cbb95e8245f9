"""A comparison as plain lines for a terminal."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from explainers.explanation import ranking
from explainers.metrics.faithfulness import METRICS
from explainers.report import in_words
from explainers.report.tables import metric_rows
from explainers.report.text import visible
from explainers.summary import summary

if TYPE_CHECKING:
    from explainers.api import Comparison

STRONGEST_SHOWN = 5


def lines(comparison: "Comparison") -> Iterator[str]:
    """The prediction, each method's strongest units, the figures (best ones starred), one sentence."""
    shares = ", ".join(f"{name} {p:.3f}" for name, p in comparison.as_probabilities().items())
    yield f"{comparison.question.model.name} says {comparison.label} ({shares})"
    if comparison.one_text_alone is not None:
        yield str(comparison.one_text_alone)
    if comparison.question.encoding.notice:
        yield comparison.question.encoding.notice
    yield ""
    for result in comparison.results:
        found = result.attribution
        strongest = (
            f"{visible(found.encoding.units[unit].text)}{_whose(comparison, unit)} {found.scores[unit]:+.3f}"
            for unit in ranking(found.scores)[:STRONGEST_SHOWN]
        )
        yield f"{found.method:22} {', '.join(strongest)}"
    yield from in_words.lines(comparison)
    yield from (f"{failure.method:22} {failure.reason}" for failure in comparison.failures)
    yield ""
    yield (
        f"{'erased by ' + comparison.question.settings.erasure:22}"
        + "".join(f"{m.name:>10}" for m in METRICS)
        + (f"{'seconds':>10}{'calls':>8}")
    )
    for row in metric_rows(comparison):
        figures = "".join(f"{'*' if m.id in row.best else ''}{row.metrics[m.id]:.3f}".rjust(10) for m in METRICS)
        cost = f"{row.seconds:10.2f}{row.calls:8}" if row.seconds is not None else ""
        yield f"{row.method:22}{figures}{cost}"
    yield ""
    yield summary(comparison)


def _whose(comparison: "Comparison", unit: int) -> str:
    """Which text of a pair the unit is from."""
    name = comparison.names[comparison.question.encoding.units[unit].segment]
    return f" ({name.lower()})" if name else ""
