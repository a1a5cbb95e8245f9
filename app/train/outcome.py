"""What a training has logged and come to: losses, metrics and warnings, its curves, its weights and their card."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st
from numpy.typing import NDArray

from app import components, plain_text
from app.store import Job
from app.train.jobs import own_weights
from app.train.processes import card
from explainers.errors import ExplanationError
from explainers.methods.registry import METHODS, MethodSpec
from explainers.metrics import agreement, faithfulness
from explainers.report.wording import decimals
from explainers.training.artifacts import find_artifact

LOG = "log.jsonl"  # as explainers.training.loop names it, which would bring torch with it
POINTS = 240  # at most per line: more cost the browser and show nothing
COLOUR, PALE = "#3d85c6", "rgba(61, 133, 198, 0.28)"
SECOND = "#e08214"
THIRD = "#7b5fb5"
HEIGHT = 190  # pixels
TOTAL = "total"


@dataclass(frozen=True)
class Epoch:
    """After `number` epochs, or parts of one: the metrics on held-out texts, by id."""

    number: float
    step: int
    seconds: float
    metrics: dict[str, float]
    warnings: tuple[str, ...]


@dataclass
class Log:
    """`terms` are the losses by name and step; `steps` is how many there will be."""

    steps: int = 0
    texts: int = 0
    total_epochs: int = 0
    recipe: dict[str, Any] = field(default_factory=dict)
    terms: dict[str, dict[int, float]] = field(default_factory=dict)
    epochs: list[Epoch] = field(default_factory=list)
    moment: float = 0.0  # of the last line

    @property
    def step(self) -> int:
        return max((max(values, default=0) for values in self.terms.values()), default=0)

    @property
    def epoch(self) -> int:
        """The one that is running, from 1. Validations may be more frequent than epochs, so steps count."""
        return min(self.step * self.total_epochs // max(self.steps, 1) + 1, self.total_epochs)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Those of the last epoch."""
        return self.epochs[-1].warnings if self.epochs else ()

    def add_start(self, line: dict[str, Any]) -> None:
        """The first line; after a resumption a later one, which takes back what came after the last epoch."""
        self.steps, self.texts, self.recipe = int(line["steps"]), int(line["texts"]), dict(line["recipe"])
        self.total_epochs = int(self.recipe.get("epochs", 0))
        last = self.epochs[-1].step if self.epochs else 0
        self.terms = {
            name: {step: value for step, value in values.items() if step <= last} for name, values in self.terms.items()
        }

    def add_step(self, line: dict[str, Any]) -> None:
        for name, value in line["terms"].items():
            self.terms.setdefault(str(name), {})[int(line["step"])] = float(value)

    def add_epoch(self, line: dict[str, Any]) -> None:
        metrics = {str(name): float(value) for name, value in line["validation"].items()}
        warnings = tuple(str(warning) for warning in line.get("warnings", ()))
        self.epochs.append(Epoch(float(line["epoch"]), int(line["step"]), float(line["seconds"]), metrics, warnings))


def read(folder: Path) -> Log | None:
    """The log so far; None as long as there is none."""
    try:
        status = (folder / LOG).stat()
    except OSError:
        return None
    return _read(folder / LOG, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=16)
def _read(path: Path, _size: int, moment: int) -> Log:
    log = Log(moment=moment / 1e9)
    for line in _lines(path):
        if "steps" in line:
            log.add_start(line)
        elif "terms" in line:
            log.add_step(line)
        elif "validation" in line:
            log.add_epoch(line)
    return log


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """Those that are whole: the last one may be on its way."""
    try:
        content = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    for text in content.splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            continue
        if isinstance(line, dict):
            yield line


def pace(log: Log, since: tuple[int, float] | None) -> float | None:
    """Seconds per step: measured since a step and its moment, or over the finished epochs."""
    if since is not None and log.step > since[0] and log.moment > since[1]:
        return (log.moment - since[1]) / (log.step - since[0])
    if log.epochs and log.epochs[-1].step:
        return log.epochs[-1].seconds / log.epochs[-1].step
    return None


def ordered(terms: dict[str, dict[int, float]]) -> list[str]:
    """The total first, the others as the method names them."""
    return sorted(terms, key=lambda name: name != TOTAL)


def term(name: str, values: dict[int, float], when: str = "now") -> go.Figure:
    """One term of the loss by step: single steps, pale, and smoothed."""
    steps = np.array(sorted(values))
    raw = np.array([values[step] for step in steps])
    kept = np.unique(np.linspace(0, len(steps) - 1, min(POINTS, len(steps))).round().astype(int))
    figure = go.Figure()
    for heights, line, hover in ((raw, {"color": PALE, "width": 1}, "skip"), (smooth(raw), {"color": COLOUR}, "y")):
        figure.add_scatter(
            x=steps[kept],
            y=heights[kept],
            mode="lines" if len(kept) > 1 else "markers",
            line=line,
            hoverinfo=hover,
            hovertemplate=None if hover == "skip" else "step %{x}: %{y:.4f}<extra></extra>",
        )
    return _small(figure, f"{heading(name)}, {when} {decimals(smooth(raw)[-1], 3)}", "step")


