"""The section "Duel": two methods that disagree, and what the model says when the units they claim are removed.

The pair is in the address as `duel=first.second`, by ids; without it, it is the first that an experiment separates, and
where there is none the section is one folded line. A duel is drawn as a sentence, and p(class) without and with only
the units of either side and random ones.
"""

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from app import plain_text
from app.compare.engine import Engine
from app.compare.follow_ups import duel_of, opening_duel, pair_of
from app.compare.runs import FollowUp, Run
from app.compare.state import compare_state
from app.session import put, value_of
from explainers.comparison.duel import Pair, can_duel
from explainers.methods.registry import METHODS, method_spec
from explainers.report import wording
from explainers.results.decision import RANDOM_ORDERS
from explainers.results.events import Duel, DuelSide

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison

EMPTY = '<span class="duel-track"></span><span class="duel-p">…</span>'
STYLE = """<style>
.duel { max-width: 60rem; font-variant-numeric: tabular-nums; }
.duel-sentence { height: 6.1rem; line-height: 1.5rem; overflow-y: auto; margin: 0; overflow-wrap: anywhere; }
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
.duel-track s { position: absolute; top: -0.25rem; bottom: -0.25rem; width: 2px; background: currentColor; }
.duel-p { text-align: right; }
.duel-note { height: 2.6rem; line-height: 1.3rem; font-size: 0.8rem; opacity: 0.75; margin: 0.4rem 0 0;
             overflow-y: auto; overflow-wrap: anywhere; }
@media (max-width: 640px) {
  .duel-sentence { height: 15rem; }
  .duel-row, .duel-row.duel-head { grid-template-columns: 1fr 1fr; gap: 0 1rem; height: 5.2rem; align-content: center; }
  .duel-row.duel-head { height: 1.8rem; }
  .duel-head .duel-who { display: none; }
  .duel-who { grid-column: 1 / -1; padding-bottom: 0.3rem; }
  .duel-note { height: 5.2rem; }
}
</style>"""

HARDLY = 0.02  # of p
NUMBERS = {1: "a", 2: "two", 3: "three"}


def duel_html(run: Run, methods: Pair | None, duel: Duel | None, sentence: str, problem: str) -> str:
    """The duel, of the same height in every state. `problem` stands in place of the note."""
    rows = [_side(run, duel, number, method) for number, method in enumerate(methods or ("", ""))]
    hidden = "" if methods is not None or run.active else ' class="duel-none" aria-hidden="true"'
    head = _row("duel-head", "", '<span role="columnheader">without them</span>', "with only them", header=True)
    return (
        f'{STYLE}<div class="duel"><p class="duel-sentence" role="status">{wording.escaped(sentence)}</p>'
        f'<div role="table" aria-label="Duel"{hidden}>{head}{"".join(rows)}{_random(run, duel)}</div>'
        f'<p class="duel-note">{wording.escaped(problem or _note(run, duel))}</p></div>'
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
        _bar(side.removed, duel.full),
        _bar(side.kept, duel.full),
    )


def _random(run: Run, duel: Duel | None) -> str:
    if duel is None:
        return _row("", _who("Random", "…"), EMPTY, EMPTY)
    units = random_units(run.comparison(), len(duel.sides[0].units))
    removed, kept = float(np.mean(duel.random_removed)), float(np.mean(duel.random_kept))
    return _row(
        "",
        _who("Random", f"{units}, mean of {len(duel.random_removed)}"),
        _bar(removed, duel.full),
        _bar(kept, duel.full),
    )


def _who(name: str, units: str) -> str:
    return f'<b>{wording.escaped(name)}</b><span title="{wording.escaped(units)}">{wording.escaped(units)}</span>'


def _units(run: Run, side: DuelSide) -> str:
    return wording.join_names([wording.quoted_among(run.comparison(), unit) for unit in side.units])


def _bar(p: float, full: float) -> str:
    """p, and a line at p of the whole input."""
    return (
        f'<span class="duel-track"><i style="width: {100 * p:.1f}%"></i>'
        f'<s style="left: {100 * full:.1f}%"></s></span><span class="duel-p">{wording.decimals(p)}</span>'
    )


def _note(run: Run, duel: Duel | None) -> str:
    if duel is None:
        return ""
    label = wording.target_name(run.comparison().decision)
    return (
        f"Bars: probability of {label}. Line: with all {_nouns(run)}, {wording.decimals(duel.full)}. Test: the ends of "
        f"{RANDOM_ORDERS} random orders are as far apart with p = {wording.number(duel.p)}."
    )


