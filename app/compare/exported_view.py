"""The page in its JSON export: the controls are written there as `view`, and open the page again.

The content of the file may be pasted as the text, or the file given where rows from a file are.
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from app.compare.state import OWN_IMAGE, CompareState
from app.compare.stored_results import OWN_TEXT, is_image_name, named
from explainers.datasets.tables import parsed_json
from explainers.errors import DataUnavailable
from explainers.results.manifest import strict_json

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison

JSON = re.compile(r'\s*[\[{]\s*(["\[{]|-?\d[\d.]*\s*(,|\]\s*$))')  # how lists and objects begin
JSON_AS_TEXT = "The text is JSON and is explained as it stands. A JSON export opens its page only where it is whole."
NO_IMAGE = "The JSON export does not hold your own image. Give the image again."


def json_with_view(comparison: "Comparison", view: dict[str, Any]) -> str:
    """Return the comparison as JSON, with the controls of the page as `view`."""
    return strict_json({**comparison.as_dict(), "view": view})


def view_of(content: str) -> Mapping[str, Any] | None:
    """Return the `view` of a JSON export; None for everything else."""
    if not content.lstrip().startswith("{") or '"view"' not in content:
        return None
    try:
        read = parsed_json(content)
    except DataUnavailable:
        return None
    view = read.get("view")
    return view if isinstance(view, dict) and isinstance(view.get("text"), str) else None


def open_view(state: CompareState, view: Mapping[str, Any]) -> None:
    """Bring back the page with these controls; what is not available here is named, as it is for an address."""
    model, image = state.controls.model, state.controls.picture
    state.restore(view)
    controls, curated = state.controls, named(state.controls.example)
    own = curated is None or curated.texts != controls.texts
    state.change(
        model=controls.model or model,
        example=OWN_TEXT if own else controls.example,
        picture=controls.picture if is_image_name(controls.picture) else image,
    )
    if controls.picture == OWN_IMAGE:
        state.note("picture", NO_IMAGE)


def text_changed(state: CompareState) -> None:
    """Takes what a person wrote: a text, or the content of a JSON export."""
    view = next(filter(None, map(view_of, state.controls.texts)), None)
    if view is not None:
        open_view(state, view)
        return
    state.text_changed()
    if any(map(JSON.match, state.controls.texts)):
        state.note("text", JSON_AS_TEXT)
