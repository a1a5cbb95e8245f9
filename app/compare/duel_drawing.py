"""A duel as HTML: a sentence, and p(class) without and with only the units of either side and random ones."""

from collections.abc import Sequence

import numpy as np

from app.compare.duel_runs import DuelState
from app.compare.runs import Run
from explainers.methods.registry import method_spec
from explainers.report.duel import random_units
from explainers.report.text import decimals, escaped, join_names, one_line
from explainers.report.unit_names import quoted_among
from explainers.results.duel import Duel, DuelSide

EMPTY = '<span class="duel-track"></span><span class="duel-p">…</span>'
STYLE = """<style>
.duel { max-width: 60rem; font-variant-numeric: tabular-nums; }
.duel-sentence { height: 4.6rem; line-height: 1.5rem; overflow-y: auto; margin: 0; overflow-wrap: anywhere; }
.duel-none { visibility: hidden; } /* two methods are still to be chosen */
.duel-row { display: grid; grid-template-columns: minmax(0, 1.3fr) minmax(0, 1fr) minmax(0, 1fr); gap: 0 1.5rem;
            height: 3.1rem; align-items: center; border-bottom: 1px solid rgba(128, 128, 128, 0.3); }
.duel-row.duel-head { height: 1.8rem; font-size: 0.8rem; opacity: 0.75; }
.duel-who { min-width: 0; line-height: 1.3; }
.duel-who b, .duel-who span { display: block; overflow: hidden; white-space: nowrap; text-overflow: ellipsis; }
.duel-who b { font-weight: 500; }
.duel-wins b { font-weight: 700; }
.duel-who span { font-size: 0.85rem; opacity: 0.8; }
.duel-bar { display: grid; grid-template-columns: 1fr 2.6rem; gap: 0.6rem; align-items: center; min-width: 0; }
.duel-track { position: relative; height: 0.7rem; border-radius: 3px; background: rgba(128, 128, 128, 0.2); }
.duel-track i { position: absolute; top: 0; bottom: 0; left: 0; border-radius: 3px; background: #8a8f98; }
.duel-wins .duel-track i { background: #2f7fc4; }
.duel-track u { position: absolute; top: -0.25rem; bottom: -0.25rem; border-radius: 2px; text-decoration: none;
                background: rgba(128, 128, 128, 0.35); min-width: 2px; }
.duel-track s { position: absolute; top: -0.25rem; bottom: -0.25rem; width: 2px; background: currentColor; }
.duel-p { text-align: right; }
.duel-note { height: 2.6rem; line-height: 1.3rem; font-size: 0.8rem; opacity: 0.75; margin: 0.4rem 0 0;
             overflow-y: auto; overflow-wrap: anywhere; }
@media (max-width: 640px) {
  .duel-sentence { height: 12rem; }
  .duel-row, .duel-row.duel-head { grid-template-columns: 1fr 1fr; gap: 0 1rem; height: 5.2rem; align-content: center; }
  .duel-row.duel-head { height: 1.8rem; }
  .duel-head .duel-who { display: none; }
  .duel-who { grid-column: 1 / -1; padding-bottom: 0.3rem; }
  .duel-note { height: 5.2rem; }
}
</style>"""


def duel_html(run: Run, state: DuelState | None, sentence: str, problem: str) -> str:
    """Of the same height in every state. `problem` stands in place of the note."""
    duel = state.duel if state is not None else None
    methods: Sequence[str] = state.methods if state is not None else ("", "")
    rows = [_side(run, duel, number, method) for number, method in enumerate(methods)]
    hidden = "" if state is not None or run.active else ' class="duel-none" aria-hidden="true"'
    head = _row("duel-head", "", '<span role="columnheader">without them</span>', "with only them", header=True)
    return (
        f'{STYLE}<div class="duel"><p class="duel-sentence" role="status">{escaped(sentence)}</p>'
        f'<div role="table" aria-label="Duel"{hidden}>{head}{"".join(rows)}{_random(run, duel)}</div>'
        f'<p class="duel-note">{escaped(problem or _note(run, duel))}</p></div>'
    )


def _row(kind: str, who: str, without: str, only: str, *, header: bool = False) -> str:
    if header:
        return (
            f'<div class="duel-row {kind}" role="row"><span class="duel-who" role="columnheader">{who}</span>'
            f'{without}<span role="columnheader">{only}</span></div>'
        )
    cells = "".join(f'<div class="duel-bar" role="cell">{cell}</div>' for cell in (without, only))
    return f'<div class="duel-row {kind}" role="row"><div class="duel-who" role="rowheader">{who}</div>{cells}</div>'


def _side(run: Run, duel: Duel | None, number: int, method: str) -> str:
    name = method_spec(method).name if method else "…"
    if duel is None:
        return _row("", _who(name, "…"), EMPTY, EMPTY)
    side = duel.sides[number]
    kind = "duel-wins" if duel.winner == side.method else ""
    return _row(
        kind,
        _who(name, _units(run, side)),
        _bar(side.removed, duel.full, duel.random_removed),
        _bar(side.kept, duel.full, duel.random_kept),
    )


def _random(run: Run, duel: Duel | None) -> str:
    if duel is None:
        return _row("", _who("Random", "…"), EMPTY, EMPTY)
    units = random_units(run.comparison(), len(duel.sides[0].units))
    removed, kept = float(np.mean(duel.random_removed)), float(np.mean(duel.random_kept))
    return _row(
        "",
        _who("Random", f"{units}, mean of {len(duel.random_removed)}"),
        _bar(removed, duel.full, duel.random_removed),
        _bar(kept, duel.full, duel.random_kept),
    )


def _who(name: str, units: str) -> str:
    return f'<b>{escaped(name)}</b><span title="{escaped(units)}">{escaped(units)}</span>'


def _units(run: Run, side: DuelSide) -> str:
    return join_names([quoted_among(run.comparison(), unit) for unit in side.units])


def _bar(p: float, full: float, random: Sequence[float]) -> str:
    """p, the range of 95 % of the random draws, and a line at p of the whole input."""
    low, high = np.quantile(random, [0.025, 0.975])
    return (
        f'<span class="duel-track"><i style="width: {100 * p:.1f}%"></i>'
        f'<u style="left: {100 * low:.1f}%; width: {100 * (high - low):.1f}%"></u>'
        f'<s style="left: {100 * full:.1f}%"></s></span><span class="duel-p">{decimals(p)}</span>'
    )


def _note(run: Run, duel: Duel | None) -> str:
    if duel is None:
        return ""
    label = one_line(run.comparison().label)
    return (
        f"Bars: probability of {label}. Line: with all units, {decimals(duel.full)}. "
        "Pale band: 95 % of the random draws."
    )
