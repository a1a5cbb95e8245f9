from typing import Any

import pytest

from app.server.login import ANYBODY, OWNERS_VARIABLE, account_of
from explainers.errors import ExplanationError

ISSUER = "https://id.example.org"


def claims(**values: object) -> dict[str, Any]:
    known = {"is_logged_in": True, "iss": ISSUER, "sub": "42", "email": "Ada@Example.org", "email_verified": True}
    return known | values


@pytest.fixture(autouse=True)
def owners(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OWNERS_VARIABLE, f" ada@example.org, ,ops@example.org,{ISSUER} 7")


def test_somebody_is_who_the_provider_says_for_good_and_has_a_name_to_show() -> None:
    account = account_of(claims(email="bob@example.org"))
    assert (account.id, account.name, account.sees_all) == (f"{ISSUER} 42", "bob@example.org", False)
    assert account_of(claims(email="changed@example.org")).id == account.id
    assert account_of(claims(iss="https://other.example.org")).id != account.id


@pytest.mark.parametrize(
    ("values", "sees_all"),
    [
        ({}, True),
        ({"email_verified": "true"}, True),
        ({"sub": "7", "email": ""}, True),
        ({"sub": "7", "iss": "https://other.example.org", "email": ""}, False),
        ({"sub": "", "email_verified": True}, True),
        ({"email_verified": False}, False),  # whoever may type an address could be the owner
        ({"email_verified": None}, False),  # the provider does not say
        ({"email": ""}, False),
        ({"email": "ada@example.org.evil.net"}, False),
        ({"email": ["ada@example.org"]}, False),
    ],
)
def test_owners_see_all(values: dict[str, Any], sees_all: bool) -> None:
    assert account_of(claims(**values)).sees_all == sees_all


def test_an_address_that_is_not_verified_is_not_shown_either() -> None:
    assert account_of(claims(email_verified=False, name="Ada")).name == "Ada"


def test_without_owners_nobody_sees_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(OWNERS_VARIABLE)
    assert not account_of(claims()).sees_all
    assert not account_of(claims(email="")).sees_all


def test_a_verified_address_does_where_the_provider_sends_no_number() -> None:
    assert account_of(claims(sub=None)).id == "ada@example.org"


def test_who_is_nobody_is_refused() -> None:
    with pytest.raises(ExplanationError, match="neither sub nor a verified email"):
        account_of(claims(sub="", email_verified=False))


def test_without_login_everybody_sees_everything() -> None:
    assert ANYBODY.may_see("")
    assert ANYBODY.may_see(f"{ISSUER} 42")


def test_trainings_from_before_the_login_are_the_owners() -> None:
    assert not account_of(claims(email="bob@example.org")).may_see("")
    assert account_of(claims()).may_see("")
