"""Compare: one decision, explained by many methods, and which of the explanations can be trusted on it."""

import streamlit as st

from app import page_compat
from app.compare import (
    address_check,
    drawing_options,
    guess,
    history,
    question_form,
    session,
    sidebar,
    url_state,
    views,
)

page_compat.navigated()
address_check.begin()
url_state.begin()
if url_state.stepped_back():
    guess.follow_address()
engine = session.engine()

st.title("Which explanation can you trust on this input?", anchor=False)
options = sidebar.sidebar(engine.pool)
model, example, label = question_form.question(engine.pool)
drawing = drawing_options.drawing_options(example)
run = session.run_for(engine, model, example, label, options)
url_state.to_address(example)
history.note()
address_check.show()

views.live(engine, run, drawing)
