"""What the cards need to draw a picture under the colours of its patches, as plain data: places are in percent."""

from typing import Any

from app.engine import Run
from explainers.datasets.example import Evidence
from explainers.report.pictures import Shown, shown

Box = tuple[int, int, int, int]


def picture(run: Run) -> dict[str, Any] | None:
    """`src`, `width` and `height`; `patches` by number of the unit: left, top, width, height, name. None for a text."""
    given = run.request.picture
    if given is None or (run.whole is not None and not run.whole.encoding.pictured):
        return None
    drawn = shown(given)
    return {"src": drawn.uri, "width": drawn.width, "height": drawn.height, "patches": patches(run, drawn)}


def patches(run: Run, drawn: Shown) -> dict[str, tuple[float, float, float, float, str]]:
    """None as long as the model has not said which parts it reads."""
    units = run.whole.encoding.units if run.whole is not None else ()
    return {
        str(number): (*drawn.share(unit.box), f"patch {unit.text}")
        for number, unit in enumerate(units)
        if unit.box is not None
    }


def evidence(run: Run, known: Evidence | None) -> dict[str, Any]:
    """The `boxes` in the picture and the numbers of the `words` from which the right answer follows."""
    if known is None or run.request.picture is None:
        return {"boxes": [], "words": []}
    drawn = shown(run.request.picture)
    units = run.whole.encoding.units if run.whole is not None else ()
    words = [
        number
        for number, unit in enumerate(units)
        if unit.kind == "word" and any(unit.start < end and start < unit.end for start, end in known.words)
    ]
    return {"boxes": [drawn.share(box) for box in known.boxes], "words": words}
