"""The score sheet as plain data, and the component that draws it (assets/sheet.js).

    time      when it was made: Streamlit may deliver two payloads in the wrong order
    labels    names of the texts; one that stands alone has no name
    segments  per text a list of [characters, unit number or -1], which together are the text as typed, or
              of a text of which some sentences are explained, these with what stands around them
    image     None, or the data of `heat_maps.image_data`; patches are units as words are
    evidence  boxes and words from which the correct answer follows, where this is known and switched on
    opacity   of the colours over the image, 0…1
    removed   numbers of the units that are struck through
    first     number of the first unit that is decisive, which the rows of a long text show; -1 without an answer
    narrow    the last width that the component reported; it reports again when that changes
    view      "rows" or "matrix"; matrix: whether the text is short enough for it
    metrics   per metric with a column: id, name, meaning, low and high (ends of its bars), band of the random orders
    random    shares, and per experiment the mean and the 95 % band of the random orders; None before they are there
    rows      id, name, colour, kind, status, note, range, progress 0…1, old, aside, featured, cells by unit number,
              group in the answer with its title and meaning, metrics by id, curve, agreement, seconds, shares, and
              detail, which is shown where a row is opened
    a cell    colour, line (thickness of the underline), score, rank, of, top (whether it is in the top k)
Nothing in it is HTML: the component writes all of it as text. A closed row says little besides its heat map and its
numbers; an opened one what the method is and how it was computed.
"""

import time
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any, NamedTuple

import streamlit as st

from app import components, model_info
from app.compare import heat_maps, sheet_rows
from app.compare.drawing_options import DrawingOptions
from app.compare.runs import Column, Run, answer_of
from app.compare.state import RowOrder
from explainers.comparison.consensus import FEWEST_METHODS
from explainers.errors import without_folders
from explainers.methods.registry import SLOW, MethodSpec, method_spec
from explainers.models.inputs.requirements import display_input_names
from explainers.report import colours, wording
from explainers.results.answer import CONSENSUS
from explainers.results.attribution import Attribution
from explainers.results.comparison import part_names

UNPREDICTABLE = 20  # model calls before which the remaining time is not estimated


class RowTexts(NamedTuple):
    """`aside` says why a method takes no part in the answer, where it did not answer for the class in question."""

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
        heat_maps.score_range(attribution) if attribution is not None else "",
        aside(run, column),
        without_folders(run.failure(column.spec.id)).replace("`", ""),  # which name commands
        f"{attribution.seconds:.2f}" if attribution is not None and not column.spec.is_joint else "",
    )


def status_of(run: Run, column: Column) -> str:
    if run.failure(column.spec.id):
        return "failed"
    if run.result(column.spec.id) is not None:
        return "done"
    if run.current is not None and column.spec.id in run.current.postponed:
        return "postponed"
    if not run.active:
        return "stopped"
    return "running" if column.base is not None else "waiting"


def kind(column: Column) -> str:
    spec = column.spec
    return f"{'signed' if spec.signed else 'unsigned'}, {spec.kind}{', a control' if spec.is_control else ''}"


def aside(run: Run, column: Column) -> str:
    """What the method explains, where that is not what was asked."""
    if run.current is None:
        return ""
    decision, predicted = run.current.decision, run.current.predicted
    if column.spec.can_explain(decision.target, predicted):
        return ""
    only = column.spec.explains_predicted_only
    label = wording.one_line(decision.card.labels[predicted if only else decision.label], heat_maps.LONGEST_LABEL)
    other = "the predicted class" if only else f"not {wording.target_name(decision, heat_maps.LONGEST_LABEL)}"
    return f"explains {label}, {other}"


def progress(run: Run, column: Column) -> float:
    """0…1."""
    settled = run.is_settled(column.spec.id)
    if settled or column.base is None or run.decision is None:
        return float(settled)
    settings = run.request.settings
    passes = column.spec.passes(len(run.decision.encoding.units), settings.samples, settings.steps)
    return min(1.0, (run.meter.answers - column.base) / max(passes, 1))


