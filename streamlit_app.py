"""Entry: navigation only. Run with `make run`."""

import streamlit as st

st.set_page_config(page_title="Crosslight", page_icon="assets/icon.png", layout="wide")
st.navigation(
    [
        st.Page("pages/compare.py", title="Compare", default=True),
        st.Page("pages/methods.py", title="Methods", url_path="methods"),
    ],
    position="top",
).run()
