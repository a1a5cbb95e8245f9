"""What a training has come to: its curves, its weights and their card."""

from contextlib import suppress

import streamlit as st

from app import plain_text
from app.components import coefficients
from app.plain_text import Bold
from app.store import Job
from app.train import charts as losses
from app.train.log import Log
from app.train.submission import own_weights
from app.train.supervisor import card
from explainers.errors import ExplanationError
from explainers.methods.registry import METHODS
from explainers.methods.spec import MethodSpec
from explainers.metrics import consistency
from explainers.metrics.faithfulness import METRICS
from explainers.training.artifacts import find_artifact

CHART_BUTTONS = {"displayModeBar": False}


def curves(job: Job, log: Log) -> None:
    """A small plot for each term of the loss, and one for the metrics on held-out texts."""
    directions = {metric.name: metric.higher_is_better for metric in METRICS if metric.validated}
    names = {metric.id: metric.name for metric in METRICS if metric.validated}
    if any(consistency.ID in epoch.metrics for epoch in log.epochs):  # the weights are selected by it
        directions[consistency.NAME], names[consistency.ID] = True, consistency.NAME
    charts = []
    if log.step > min((step for values in log.terms.values() for step in values), default=0):
        charts += [(name, losses.term(name, log.terms[name])) for name in losses.ordered(log.terms)]
    else:  # a curve needs two points
        plain_text.caption(losses.first_values(log.terms))
    if len(log.epochs) > 1:
        charts.insert(1, ("validation", losses.validation(log.epochs, names)))
    elif log.epochs:
        plain_text.caption(losses.first_metrics(log.epochs[0], names))
    cells = [cell for _ in range(0, len(charts), 3) for cell in st.columns(3)]
    for cell, (name, figure) in zip(cells, charts, strict=False):
        with cell:
            st.plotly_chart(figure, key=f"chart {job.id} {name}", config=CHART_BUTTONS, alt=f"{name} by step")
    if len(log.epochs) > 1:
        *measured, last = (f"{name} ({_better(higher)} is better)" for name, higher in directions.items())
        st.caption(
            f"{', '.join(measured)} and {last} are "
            "measured on held-out texts, once for each point. Pale lines are single steps."
        )


def _better(higher: bool) -> str:
    return "higher" if higher else "lower"


def _spec(job: Job) -> MethodSpec | None:
    """None where an earlier version of the app has left a job of a method that is gone."""
    return METHODS.get(job.method) if job.method in METHODS.ids else None


def title(job: Job) -> str:
    """As the Compare page calls it."""
    spec = _spec(job)
    return spec.variant(job.variant).name if spec is not None else f"{job.method}:{job.variant}"


def result(job: Job) -> None:
    """Where to find the weights, and what is known about them."""
    spec, details = _spec(job), card(job)
    if details is not None and "sha256" in details and own_weights(job, details) is None:
        st.caption("These weights were deleted, or replaced by others of their name.")
        return
    default = spec is not None and job.variant == spec.default_variant
    name = spec.name if spec is not None and default else title(job)
    where = "the methods" if default else "the other weights"
    plain_text.success(
        f"Listed on the Compare page under {where} as ",
        Bold(name),
        f"; in commands, write {job.method}:{job.variant}.",
    )
    query = {"model": job.model} if default else {"model": job.model, "variants": name}
    st.page_link(
        "pages/compare.py", label="Compare with the other methods", icon=":material/arrow_forward:", query_params=query
    )
    if details is not None:
        with st.expander("Card", key=f"card {job.id}"):
            st.json(details)
    version = (details or {}).get("model", {}).get("version", "")
    if spec is not None and spec.has_coefficients and version:
        with suppress(ExplanationError):  # deleted by hand
            weights = find_artifact(job.model, version, job.method, job.variant)
            coefficients({job.variant: weights}, key=f"job {job.id}")
