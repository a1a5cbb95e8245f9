"""The section "Which units act together?": arcs between words, and a table of the strongest pairs, on demand.

Pairwise interactions as HTML: the units below each other, an arc for each strong pair, and a table of them.

Support is a full blue line, opposition a dashed orange one; the width tells the size. The table is what a screen
reader reads; the drawing has no more.
"""

from typing import TYPE_CHECKING

import streamlit as st

from app import plain_text
from app.compare import follow_ups
from app.compare.engine import Engine
from app.compare.follow_ups import MOST_UNITS
from app.compare.runs import Run
from explainers.methods.registry import method_spec
from explainers.report.text import decimals, escaped, name_of_units, plural, quoted_among, target_name

if TYPE_CHECKING:
    from explainers.attribution.interactions import PairInteractions
    from explainers.models.meter import Meter
    from explainers.results.comparison import Comparison


Pair = tuple[tuple[int, int], float]

SHOWN = 8  # pairs
BOUND = 1.96  # standard deviations: what lies within is not drawn
ROW = 24  # pixels of a unit
WIDTH = 130  # pixels of the arcs
WIDEST = 6  # pixels of the strongest line
STYLE = """<style>
.arcs { display: flex; flex-wrap: wrap; gap: 1rem 2.5rem; align-items: flex-start; max-width: 60rem; }
.arcs-drawing { display: flex; min-width: 0; max-width: 100%; }
.arcs-units { margin: 0; padding: 0; list-style: none; text-align: right; min-width: 0; max-width: 11rem; }
.arcs-units li { height: 24px; line-height: 24px; margin: 0; padding: 0 0.4rem 0 0; overflow: hidden;
                 white-space: nowrap; text-overflow: ellipsis; }
.arcs-lines { position: relative; flex: none; }
.arcs-lines i { position: absolute; left: 0; border-left: 0 !important; opacity: 0.85; }
.arcs-lines .support { border: solid #2f7fc4; }
.arcs-lines .oppose { border: dashed #d1781c; }
.arcs table { border-collapse: collapse; font-variant-numeric: tabular-nums; min-width: 0; max-width: 100%; }
.arcs th, .arcs td { text-align: left; padding: 0.25rem 0.8rem 0.25rem 0; font-weight: 400; overflow-wrap: anywhere;
                     border-bottom: 1px solid rgba(128, 128, 128, 0.3); }
.arcs thead th, .arcs-note { font-size: 0.8rem; opacity: 0.8; }
.arcs .number { text-align: right; white-space: nowrap; }
.arcs-note { flex-basis: 100%; margin: 0; }
</style>"""


def interactions_html(comparison: "Comparison", result: "PairInteractions", meter: "Meter") -> str:
    """The drawing, the table of the `SHOWN` strongest pairs, and what it cost."""
    strongest = result.strongest(SHOWN)
    beyond = [pair for pair in strongest if abs(pair[1]) > BOUND * result.spreads[pair[0]]]
    return (
        f'{STYLE}<div class="arcs"><div class="arcs-drawing" aria-hidden="true">{_units(comparison, result)}'
        f"{_arcs(result, beyond)}</div>{_table(comparison, strongest, result)}"
        f'<p class="arcs-note">{escaped(_note(comparison, result, meter, len(beyond)))}</p></div>'
    )


def _units(comparison: "Comparison", result: "PairInteractions") -> str:
    units = comparison.decision.encoding.units
    names = [escaped(units[number].text) for number in result.units]
    return f'<ul class="arcs-units">{"".join(f"<li>{name}</li>" for name in names)}</ul>'


