"""Which letter a method has for one person and item. Without the project's salt, nobody can tell."""

import hashlib
import hmac
from collections.abc import Sequence

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def shuffled(methods: Sequence[str], salt: str, *about: object) -> tuple[str, ...]:
    """The methods in an order that is the same for the same person, item and task, and independent otherwise."""

    def draw(method: str) -> bytes:
        message = "\0".join([*map(str, about), method])
        return hmac.new(salt.encode(), message.encode(), hashlib.sha256).digest()

    return tuple(sorted(methods, key=draw))


def lettered(methods: Sequence[str], salt: str, *about: object) -> dict[str, str]:
    """By letter, in the order of display. More methods than letters are no question for a person."""
    return dict(zip(LETTERS, shuffled(methods, salt, *about), strict=False))


def alias(method: str, salt: str) -> str:
    """A name that is the same everywhere in a project and tells nothing about the method."""
    return f"method-{hmac.new(salt.encode(), method.encode(), hashlib.sha256).hexdigest()[:6]}"
