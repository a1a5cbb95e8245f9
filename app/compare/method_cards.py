"""The method cards as plain data, and the component that draws them (assets/cards.js).

    time      when it was made: Streamlit may deliver two payloads in the wrong order
    labels    names of the texts; one that stands alone has no name
    segments  per text a list of [characters, unit number or -1], which together are the text as typed
    image     None, or the data of `image_overlay`; patches are units as words are
    evidence  boxes and words from which the correct answer follows, where this is known and switched on
    opacity   of the colours over the image, 0…1
    removed   numbers of the units that are struck through
    narrow    the last width that the component reported; it reports again when that changes
    cards     id, name, kind, idea, caution, status, progress 0…1, note, foot, legend, shares, cells by unit number
    a cell    colour, line (thickness of the underline), score, rank, of, top (whether it is in the top k)
Nothing in it is HTML: the component writes all of it as text.
"""

from collections.abc import Callable
from typing import Any

from app.compare import image_overlay
from app.compare.card_texts import CardTexts, card_texts
from app.compare.drawing_options import DrawingOptions
from app.compare.heat_maps import cells, legend
from app.compare.runs import Column, Run
from app.components import component, newest
from app.model_info import info_on_card
from explainers.metrics.faithfulness import METRICS
from explainers.models.inputs.requirements import display_input_names
from explainers.report.text import visible
from explainers.report.unit_names import share_line

MOST_UNREAD = 1000  # characters


def show(
    run: Run, options: DrawingOptions, on_toggled: Callable[[], None], on_resized: Callable[[], None], *, narrow: bool
) -> None:
    """Draws the cards. `on_toggled` is called after a click on a unit, `on_resized` when `narrow` has changed.

    The unit and the width are in the state "cards".
    """
    data = newest("cards", payload(run, options, narrow=narrow))
    component("cards")(key="cards", data=data, on_toggled_change=on_toggled, on_narrow_change=on_resized)


def payload(run: Run, options: DrawingOptions, *, narrow: bool = False) -> dict[str, Any]:
    """Built again only where something visible has changed."""
    texts = {name: card_texts(run, column) for name, column in list(run.columns.items())}
    attributions = tuple(column.attribution for column in run.columns.values())
    key = (options, narrow, id(run.whole), tuple(texts.values()), attributions)
    return run.view("cards", key, lambda: _payload(run, options, texts) | {"narrow": narrow})


def _payload(run: Run, options: DrawingOptions, texts: dict[str, CardTexts]) -> dict[str, Any]:
    columns = [run.columns[name] for name in texts]
    if options.sort:
        columns.sort(key=lambda column: _sort_key(column, options.sort))
    # what is no explanation does not stretch the scale that the others share
    scored = [each.attribution for each in columns if each.spec.explains or len(columns) == 1]
    scores = [attribution.scores for attribution in scored if attribution is not None]
    strongest = max((abs(score) for each in scores for score in each), default=1.0)
    return {
        "labels": labels(run),
        "segments": segments(run),
        "image": image_overlay.image_data(run),
        "evidence": image_overlay.evidence_data(run, options.evidence),
        "opacity": options.opacity / 100,
        "removed": list(run.request.removed),
        "cards": [_card(run, column, texts[column.spec.id], options, strongest) for column in columns],
    }


def _sort_key(column: Column, metric: str) -> tuple[bool, float]:
    if column.result is None or column.spec.optimised:  # what was optimised on the metrics is not ranked by them
        return True, 0.0
    return False, -METRICS.get(metric).sign * column.result.metrics[metric]


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
    """What the model has not read (yet), cut where it is long: every card repeats it."""
    return visible(text) if len(text) <= MOST_UNREAD else f"{visible(text[:MOST_UNREAD])} …"


def _card(run: Run, column: Column, texts: CardTexts, options: DrawingOptions, strongest: float) -> dict[str, Any]:
    spec, attribution = column.spec, column.attribution
    drawing = {"legend": [], "shares": "", "cells": {}} if attribution is None else {
        "legend": legend(attribution, options, strongest, run.whole.model.labels if run.whole else ()),
        "shares": share_line(attribution.image_share) if attribution.encoding.multimodal else "",
        "cells": cells(run, attribution, options, strongest),
    }  # fmt: skip
    return {
        "id": spec.id,
        "name": spec.name,
        "idea": spec.idea,
        "caution": f"{spec.caution} ({spec.source}.)",
        **texts._asdict(),
        **drawing,
    }