def note(run: Run, column: Column, status: str) -> str:
    """How far the method is."""
    if status == "running":
        share = progress(run, column)
        left = ""
        if run.meter.calls > UNPREDICTABLE and 0 < share < 1 and column.base is not None:
            per_call = run.meter.passes_per_answer * run.meter.seconds / run.meter.calls
            left = f", about {per_call * (run.meter.answers - column.base) * (1 / share - 1):.0f} s left"
        return f"{'estimate, ' if column.attribution else ''}{share:.0%}{left}"
    if status == "postponed":
        return f"no time within {run.short_of} s"
    if status == "done" and column.attribution is not None and column.attribution.ended_early:
        if column.spec.kind in SLOW:
            return f"estimate after {column.attribution.seconds:.1f} s"
        if run.active:
            return ""  # its scores are what they will be
        return f"measured in part {'before it was stopped' if run.status == 'stopped' else f'in {run.short_of} s'}"
    if status == "stopped":
        return "stopped before it was done" if run.status == "stopped" else ""
    return "waiting" if status == "waiting" else ""


def detail(run: Run, column: Column, options: DrawingOptions, ends: heat_maps.Strongest) -> dict[str, Any]:
    """What an opened row shows: what the method is, how it was computed, and what its colours mean."""
    spec, attribution = column.spec, column.attribution
    name = wording.target_name(run.decision, heat_maps.LONGEST_LABEL) if run.decision is not None else "the class"
    return {
        "idea": spec.idea,
        "caution": spec.caution,
        "source": spec.source,
        "deviations": list(spec.deviations),
        "facts": facts(run, column, attribution) if attribution is not None else [],
        "legend": heat_maps.legend(attribution, options, ends, name) if attribution is not None else [],
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
        lines.append(f"standard deviation of a score at most {wording.decimals(max(attribution.spread), 3)}")
    if attribution.gap is not None:
        lines.append(f"completeness gap {attribution.gap:.3f}")
    if column.remembered:
        lines.append(f"remembered from {age(column.finished)} ago")
    return lines


def settled_after(attribution: Attribution) -> str:
    """Such as "settled after 320 of at most 2,000 samples"."""
    most = f"{attribution.samples_at_most:,}"
    if attribution.stage == "estimate" or attribution.ended_early or attribution.samples == attribution.samples_at_most:
        return f"{attribution.samples:,} of at most {most} samples"
    return f"settled after {attribution.samples:,} of at most {most} samples"


def age(moment: float) -> str:
    """In steps, so that rows do not change every second."""
    seconds = max(0, int(time.time() - moment))
    return f"{seconds // 60} min" if seconds >= 60 else f"{seconds // 10 * 10} s"


MOST_UNREAD = 1000  # characters
AROUND = 90  # characters before and after the units of an excerpt
MOST_IN_MATRIX = 40  # units
WIDE_LINE, NARROW_LINE = 125, 50  # characters
MOST_WIDE, MOST_NARROW = 9, 7  # further lines that a row shows of its text; it scrolls
NO_GROUP = {"group": "", "title": "", "meaning": ""}
Triggered = Callable[[], None]


def show(run: Run, options: DrawingOptions, *, view: str, narrow: bool, callbacks: dict[str, Triggered]) -> None:
    """Draws the sheet. `callbacks` are called when the component reports: "toggled" a unit, "narrow" or "view"."""
    data = components.newest("sheet", payload(run, options, view=view, narrow=narrow))
    st.html(reserved(data))
    components.component("sheet")(
        key="sheet", data=data, **{f"on_{name}_change": call for name, call in callbacks.items()}
    )


def reserved(data: dict[str, Any]) -> str:
    """Return the style by which the sheet has its place before its script has come: how many rows are open, how many
    of them show the text or will, how many further lines it takes on a wide and on a narrow screen, and how many lines
    name folded ones or a group."""
    rows = data["rows"] if data["view"] == "rows" else []
    groups = dict.fromkeys((row["group"], row["title"]) for row in rows)
    folded = {(row["group"], row["title"]) for row in rows if not row["featured"]}
    full = sum(row["featured"] for row in rows)
    texts = sum(row["featured"] and row["status"] != "failed" for row in rows)  # a failed one shows a sentence
    lines = len(folded) + sum(bool(title) for _, title in groups)
    lengths = [sum(len(piece) for piece, _ in segment) for segment in data["segments"]]
    lines_of = ((WIDE_LINE, MOST_WIDE), (NARROW_LINE, MOST_NARROW))
    wide, narrow = (min(most, sum(length // line for length in lengths)) for line, most in lines_of)
    places = f"--full: {full}; --texts: {texts}; --wide: {wide}; --narrow: {narrow}; --folded: {lines};"
    return f"<style>.st-key-sheet {{ {places} }}</style>"


def payload(run: Run, options: DrawingOptions, *, view: str = "rows", narrow: bool = False) -> dict[str, Any]:
    """Built again only where something visible has changed."""
    texts = {name: row_texts(run, column) for name, column in sheet_columns(run).items()}
    shown = {name: displayed(run, column) for name, column in sheet_columns(run).items()}
    order = sheet_rows.row_order(run, options.sort)
    attributions = tuple(column.attribution for _, column in shown.values())
    key = (options, narrow, view, id(run.whole), tuple(texts.values()), attributions, order, run.settled, run.active)
    return run.view("sheet", key, lambda: _payload(run, options, texts, order) | {"narrow": narrow, "view": view})


def sheet_columns(run: Run) -> dict[str, Column]:
    """Return the columns of the run, before them the consensus where there is one or it is still to come."""
    columns = dict(list(run.columns.items()))  # the worker may add one
    members = [column for column in columns.values() if column.spec.comparable and not column.spec.is_random]
    joint = run.result(CONSENSUS)
    if len(members) < FEWEST_METHODS or (joint is None and not run.active):
        return columns
    return {CONSENSUS: Column(method_spec(CONSENSUS), joint.attribution if joint is not None else None), **columns}


def displayed(run: Run, column: Column) -> tuple[Run, Column]:
    """The column, or that of the run before as long as this one has no scores, with the run that it is of."""
    before, method = run.previous, column.spec.id
    postponed = run.current is not None and method in run.current.postponed  # so that no result is on its way
    if before is None or column.attribution is not None or run.failure(method) or postponed:
        return run, column
    if not before.is_settled(method):
        return run, column
    return before, sheet_columns(before)[method]


def _payload(run: Run, options: DrawingOptions, texts: dict[str, RowTexts], order: RowOrder) -> dict[str, Any]:
    own = sheet_columns(run)
    columns = {name: displayed(run, own[name]) for name in order.methods if name in texts and name in own}
    # what is no explanation does not stretch the scale that the others share
    scored = [column for _, column in columns.values() if shares_scale(column.spec) or len(columns) == 1]
    strongest = heat_maps.Strongest.of([column.attribution for column in scored if column.attribution is not None])
    numbers = sheet_rows.row_numbers(run)
    return {
        "labels": labels(run),
        "segments": segments(run),
        "image": heat_maps.image_data(run),
        "evidence": heat_maps.evidence_data(run, options.evidence),
        "opacity": options.opacity / 100,
        "removed": list(run.request.removed),
        "first": first_decisive(run),
        "matrix": run.whole is not None and len(run.whole.encoding.units) <= MOST_IN_MATRIX,
        "metrics": numbers.metrics,
        "random": numbers.random,
        "rows": [
            _row(run, name, columns[name], texts[name], options, strongest)
            | {"featured": name in order.featured, **order.groups.get(name, NO_GROUP)}
            | numbers.of(name)
            for name in columns
        ],
    }


def first_decisive(run: Run) -> int:
    """Return the number in the whole input of the first unit that is decisive; -1 without an answer."""
    answer, numbers = answer_of(run), heat_maps.remaining(run)
    return min((numbers[unit] for unit in answer.marked), default=-1)


def _row(
    run: Run,
    name: str,
    shown: tuple[Run, Column],
    texts: RowTexts,
    options: DrawingOptions,
    strongest: heat_maps.Strongest,
) -> dict[str, Any]:
    origin, column = shown
    spec, attribution = column.spec, column.attribution
    line = colours.line_of(name)
    multimodal = attribution is not None and attribution.encoding.multimodal
    return {
        "id": spec.id,
        "name": spec.name,
        "colour": line.colour,
        "old": origin is not run,
        **texts._asdict(),
        "cells": heat_maps.cells(origin, attribution, options, strongest) if attribution is not None else {},
        "shares": wording.share_line(attribution.image_share) if attribution is not None and multimodal else "",
        "detail": detail(origin, column, options, strongest),
    }


def shares_scale(spec: MethodSpec) -> bool:
    """Return whether the row's scores set the ends of a scale that rows share."""
    return spec.explains and not spec.is_joint


def labels(run: Run) -> list[str]:
    """The names of the texts, also before the model is loaded."""
    if run.whole is not None:
        return list(part_names(run.whole.card.input_names, run.whole.encoding))
    return list(
        display_input_names(model_info.info_on_card(run.request.model).input_names, len(run.request.example.texts))
    )


def segments(run: Run) -> list[list[tuple[str, int]]]:
    """The texts that are shown, cut into units and what lies between them; each in one piece before the model has read
    it."""
    if run.whole is None:
        return [[(unread(text), -1)] for text in run.request.example.texts]
    encoding = run.whole.encoding
    result = []
    for number, text in enumerate(encoding.shown_texts):
        pieces: list[tuple[str, int]] = []
        end = 0
        for index, unit in enumerate(encoding.units):
            if unit.segment == number:
                pieces += [(wording.visible(text[end : unit.start]), -1)] if end < unit.start else []
                pieces.append((wording.visible(unit.text), index))
                end = unit.end
        if run.request.settings.opened:  # the rest has been read, and belongs to no unit
            pieces.append((wording.visible(text[end:]), -1))
            result.append(excerpt(pieces, set(range(len(encoding.units)))))
        else:
            result.append([*pieces, (unread(text[end:]), -1)])
    return result


Piece = tuple[str, int]  # characters and the number of their unit


def excerpt(pieces: list[Piece], marked: set[int]) -> list[Piece]:
    """Return the pieces of the `marked` units with `AROUND` characters before and after each, and "…" for the rest; of
    a text without any the beginning."""
    runs = [(key, list(run)) for key, run in groupby(pieces, lambda piece: piece[1] in marked)]
    result: list[Piece] = []
    for number, (is_marked, run) in enumerate(runs):
        whole = "".join(text for text, _ in run)
        if is_marked or len(whole) <= 2 * AROUND:
            result += run
            continue
        first, last = number == 0, number == len(runs) - 1
        end = 0 if first and not last else whole.rfind(" ", 0, AROUND) + 1 or AROUND
        begin = len(whole) if last else whole.find(" ", len(whole) - AROUND) + 1 or len(whole) - AROUND
        result += [*_slice(run, 0, end), (" …" if last else "… " if first else " … ", -1)]
        result += _slice(run, begin, len(whole))
    return result


def _slice(pieces: list[Piece], begin: int, end: int) -> Iterator[Piece]:
    """The characters from `begin` to `end` of the pieces together."""
    at = 0
    for text, unit in pieces:
        part = text[max(begin - at, 0) : max(end - at, 0)]
        at += len(text)
        if part:
            yield part, unit


def unread(text: str) -> str:
    """What the model has not read (yet), cut where it is long: every row repeats it."""
    return wording.visible(text) if len(text) <= MOST_UNREAD else f"{wording.visible(text[:MOST_UNREAD])} …"