BOXES = ("duel first", "duel second")  # keys of the two widgets
WAITING = "The duel begins when all methods are done."
CHOOSE = (
    "Choose two methods that disagree. The few {} that only one of them ranks high are removed, and the model says "
    "which of them it needs more."
)
TOO_FEW = "A duel needs two methods that rank {} for this class."
ASKING = "Asking the model …"
INSEPARABLE = "Removing a few {} does not separate any two methods that are better than random here."
NONE_BETTER = "No two methods are known to be better than random here. Choose two to set against each other."


def show(engine: Engine, run: Run) -> bool:
    """Start the duel of a run that is over, and return whether its result was still to come when it was drawn."""
    methods = contenders(run)
    if len(methods) < 2:
        st.header("Duel", anchor=False)
        st.caption(TOO_FEW.format(_nouns(run)))
        return False
    opening = None if run.active or compare_state().controls.duel else opening_duel(engine, run)
    pair = pair_of(opening.result) if opening is not None and opening.result is not None else None
    chosen, problem = chosen_pair(methods, pair)
    searching = opening is not None and opening.active
    decided = not run.active and not searching
    state = compare_state()
    subject = run.request.model, run.request.example
    if decided and state.duel_subject != subject:  # once per input, so that nothing moves when words are removed
        state.duel_subject, state.duel_folded = subject, opening is not None and chosen is None
    folded = state.duel_folded and not state.controls.duel
    answer = run.comparison().answer
    better = answer is not None and len(answer.supported) + len(answer.differs) > 1
    none = INSEPARABLE.format(_nouns(run)) if better else NONE_BETTER
    with st.expander(f"Duel. {none}" if decided and chosen is None else "Duel") if folded else st.container():
        if not folded:
            st.header("Duel", anchor=False)
        if opening is not None and opening.error:
            plain_text.error(opening.error)
        _boxes(methods, chosen, pair, disabled=run.active or searching)
        fought = None if run.active or chosen is None else duel_of(engine, run, chosen)
        waits = searching or (fought is not None and fought.active)  # before it is drawn: the result may come meanwhile
        if decided and opening is not None and chosen is None and not folded:
            st.caption(none)
        draw(run, chosen, fought, problem, searching=searching)
    return waits


def draw(
    run: Run, methods: Pair | None, fought: FollowUp[Duel] | None, problem: str = "", *, searching: bool = False
) -> None:
    """Draws the duel of two methods as far as it is known."""
    sentence = ASKING if searching else _sentence(run, methods, fought)
    result = None if fought is None else fought.result
    shown = methods if result is not None or (fought is not None and fought.active) else None  # the sentence says why
    st.html(duel_html(run, shown, result, sentence, "" if run.active else problem))


def contenders(run: Run) -> list[str]:
    """Ids of the methods that rank units for the explained class, in the order of display; at first of all methods."""
    if run.active or run.decision is None:
        return [name for name, column in run.columns.items() if column.spec.explains or column.spec.is_given]
    comparison = run.comparison()
    return [name for name in run.columns if can_duel(comparison, name)]


def chosen_pair(methods: list[str], pair: Pair | None) -> tuple[Pair | None, str]:
    """That of the address, or else `pair`; and a sentence where the address asks for what is not possible."""
    default = pair if pair is not None and set(pair) <= set(methods) else None
    address = compare_state().controls.duel
    if not address:
        return default, ""
    first, _, second = address.partition(".")
    if first in methods and second in methods:
        return (first, second), ""
    absent = [method_spec(name).name for name in (first, second) if name in METHODS.ids and name not in methods]
    if absent:
        return default, f"The duel that was chosen needs {wording.join_names(absent)}. Add it, or choose another pair."
    return default, f"The address asks for the duel “{wording.one_line(address)}”, which is not possible here."


def _boxes(methods: list[str], chosen: Pair | None, pair: Pair | None, *, disabled: bool) -> None:
    """The two boxes. They get the pair where that has changed, so that one choice waits for the other."""
    state = compare_state()
    renewed = state.duel_boxes != (methods, chosen) or all(value_of(key) is None for key in BOXES)
    state.duel_boxes = (methods, chosen)
    with st.container(horizontal=True):
        for label, key, method in zip(("One method", "Another method"), BOXES, chosen or (None, None), strict=True):
            if renewed:
                put(key, method)
            st.selectbox(
                label,
                methods,
                index=None,
                key=key,
                format_func=lambda method: method_spec(method).name,
                on_change=_chosen,
                args=(methods, pair),
                placeholder="Choose a method",
                disabled=disabled,
            )


