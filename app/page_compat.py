"""What Streamlit does to a project with a folder named `pages`, and how it is undone."""

import streamlit as st

from app import session, streamlit_shims
from app.server.login import current_account

FIRST_HTML = "<style></style>"  # takes no place; the script that draws HTML is there when there is some to see


def navigated() -> None:
    """Called first by every page. Until the entry has run once, Streamlit runs an address's page by itself, without the
    entry's navigation; then this turns the old way off and begins again with the entry."""
    if streamlit_shims.leave_pages_directory() and not session.visit().navigated:
        session.visit().navigated = True
        st.rerun()
    session.note_page()
    st.html(FIRST_HTML)
    current_account()  # also where a page was run without the entry, which asks for the login
