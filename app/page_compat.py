"""What Streamlit does to a project with a folder named `pages`, and how it is undone."""

import streamlit as st
from streamlit.runtime.pages_manager import PagesManager

from app.login.gate import current_account

STYLE = "<style>.stMainBlockContainer { padding: 3.5rem 2rem 4rem; }</style>"  # of every page


def navigated() -> None:
    """Called first by every page. Until the entry has run once, Streamlit runs an address's page by itself, without the
    entry's navigation; then this turns the old way off and begins again with the entry."""
    if PagesManager.uses_pages_directory and not st.session_state.get("navigated"):
        st.session_state["navigated"] = True
        PagesManager.uses_pages_directory = False
        st.rerun()
    st.html(STYLE)
    current_account()  # also where a page was run without the entry, which asks for the login
