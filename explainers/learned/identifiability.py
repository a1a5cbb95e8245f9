"""The report on CIEM's identifiability: `latent_recovery` for both networks, both processes and several seeds."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from explainers.errors import ExplanationError
from explainers.learned.latent_recovery import DIMENSIONS, KINDS, PLOTTED, PROCESSES, TRAINED, LatentRecovery, measured

COLOURS = {"CIEM": "#1f77b4", "VAE": "#ff7f0e"}
RESULT, PLOT = "result.json", "identifiability.png"


def experiment(seeds: int, *, epochs: int = 25, samples: int = TRAINED) -> list[LatentRecovery]:
    """Both networks on both processes, for the seeds 0, 1, …"""
    return [
        measured(process, kind, seed, epochs=epochs, samples=samples)
        for process in PROCESSES
        for seed in range(seeds)
        for kind in KINDS
    ]


def summary(results: Sequence[LatentRecovery]) -> dict[str, dict[str, dict[str, float]]]:
    """Means over seeds, by process and network."""
    names = ("linear", "one_to_one", "rotation", "explained")
    return {
        process: {
            kind: {name: float(np.mean([getattr(each, name) for each in of_kind])) for name in names}
            for kind in KINDS
            if (of_kind := [each for each in results if (each.process, each.kind) == (process, kind)])
        }
        for process in PROCESSES
    }


def plot(results: Sequence[LatentRecovery]) -> Figure:
    """A row per process: both MCC of every seed, and the first latents of the first seed against the recovered ones."""
    figure = Figure(figsize=(12, 6), dpi=110, facecolor="white", layout="constrained")
    rows = figure.subplots(len(PROCESSES), 1 + PLOTTED, squeeze=False)
    for process, (bars, *scatters) in zip(PROCESSES, rows, strict=True):
        of_process = [each for each in results if each.process == process]
        for position, measure in enumerate(("linear", "one_to_one")):
            for shift, kind in enumerate(KINDS):
                values = [getattr(each, measure) for each in of_process if each.kind == kind]
                at = np.full(len(values), position + 0.3 * shift - 0.15) + np.linspace(-0.05, 0.05, len(values))
                bars.scatter(at, values, s=22, color=COLOURS[kind], label=None if position else kind)
        bars.axhline(
            np.mean([each.rotation for each in of_process]), color="#777777", linestyle=":", label="random rotation"
        )
        bars.set_xticks([0, 1], ["linear", "one to one"])
        bars.set(ylim=(0, 1.02), ylabel="MCC, a point per seed", title=f"{process}: {DIMENSIONS[process]} latents")
        bars.legend(fontsize=8, loc="lower left")
        for number, axis in enumerate(scatters):
            for each in (each for each in of_process if each.seed == of_process[0].seed):
                axis.scatter(each.true[:, number], each.mapped[:, number], s=5, alpha=0.5, color=COLOURS[each.kind])
            axis.set(xlabel=f"true latent {number + 1}", ylabel="recovered, after the linear map")
    return figure


def report(seeds: int, out: Path) -> dict[str, object]:
    """Runs the experiment and writes result.json and identifiability.png into the folder."""
    if seeds < 1:
        raise ExplanationError(f"The experiment needs at least one seed, not {seeds}.")
    out.mkdir(parents=True, exist_ok=True)
    results = experiment(seeds)
    content: dict[str, object] = {
        "seeds": seeds,
        "means": summary(results),
        "results": [each.numbers() for each in results],
    }
    (out / RESULT).write_text(json.dumps(content, indent=2), encoding="utf-8")
    FigureCanvasAgg(plot(results)).print_figure(out / PLOT, format="png")
    return content
