"""A bet: the question with its choices, and after the reveal the computed answer over everybody's bets."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from app import plain_text
from app.compare.engine import Engine
from app.reading import bets, live
from app.reading.audience import Audience
from app.reading.questions import example_of_state
from app.reading.story import Bet, LiveExample
from explainers.report.quantities import filled
from explainers.report.text import decimals, escaped

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison

NOBODY = "Nobody has bet yet."
REVEAL, SHOWN = "Show the answer", "The presenter shows the answer."
CHANGE = "You can change your bet until the answer is shown."
COMPUTING = "The answer is being computed."
STYLE = """<style>
.reading-bets { display: grid; grid-template-columns: minmax(0, max-content) minmax(5rem, 20rem) 3rem; gap: 0.4rem 1rem;
  align-items: center; margin: 0.3rem 0 0.8rem; }
.reading-bets .right { font-weight: 700; }
.reading-bets .track { height: 0.8rem; border-radius: 3px; background: rgba(128, 128, 128, 0.2); }
.reading-bets .track i { display: block; height: 100%; border-radius: 3px; background: #7b8794; }
.reading-bets .right + .track i { background: #2f7fc4; }
.reading-bets span { overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
</style>"""


def show(engine: Engine, bet: Bet, state: LiveExample, audience: Audience) -> None:
    """Before the reveal the run is only started, so that its answer is there when it is asked for."""
    if not audience.revealed:  # on a phone there is no way back to the step that showed it
        example = example_of_state(state)
        for text in filter(None, (example.text, example.pair)):
            plain_text.paragraph(text)
    st.subheader(bet.question, anchor=False)
    run = None if live.elsewhere(engine, state) else live.current(engine, state)
    if not audience.revealed:
        _choices(bet, audience)
        return
    if bets.is_stored(bet):
        _answer(bet, None, audience)
    elif run is None or run.active:
        st.caption(COMPUTING)
    elif run.question is not None:
        _answer(bet, run.comparison(), audience)
    live.show(engine, state)


def _choices(bet: Bet, audience: Audience) -> None:
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
        needs_bet = not audience.bets() and audience.awaited
        st.button(
            REVEAL,
            key="reveal",
            type="primary",
            on_click=audience.reveal,
            disabled=needs_bet,
            help=NOBODY if needs_bet and audience.together else None,
        )
    else:
        st.caption(SHOWN)


def _answer(bet: Bet, comparison: "Comparison | None", audience: Audience) -> None:
    """The choices with the number of bets on each, the right one marked, and the numbers that decided."""
    right, given = bets.answer(bet, comparison), audience.bets()
    counted = bets.counts(bet, given.values())
    st.html(STYLE + _bars([choice.text for choice in bet.choices], counted, right))
    numbers = bets.values(bet, comparison)
    shown = (
        [f"{choice.text}: {decimals(value, 3)}" for choice, value in zip(bet.choices, numbers, strict=True)]
        if len(numbers) > 1
        else [f"The number that decides is {decimals(numbers[0], 3)}"]
    )
    plain_text.success(_verdict(bet, right, given.get(audience.me)), f" {'; '.join(shown)}.")
    st.markdown(filled(bet.because))


def _verdict(bet: Bet, right: int, mine: int | None) -> str:
    if mine is None:
        return f"The answer: {bet.choices[right].text}."
    return "Your bet was right." if mine == right else f"The answer: {bet.choices[right].text}."


def _bars(texts: Sequence[str], counted: Sequence[int], right: int) -> str:
    """HTML; every text is escaped."""
    most = max(*counted, 1)
    rows = [
        f'<span class="{"right" if number == right else ""}">{"✓ " if number == right else ""}{escaped(text)}</span>'
        f'<div class="track"><i style="width: {100 * count / most:.0f}%"></i></div><span>{count}</span>'
        for number, (text, count) in enumerate(zip(texts, counted, strict=True))
    ]
    return f'<div class="reading-bets" role="group" aria-label="Bets">{"".join(rows)}</div>'
