"""Which explanation the evidence favours on one input, and by what; nothing is favoured without a real difference."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from explainers.report.rows import MetricRow, metric_rows
from explainers.report.text import decimals, listed
from explainers.report.units import name_of_units, plural

if TYPE_CHECKING:
    from explainers.api import Comparison

REMOVING, KEEPING = "aopc_c", "aopc_s"
NAMES = {REMOVING: "AOPC-C", KEEPING: "AOPC-S"}
FEW = 5  # units; there a random order begins with the right one at least every fifth time
DOES = {REMOVING: ("removing", "most", "more"), KEEPING: ("keeping only", "least", "less")}


def verdict(comparison: "Comparison") -> list[str]:
    """One sentence; none while the random control is not known or no method is done."""
    if comparison.chance is None:
        return []
    *known, random = metric_rows(comparison)
    rows = [row for row in known if row.compared]
    if all(row.control for row in rows):
        return []
    removing, keeping = ([row for row in rows if metric in row.best] for metric in (REMOVING, KEEPING))
    shared = {
        metric: len({decimals(row.metrics[metric]) for row in best}) > 1
        for metric, best in ((REMOVING, removing), (KEEPING, keeping))
    }
    reason = partial(
        _reason, random=random, single=len(rows) == 1, shared=shared, units=plural(name_of_units(comparison.question))
    )
    twice = [row for row in removing if row in keeping]
    if twice:
        return [f"{_favours(twice)}: {reason(twice, REMOVING)}, and {reason(twice, KEEPING)}."]
    if removing and keeping:
        return [
            f"On this input the evidence is divided: for {_names(removing)}, {reason(removing, REMOVING)}; "
            f"for {_names(keeping)}, {reason(keeping, KEEPING)}."
        ]
    if removing:
        return [f"{_favours(removing)} by one figure: {reason(removing, REMOVING)}; by AOPC-S no method leads."]
    if keeping:
        return [f"{_favours(keeping)} by one figure: {reason(keeping, KEEPING)}; by AOPC-C no method leads."]
    return [_nobody(comparison, rows)]


def _reason(
    ahead: Sequence[MetricRow],
    metric: str,
    *,
    random: MetricRow,
    single: bool,
    shared: dict[str, bool],
    units: str,
) -> str:
    """`shared`: whether several different figures are best, because chance could explain what is between them."""
    found = [decimals(row.metrics[metric]) for row in ahead]
    shown = found[0] if len(set(found)) == 1 else listed(found)
    does, most, more = DOES[metric]
    costs = f"{more} than chance" if single else f"{most}, as far as chance can tell" if shared[metric] else most
    return f"{does} the top {units} costs {costs} ({NAMES[metric]} {shown}, random {decimals(random.metrics[metric])})"


def _nobody(comparison: "Comparison", rows: Sequence[MetricRow]) -> str:
    better = [row for row in rows if not row.control and row.beyond_chance & NAMES.keys()]
    if better:
        verb = "beats" if len(better) == 1 else "beat"
        return f"On this input {_names(better)} {verb} random orders, but no method is really ahead of the others."
    units, names = len(comparison.question.encoding.units), plural(name_of_units(comparison.question))
    few = f"; with only {units} {names} chance is often right" if units <= FEW else ""
    return f"No method beats random orders on this input: no reason to trust any of these rankings{few}."


def _favours(ahead: Sequence[MetricRow]) -> str:
    return f"On this input the evidence favours {_names(ahead)}"


def _names(rows: Sequence[MetricRow]) -> str:
    return listed([f"{row.name} (a control)" if row.control else row.name for row in rows])
