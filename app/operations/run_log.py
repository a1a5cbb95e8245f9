"""One line of the log for each comparison: what it cost and how it ended, and nothing of what was asked.

    run model=sst2 input=text units=12 outcome=done waited=0.02 seconds=3.41 calls=512 methods=lime:1.20,aml:0.31

No text, file, class, name of foreign weights or of a foreign model is in it: such a model is "other", a method has its
registered name. A method that answered from memory has "remembered" for its seconds, one whose result comes with the
project "stored", one that could not explain "failed", one that was not reached "open".
"""

import logging
from typing import TYPE_CHECKING

from explainers.models.bundle_cards import bundle_names

if TYPE_CHECKING:
    from app.compare.runs import Column, Run

log = logging.getLogger(__name__)


def log_run(run: "Run") -> None:
    """Called when a run is over."""
    log.info("%s", line(run))


def line(run: "Run") -> str:
    """`waited` are the seconds in which others computed, `seconds` all the rest."""
    example = run.request.example
    question = run.question or run.whole
    values = {
        "model": run.request.model if run.request.model in bundle_names() else "other",
        "input": "image" if example.image is not None else "pair" if example.pair else "text",
        "units": len(question.encoding.units) if question is not None else 0,
        "outcome": "abandoned" if run.abandoned else run.status,
        "waited": f"{run.meter.waited:.2f}",
        "seconds": f"{run.seconds:.2f}",
        "calls": run.meter.calls,
        "methods": ",".join(map(_cost, run.columns.values())) or "none",
    }
    return "run " + " ".join(f"{name}={value}" for name, value in values.items())


def _cost(column: "Column") -> str:
    """A method and its seconds; the name of weights, which a person has typed, is left out."""
    method, _, weights = column.spec.id.partition(":")
    return f"{method}{':own' if weights else ''}:{_seconds(column)}"


def _seconds(column: "Column") -> str:
    if column.stored:
        return "stored"
    if column.remembered:
        return "remembered"
    if column.failure:
        return "failed"
    return f"{column.result.attribution.seconds:.2f}" if column.result is not None else "open"
