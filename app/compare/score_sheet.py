"""The score sheet as plain data, and the component that draws it (assets/sheet.js).

    time      when it was made: Streamlit may deliver two payloads in the wrong order
    labels    names of the texts; one that stands alone has no name
    segments  per text a list of [characters, unit number or -1], which together are the text as typed
    image     None, or the data of `image_overlay`; patches are units as words are
    evidence  boxes and words from which the correct answer follows, where this is known and switched on
    opacity   of the colours over the image, 0…1
    removed   numbers of the units that are struck through
    narrow    the last width that the component reported; it reports again when that changes
    view      "rows" or "matrix"; matrix: whether the text is short enough for it
    metrics   per metric with a column: id, name, meaning, low and high (ends of its bars), band of the random orders
    random    shares, and per experiment the mean and the 95 % band of the random orders; None before they are there
    rows      id, name, colour, kind, status, note, range, progress 0…1, old, aside, featured, cells by unit number,
              metrics by id, tag, curve, agreement, seconds, shares, and detail, which is shown where a row is opened
    a cell    colour, line (thickness of the underline), score, rank, of, top (whether it is in the top k)
Nothing in it is HTML: the component writes all of it as text.
"""

from collections.abc import Callable
from typing import Any

from app.compare import image_overlay, row_numbers, row_order
from app.compare.drawing_options import DrawingOptions
from app.compare.heat_maps import Strongest, cells
from app.compare.row_texts import RowTexts, detail, row_texts
from app.compare.runs import Column, Run
from app.compare.verdicts import verdict_of
from app.components import component, newest
from app.model_info import info_on_card
from explainers.models.inputs.requirements import display_input_names
from explainers.report.colours import line_of
from explainers.report.text import visible
from explainers.report.unit_names import share_line

MOST_UNREAD = 1000  # characters
MOST_IN_MATRIX = 40  # units
DISSENTS = "Among the methods beyond the random orders, its ranks agree least with those of the first one named."
Triggered = Callable[[], None]


def show(run: Run, options: DrawingOptions, *, view: str, narrow: bool, callbacks: dict[str, Triggered]) -> None:
    """Draws the sheet. `callbacks` are called when the component reports: "toggled" a unit, "narrow" or "view"."""
    data = newest("sheet", payload(run, options, view=view, narrow=narrow))
    component("sheet")(key="sheet", data=data, **{f"on_{name}_change": call for name, call in callbacks.items()})


def payload(run: Run, options: DrawingOptions, *, view: str = "rows", narrow: bool = False) -> dict[str, Any]:
    """Built again only where something visible has changed."""
    texts = {name: row_texts(run, column) for name, column in list(run.columns.items())}
    shown = {name: displayed(run, column) for name, column in list(run.columns.items())}
    order = row_order.row_order(run, options.sort)
    attributions = tuple(column.attribution for _, column in shown.values())
    key = (options, narrow, view, id(run.whole), tuple(texts.values()), attributions, order, run.settled, run.active)
    return run.view("sheet", key, lambda: _payload(run, options, texts, order) | {"narrow": narrow, "view": view})


def displayed(run: Run, column: Column) -> tuple[Run, Column]:
    """The column, or that of the run before as long as this one has no scores, with the run that it is of."""
    before = run.previous
    earlier = before.columns.get(column.spec.id) if before is not None else None
    if before is None or earlier is None or column.attribution is not None or column.failure or not earlier.settled:
        return run, column
    return before, earlier


def _payload(
    run: Run, options: DrawingOptions, texts: dict[str, RowTexts], order: row_order.RowOrder
) -> dict[str, Any]:
    columns = {name: displayed(run, run.columns[name]) for name in order.methods if name in texts}
    # what is no explanation does not stretch the scale that the others share
    scored = [each for _, each in columns.values() if each.spec.explains or len(columns) == 1]
    strongest = Strongest.of([each.attribution for each in scored if each.attribution is not None])
    numbers = row_numbers.row_numbers(run)
    return {
        "labels": labels(run),
        "segments": segments(run),
        "image": image_overlay.image_data(run),
        "evidence": image_overlay.evidence_data(run, options.evidence),
        "opacity": options.opacity / 100,
        "removed": list(run.request.removed),
        "matrix": run.whole is not None and len(run.whole.encoding.units) <= MOST_IN_MATRIX,
        "metrics": numbers.metrics,
        "random": numbers.random,
        "rows": [
            _row(run, name, columns[name], texts[name], options, strongest)
            | {"featured": name in order.featured, "tag": tag(run, name)}
            | numbers.of(name)
            for name in columns
        ],
    }


def _row(
    run: Run, name: str, shown: tuple[Run, Column], texts: RowTexts, options: DrawingOptions, strongest: Strongest
) -> dict[str, Any]:
    origin, column = shown
    spec, attribution = column.spec, column.attribution
    line = line_of(name)
    multimodal = attribution is not None and attribution.encoding.multimodal
    return {
        "id": spec.id,
        "name": spec.name,
        "colour": line.colour,
        "old": origin is not run,
        **texts._asdict(),
        "cells": cells(origin, attribution, options, strongest) if attribution is not None else {},
        "shares": share_line(attribution.image_share) if attribution is not None and multimodal else "",
        "detail": detail(origin, column, options, strongest),
    }


def tag(run: Run, method: str) -> dict[str, str] | None:
    """The part of a method in the verdict: its kind, "best" or "dissents", the words, and what they mean."""
    verdict = verdict_of(run)
    if run.status != "done" or verdict.certainty not in ("clear", "tied"):
        return None
    if method in verdict.best:
        leads = [experiment for experiment, methods in verdict.leading if method in methods]
        words = f"leads by {leads[0]}" if verdict.divided and len(leads) == 1 else "best supported"
        return {"kind": "best", "text": words, "meaning": "Named by the verdict."}
    if method == verdict.dissenter:
        return {"kind": "dissents", "text": "differs most", "meaning": DISSENTS}
    return None


def labels(run: Run) -> list[str]:
    """The names of the texts, also before the model is loaded."""
    if run.whole is not None:
        return list(display_input_names(run.whole.model.input_names, len(run.whole.encoding.texts)))
    return list(display_input_names(info_on_card(run.request.model).input_names, len(texts_of(run))))


def texts_of(run: Run) -> tuple[str, ...]:
    example = run.request.example
    return (example.text,) if example.pair is None else (example.text, example.pair)


def segments(run: Run) -> list[list[tuple[str, int]]]:
    """The texts cut into units and what lies between them; before the model has read them, each in one piece."""
    if run.whole is None:
        return [[(unread(text), -1)] for text in texts_of(run)]
    encoding = run.whole.encoding
    result = []
    for number, text in enumerate(encoding.texts):
        pieces: list[tuple[str, int]] = []
        end = 0
        for index, unit in enumerate(encoding.units):
            if unit.segment == number:
                pieces += [(visible(text[end : unit.start]), -1)] if end < unit.start else []
                pieces.append((visible(unit.text), index))
                end = unit.end
        result.append([*pieces, (unread(text[end:]), -1)])
    return result


def unread(text: str) -> str:
    """What the model has not read (yet), cut where it is long: every row repeats it."""
    return visible(text) if len(text) <= MOST_UNREAD else f"{visible(text[:MOST_UNREAD])} …"
