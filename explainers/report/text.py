"""What people typed, on its way into a document: shown as it is, never obeyed."""

import html
import unicodedata
from collections.abc import Sequence

PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n\r"} | {0x7F: 0x2421}
KEPT = "\t\n\r"
DIRECTIONS = dict.fromkeys([0x200E, 0x200F, 0x061C, *range(0x202A, 0x202F), *range(0x2066, 0x206A)])


def visible(text: str) -> str:
    """Control characters as their pictures; what no document may hold (lone surrogates and the like) as U+FFFD."""
    return "".join("\ufffd" if _forbidden(letter) else letter for letter in text.translate(PICTURES))


def _forbidden(letter: str) -> bool:
    code = ord(letter)
    control = unicodedata.category(letter) in ("Cc", "Cs") and letter not in KEPT
    return control or code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF


def escaped(text: str) -> str:
    """For HTML and XML, between tags and inside quoted attributes alike."""
    return html.escape(visible(text), quote=True)


def one_line(text: str, longest: int = 60) -> str:
    """Without line breaks and without marks that turn the words around it; cut where it is long."""
    line = " ".join(visible(text).translate(DIRECTIONS).split())
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"


def number(value: float, *, signed: bool = False) -> str:
    """Three significant digits with a real minus sign."""
    return f"{float(value) + 0.0:{'+' if signed and value else ''}.3g}".replace("-", "−")


def decimals(value: float, places: int = 2) -> str:
    """A fixed number of decimals, with a real minus sign and no minus zero."""
    return f"{round(float(value), places) + 0.0:.{places}f}".replace("-", "−")


def listed(names: Sequence[str]) -> str:
    """ "A", "A and B", "A, B and C"."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
