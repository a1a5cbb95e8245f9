"""One step on the page: text, equations, bet, live example, the paper's table beside ours, questions."""

from collections.abc import Sequence
from html import escape

import streamlit as st

from app.compare.engine import Engine
from app.reading import bet_view, live, marks, paper_table
from app.reading.audience import Audience
from app.reading.story import Equation, Kind, Step
from explainers.report.quantities import filled

KINDS: dict[Kind, str] = {
    "claim": "The claim",
    "equation": "The equation",
    "live": "Live",
    "bet": "Your bet",
    "break": "Break it",
    "table": "The paper's table and ours",
    "discussion": "For discussion",
}


def show(engine: Engine, step: Step, audience: Audience) -> None:
    """Draws a step for one person, a presenter or a follower."""
    st.html(f'<p class="reading-kind">{escape(KINDS[step.kind])}</p>')
    st.header(step.title, anchor=False)
    st.markdown(filled(step.text))
    _equations(step.equations)
    if step.bet is not None and step.state is not None:
        bet_view.show(engine, step.bet, step.state, audience)
    elif step.state is not None and "marks" in step.state.show:
        marks.show(engine, step.state, audience)
    elif step.state is not None:
        live.show(engine, step.state)
    if step.table is not None:
        paper_table.show(step.table)
    _questions(step.questions)


def _equations(equations: Sequence[Equation]) -> None:
    for equation in equations:
        st.latex(equation.formula)
        st.caption(equation.source)
        rows = [f"| ${each.symbol}$ | {filled(each.meaning)} |" for each in equation.symbols]
        table = "\n".join(["| symbol | meaning |", "|---|---|", *rows])
        st.markdown(table)


def _questions(questions: Sequence[str]) -> None:
    items = "\n".join(f"{number}. {filled(question)}" for number, question in enumerate(questions, start=1))
    if items:
        st.markdown(items)
