"""Text and numbers on their way into a document. What people typed is displayed as it is and never interpreted."""

import html
import math
import unicodedata
from collections.abc import Sequence

CONTROL_PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n\r"} | {0x7F: 0x2421}
WHITE_SPACE = "\t\n\r"
DIRECTION_MARKS = dict.fromkeys([0x200E, 0x200F, 0x061C, *range(0x202A, 0x202F), *range(0x2066, 0x206A)])
UNDEFINED = "–"


def visible(text: str) -> str:
    """Control characters as their symbols, and what no document may contain, such as lone surrogates, as U+FFFD."""
    return "".join("\ufffd" if _forbidden(letter) else letter for letter in text.translate(CONTROL_PICTURES))


def _forbidden(letter: str) -> bool:
    code = ord(letter)
    control = unicodedata.category(letter) in ("Cc", "Cs") and letter not in WHITE_SPACE
    return control or code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF


def escaped(text: str) -> str:
    """For HTML and XML, between tags and inside quoted attributes alike."""
    return html.escape(visible(text), quote=True)


def one_line(text: str, longest: int = 60) -> str:
    """Without line breaks and direction marks, cut after `longest` characters."""
    line = " ".join(visible(text).translate(DIRECTION_MARKS).split())
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"


def number(value: float, *, signed: bool = False) -> str:
    """Three significant digits with a real minus sign."""
    return f"{float(value) + 0.0:{'+' if signed and value else ''}.3g}".replace("-", "−")


def decimals(value: float | None, places: int = 2) -> str:
    """A fixed number of decimals, with a real minus sign and no minus zero; "–" for None and NaN."""
    if value is None or math.isnan(value):
        return UNDEFINED
    return f"{round(float(value), places) + 0.0:.{places}f}".replace("-", "−")


def sampled(samples: int) -> str:
    """ "with 500 samples", or that sampling stops by itself."""
    return f"with {samples:,} samples" if samples else "until settled"


def join_names(names: Sequence[str]) -> str:
    """ "A", "A and B", "A, B and C"."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
