"""What the document about planted shortcuts says of the confidence, from the fit and its check."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from explainers.metrics.bootstrap import wilson
from explainers.models.inputs.encoding import Erasure
from explainers.report.tables import Table, TableColumn, interval_cell
from explainers.results.answer import CONSENSUS
from explainers.studies.planted.confidence_fit import BANDS, FEWEST, Bin, Checked, is_right, share_interval
from explainers.studies.planted.measure import Row
from explainers.studies.planted.truth import CONTROLS, evidence_of, supported

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DIAGRAM = "planted.png"  # beside the document
BAND_NAMES = (*(f"{low} to {high - 1}" for low, high in pairwise(BANDS)), f"{BANDS[-1]} and more")
CELLS = {
    "text, unfitted": "texts, no learned method",
    "text, learned": "texts, with learned methods",
    "pair, unfitted": "pairs, no learned method",
    "pair, learned": "pairs, with learned methods",
}
BINS: Table[Bin] = Table(
    (
        TableColumn("predicted", lambda fitted: f"{fitted.low:.2f} to {fitted.high:.2f}"),
        TableColumn("inputs", lambda fitted: fitted.inputs),
        TableColumn("mean prediction", lambda fitted: fitted.predicted, ".3f"),
        TableColumn("share right", lambda fitted: fitted.right, ".3f"),
    )
)


def confidence_text(content: Mapping[str, Any], checked: Checked) -> str:
    """The regression, its check on the kinds left out, and the reliability as a table."""
    b = dict(zip(content["predictors"], content["coefficients"], strict=True))
    gain = interval_cell(checked.gain, "+")
    judged = "better than" if checked.gain.low > 0 else "not better than"
    return "\n\n".join(
        (
            f"Right means: {content['right']}. How often the consensus is right, with Wilson's intervals; "
            f"a cell needs {FEWEST} inputs:",
            _cells(content),
            f"Agreement is the {content['agreement']}. "
            f"P(right) = σ({b['intercept']:.2f} {b['agreement']:+.2f} · agreement {b['units']:+.3f} · units "
            f"{b['pair']:+.2f} · pair {b['learned']:+.2f} · learned).",
            f"On kinds that were left out the Brier score is {interval_cell(checked.brier)}. That of the share of "
            "right ones among inputs of the other kinds that are in the same cell of the table is "
            f"{interval_cell(checked.base)}, the gain {gain}: {judged} the base rate. "
            f"AUROC {checked.auroc:.3f}. The confidence of a comparison is therefore the {content['rule']}.",
            f"![Share right against predicted confidence]({DIAGRAM})",
            BINS.markdown(checked.bins),
        )
    )


def _cells(content: Mapping[str, Any]) -> str:
    """The base rates, a row per band of units."""

    def columns(cell: str) -> tuple[TableColumn[int], TableColumn[int]]:
        of_band = [found and found["right"] for found in content["cells"][cell]]
        share: TableColumn[int] = TableColumn(CELLS[cell], lambda band: _share(of_band[band]), optional=True)
        return share, TableColumn("n", lambda band: of_band[band] and of_band[band][3], ".0f", optional=True)

    table: Table[int] = Table(
        (TableColumn("units", BAND_NAMES.__getitem__), *(column for cell in CELLS for column in columns(cell)))
    )
    return table.markdown(range(len(BAND_NAMES)))


def _share(value: Sequence[float] | None) -> str | None:
    return f"{value[0]:.3f} [{value[1]:.3f}, {value[2]:.3f}]" if value else None


TESTED = """Is the joint order less often right where it does not beat the random orders? Of the inputs with learned
methods, by whether the joint order of all methods that were measured beats {controls} random orders under `mask`, at
the 5 % level of a comparison, and under how many of `delete` and `zero` it beats all of {others} there, a level of
{level:.0f} %:"""
OTHERS: tuple[Erasure, ...] = ("delete", "zero")


@dataclass(frozen=True)
class Tested:
    """The inputs whose joint order passes under `mask`, or does not, and under so many other operators: whether each is
    right."""

    passes: bool
    others: int
    right: tuple[bool, ...]

    @property
    def share(self) -> str:
        return _share(share_interval(np.array(self.right, dtype=float))) or ""


TESTED_TABLE: Table[Tested] = Table(
    (
        TableColumn("under mask", lambda tested: "passes" if tested.passes else "does not pass"),
        TableColumn("other operators", lambda tested: f"{tested.others} of {len(OTHERS)}"),
        TableColumn("right", lambda tested: tested.share),
        TableColumn("n", lambda tested: len(tested.right)),
    )
)


def text_by_test(rows: Sequence[Row]) -> str:
    """How often the joint order is right by what the test says of it under every operator; empty without learned
    methods."""
    tested = [row for row in rows if CONSENSUS in row["curves"]["mask"]]
    if not tested:
        return ""
    groups: dict[tuple[bool, int], list[bool]] = {}
    for row in tested:
        own = {erasure: evidence_of(row, [row["curves"][erasure][CONSENSUS]])[0] for erasure in OTHERS}
        beaten = sum(own[erasure] > evidence_of(row, row["random"][erasure]).max() for erasure in OTHERS)
        groups.setdefault((CONSENSUS in supported(row), int(beaten)), []).append(is_right(row))
    order = sorted(groups, reverse=True)
    others = len(tested[0]["random"][OTHERS[0]])
    head = TESTED.format(controls=CONTROLS, others=others, level=100 / (others + 1))
    return f"{head}\n\n{TESTED_TABLE.markdown([Tested(*key, tuple(groups[key])) for key in order])}"


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
