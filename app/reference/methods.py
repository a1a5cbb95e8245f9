"""The Methods page: what every method and metric means and what was measured with it, all from the registries.

The page has no text of its own about them. For a learned method it lists what has been fitted, with the coefficients.
"""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from app import components, model_pool, plain_text
from app.model_info import model_info
from explainers.errors import ExplanationError
from explainers.methods.narrator_specs import NarratorSpec
from explainers.methods.registry import METHODS, MethodSpec, groups
from explainers.metrics.faithfulness import METRICS
from explainers.models.bundle_cards import BUNDLES, bundle_names
from explainers.report.evaluation_tables import EVALUATION, NOTE, evaluation_cells, evidence_cells, row_name
from explainers.training.artifacts import Artifact, available_artifacts

DIFFERENCES = "**Where the paper, its code and this implementation differ.**"


def title() -> None:
    st.title("Methods and metrics", anchor=False)
    st.write(
        "No explanation is the truth about a model. Each method answers its own question. This page says which, and "
        "when not to believe the answer."
    )
    for sentence in (*METHODS.faults, *METRICS.faults):
        plain_text.warning(sentence)


def methods(pool: model_pool.ModelPool) -> None:
    for group in groups():
        st.header(group, anchor=False)
        for spec in (spec for spec in METHODS if spec.group == group):
            folded(spec, partial(_about, pool, spec))


def folded(spec: MethodSpec | NarratorSpec, draw: Callable[[], None]) -> None:
    """Draw an expander, and its content where it is open: a browser took seconds to draw the contents of all."""
    with st.expander(spec.name, key=f"about {spec.id}", on_change="rerun") as part:
        if part.open:
            draw()


def _about(pool: model_pool.ModelPool, spec: MethodSpec) -> None:
    describe(spec)
    if spec.learns:
        weights(pool, spec)
    plain_text.caption(f"{'Signed' if spec.signed else 'Unsigned'} scores, {spec.kind}. {spec.source}")


def describe(spec: MethodSpec | NarratorSpec) -> None:
    """Draw what an expander says of a method or a narrator."""
    plain_text.paragraph(spec.idea)
    st.latex(spec.formula)
    plain_text.paragraph(plain_text.Bold("When not to believe it."), f" {spec.caution}")
    if spec.deviations:
        st.write(DIFFERENCES)
        plain_text.bullets(spec.deviations)


def weights(pool: model_pool.ModelPool, spec: MethodSpec) -> None:
    """Draw a row per set of weights with the command that makes it, and the coefficients where there are any."""
    artifacts = [
        (model, artifact)
        for model in bundle_names()
        for artifact in available_artifacts(model, model_info(pool, model).version)
        if artifact.method == spec.weights_of
    ]
    if not artifacts:
        st.caption("Not fitted to any embedded model yet. Fit it on the Train page.")
        return
    try:
        st.dataframe([_row(model, artifact) for model, artifact in artifacts], hide_index=True)
    except ExplanationError as error:
        plain_text.warning(str(error))
        return
    if spec.has_coefficients:
        components.coefficients(
            {f"{model}: {artifact.variant}": artifact for model, artifact in artifacts}, key="methods"
        )


def _row(model: str, artifact: Artifact) -> dict[str, object]:
    card = artifact.card
    validation, seconds = card.get("validation", {}), card.get("seconds", {})
    return {
        "model": model,
        "weights": f"{artifact.method}:{artifact.variant}",
        **{f"{metric.name}, validation": validation.get(metric.id) for metric in METRICS if metric.validated},
        "parameters": card.get("parameters"),
        "seconds": seconds.get("all") if isinstance(seconds, dict) else seconds,
        "warnings": " ".join(card.get("warnings", [])),
        "command": card.get("command"),
    }


def metrics() -> None:
    st.header("Metrics", anchor=False)
    for metric in METRICS:
        better = "higher" if metric.higher_is_better else "lower"
        plain_text.paragraph(plain_text.Bold(metric.name), f" ({better} is better). {metric.meaning}")
    st.caption(
        "The metrics erase words and query the model again. A text with gaps can be unlike everything the model was "
        "trained on, so the probability may fall because of the gap and not because of the missing word. Compare with "
        "the random orders, and try another erasure operator."
    )


def evaluations() -> None:
    """Draw the tables of the embedded models, as the command below each of them wrote them."""
    for model in bundle_names():
        path = BUNDLES / model / EVALUATION
        if path.is_file():
            _evaluation(model, json.loads(path.read_text(encoding="utf-8")))


def _evaluation(model: str, table: dict[str, Any]) -> None:
    rows, texts = table["rows"], table["data"]["texts"]
    st.header(f"On {texts} held-out texts of {model}", anchor=False)
    erasures = list(dict.fromkeys(row["erasure"] for row in rows))
    erasure = st.segmented_control("Erased by", erasures, default=erasures[0], required=True, key=f"of {model}")
    st.dataframe(evaluation_cells(rows, erasure or erasures[0]), hide_index=True, height="content")
    fewer = [row for row in rows if row["texts"] < texts and row["erasure"] == erasures[0]]
    if fewer:
        plain_text.caption("; ".join(f"{row_name(row['method'])}: {row['texts']} of them" for row in fewer))
    _evidence(rows, erasures[0])
    plain_text.caption(NOTE)
    st.code(table["command"], "sh", wrap_lines=True)


def _evidence(rows: list[dict[str, Any]], erasure: str) -> None:
    """Draw how well each method matches the evidence for the label, where that is known."""
    cells = evidence_cells(rows, erasure)
    if cells:
        st.subheader("Do the methods find the evidence?", anchor=False)
        st.write(
            "The generator of these images knows from which objects and words the answer follows. AUC is the chance "
            "that a unit of evidence has a higher score than another unit; pointing, how often the highest score is "
            "evidence; IOU, the overlap of as many top units as there is evidence. Random is exact chance. Only "
            "examples count on which the model is correct and for which there is evidence."
        )
        st.dataframe(cells, hide_index=True, height="content")
