"""How the units of an input are called: words or tokens, patches, or units where both occur."""

from typing import TYPE_CHECKING

from explainers.models.inputs.encoding import Unit
from explainers.report.text import decimals

if TYPE_CHECKING:
    from explainers.results.comparison import Question


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
