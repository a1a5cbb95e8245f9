"""The Plotly figure of a comparison: how much its methods agree. It computes nothing that is not in it."""

from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from explainers.methods.registry import method_spec
from explainers.metrics.agreement import Agreement

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison


def agreement(comparison: "Comparison", measure: Agreement) -> go.Figure:
    """The matrix of one agreement measure between all pairs of methods; not with a random or a person's order."""
    specs = {each.attribution.method: method_spec(each.attribution.method) for each in comparison.results}
    methods = {method: spec for method, spec in specs.items() if not spec.is_random and not spec.is_given}
    attributions = [
        each.attribution
        for each in comparison.results
        if each.attribution.method in methods and (each.attribution.signed or not measure.signed_only)
    ]
    names = [methods[each.method].name for each in attributions]
    values = np.array([[measure.score(one.scores, other.scores) for other in attributions] for one in attributions])
    figure = go.Figure(
        go.Heatmap(
            x=names,
            y=names,
            z=values,
            zmin=-1,
            zmax=1,
            colorscale=[[0, "#b35806"], [0.5, "#f7f7f7"], [1, "#2166ac"]],
            text=[["–" if np.isnan(value) else f"{value:.2f}" for value in row] for row in values],
            texttemplate="%{text}",
            hovertemplate="%{y} and %{x}: %{text}<extra></extra>",
            showscale=False,
        )
    )
    figure.update_yaxes(autorange="reversed")
    figure.update_layout(height=420, margin={"l": 10, "r": 10, "t": 10, "b": 10})
    return figure
