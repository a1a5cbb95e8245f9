"""One step on the page: text, equations, bet, live example, the paper's table beside ours, questions.

A table says what became of the paper's claims on our numbers. In some steps people mark their own words before they see
any explanation; their order becomes a row.

A bet is decided by numbers of the comparison on the screen or by stored ones (`observed`).
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from html import escape
from typing import TYPE_CHECKING

import streamlit as st

from app import components, plain_text
from app.compare import guess, heat_maps, runs, score_sheet
from app.compare.engine import Engine
from app.compare.state import Guess
from app.reading import live, story
from app.reading.observed import is_observed, is_yes_or_no, level, observed
from app.reading.state import Audience, reading_state
from app.session import sent_by
from explainers.report.quantities import UnknownQuantity, filled, holds, stored_quantity
from explainers.report.wording import decimals, escaped

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison

WITH_INTERVALS = ("evaluation/", "consistency/", "simulatability/", "narrators/")
WORDS: dict[story.Outcome, str] = {"replicated": "replicated", "partly": "partly replicated", "not": "not replicated"}
COLOURS = {"replicated": "#21a35b", "partly": "#d9a400", "not": "#d92d3a"}
NOTE = "± is half of the 95 % bootstrap interval. Other models and other data: compare orders, not heights."
STYLE = """<style>
.reading-table { overflow-x: auto; }
.reading-table table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.95rem; }
.reading-table th, .reading-table td { text-align: right; padding: 0.3rem 0.8rem; white-space: nowrap;
  border: none; border-bottom: 1px solid rgba(128, 128, 128, 0.3); }
.reading-table tr.reading-name { display: none; }
.reading-table tr.reading-name td { border-bottom: none; padding: 0.6rem 0 0; font-weight: 600; }
.reading-name span { position: sticky; left: 0; }
@media (max-width: 640px) { /* a row's name stands above its numbers and stays while they are scrolled */
  .reading-table tr.reading-name { display: table-row; }
  .reading-table th:first-child, .reading-table tr:not(.reading-name) td:first-child { display: none; }
}
.reading-table th:first-child, .reading-table td:first-child { text-align: left; }
.reading-finding { border-left: 0.25rem solid var(--tone); padding: 0.4rem 0.9rem; margin: 0.5rem 0; max-width: 60rem; }
.reading-finding b { display: block; }
</style>"""
TASK = guess.MARK.format("words")
UNMARKED = "Nothing is marked yet. Without marks you see the methods' rows alone."
SHOW, WAIT = "Show the explanations", "The presenter shows the explanations."
YOURS, EVERYBODYS = "Your order", "The group's order"
KINDS: dict[story.Kind, str] = {
    "claim": "The claim",
    "equation": "The equation",
    "live": "Live",
    "bet": "Your bet",
    "break": "Break it",
    "table": "The paper's table and ours",
    "discussion": "For discussion",
}

NOBODY = "Nobody has bet yet."
REVEAL, SHOWN = "Show the answer", "The presenter shows the answer."
CHANGE = "You can change your bet until the answer is shown."
COMPUTING = "The answer is being computed."
MINE = " <small>(your bet)</small>"
BET_STYLE = """<style>
.reading-bets { display: grid; grid-template-columns: minmax(0, max-content) minmax(5rem, 20rem) 3rem; gap: 0.4rem 1rem;
  align-items: center; margin: 0.3rem 0 0.8rem; }
