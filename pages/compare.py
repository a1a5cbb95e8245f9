"""Compare: one decision, explained by many methods side by side, and how far each can be trusted on it."""

import streamlit as st

from app import controls, house, results, session, state

house.navigated()
state.begin()
engine = session.engine()

st.header("Crosslight: one decision, explained side by side", anchor=False)
choice = controls.sidebar(engine)
model, example, label = controls.question(engine)
run = session.run_for(engine, model, example, label, choice)
state.to_address(example)

results.live(engine, run, choice)
