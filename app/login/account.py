"""Who looks at a page, and which trainings are theirs. Nothing here knows Streamlit."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from explainers.errors import ExplanationError

OWNERS_VARIABLE = "CROSSLIGHT_OWNERS"


@dataclass(frozen=True)
class Account:
    """`id` says for good who it is, `name` is shown; both are empty without login, when everybody sees everything."""

    id: str = ""
    name: str = ""
    sees_all: bool = True

    def may_see(self, owner: str) -> bool:
        return self.sees_all or owner == self.id


ANYBODY = Account()


def account_of(claims: Mapping[str, object]) -> Account:
    """The account of which an identity provider claims this. Raises `ExplanationError` if it does not say who it is.

    An address identifies nobody for good: providers let people change it, and give it to others later. So `sub` does,
    which is unique for the provider `iss`. An address counts only where the provider says that it is verified:
    elsewhere people may claim any."""
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
    """Verified addresses, or "ISSUER SUBJECT" as the provider sends them, of those who see the trainings of all."""
    return frozenset(filter(None, (part.strip().lower() for part in os.environ.get(OWNERS_VARIABLE, "").split(","))))
