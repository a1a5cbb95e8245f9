"""The method cards: what they say, as plain data, and the component that draws them.

The data for the component:
    drawn     when it was made: Streamlit may hand over two drawings in the wrong order
    labels    per text what it is called; one that stands alone has no name
    segments  per text a list of [characters, unit number or -1], which together are the text as typed
    picture   None, or what app/overlay.py says of it; patches are units as words are
    evidence  boxes and words from which the right answer follows, where this is known and wanted
    opacity   of the colours over the picture, 0…1
    removed   numbers of the units that are struck through
    narrow    what it last said about its width; it says so again when that is no longer true
    cards     id, name, kind, idea, caution, status, progress 0…1, note, foot, legend, parts, cells by unit number
    a cell    colour, line (thickness of the underline), score, rank, of, top (is it in the top k?)
Nothing in it is HTML: the component writes all of it as text.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from app import overlay
from app.engine import Column, Run
from explainers.datasets.example import Evidence
from explainers.models.asking import text_names
from explainers.models.cards import asked_by
from explainers.report.colours import Scale, colour, strengths
from explainers.report.text import one_line, visible
from explainers.report.units import divided

if TYPE_CHECKING:
    from explainers.explanation import Attribution

ASSETS = Path(__file__).parents[1] / "assets"
THICKEST = 5  # pixels of the underline
MOST_UNREAD = 1000  # characters
UNSCALED = ("chance", "one text")
LONGEST_LABEL = 24  # characters, in a legend


@dataclass(frozen=True)
class Look:
    """How scores are drawn: colour preset, one scale for all cards or one for each, the share that is outlined, how
    strongly a picture is covered (in percent), and what is outlined as its evidence."""

    preset: str = "safe"
    scale: Scale = "method"
    percent: int = 20
    sort: str = ""
    opacity: int = 80
    evidence: Evidence | None = None


@cache
def component(name: str = "cards") -> Any:
    """The component of `assets/<name>.js`, with what all cards have in common before it."""
    css, js = ("".join((ASSETS / f"{part}.{kind}").read_text() for part in ("card", name)) for kind in ("css", "js"))
    return st.components.v2.component(f"crosslight_{name}", css=css, js=js)


def show(run: Run, look: Look, toggled: Callable[[], None], resized: Callable[[], None], *, narrow: bool) -> None:
    """Draws the cards. `toggled` is called after a click on a unit, `resized` when the page has become (un)`narrow`.

    What was clicked, and whether it is narrow, is in the state "cards".
    """
    data = payload(run, look) | {"narrow": narrow}
    component()(key="cards", data=data, on_toggled_change=toggled, on_narrow_change=resized)


def payload(run: Run, look: Look) -> dict[str, Any]:
    columns = list(run.columns.values())
    if look.sort:
        columns.sort(key=lambda column: _sort_key(column, look.sort))
    # what is no explanation does not stretch the scale that the others share
    scored = [c.attribution for c in columns if c.attribution and (c.entry.kind not in UNSCALED or len(columns) == 1)]
    strongest = max((abs(score) for each in scored for score in each.scores), default=1.0)
    return {
        "drawn": time.time(),
        "labels": labels(run),
        "segments": segments(run),
        "picture": overlay.picture(run),
        "evidence": overlay.evidence(run, look.evidence),
        "opacity": look.opacity / 100,
        "removed": list(run.request.removed),
        "cards": [card(run, column, look, strongest) for column in columns],
    }


def _sort_key(column: Column, metric: str) -> tuple[bool, float]:
    if column.result is None or column.entry.optimised:  # what was optimised on the figures is not ranked by them
        return True, 0.0
    return False, -column.result.metrics[metric] if metric == "aopc_c" else column.result.metrics[metric]


def labels(run: Run) -> list[str]:
    """How the texts are called, also before the model has been loaded."""
    asks = run.whole.model.asks if run.whole is not None else asked_by(run.request.model)
    return list(text_names(asks, len(run.whole.encoding.texts if run.whole else run.request.texts)))


def segments(run: Run) -> list[list[tuple[str, int]]]:
    """The texts cut into units and what lies between them; before the model has read them, each in one piece."""
    if run.whole is None:
        return [[(unread(text), -1)] for text in run.request.texts]
    encoding = run.whole.encoding
    found = []
    for number, text in enumerate(encoding.texts):
        pieces: list[tuple[str, int]] = []
        at = 0
        for index, unit in enumerate(encoding.units):
            if unit.segment == number:
                pieces += [(visible(text[at : unit.start]), -1)] if at < unit.start else []
                pieces.append((visible(unit.text), index))
                at = unit.end
        found.append([*pieces, (unread(text[at:]), -1)])
    return found


def unread(text: str) -> str:
    """What the model has not read (yet), cut where it is long: every card repeats it."""
    return visible(text) if len(text) <= MOST_UNREAD else f"{visible(text[:MOST_UNREAD])} …"


def card(run: Run, column: Column, look: Look, strongest: float) -> dict[str, Any]:
    entry, status = column.entry, status_of(run, column)
    return {
        "id": entry.id,
        "name": entry.name,
        "kind": kind(run, column),
        "idea": entry.idea,
        "caution": f"{entry.caution} ({entry.source}.)",
        "status": status,
        "progress": progress(run, column),
        "note": note(run, column, status),
        "foot": foot(run, column, status),
        "legend": legend(column.attribution, look, strongest, run.whole.model.labels if run.whole else ())
        if column.attribution
        else [],
        "parts": parts(column.attribution),
        "cells": cells(run, column.attribution, look, strongest) if column.attribution else {},
    }


def parts(found: "Attribution | None") -> str:
    """How much of the importance lies in the picture and how much in the text."""
    if found is None or not found.encoding.pictured:
        return ""
    from explainers.metrics.modalities import picture_share  # brings torch, which has been loaded by now

    return divided(picture_share(found))


def status_of(run: Run, column: Column) -> str:
    if column.failure:
        return "failed"
    if column.result:
        return "done"
    if not run.active:
        return "stopped"
    return "running" if column.base is not None else "waiting"


def kind(run: Run, column: Column) -> str:
    """What sort of answer it is, and the method's own figure of its error."""
    parts = ["signed" if column.entry.signed else "unsigned", column.entry.kind]
    if column.entry.group == "Learned" and run.whole is not None and run.question is not None and run.probabilities:
        predicted = max(range(len(run.probabilities)), key=lambda index: run.probabilities[index])
        if predicted != run.question.label:
            parts.append(f"about {one_line(run.whole.model.labels[predicted], LONGEST_LABEL)}, the predicted class")
    found = column.attribution
    if found and found.gap is not None:
        parts.append(f"gap {found.gap:.3f}")
    if found and found.spread:
        drawn = f"{found.samples} {'samples' if column.entry.kind == 'sampled' else 'draws'}"
        parts.append(f"± {max(found.spread):.3f} at most, {drawn}")
    elif found and found.samples and column.entry.kind == "fine-tuned":
        parts.append(f"step {found.samples}")
    return " · ".join(parts)


