"""Who looks at a page, which trainings are theirs, and the login before it.

There is a login where the owner of the app has configured one: a section [auth] in Streamlit's secrets.
"""

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import streamlit as st
from streamlit.errors import StreamlitAuthError, StreamlitMissingAuthlibError

from app import plain_text
from explainers.errors import ExplanationError

log = logging.getLogger(__name__)

OWNERS_VARIABLE = "CROSSLIGHT_OWNERS"
UNREADABLE = "The file of secrets cannot be read, so nobody can log in. The log of the server says where it is wrong."
UNPREPARED = "Login is configured, but the server lacks a package for it. Install streamlit[auth] and restart the app."
MISCONFIGURED = (
    "The section [auth] of the server's secrets is not complete, so nobody can log in. Contact the administrator."
)


@dataclass(frozen=True)
class Account:
    """A person: `id` says for good who it is, `name` is shown; both are empty without login, and all see all."""

    id: str = ""
    name: str = ""
    sees_all: bool = True

    def may_see(self, owner: str) -> bool:
        return self.sees_all or owner == self.id


ANYBODY = Account()


def require_login() -> None:
    """Stop the entry with a page to log in; draw a button to log out for those who are logged in."""
    account = current_account()
    if account is not ANYBODY:
        with st.sidebar.container(horizontal=True, vertical_alignment="center"):
            plain_text.caption(f"Logged in as {account.name}")
            st.button("Log out", key="log out", on_click=st.logout)


def current_account() -> Account:
    """Return who looks at this page, `ANYBODY` where no login is configured; stop where somebody has to log in."""
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


def account_of(claims: Mapping[str, object]) -> Account:
    """Return the account that an identity provider describes; raises `ExplanationError` if it does not say whose it is.

    An address identifies nobody for good: providers let people change it, and give it to others later. So `sub` does,
    which is unique for the provider `iss`. An address counts only where the provider says that it is verified:
    elsewhere people may claim any.
    """
    subject, issuer = (str(claims.get(name) or "") for name in ("sub", "iss"))
    verified = claims.get("email_verified") in (True, "true")
    email = str(claims.get("email") or "").strip().lower() if verified else ""
    identity = f"{issuer} {subject}" if subject else email
    if not identity:
        raise ExplanationError(
            "The identity provider has sent neither sub nor a verified email. Ask the owner of this app to check it."
        )
    return Account(
        identity,
        email or str(claims.get("name") or subject),
        sees_all=not owners().isdisjoint({email, identity.lower()}),
    )


def owners() -> frozenset[str]:
    """Return who sees the trainings of all: verified addresses, or "ISSUER SUBJECT" as the provider sends them."""
    return frozenset(filter(None, (part.strip().lower() for part in os.environ.get(OWNERS_VARIABLE, "").split(","))))


def configured_providers() -> tuple[str, ...]:
    """Return the names of the identity providers, "" for the one that [auth] itself describes; none without [auth].

    Raises `ExplanationError` if there are secrets that cannot be read: they may demand a login.
    """
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
    """Return what the identity provider says of who looks at this page, as Streamlit keeps it in a signed cookie."""
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