def _chosen(methods: list[str], pair: Pair | None) -> None:
    """Takes the two methods, unless they are the pair that is shown anyway."""
    first, second = (value_of(key) for key in BOXES)
    if first is not None and second is not None:
        compare_state().duel_boxes = (methods, (first, second))
        compare_state().change(duel="" if (first, second) == pair else f"{first}.{second}")


def _nouns(run: Run) -> str:
    return "units" if run.decision is None else wording.plural(wording.name_of_units(run.decision))


def _sentence(run: Run, methods: Pair | None, fought: FollowUp[Duel] | None) -> str:
    if run.active or run.decision is None:
        return WAITING
    if methods is None or fought is None:
        return CHOOSE.format(_nouns(run))
    if fought.active or fought.error:
        return ASKING if fought.active else fought.error
    comparison = run.comparison()
    if fought.result is None:
        return no_duel_sentence(comparison, methods)
    return duel_sentence(comparison, fought.result)


def duel_sentence(comparison: "Comparison", duel: Duel) -> str:
    """Return which units either method names, the winner first, what removing them does to p, and what follows."""
    sides = sorted(duel.sides, key=lambda side: side.method != duel.winner) if duel.winner else list(duel.sides)
    (name, other), texts = (_name(side.method) for side in sides), [_side_in_words(comparison, side) for side in sides]
    flips = ["; the prediction flips" if _flips(comparison, duel, side) else "" for side in sides]
    mean = "" if len(duel.random_removed) == 1 else " on average"
    random = random_units(comparison, len(sides[0].units))
    return (
        f"{name} ranks {texts[0]} high, {other} ranks {texts[1]} high. Which does the model need more? "
        f"p({wording.target_name(comparison.decision)}) is {wording.decimals(duel.full)}. "
        f"Without {texts[0]} it is {wording.decimals(sides[0].removed)}{flips[0]}. "
        f"Without {texts[1]} it is {wording.decimals(sides[1].removed)}{flips[1]}. "
        f"Without {random} it is {wording.decimals(float(np.mean(duel.random_removed)))}{mean}. "
        f"{_result(comparison, duel)}"
    )


def _flips(comparison: "Comparison", duel: Duel, side: DuelSide) -> bool:
    """Return whether another class is certainly likelier without the side's units: one has at least the rest's mean."""
    others = len(comparison.decision.card.labels) - 1
    return comparison.explains_predicted and side.removed < (1 - side.removed) / others


def random_units(comparison: "Comparison", count: int) -> str:
    """ "a random word", "two random patches"."""
    unit = wording.name_of_units(comparison.decision)
    return f"{NUMBERS[count]} random {unit if count == 1 else wording.plural(unit)}"


def no_duel_sentence(comparison: "Comparison", methods: tuple[str, str]) -> str:
    """Why there is no duel between two methods."""
    units = wording.plural(wording.name_of_units(comparison.decision))
    if methods[0] == methods[1]:
        return "A duel needs two different methods."
    for method in methods:
        if not can_duel(comparison, method):
            asked = f"{wording.the_class(comparison.decision)}{wording.target_name(comparison.decision)}"
            return f"{_name(method)} gives no ranking for {asked}, so there is no duel."
    names = wording.join_names([_name(method) for method in methods])
    return f"{names} rank the same {units} highest, so removing a few {units} cannot tell them apart."


def _side_in_words(comparison: "Comparison", side: DuelSide) -> str:
    return wording.join_names([wording.quoted_among(comparison, unit) for unit in side.units])


def _result(comparison: "Comparison", duel: Duel) -> str:
    units = wording.plural(wording.name_of_units(comparison.decision))
    if duel.winner is not None:
        seldom = f"random {units} seldom differ by as much (p = {wording.number(duel.p)})"
        return f"So this experiment supports {_name(duel.winner)}: {seldom}."
    first, second = (side.removed for side in duel.sides)
    if min(first, second) >= float(np.mean(duel.random_removed)):
        why = f"neither side counts more than random {units}"
    elif abs(first - second) <= HARDLY:
        why = "the two sides hardly differ"
    else:
        why = f"random {units} differ by as much too often (p = {wording.number(duel.p)})"
    return f"Not decided with up to three {units} per side: {why}."


def _name(method: str) -> str:
    return method_spec(method).name