.reading-bets .right { font-weight: 700; }
.reading-bets .track { height: 0.8rem; border-radius: 3px; background: rgba(128, 128, 128, 0.2); }
.reading-bets .track i { display: block; height: 100%; border-radius: 3px; background: #7b8794; }
.reading-bets .right + .track i { background: #2f7fc4; }
.reading-bets span { overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
</style>"""


def outcome(finding: story.Finding) -> story.Outcome:
    """Return the outcome as the checks say: all hold, some, or none; raises `UnknownQuantity`."""
    results = [holds(check) for check in finding.checks]
    return "replicated" if all(results) else "partly" if any(results) else "not"


def our_number(name: str, places: int = 3) -> str:
    """Return our number as text, with the interval's half width where there is one; empty without a number."""
    if not name:
        return ""
    value = decimals(stored_quantity(name), places)
    if not name.startswith(WITH_INTERVALS) or name.endswith(("/low", "/high")):
        return value
    try:
        low, high = (stored_quantity(f"{name}/{bound}") for bound in ("low", "high"))
    except UnknownQuantity:
        return value
    return value if low == high == stored_quantity(name) else f"{value} ± {decimals((high - low) / 2, places)}"


def show_paper_table(table: story.PaperTable) -> None:
    st.html(STYLE + markup(table))
    plain_text.caption(f"Paper: {table.source}. Ours: {table.ours}. {NOTE}")
    for finding in table.findings:
        _finding(finding)


def markup(table: story.PaperTable) -> str:
    """Return HTML in which every text is escaped: a row per method, for each column the paper's number and ours."""
    head = "".join(f"<th>paper: {escaped(column)}</th><th>ours: {escaped(column)}</th>" for column in table.columns)
    rows = "".join(
        f'<tr class="reading-name"><td colspan="{2 * len(table.columns)}"><span>{escaped(row.name)}</span></td></tr>'
        f"<tr><td>{escaped(row.name)}</td>"
        + "".join(
            f"<td>{escaped(paper or '–')}</td><td>{escaped(our_number(ours) or '–')}</td>"
            for paper, ours in zip(row.paper, row.ours, strict=True)
        )
        + "</tr>"
        for row in table.rows
    )
    table_html = f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return f'<div class="reading-table" tabindex="0" role="region" aria-label="Paper and ours">{table_html}</div>'


def _finding(finding: story.Finding) -> None:
    result = outcome(finding)
    with st.container(border=True):
        plain_text.paragraph(plain_text.Bold(finding.claim))
        st.html(f'<span style="color: {COLOURS[result]}">●</span> <b>{escaped(WORDS[result])}</b>')
        st.markdown(filled(finding.because))


def show_marks(engine: Engine, state: story.LiveExample, audience: Audience) -> None:
    """Draw the input to be marked; after the reveal the explanations, with the order of all as a row."""
    given = audience.marks()
    if audience.revealed:
        order = common_order(given.values())
        people = given.values() if audience.together else ()
        live.show(engine, state, order, EVERYBODYS if audience.together else YOURS, people)
        return
    run = live.run_of(engine, story.request_of(state))
    if run.active and run.whole is None:
        st.fragment(run_every=live.TICK)(_wait)(run)
        return
    if audience.me:
        _to_mark(run, state, given.get(audience.me, ()), audience)
    else:
        _input(state)
    if audience.presents:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(SHOW, key="show marks", type="primary", on_click=audience.reveal)
            if not any(given.values()):
                st.caption(UNMARKED)
    else:
        st.caption(WAIT)


def _input(state: story.LiveExample) -> None:
    example = story.example_of_state(state)
    for text in filter(None, (example.text, example.pair)):
        plain_text.paragraph(text)


def _wait(run: runs.Run) -> None:
    st.caption(live.LOADING)
    run.lease.renew()
    if run.whole is not None or not run.active:
        st.rerun(scope="app")


def _to_mark(run: runs.Run, state: story.LiveExample, marked: tuple[int, ...], audience: Audience) -> None:
    page = reading_state()
    about = (state.model, run.request.example, run.request.settings.units)
    if page.guess is None or page.guess.about != about:
        page.guess = Guess(about, marked)
    current = page.guess
    data = {
        "about": current.id,
        "labels": score_sheet.labels(run),
        "segments": score_sheet.segments(run),
        "image": heat_maps.image_data(run),
        "marked": list(current.marked),
        "moment": current.moment,
        "task": TASK,
    }
    same = run.view("reading guess", (id(run.whole), current), lambda: data)
    components.component("guess")(
        key="guess marks", data=components.newest("guess", same), on_marked_change=partial(_marked, run, audience)
    )


def _marked(run: runs.Run, audience: Audience) -> None:
    """Take the marks as the component has them; they may be delivered twice, and count once."""
    page, marked = reading_state(), sent_by("guess marks", "marked")
    current = page.guess
    if marked is None or current is None or run.whole is None:
        return
    if marked["about"] == current.id and marked["moment"] > current.moment:
        units = range(len(run.whole.encoding.units))
        kept = tuple(number for number in dict.fromkeys(int(number) for number in marked["units"]) if number in units)
        page.guess = replace(current, marked=kept, moment=marked["moment"])
        audience.mark(kept)


def common_order(orders: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the units by Borda's count, the most points first, ties in the order of the text.

    Of k marked units the first gets k / k points, the last 1 / k.
    """
    points: dict[int, float] = {}
    for order in orders:
        for place, unit in enumerate(order):
            points[unit] = points.get(unit, 0.0) + (len(order) - place) / len(order)
    return tuple(sorted(points, key=lambda unit: (-points[unit], unit)))


def show(engine: Engine, step: story.Step, audience: Audience) -> None:
    """Draw a step for one person, a presenter or a follower."""
    st.html(f'<p class="reading-kind">{escape(KINDS[step.kind])}</p>')
    st.header(step.title, anchor=False)
    st.markdown(filled(step.text))
    _equations(step.equations)
    if step.bet is not None and step.state is not None:
        show_bet(engine, step.bet, step.state, audience)
    elif step.state is not None and "marks" in step.state.show:
        show_marks(engine, step.state, audience)
    elif step.state is not None:
        live.show(engine, step.state)
    if step.table is not None:
        show_paper_table(step.table)
    _questions(step.questions)


def _equations(equations: Sequence[story.Equation]) -> None:
    for equation in equations:
        st.latex(equation.formula)
        st.caption(equation.source)
        rows = [f"| ${symbol.symbol}$ | {filled(symbol.meaning)} |" for symbol in equation.symbols]
        table = "\n".join(["| symbol | meaning |", "|---|---|", *rows])
        st.markdown(table)


def _questions(questions: Sequence[str]) -> None:
    items = "\n".join(f"{number}. {filled(question)}" for number, question in enumerate(questions, start=1))
    if items:
        st.markdown(items)


def right_choices(bet: story.Bet, comparison: "Comparison | None") -> tuple[int, ...]:
    """Return the numbers of the right choices: of the leading one, and of all that are level with it.

    Raises `UnknownQuantity`, and `ValueError` where no range holds the number.
    """
    if bet.pick == "range":
        value = observed(comparison, bet.quantity)
        return (next(at for at, choice in enumerate(bet.choices) if choice.at_least <= value < choice.below),)
    names = [choice.quantity for choice in bet.choices]
    values = [observed(comparison, name) for name in names]
    best = names[values.index(max(values) if bet.pick == "largest" else min(values))]
    return tuple(number for number, name in enumerate(names) if level(comparison, name, best))


def is_stored(bet: story.Bet) -> bool:
    """Return whether the answer follows from stored numbers alone, so that nobody has to wait for the example."""
    return not any(is_observed(name) for name in (bet.quantity, *(choice.quantity for choice in bet.choices)) if name)


def values(bet: story.Bet, comparison: "Comparison | None") -> tuple[float, ...]:
    """Return by choice the number that was compared; of a range, the one number that decides."""
    if bet.pick == "range":
        return (observed(comparison, bet.quantity),)
    return tuple(observed(comparison, choice.quantity) for choice in bet.choices)


def counts(bet: story.Bet, chosen: Iterable[int]) -> tuple[int, ...]:
    """Return how often each choice was bet on."""
    given = Counter(chosen)
    return tuple(given[number] for number in range(len(bet.choices)))


def show_bet(engine: Engine, bet: story.Bet, state: story.LiveExample, audience: Audience) -> None:
    """Draw the bet; before the reveal the run is only started, so that its answer is there when it is asked for."""
    if not audience.revealed and not is_stored(bet):  # on a phone there is no way back to the step that showed it
        _input(state)
    st.subheader(bet.question, anchor=False)
    run = None if live.elsewhere(engine, state) else live.current(engine, state)
    if not audience.revealed:
        _choices(bet, audience)
        return
    if is_stored(bet):
        _answer(bet, None, audience)
    elif run is None or run.active:
        st.caption(COMPUTING)
    elif run.decision is not None:
        _answer(bet, run.comparison(), audience)
    live.show(engine, state)


def _choices(bet: story.Bet, audience: Audience) -> None:
    mine = audience.bets().get(audience.me)
    if audience.me:
        for number, choice in enumerate(bet.choices):
            st.button(
                choice.text,
                key=f"bet {number}",
                type="primary" if number == mine else "secondary",
                on_click=audience.bet,
                args=(number,),
                width="stretch",
            )
        st.caption(CHANGE)
    else:
        plain_text.bullets(choice.text for choice in bet.choices)
    if audience.presents:
        nobody = not audience.bets()
        alone = nobody and not audience.together
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(REVEAL, key="reveal", type="primary", on_click=audience.reveal, disabled=alone)
            if nobody and audience.together and audience.awaited:
                st.caption(NOBODY)
    else:
        st.caption(SHOWN)


def _answer(bet: story.Bet, comparison: "Comparison | None", audience: Audience) -> None:
    """Draw the choices with the number of bets on each, the right one marked, and the numbers that decided."""
    right, given = right_choices(bet, comparison), audience.bets()
    counted = counts(bet, given.values())
    mine = given.get(audience.me)
    st.html(BET_STYLE + _bars([choice.text for choice in bet.choices], counted, right, mine))
    numbers = values(bet, comparison)
    shown = (
        [f"{choice.text}: {decimals(value, 3)}" for choice, value in zip(bet.choices, numbers, strict=True)]
        if len(numbers) > 1
        else [f"The number that decides is {decimals(numbers[0], 3)}"]
    )
    told = "" if bet.pick == "range" and is_yes_or_no(bet.quantity) else f" {'; '.join(shown)}."
    say = plain_text.info if mine is not None and mine not in right else plain_text.success
    say(bet_outcome(bet, right, mine), told)
    st.markdown(filled(bet.because))


def bet_outcome(bet: story.Bet, right: Sequence[int], mine: int | None) -> str:
    """Return whether `mine` is among the right choices, and which they are; without a bet the answer alone."""
    if mine in right:
        return "Your bet was right." if len(right) == 1 else f"Your bet was right: {_level(bet, right)}."
    wrong = "" if mine is None else "Your bet was wrong. "
    return f"{wrong}The answer: {bet.choices[right[0]].text if len(right) == 1 else _level(bet, right)}."


def _level(bet: story.Bet, right: Sequence[int]) -> str:
    *first, last = (bet.choices[number].text for number in right)
    return f"{', '.join(first)} and {last} are level"


def _bars(texts: Sequence[str], counted: Sequence[int], right: Sequence[int], mine: int | None) -> str:
    """Return bars as HTML in which every text is escaped; the choice `mine` is named."""
    most = max(*counted, 1)
    rows = [
        f'<span class="{"right" if number in right else ""}">{"✓ " if number in right else ""}{escaped(text)}'
        f"{MINE if number == mine else ''}</span>"
        f'<div class="track"><i style="width: {100 * count / most:.0f}%"></i></div><span>{count}</span>'
        for number, (text, count) in enumerate(zip(texts, counted, strict=True))
    ]
    return f'<div class="reading-bets" role="group" aria-label="Bets">{"".join(rows)}</div>'
