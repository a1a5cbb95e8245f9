"""Entry: navigation only. Run with `make run`."""

import streamlit as st

from app.train import recovery

st.set_page_config(page_title="Crosslight", page_icon="assets/icon.png", layout="wide")
st.navigation(
    [
        st.Page("pages/compare.py", title="Compare", default=True),
        st.Page("pages/interventions.py", title="Interventions", url_path="interventions"),
        st.Page("pages/train.py", title="Train", url_path="train"),
        st.Page("pages/methods.py", title="Methods", url_path="methods"),
    ],
    position="top",
).run()
recovery.resume_watching()
