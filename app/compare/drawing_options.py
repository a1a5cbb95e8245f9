"""How the method cards and plots are drawn: the options, and the controls above the cards."""

from dataclasses import dataclass, replace

import streamlit as st

from app.compare import image_input
from explainers.datasets.example import Evidence, Example
from explainers.metrics.faithfulness import METRICS
from explainers.report.colours import Scale


@dataclass(frozen=True)
class DrawingOptions:
    """Colour preset, one scale for all cards or one for each, the share in percent that is outlined, the metric by
    which cards are sorted, the opacity of the colours over an image in percent, and the evidence that is outlined."""

    preset: str = "safe"
    scale: Scale = "method"
    percent: int = 20
    sort: str = ""
    opacity: int = 80
    evidence: Evidence | None = None


def drawing_options(preset: str, scale: Scale, example: Example) -> DrawingOptions:
    """The controls above the cards. Those for images are drawn only where the example has one."""
    left, right = st.columns([1, 2])
    with left:
        sort = st.selectbox(
            "Sort cards by",
            ["the usual order", *(metric.name for metric in METRICS)],
            key="sort",
            bind="query-params",
            persist_state="session",
        )
    with right:
        percent = st.slider(
            "Top share to outline, %",
            0,
            100,
            20,
            5,
            key="top",
            bind="query-params",
            persist_state="session",
            help="Also marked in both plots.",
        )
    by_name = {metric.name: metric.id for metric in METRICS}
    options = DrawingOptions(preset, scale, percent, by_name.get(sort or "", ""))
    if example.image is None:
        return options
    with left:
        evidence = _evidence(example)
    with right:
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
    return replace(options, opacity=opacity, evidence=evidence)


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
