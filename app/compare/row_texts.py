"""What a row of the score sheet says besides its heat map and its numbers, closed and opened."""

import time
from typing import Any, NamedTuple

from app.compare.drawing_options import DrawingOptions
from app.compare.heat_maps import LONGEST_LABEL, Strongest, legend, score_range
from app.compare.runs import Column, Run
from explainers.errors import without_folders
from explainers.report.text import decimals, one_line
from explainers.results.attribution import Attribution

UNPREDICTABLE = 20  # model calls before which the remaining time is not estimated


class RowTexts(NamedTuple):
    """`aside` says why a method takes no part in the verdict, where it did not answer for the class in question."""

    kind: str
    status: str
    progress: float
    note: str
    range: str
    aside: str
    problem: str
    seconds: str


def row_texts(run: Run, column: Column) -> RowTexts:
    status, attribution = status_of(run, column), column.attribution
    return RowTexts(
        kind(column),
        status,
        progress(run, column),
        note(run, column, status),
        score_range(attribution) if attribution is not None else "",
        aside(run, column),
        without_folders(column.failure),
        f"{attribution.seconds:.2f}" if attribution is not None else "",
    )


def status_of(run: Run, column: Column) -> str:
    if column.failure:
        return "failed"
    if column.result:
        return "done"
    if not run.active:
        return "stopped"
    return "running" if column.base is not None else "waiting"


def kind(column: Column) -> str:
    spec = column.spec
    return f"{'signed' if spec.signed else 'unsigned'}, {spec.kind}{', a control' if spec.is_control else ''}"


def aside(run: Run, column: Column) -> str:
    if not column.spec.explains_predicted_only or run.whole is None or run.question is None or not run.probabilities:
        return ""
    predicted = max(range(len(run.probabilities)), key=lambda index: run.probabilities[index])
    if predicted == run.question.label:
        return ""
    return f"explains {one_line(run.whole.model.labels[predicted], LONGEST_LABEL)}, the predicted class"


def progress(run: Run, column: Column) -> float:
    """0…1."""
    if column.settled or column.base is None or run.question is None:
        return float(column.settled)
    settings = run.request.settings
    passes = column.spec.passes(len(run.question.encoding.units), settings.samples, settings.steps)
    return min(1.0, (run.meter.used - column.base) / max(passes, 1))


def note(run: Run, column: Column, status: str) -> str:
    """How far the method is."""
    if status == "running":
        share = progress(run, column)
        left = ""
        if run.meter.calls > UNPREDICTABLE and 0 < share < 1 and column.base is not None:
            per_call = run.meter.seconds / run.meter.calls
            left = f", about {per_call * (run.meter.used - column.base) * (1 / share - 1):.0f} s left"
        return f"{'estimate, ' if column.attribution else ''}{share:.0%}{left}"
    if status == "stopped":
        return "stopped before it was done" if run.status == "stopped" else ""
    return "waiting" if status == "waiting" else ""


def detail(run: Run, column: Column, options: DrawingOptions, ends: Strongest) -> dict[str, Any]:
    """What an opened row shows: what the method is, how it was computed, and what its colours mean."""
    spec, attribution = column.spec, column.attribution
    labels = run.whole.model.labels if run.whole is not None else ()
    return {
        "idea": spec.idea,
        "caution": spec.caution,
        "source": spec.source,
        "deviations": list(spec.deviations),
        "facts": facts(run, column, attribution) if attribution is not None else [],
        "legend": legend(attribution, options, ends, labels) if attribution is not None else [],
    }


def facts(run: Run, column: Column, attribution: Attribution) -> list[str]:
    """Cost, settings, the method's own estimate of its error, and where the result comes from."""
    spec, settings = column.spec, run.request.settings
    calls = f"{attribution.model_calls:,} model call{'' if attribution.model_calls == 1 else 's'}"
    if attribution.new_calls not in (None, attribution.model_calls):
        calls = f"{calls}, {attribution.new_calls:,} of them new"
    lines = [f"{attribution.seconds:.2f} s, {calls}", f"erased by {settings.erasure}, seed {settings.seed}"]
    if attribution.samples_at_most:
        lines.append(settled_after(attribution))
    elif attribution.samples:
        lines.append(f"{attribution.samples:,} {spec.counted}")
    if attribution.spread:
        lines.append(f"standard deviation of a score at most {decimals(max(attribution.spread), 3)}")
    if attribution.gap is not None:
        lines.append(f"completeness gap {attribution.gap:.3f}")
    if column.remembered:
        lines.append(f"remembered from {age(column.finished)} ago")
    return lines


def settled_after(attribution: Attribution) -> str:
    """Such as "settled after 320 of at most 2,000 samples"."""
    most = f"{attribution.samples_at_most:,}"
    if attribution.stage == "estimate" or attribution.samples == attribution.samples_at_most:
        return f"{attribution.samples:,} of at most {most} samples"
    return f"settled after {attribution.samples:,} of at most {most} samples"


def age(moment: float) -> str:
    """In steps, so that rows do not change every second."""
    seconds = max(0, int(time.time() - moment))
    return f"{seconds // 60} min" if seconds >= 60 else f"{seconds // 10 * 10} s"
