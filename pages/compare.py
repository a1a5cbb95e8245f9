"""Compare: one decision, explained by many methods: which words carry it, and how sure that is."""

import streamlit as st

from app import page_compat, plain_text
from app.compare import controls, drawing_options, question_form, session, views
from app.compare.state import compare_state

page_compat.navigated()
state = compare_state()
state.begin()
engine = session.engine()

st.title("Which words carry this decision?", anchor=False)
line = question_form.line()
question = question_form.question(engine.pool, line)
question_form.edit_prompt(line)
options = controls.controls(engine.pool, question.example, line)
drawing = drawing_options.drawing_options(question.example, line)
run = session.run_for(engine, question, options)
state.ask(question.example)
with st.container():  # one place among the page's elements, whatever is in it: what follows is not drawn anew
    for problem in state.problems.values():
        plain_text.warning(problem)

views.live(engine, run, drawing)
