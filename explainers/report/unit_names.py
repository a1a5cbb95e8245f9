"""How the units of an input are called: words or tokens, patches, or units where both occur."""

from typing import TYPE_CHECKING

from explainers.models.inputs.encoding import Unit
from explainers.report.text import decimals, one_line

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison, Question


def name_of_units(question: "Question") -> str:
    """ "word", "token", "patch", or "unit" for words and patches together."""
    kinds = {unit.kind for unit in question.encoding.units}
    if kinds == {"patch"}:
        return "patch"
    return "unit" if "patch" in kinds else question.settings.unit


def plural(name: str) -> str:
    return "patches" if name == "patch" else f"{name}s"


def share_line(share: float | None) -> str:
    """How the importance is divided between image and text; `share` is the image's, 0…1."""
    if share is None:
        return ""
    return f"image {decimals(100 * share, 0)} % · text {decimals(100 - 100 * share, 0)} % of the importance"


def quoted_unit(unit: Unit, text: str) -> str:
    """`text` is the unit's text, ready for display: quoted for a word, the position for a patch."""
    return f"the patch in {text}" if unit.kind == "patch" else f"“{text}”"


def quoted_among(comparison: "Comparison", at: int) -> str:
    """A patch by its position; a word with its text of a pair, and numbered if it occurs there more than once."""
    units, unit = comparison.question.encoding.units, comparison.question.encoding.units[at]
    if unit.kind == "patch":
        return quoted_unit(unit, one_line(unit.text))
    same = [index for index, other in enumerate(units) if (other.text, other.segment) == (unit.text, unit.segment)]
    occurrence = [f"number {same.index(at) + 1} of {len(same)}"] if len(same) > 1 else []
    details = ", ".join([*filter(None, [comparison.names[unit.segment].lower()]), *occurrence])
    return f"{quoted_unit(unit, one_line(unit.text))}{f' ({details})' if details else ''}"
