"""The names that the server answers to.

A page of another site can make its own name point at this machine (DNS rebinding), and a page on another port of this
machine can open connections; both are told apart by Host and Origin.
"""

import os
import re
from urllib.parse import urlsplit

from explainers.errors import ExplanationError

HOSTS_VARIABLE = "CROSSLIGHT_HOSTS"
LOCAL = ("localhost", "127.0.0.1", "[::1]")
LOCAL_ONLY = (
    "Other devices cannot open this address: the app answers on this machine only. assets/docs/operations.md says how "
    "to run it for a group."
)
NAME = re.compile(r"(\*\.)?[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?|\[[0-9a-f:.]+\]")
HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?")


def allowed_hosts() -> tuple[str, ...]:
    """Return the names of this machine and of CROSSLIGHT_HOSTS; raises `ExplanationError` for what is no name."""
    given = [part.strip().lower() for part in os.environ.get(HOSTS_VARIABLE, "").split(",")]
    for name in filter(None, given):
        if not NAME.fullmatch(name):
            raise ExplanationError(
                f"{HOSTS_VARIABLE} contains {name!r}. Give names without scheme, port and path, separated by commas, "
                "such as app.example.org,*.example.net."
            )
    return (*LOCAL, *filter(None, given))


def is_local(address: str) -> bool:
    """Return whether only this machine can open the address."""
    return (urlsplit(address).hostname or "localhost") in (*LOCAL, "::1")


def is_allowed(host: str | None, allowed: tuple[str, ...]) -> bool:
    """Return whether a Host header, with any port or none, names one of the allowed hosts."""
    match = HOST.fullmatch((host or "").lower())
    name = match["name"].rstrip(".") if match is not None else ""
    return any(name.endswith(pattern[1:]) if pattern.startswith("*.") else name == pattern for pattern in allowed)


def is_same_origin(origin: str, host: str | None) -> bool:
    """Return whether the page that sends the request came from the very address that it asks, port included."""
    scheme, separator, authority = origin.lower().partition("://")
    return scheme in ("http", "https") and bool(separator) and authority == (host or "").lower()
