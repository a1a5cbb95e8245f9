from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.errors import StreamlitAuthError, StreamlitMissingAuthlibError
from streamlit.testing.v1 import AppTest

from app.server import login

AUTH = {"redirect_uri": "http://localhost:8501/oauth2callback", "cookie_secret": "x" * 32}
ONE = {**AUTH, "client_id": "me", "client_secret": "secret", "server_metadata_url": "https://id.example.org"}
TWO = {**AUTH, "google": {"client_id": "me"}, "microsoft": {"client_id": "me"}}
LOGGED_IN = {
    "is_logged_in": True,
    "iss": "https://id.example.org",
    "sub": "42",
    "email": "ada@example.org",
    "email_verified": True,
}

Opened = Callable[..., AppTest]


def script() -> None:
    import streamlit as st

    from app.server.login import current_account, require_login

    require_login()
    st.write(f"inside as {current_account().name or 'anybody'}")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Opened:
    def open_app(auth: object = None, **claims: Any) -> AppTest:
        monkeypatch.setattr(login, "claims", lambda: claims)
        at = AppTest.from_function(script, default_timeout=60)
        if auth is not None:
            at.secrets["auth"] = auth
        return at.run()

    return open_app


def inside(at: AppTest) -> str:
    assert not at.exception, at.exception
    return " ".join(element.value for element in at.markdown if element.value.startswith("inside"))


def sentences(at: AppTest) -> str:
    return " ".join(element.proto.body for element in at.get("html")) + " ".join(element.value for element in at.error)


def test_without_a_section_auth_nobody_logs_in(opened: Opened) -> None:
    at = opened()
    assert (inside(at), len(at.button)) == ("inside as anybody", 0)


@pytest.mark.parametrize(
    ("auth", "labels"),
    [(ONE, ["Log in"]), (TWO, ["Log in with google", "Log in with microsoft"]), ({}, ["Log in"])],
)
def test_who_is_not_logged_in_sees_only_how_to(opened: Opened, auth: object, labels: list[str]) -> None:
    for at in (opened(auth), opened(auth, is_logged_in=False)):
        assert inside(at) == ""
        assert [button.label for button in at.button] == labels


def test_who_is_logged_in_is_inside_and_can_log_out(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    at = opened(ONE, **LOGGED_IN)
    assert inside(at) == "inside as ada@example.org"
    assert "Logged in as" in sentences(at)
    out: list[bool] = []
    monkeypatch.setattr(st, "logout", lambda: out.append(True))
    at.run()
    at.button(key="log out").click().run()
    assert out == [True]


@pytest.mark.parametrize(
    ("failure", "sentence"),
    [
        (StreamlitMissingAuthlibError(), login.UNPREPARED),
        (StreamlitAuthError("no redirect_uri in /some/path"), "is not complete"),
    ],
)
def test_a_login_that_cannot_begin_says_so(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, failure: Exception, sentence: str
) -> None:
    def fail(_provider: str | None) -> None:
        raise failure

    monkeypatch.setattr(st, "login", fail)
    at = opened(ONE)
    at.button[0].click().run()
    assert sentence in sentences(at)
    assert "/some/path" not in sentences(at)
    assert inside(at) == ""


def test_who_is_nobody_stays_outside(opened: Opened) -> None:
    at = opened(ONE, is_logged_in=True)
    assert "neither sub nor a verified email" in sentences(at)
    assert inside(at) == ""


@pytest.mark.parametrize("auth", ["yes", ["x"], 1])
def test_a_section_that_is_none_lets_nobody_in(opened: Opened, auth: object) -> None:
    at = opened(auth)
    assert "is not complete" in sentences(at)
    assert inside(at) == ""


@pytest.mark.parametrize("content", [b"[auth\nredirect_uri = 1", b"\xff\xfe", b"auth = \x00"])
def test_secrets_that_cannot_be_read_let_nobody_in(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    file = tmp_path / "secrets.toml"
    file.write_bytes(content)
    monkeypatch.setattr(st, "get_option", lambda _name: [str(file)])
    monkeypatch.setattr(st, "secrets", unreadable(file))
    at = opened()
    assert login.UNREADABLE in sentences(at)
    assert inside(at) == ""


def unreadable(file: Path) -> Any:
    """Streamlit's secrets of this file."""
    from streamlit import config
    from streamlit.runtime.secrets import Secrets

    class OfFile(Secrets):
        def _parse(self) -> Any:
            before = config.get_option
            try:
                config.get_option = lambda name: [str(file)] if name == "secrets.files" else before(name)
                return super()._parse()
            finally:
                config.get_option = before

    return OfFile()