def first_values(terms: dict[str, dict[int, float]]) -> str:
    """The losses of the only step so far, as a sentence."""
    values = [f"{name} {value:.3f}" for name in ordered(terms) for value in list(terms[name].values())[:1]]
    return f"After the first step: {', '.join(values)}."


def first_metrics(epoch: Epoch, metrics: Mapping[str, str]) -> str:
    """The metrics of the only validation so far, as a sentence."""
    values = [f"{name} {epoch.metrics[metric]:.3f}" for metric, name in metrics.items() if metric in epoch.metrics]
    return f"On held-out texts after epoch {epoch.number:.3g}: {', '.join(values)}."


def validation(epochs: list[Epoch], metrics: Mapping[str, str]) -> go.Figure:
    """The metrics, id to name, on held-out texts after each epoch."""
    figure = go.Figure()
    coloured = list(zip(metrics.items(), cycle((COLOUR, SECOND, THIRD)), strict=False))
    for (metric, name), colour in coloured:
        measured = [epoch for epoch in epochs if metric in epoch.metrics]
        figure.add_scatter(
            x=[epoch.number for epoch in measured],
            y=[epoch.metrics[metric] for epoch in measured],
            name=name,
            mode="lines+markers",
            line={"color": colour},
            hovertemplate=f"{name} after %{{x:.3~g}} epochs: %{{y:.3f}}<extra></extra>",
        )
    latest = epochs[-1].metrics
    title = ", ".join(
        f'<span style="color:{colour}">{name}</span> {latest[metric]:.3f}'
        for (metric, name), colour in coloured
        if metric in latest
    )
    figure.update_xaxes(dtick=1 if len(epochs) < 8 else None)
    return _small(figure, title, "epoch")


def smooth(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Exponential mean over the values so far, without the pull to zero at the beginning."""
    decay = 1 - 1 / max(1.0, len(values) / 25)
    means, weight, total = np.empty(len(values)), 0.0, 0.0
    for index, value in enumerate(values):
        weight, total = decay * weight + 1, decay * total + float(value)
        means[index] = total / weight
    return means


def heading(name: str) -> str:
    """L_inv with its index set low; the total in words."""
    return "Total loss" if name == TOTAL else re.sub(r"_([A-Za-z0-9]+)", r"<sub>\1</sub>", name)


def _small(figure: go.Figure, title: str, x_title: str) -> go.Figure:
    figure.update_xaxes(title_text=x_title, title_standoff=4, rangemode="tozero", nticks=5)
    figure.update_yaxes(nticks=5)
    figure.update_layout(
        title={"text": title, "font": {"size": 14}, "x": 0.01, "y": 0.97},
        height=HEIGHT,
        margin={"l": 8, "r": 8, "t": 34, "b": 8},
        showlegend=False,
        hovermode="x",
    )
    return figure


CHART_BUTTONS = {"displayModeBar": False}


def curves(job: Job, log: Log) -> None:
    """A small plot for each term of the loss, and one for the metrics on held-out texts."""
    directions = {metric.name: metric.higher_is_better for metric in faithfulness.METRICS if metric.validated}
    names = {metric.id: metric.name for metric in faithfulness.METRICS if metric.validated}
    if any(agreement.ID in epoch.metrics for epoch in log.epochs):  # the weights are selected by it
        directions[agreement.NAME], names[agreement.ID] = True, agreement.NAME
    charts, when = [], "now" if job.status == "running" else "at the end"
    if log.step > min((step for values in log.terms.values() for step in values), default=0):
        charts += [(name, term(name, log.terms[name], when)) for name in ordered(log.terms)]
    else:  # a curve needs two points
        plain_text.caption(first_values(log.terms))
    if len(log.epochs) > 1:
        charts.insert(1, ("validation", validation(log.epochs, names)))
    elif log.epochs:
        plain_text.caption(first_metrics(log.epochs[0], names))
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
        if kept := kept_weights(card(job) or {}):
            plain_text.caption(kept)


def kept_weights(details: Mapping[str, Any]) -> str:
    """Return which weights a finished training has kept; empty where its card does not say so."""
    steps = details.get("steps")
    if not isinstance(steps, dict) or not {"kept", "all"} <= set(steps):
        return ""
    return f"The weights after step {steps['kept']:,} of {steps['all']:,} are kept; the card has their figures."


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
        plain_text.Bold(name),
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
            components.coefficients({job.variant: weights}, key=f"job {job.id}")
