"""A bet: the question with its choices, and after the reveal the computed answer over everybody's bets.

A bet is decided by numbers of the comparison on the screen or by stored ones (`observed`).
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import streamlit as st

from app import plain_text
from app.compare.engine import Engine
from app.reading import live
from app.reading.observed import is_observed, is_yes_or_no, level, observed
from app.reading.state import Audience
from app.reading.story import Bet, LiveExample, example_of_state
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


def right_choices(bet: Bet, comparison: "Comparison | None") -> tuple[int, ...]:
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


def is_stored(bet: Bet) -> bool:
    """Return whether the answer follows from stored numbers alone, so that nobody has to wait for the example."""
    return not any(is_observed(name) for name in (bet.quantity, *(choice.quantity for choice in bet.choices)) if name)


def values(bet: Bet, comparison: "Comparison | None") -> tuple[float, ...]:
    """Return by choice the number that was compared; of a range, the one number that decides."""
    if bet.pick == "range":
        return (observed(comparison, bet.quantity),)
    return tuple(observed(comparison, choice.quantity) for choice in bet.choices)


def counts(bet: Bet, chosen: Iterable[int]) -> tuple[int, ...]:
    """Return how often each choice was bet on."""
    given = Counter(chosen)
    return tuple(given[number] for number in range(len(bet.choices)))


def show(engine: Engine, bet: Bet, state: LiveExample, audience: Audience) -> None:
    """Draw the bet; before the reveal the run is only started, so that its answer is there when it is asked for."""
    if not audience.revealed:  # on a phone there is no way back to the step that showed it
        example = example_of_state(state)
        for text in filter(None, (example.text, example.pair)):
            plain_text.paragraph(text)
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
    """Draw the choices with the number of bets on each, the right one marked, and the numbers that decided."""
    right, given = right_choices(bet, comparison), audience.bets()
    counted = counts(bet, given.values())
    st.html(STYLE + _bars([choice.text for choice in bet.choices], counted, right))
    numbers = values(bet, comparison)
    shown = (
        [f"{choice.text}: {decimals(value, 3)}" for choice, value in zip(bet.choices, numbers, strict=True)]
        if len(numbers) > 1
        else [f"The number that decides is {decimals(numbers[0], 3)}"]
    )
    told = "" if bet.pick == "range" and is_yes_or_no(bet.quantity) else f" {'; '.join(shown)}."
    plain_text.success(_verdict(bet, right, given.get(audience.me)), told)
    st.markdown(filled(bet.because))


def _verdict(bet: Bet, right: Sequence[int], mine: int | None) -> str:
    if mine in right:
        return "Your bet was right." if len(right) == 1 else f"Your bet was right: {_level(bet, right)}."
    return f"The answer: {bet.choices[right[0]].text}." if len(right) == 1 else f"The answer: {_level(bet, right)}."


def _level(bet: Bet, right: Sequence[int]) -> str:
    *first, last = (bet.choices[number].text for number in right)
    return f"{', '.join(first)} and {last} are level"


def _bars(texts: Sequence[str], counted: Sequence[int], right: Sequence[int]) -> str:
    """Return bars as HTML in which every text is escaped."""
    most = max(*counted, 1)
    rows = [
        f'<span class="{"right" if number in right else ""}">{"✓ " if number in right else ""}{escaped(text)}</span>'
        f'<div class="track"><i style="width: {100 * count / most:.0f}%"></i></div><span>{count}</span>'
        for number, (text, count) in enumerate(zip(texts, counted, strict=True))
    ]
    return f'<div class="reading-bets" role="group" aria-label="Bets">{"".join(rows)}</div>'
