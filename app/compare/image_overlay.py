"""What the cards need to draw an image under the colours of its patches, as plain data. Positions are in percent."""

from typing import Any

from app.compare.runs import Run
from explainers.datasets.example import Evidence
from explainers.report.display_images import DisplayImage, display_image


def image_data(run: Run) -> dict[str, Any] | None:
    """`src`, `width` and `height`; `patches` by unit number: left, top, width, height, name. None for a text."""
    image = run.request.example.image
    if image is None or (run.whole is not None and not run.whole.encoding.multimodal):
        return None
    display = display_image(image)
    return {"src": display.uri, "width": display.width, "height": display.height, "patches": _patches(run, display)}


def _patches(run: Run, display: DisplayImage) -> dict[str, tuple[float, float, float, float, str]]:
    """Empty until the model has read the image."""
    units = run.whole.encoding.units if run.whole is not None else ()
    return {
        str(number): (*display.percent_box(unit.box), f"patch {unit.text}")
        for number, unit in enumerate(units)
        if unit.box is not None
    }


def evidence_data(run: Run, evidence: Evidence | None) -> dict[str, Any]:
    """The `boxes` in the image and the numbers of the `words` from which the correct answer follows."""
    if evidence is None or run.request.example.image is None:
        return {"boxes": [], "words": []}
    display = display_image(run.request.example.image)
    units = run.whole.encoding.units if run.whole is not None else ()
    words = [
        number
        for number, unit in enumerate(units)
        if unit.kind == "word" and any(unit.start < end and start < unit.end for start, end in evidence.words)
    ]
    return {"boxes": [display.percent_box(box) for box in evidence.boxes], "words": words}
