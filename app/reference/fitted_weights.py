"""The part of the Methods page about learned weights: what has been fitted for a method, and its coefficients."""

import streamlit as st

from app import plain_text
from app.components import coefficients
from app.model_info import model_info
from app.model_pool import ModelPool
from explainers.errors import ExplanationError
from explainers.methods.spec import MethodSpec
from explainers.metrics.faithfulness import METRICS
from explainers.models.bundle_cards import bundle_names
from explainers.training.artifacts import Artifact, available_artifacts


def weights(pool: ModelPool, spec: MethodSpec) -> None:
    """A row per set of weights, with the command that makes it, and perhaps its coefficients."""
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
        coefficients({f"{model}: {artifact.variant}": artifact for model, artifact in artifacts}, key="methods")


def _row(model: str, artifact: Artifact) -> dict[str, object]:
    card = artifact.card
    validation, seconds = card.get("validation", {}), card.get("seconds", {})
    return {
        "model": model,
        "weights": f"{artifact.method}:{artifact.variant}",
        **{f"{metric.name}, validation": validation.get(metric.id) for metric in METRICS if metric.validated},
        "parameters": card.get("parameters"),
        "seconds": seconds.get("all") if isinstance(seconds, dict) else seconds,
        "warnings": " ".join(card.get("alarms", [])),
        "command": card.get("command"),
    }
