"""How the heat maps and curves are drawn: the options, and their controls in the sidebar."""

from dataclasses import dataclass, replace

import streamlit as st

from app.compare import image_input
from explainers.datasets.example import Evidence, Example
from explainers.metrics.faithfulness import METRICS
from explainers.report.colours import PRESETS, Scale

USUAL, EVIDENCE = "usual", ""  # orders of the rows besides the ids of metrics
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


def drawing_options(example: Example) -> DrawingOptions:
    """The controls, in the sidebar. Those for images are drawn only where the example has one."""
    with st.sidebar:
        st.subheader("Drawing", anchor=False)
        options = _general()
        if st.toggle(
            "Large type",
            key="large",
            bind="query-params",
            persist_state="session",
            help="For a projector. The form is folded away.",
        ):
            st.html(LARGE)
        return options if example.image is None else _for_image(options, example)


def is_large() -> bool:
    """Whether the type is large, also before its switch is drawn."""
    return bool(st.session_state.get("large", st.query_params.get("large") == "true"))


def _general() -> DrawingOptions:
    percent = st.slider(
        "Top share to outline, %",
        0,
        100,
        20,
        5,
        key="top",
        bind="query-params",
        persist_state="session",
        help="Units with a positive score among the strongest are outlined. Also a line in the curves.",
    )
    orders = {
        "evidence": EVIDENCE,
        **{metric.name: metric.id for metric in METRICS},
        "the order of the list": USUAL,
    }
    sort = st.selectbox(
        "Sort rows by",
        list(orders),
        key="sort",
        bind="query-params",
        persist_state="session",
        help="Evidence: AOPC-C minus AOPC-S. The order is made when all methods are done, and stays while words are "
        "removed.",
    )
    preset = st.selectbox(
        "Colours",
        list(PRESETS),
        key="colours",
        bind="query-params",
        persist_state="session",
        format_func=lambda name: PRESETS[name].title,
    )
    scale = st.segmented_control(
        "Scale",
        ("per method", "shared"),
        default="per method",
        required=True,
        key="scale",
        bind="query-params",
        persist_state="session",
        help="Per method: the strongest unit of each row has the full colour. Shared: one scale for all rows, so that "
        "colours can be compared; methods with small scores look pale.",
    )
    return DrawingOptions(
        preset or "safe", "shared" if scale == "shared" else "method", percent, orders.get(sort or "", EVIDENCE)
    )


def _for_image(options: DrawingOptions, example: Example) -> DrawingOptions:
    separate = st.toggle(
        "Separate scales for image and text",
        key="separate",
        bind="query-params",
        persist_state="session",
        help="Where the strongest word outweighs every patch, the image looks empty. With scales of their own, compare "
        "colours only within the image and within the text.",
    )
    opacity = st.slider(
        "Colours over the image, %",
        0,
        100,
        80,
        5,
        key="opacity",
        bind="query-params",
        persist_state="session",
        help="0 shows the image alone.",
    )
    return replace(options, separate=separate, opacity=opacity, evidence=_evidence(example))


def _evidence(example: Example) -> Evidence | None:
    """What the correct answer follows from, where that is known and switched on."""
    reference = image_input.reference(example)
    if reference is None or reference.evidence is None:
        return None
    switched_on = st.toggle(
        "Show the true evidence",
        key="evidence",
        bind="query-params",
        persist_state="session",
        help="Outlines the objects and underlines the words from which the correct answer follows by the generator's "
        "rules. A faithful explanation need not agree with them: the model may use other evidence.",
    )
    return reference.evidence if switched_on else None
