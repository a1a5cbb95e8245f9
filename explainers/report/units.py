"""What the units of an input are called: words or tokens, patches, or both together."""

from typing import TYPE_CHECKING

from explainers.models.encoding import Unit
from explainers.report.text import decimals

if TYPE_CHECKING:
    from explainers.comparison import Question


def name_of_units(question: "Question") -> str:
    """ "word", "token", "patch"; "unit" where words and patches stand side by side."""
    kinds = {unit.kind for unit in question.encoding.units}
    if kinds == {"patch"}:
        return "patch"
    return "unit" if "patch" in kinds else question.settings.unit


def plural(name: str) -> str:
    return "patches" if name == "patch" else f"{name}s"


def divided(share: float | None) -> str:
    """How the importance is divided where there are a picture and a text; `share` is the picture's, 0…1."""
    if share is None:
        return ""
    return f"picture {decimals(100 * share, 0)} % · text {decimals(100 - 100 * share, 0)} % of the importance"


def called(unit: Unit, text: str) -> str:
    """A patch by its place; a word by `text`, which is quoted."""
    return f"the patch in {text}" if unit.kind == "patch" else f"“{text}”"
