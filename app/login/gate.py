"""The login, where the owner of the app has configured one: a section [auth] in Streamlit's secrets."""

import logging
from collections.abc import Mapping
from pathlib import Path

import streamlit as st
from streamlit.errors import StreamlitAuthError, StreamlitMissingAuthlibError

from app import plain_text
from app.login.account import ANYBODY, Account, account_of
from explainers.errors import ExplanationError

log = logging.getLogger(__name__)

UNREADABLE = "The file of secrets cannot be read, so nobody can log in. The log of the server says where it is wrong."
UNPREPARED = "Login is configured, but the server lacks a package for it. Install streamlit[auth] and restart the app."
MISCONFIGURED = (
    "The section [auth] of the server's secrets is not complete, so nobody can log in. Contact the administrator."
)


def require_login() -> None:
    """Called first by the entry: stops with a page to log in; for those who are logged in, a button to log out."""
    account = current_account()
    if account is not ANYBODY:
        with st.sidebar.container(horizontal=True, vertical_alignment="center"):
            plain_text.caption(f"Logged in as {account.name}")
            st.button("Log out", key="log out", on_click=st.logout)


def current_account() -> Account:
    """Who looks at this page: `ANYBODY` where no login is configured. Stops the page of who is not logged in."""
    try:
        providers = configured_providers()
        if not providers:
            return ANYBODY
        known = claims()
        if known.get("is_logged_in"):
            return account_of(known)
    except ExplanationError as error:
        plain_text.error(str(error))
        st.stop()
    _draw_login(providers)
    st.stop()


def configured_providers() -> tuple[str, ...]:
    """The names of the identity providers, "" for the one that [auth] itself describes; none without that section.
    Raises `ExplanationError` if there are secrets that cannot be read: they may demand a login."""
    try:
        section = st.secrets.get("auth")
    except (OSError, ValueError) as error:  # OSError: also without any file of secrets; ValueError: not UTF-8
        if not any(Path(path).exists() for path in st.get_option("secrets.files")):
            return ()
        log.error("the secrets cannot be read: %s", error)
        raise ExplanationError(UNREADABLE) from error
    if section is None:
        return ()
    if not isinstance(section, Mapping):
        raise ExplanationError(MISCONFIGURED)
    named = tuple(name for name, value in section.items() if isinstance(value, Mapping) and name != "client_kwargs")
    return ("", *named) if "client_id" in section or not named else named


def claims() -> Mapping[str, object]:
    """What the identity provider claims about who looks at this page, as Streamlit keeps it in a signed cookie."""
    return st.user


def _draw_login(providers: tuple[str, ...]) -> None:
    st.title("Crosslight", anchor=False)
    st.write("Log in to compare explanations and to train methods on your texts.")
    for provider in providers:
        label = f"Log in with {plain_text.label(provider, 'the provider')}" if provider else "Log in"
        if st.button(label, type="primary", key=f"log in {provider}"):
            _log_in(provider)


def _log_in(provider: str) -> None:
    try:
        st.login(provider or None)
    except StreamlitMissingAuthlibError:
        st.error(UNPREPARED)
    except StreamlitAuthError as error:
        log.error("nobody can log in: %s", " ".join(str(error).split()))
        st.error(MISCONFIGURED)
