"""The reliability of the predicted confidence as a figure."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from explainers.studies.planted.confidence_fit import Bin
from explainers.studies.readings.measure import wilson

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def reliability_figure(bins: Sequence[Bin]) -> "Figure":
    """Return the share right against the mean prediction: a point per bin, its 95 % interval and number of inputs."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 4.2), layout="constrained")
    axis = figure.subplots()
    axis.plot([0, 1], [0, 1], linestyle=":", color="#777777", label="calibrated")
    for number, fitted in enumerate(bins):
        low, high = wilson(fitted.right * fitted.inputs, fitted.inputs)
        axis.vlines(fitted.predicted, low, high, color="#6a3fb5", linewidth=1.5)
        label = "kinds that were left out" if number == 0 else None
        axis.plot(fitted.predicted, fitted.right, "o", color="#6a3fb5", label=label)
        axis.annotate(f"{fitted.inputs}", (fitted.predicted, low), (0, -12), textcoords="offset points", ha="center")
    lowest = min([0.5, *(fitted.low for fitted in bins)])
    axis.set(
        xlim=(lowest, 1.02), ylim=(max(0.0, lowest - 0.2), 1.03), xlabel="predicted P(right)", ylabel="share right"
    )
    axis.legend(loc="upper left", frameon=False)
    return figure
