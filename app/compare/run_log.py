"""One line of the log for each comparison: what it cost and how it ended, and nothing of what was asked.

    run model=sst2 input=text units=12 outcome=done waited=0.02 seconds=3.41 calls=512 methods=lime:1.20,aml:0.31

No text, file, class, name of foreign weights or of a foreign model is in it: such a model is "other", a method has its
registered name. A method that answered from memory has "remembered" for its seconds, one whose result comes with the
project "stored", one that could not explain "failed", one that was not reached "open".
"""

import logging

from app.compare.runs import Column, Run
from explainers.models.bundle_cards import bundle_names

log = logging.getLogger(__name__)


def log_run(run: Run) -> None:
    """Write the line of a run that is over."""
    log.info("%s", line(run))


def line(run: Run) -> str:
    """Return the line; `waited` are the seconds in which others computed, `seconds` all the rest."""
    example = run.request.example
    decision = run.decision or run.whole
    values = {
        "model": run.request.model if run.request.model in bundle_names() else "other",
        "input": "image" if example.image is not None else "pair" if example.pair else "text",
        "units": len(decision.encoding.units) if decision is not None else 0,
        "outcome": "abandoned" if run.abandoned else run.status,
        "waited": f"{run.meter.waited:.2f}",
        "seconds": f"{run.seconds:.2f}",
        "calls": run.meter.calls,
        "methods": ",".join(_cost(run, column) for column in run.columns.values()) or "none",
    }
    return "run " + " ".join(f"{name}={value}" for name, value in values.items())


def _cost(run: Run, column: Column) -> str:
    """Return a method and its seconds; the name of weights, which a person has typed, is left out."""
    method, _, weights = column.spec.id.partition(":")
    return f"{method}{':own' if weights else ''}:{_seconds(run, column)}"


def _seconds(run: Run, column: Column) -> str:
    if column.stored:
        return "stored"
    if column.remembered:
        return "remembered"
    if run.failure(column.spec.id):
        return "failed"
    result = run.result(column.spec.id)
    return f"{result.attribution.seconds:.2f}" if result is not None else "open"