def _arcs(result: "PairInteractions", pairs: list[Pair]) -> str:
    """Brackets with round corners from the middle of one row to that of another; the farther, the wider."""
    row = {number: place for place, number in enumerate(result.units)}
    largest = max((abs(value) for _, value in pairs), default=1.0)
    farthest = max((row[last] - row[first] for (first, last), _ in pairs), default=1)
    drawn = []
    for units, value in pairs:
        first, last = (row[unit] for unit in units)
        top, height = round((first + 0.5) * ROW), (last - first) * ROW
        reach, width = round(WIDTH * (last - first) / farthest), max(1, round(WIDEST * abs(value) / largest))
        drawn.append(
            f'<i class="{"support" if value > 0 else "oppose"}" style="top: {top}px; height: {height}px; '
            f"width: {reach}px; border-width: {width}px; border-radius: 0 {reach}px {reach}px 0 / "
            f'0 {height // 2}px {height // 2}px 0"></i>'
        )
    return f'<div class="arcs-lines" style="width: {WIDTH}px; height: {len(row) * ROW}px">{"".join(drawn)}</div>'


def _table(comparison: "Comparison", pairs: list[Pair], result: "PairInteractions") -> str:
    rows = "".join(
        f'<tr><th scope="row">{" × ".join(escaped(quoted_among(comparison, unit)) for unit in (first, last))}</th>'
        f'<td class="number">{_signed(value)} ± {decimals(result.spreads[first, last])}</td></tr>'
        for (first, last), value in pairs
    )
    head = '<tr><th scope="col">together</th><th scope="col" class="number">change of p ± standard deviation</th></tr>'
    return f'<table aria-label="Strongest interactions"><thead>{head}</thead><tbody>{rows}</tbody></table>'


def _signed(value: float) -> str:
    return f"{'+' if value > 0 else ''}{decimals(value)}"


def _note(comparison: "Comparison", result: "PairInteractions", meter: "Meter", drawn: int) -> str:
    arcs = f"{drawn} of the pairs in the table are beyond ± 1.96 standard deviations and have an arc. " if drawn else (
        "No pair is beyond ± 1.96 standard deviations, so there is no arc. "
    )  # fmt: skip
    units = comparison.decision.encoding.units
    others = f"The other {len(units) - len(result.units)} stay in place. " if len(result.units) < len(units) else ""
    return (
        f"{arcs}{others}Above 0, full line: together they raise p({target_name(comparison.decision)}) by more than "
        f"each alone; below 0, dashed: by less. {result.samples:,} masks, {meter.calls:,} of them new."
    )


TITLE = "Which units act together?"
WAITING = "They can be computed when all methods are done."
ASKING = "Asking the model …"
IDEA = "An interaction is what two of them do together beyond what each does alone (Faith-Shap of order 2)."
REUSED = "Masks about which LIME, KernelSHAP and the random orders have asked are not asked again."


def show(engine: Engine, run: Run) -> bool:
    """Return whether the result was still to come when it was drawn."""
    if run.decision is None:
        return False
    units, name = len(run.decision.encoding.units), plural(name_of_units(run.decision))
    st.header(TITLE, anchor=False)
    if units < 2:
        plain_text.caption(f"Interactions need at least two {name}.")
        return False
    among, method = (None, "") if run.active else follow_ups.units_among(run)
    if among == ():
        plain_text.caption(f"An input with more than {MOST_UNITS} {name} needs a method that ranks them.")
        return False
    state = follow_ups.known_interactions(run)
    waits = state is not None and state.active  # before it is drawn: the result may come meanwhile
    if state is None:
        st.caption(WAITING if run.active else f"{IDEA} {REUSED}" if among is None else IDEA)
        if among is not None:
            plain_text.caption(
                f"This input has {units} {name}. Interactions are computed for the {len(among)} with the largest "
                f"scores of {method_spec(method).name}, of either sign; the others stay in place."
            )
        if st.button("Compute interactions", key="interactions", disabled=run.active):
            follow_ups.interactions_of(engine, run)
            st.rerun(scope="app")
    elif state.active:
        st.caption(ASKING)
    elif state.error:
        plain_text.error(state.error)
    elif state.result is not None:
        st.html(interactions_html(run.comparison(), state.result, state.meter))
    return waits
