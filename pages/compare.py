"""Compare: one decision, explained by many methods side by side, and how far each can be trusted on it."""

import streamlit as st

from app import page_compat
from app.compare import question_form, session, sidebar, url_state, views

page_compat.navigated()
url_state.begin()
engine = session.engine()

st.header("Crosslight: one decision, explained side by side", anchor=False)
options = sidebar.sidebar(engine.pool)
model, example, label = question_form.question(engine.pool)
run = session.run_for(engine, model, example, label, options)
url_state.to_address(example)

views.live(engine, run, options)
