"""What a method card says besides its heat map: how far the method is, what it cost, and how sure its scores are."""

import time
from typing import NamedTuple

from app.compare.heat_maps import LONGEST_LABEL
from app.compare.runs import Column, Run
from explainers.errors import without_folders
from explainers.metrics.faithfulness import verdict_metric
from explainers.report.text import decimals, one_line

UNPREDICTABLE = 20  # model calls before which the remaining time is not estimated


class CardTexts(NamedTuple):
    kind: str
    status: str
    progress: float
    note: str
    foot: str


def card_texts(run: Run, column: Column) -> CardTexts:
    status = status_of(run, column)
    return CardTexts(kind(run, column), status, progress(run, column), note(run, column, status), foot(column, status))


def status_of(run: Run, column: Column) -> str:
    if column.failure:
        return "failed"
    if column.result:
        return "done"
    if not run.active:
        return "stopped"
    return "running" if column.base is not None else "waiting"


def kind(run: Run, column: Column) -> str:
    """The kind of method, and its own estimate of its error."""
    spec, attribution = column.spec, column.attribution
    parts = ["signed" if spec.signed else "unsigned", spec.kind]
    if spec.learns and run.whole is not None and run.question is not None and run.probabilities:
        predicted = max(range(len(run.probabilities)), key=lambda index: run.probabilities[index])
        if predicted != run.question.label:
            parts.append(f"about {one_line(run.whole.model.labels[predicted], LONGEST_LABEL)}, the predicted class")
    if attribution and attribution.gap is not None:
        parts.append(f"gap {attribution.gap:.3f}")
    if attribution and attribution.spread:
        parts.append(f"± {max(attribution.spread):.3f} at most, {attribution.samples} {spec.counted}")
    elif attribution and attribution.samples and spec.counted == "steps":
        parts.append(f"step {attribution.samples}")
    return " · ".join(parts)


def progress(run: Run, column: Column) -> float:
    """0…1."""
    if column.settled or column.base is None or run.question is None:
        return float(column.settled)
    settings = run.request.settings
    passes = column.spec.passes(len(run.question.encoding.units), settings.samples, settings.steps)
    return min(1.0, (run.meter.calls - column.base) / max(passes, 1))


def note(run: Run, column: Column, status: str) -> str:
    """The line below the text: how far the method is."""
    if status == "running":
        share = progress(run, column)
        left = ""
        if run.meter.calls > UNPREDICTABLE and 0 < share < 1 and column.base is not None:
            per_call = run.meter.seconds / run.meter.calls
            left = f", about {per_call * (run.meter.calls - column.base) * (1 / share - 1):.0f} s left"
        return f"{'estimate so far, ' if column.attribution else ''}{share:.0%}{left}"
    if status == "stopped":
        return "stopped before it was done" if run.status == "stopped" else ""
    return "waiting" if status == "waiting" else ""


def foot(column: Column, status: str) -> str:
    """Cost, the metric of the verdict, and the age of a remembered result; or why the method failed."""
    if status == "failed":
        return without_folders(column.failure)
    attribution = column.attribution
    if attribution is None:
        return ""
    calls = f"{attribution.model_calls:,} call{'' if attribution.model_calls == 1 else 's'}"
    parts = [f"{attribution.seconds:.2f} s", calls]
    if column.result:
        metric = verdict_metric("removing")
        parts.append(f"{metric.name} {decimals(column.result.metrics[metric.id])}")
    if column.remembered:
        parts.append(f"remembered from {age(column.finished)} ago")
    return " · ".join(parts)


def age(moment: float) -> str:
    """In steps, so that cards do not change every second."""
    seconds = max(0, int(time.time() - moment))
    return f"{seconds // 60} min" if seconds >= 60 else f"{seconds // 10 * 10} s"
