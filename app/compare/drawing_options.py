"""How the heat maps and curves are drawn: the options, and their controls."""

from dataclasses import dataclass, replace

import streamlit as st

from app.compare.state import CompareState, compare_state
from app.streamlit_shims import Container
from explainers.datasets.example import Evidence, Example
from explainers.metrics.faithfulness import METRICS
from explainers.report.colours import PRESETS, Scale

USUAL, EVIDENCE = "usual", ""  # orders of the rows besides the ids of metrics
SCALES = ("per method", "shared")
LARGE = "<style>html { font-size: 20px; }</style>"


@dataclass(frozen=True)
class DrawingOptions:
    """Colour preset, one scale for all rows or one for each, the share in percent that is outlined, the metric by which
    rows are sorted, whether words and patches have scales of their own, the opacity of the colours over an image in
    percent, and the evidence that is outlined."""

    preset: str = "safe"
    scale: Scale = "method"
    percent: int = 20
    sort: str = EVIDENCE
    separate: bool = False
    opacity: int = 80
    evidence: Evidence | None = None


def drawing_options(example: Example, line: Container) -> DrawingOptions:
    """Draw the controls into the line, those for images only where the example has one; and return what is chosen."""
    state = compare_state()
    with line.popover("Drawing", key="edit drawing"):
        options = _general(state)
        if st.toggle(
            "Large type", help="For a projector. The form is folded away.", **state.widget("large", folded=True)
        ):
            st.html(LARGE)
        return options if example.image is None else _for_image(options, example, state)


def _general(state: CompareState) -> DrawingOptions:
    percent = st.slider(
        "Top share to outline, %",
        0,
        100,
        step=5,
        help="Units with a positive score among the strongest are outlined. Also a line in the curves.",
        **state.widget("top", folded=True),
    )
    orders = {
        "evidence": EVIDENCE,
        **{metric.name: metric.id for metric in METRICS},
        "the order of the list": USUAL,
    }
    sort = st.selectbox(
        "Sort rows by",
        list(orders),
        help="Evidence: by the groups of the answer. The order is made when all methods are done, and stays while "
        "words are removed.",
        **state.widget("sort", options=orders, listed=orders, folded=True),
    )
    preset = st.selectbox(
        "Colours",
        list(PRESETS),
        format_func=lambda name: PRESETS[name].title,
        **state.widget("colours", listed=PRESETS, folded=True),
    )
    scale = st.segmented_control(
        "Scale",
        SCALES,
        required=True,
        help="Per method: the strongest unit of each row has the full colour. Shared: one scale for all rows, so that "
        "colours can be compared; methods with small scores look pale.",
        **state.widget("scale", options=SCALES, initial="default", folded=True),
    )
    return DrawingOptions(
        preset or "safe", "shared" if scale == "shared" else "method", percent, orders.get(sort or "", EVIDENCE)
    )


def _for_image(options: DrawingOptions, example: Example, state: CompareState) -> DrawingOptions:
    separate = st.toggle(
        "Separate scales for image and text",
        help="Where the strongest word outweighs every patch, the image looks empty. With scales of their own, compare "
        "colours only within the image and within the text.",
        **state.widget("separate", folded=True),
    )
    opacity = st.slider(
        "Colours over the image, %",
        0,
        100,
        step=5,
        help="0 shows the image alone.",
        **state.widget("opacity", folded=True),
    )
    return replace(options, separate=separate, opacity=opacity, evidence=_evidence(example, state))


def _evidence(example: Example, state: CompareState) -> Evidence | None:
    """Return what the correct answer follows from, where that is known and switched on."""
    reference = state.reference(example)
    if reference is None or reference.evidence is None:
        return None
    switched_on = st.toggle(
        "Show the true evidence",
        help="Outlines the objects and underlines the words from which the correct answer follows by the generator's "
        "rules. A faithful explanation need not agree with them: the model may use other evidence.",
        **state.widget("evidence", folded=True),
    )
    return reference.evidence if switched_on else None