def progress(run: Run, column: Column) -> float:
    if column.settled or column.base is None or run.question is None:
        return float(column.settled)
    settings = run.request.settings
    expected = column.entry.expected_calls(
        len(run.question.encoding.units), samples=settings.samples, steps=settings.steps
    )
    return min(1.0, (run.meter.calls - column.base) / max(expected, 1))


def note(run: Run, column: Column, status: str) -> str:
    """The line below the text: how far the method is, or what the reader may do."""
    if status == "running":
        share = progress(run, column)
        left = ""
        if run.meter.calls > 20 and 0 < share < 1 and column.base is not None:
            per_call = run.meter.seconds / run.meter.calls
            left = f", about {per_call * (run.meter.calls - column.base) * (1 / share - 1):.0f} s left"
        return f"{'estimate so far, ' if column.attribution else ''}{share:.0%}{left}"
    if status == "stopped":
        return "stopped before it was done" if run.status == "stopped" else ""
    return "waits for its turn" if status == "waiting" else ""


def foot(run: Run, column: Column, status: str) -> str:
    if status == "failed":
        return column.failure
    found = column.attribution
    if found is None:
        return ""
    calls = f"{found.model_calls:,} call{'' if found.model_calls == 1 else 's'}"
    parts = [f"{found.seconds:.2f} s", calls]
    if column.result:
        parts.append(f"AOPC-C {column.result.metrics['aopc_c']:.2f}")
    if column.remembered:
        parts.append(f"remembered from {age(column.finished)} ago")
    return " · ".join(parts)


def age(moment: float) -> str:
    seconds = max(0, int(time.time() - moment))
    return f"{seconds // 60} min" if seconds >= 60 else f"{seconds // 10 * 10} s"


def cells(run: Run, found: "Attribution", look: Look, strongest: float) -> dict[str, dict[str, Any]]:
    """By number of the unit in the whole text, which is not its number among the units that are left."""
    from explainers.explanation import ranking
    from explainers.metrics.masking import top

    left = remaining(run)
    order = ranking(found.scores).tolist()
    places = {unit: rank for rank, unit in enumerate(order)}
    cut = top(len(order), look.percent) if look.percent else 0
    strength = strengths(found.scores, scale=look.scale, strongest=strongest)
    spread = found.spread or (0.0,) * len(found.scores)
    return {
        str(left[unit]): {
            "colour": colour(strength[unit], preset=look.preset, signed=found.signed),
            "line": f"{round(abs(strength[unit]) * THICKEST)}px",
            "score": number(found.scores[unit], spread[unit], signed=found.signed),
            "rank": places[unit] + 1,
            "of": len(order),
            "top": places[unit] < cut,
        }
        for unit in range(len(order))
    }


def legend(found: "Attribution", look: Look, strongest: float, labels: Sequence[str]) -> list[dict[str, str]]:
    """The ends of the scale with their numbers, as drawn: what full colour means, and for which class."""
    end = strongest if look.scale == "shared" else max(map(abs, found.scores), default=0.0)
    name = one_line(labels[found.label], LONGEST_LABEL) if labels else "the class"
    ends = [(-1.0, f"against {name}"), (1.0, f"for {name}")] if found.signed else [(1.0, "most")]
    return [
        {
            "colour": colour(strength, preset=look.preset, signed=found.signed),
            "text": f"{word} {number(strength * end, 0.0, signed=found.signed)}",
        }
        for strength, word in ends
    ]


def number(score: float, spread: float, *, signed: bool) -> str:
    rounded = round(score, 4) + 0.0  # no minus zero
    shown = f"{rounded:{'+' if signed and rounded else ''}.4f}"
    return f"{shown} ± {spread:.4f}" if spread else shown


def remaining(run: Run) -> Sequence[int]:
    """The numbers in the whole text of the units that are explained."""
    total = len(run.whole.encoding.units) if run.whole else 0
    return [index for index in range(total) if index not in run.request.removed]
