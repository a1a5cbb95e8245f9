"""What Streamlit does to a project with a folder named `pages`, and how it is undone."""

import streamlit as st
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import get_script_run_ctx

from app.login.gate import current_account

STYLE = """<style>
.stMainBlockContainer { padding: 3.5rem 2rem 4rem; }
.stMain h1 { font-size: 1.6rem; font-weight: 650; padding: 0 0 0.2rem; }
.stMain h2 { font-size: 1.2rem; padding: 0.8rem 0 0; }
.stMain h3 { font-size: 1.05rem; padding: 0.6rem 0 0; }
[data-testid="stCaptionContainer"] { color: inherit; opacity: 0.78; }  
[data-testid^="stBaseButton-primary"] { background: #2166ac; border-color: #2166ac; color: #fff; }
@media (max-width: 640px) { .stMainBlockContainer { padding: 3.5rem 1rem 3rem; } }
</style>"""  # of every page


def navigated() -> None:
    """Called first by every page. Until the entry has run once, Streamlit runs an address's page by itself, without the
    entry's navigation; then this turns the old way off and begins again with the entry."""
    if PagesManager.uses_pages_directory and not st.session_state.get("navigated"):
        st.session_state["navigated"] = True
        PagesManager.uses_pages_directory = False
        st.rerun()
    _note_page()
    st.html(STYLE)
    current_account()  # also where a page was run without the entry, which asks for the login


def came_from_another_page() -> bool:
    """Whether the last run of a page in this session was of another one."""
    return bool(st.session_state.get("page before") != st.session_state.get("page now"))


def _note_page() -> None:
    context = get_script_run_ctx()
    st.session_state["page before"] = st.session_state.get("page now")
    st.session_state["page now"] = context.page_script_hash if context is not None else ""
