"""The head of the Compare page: model, example, what is explained, and the text or texts with the image.

The image is that of an example, a generated one, or a person's own, which is uploaded or pasted.
"""

import base64
import binascii
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import streamlit as st

from app import model_info as models
from app import plain_text
from app.compare import file_rows
from app.compare.state import NO_OTHER, OWN_IMAGE, PREDICTED, TEXTS, CompareState, compare_state
from app.compare.stored_results import generator_nouns, named, titles
from app.components import component
from app.model_pool import ModelPool
from app.session import sent_by, value_of
from app.streamlit_shims import Container
from explainers.datasets.example import Example
from explainers.datasets.image import InputImage
from explainers.models.inputs.requirements import SINGLE_TEXT, display_input_names
from explainers.report.display_images import display_image

CLASS_HELP = (
    "Positive scores support this class. Choose another class to see what supports that one. The predicted one is that "
    "of the whole input: it stays while words are removed."
)
VERSUS_HELP = "Choose another class to see what speaks for the one and not for the other: p(one) / (p(one) + p(other))."
ONE, MAYBE_TWO = "Text", "Second text (only for models of pairs)"
SUFFIXES = ("png", "jpg", "jpeg", "webp", "gif", "bmp")
MEGABYTES = 10
WIDEST, HIGHEST = 480, 170  # pixels of the image above the controls
WIDTHS = (150, 190, 190, 150)  # pixels of the boxes for model, example and classes: two of them fit on a phone
TOO_LARGE = f"The pasted image is too large. Give an image of at most {MEGABYTES} MB."


class Question(NamedTuple):
    """What is asked: the class to explain (None: the predicted one), with `versus` rather than that other class."""

    model: str
    example: Example
    label: str | None
    versus: str | None


def line() -> Container:
    """Return the place of the one line with model, example, classes, and the buttons for all that is seldom changed."""
    return st.container(horizontal=True, vertical_alignment="bottom", key="question line")


def question(pool: ModelPool, line: Container) -> Question:
    """Draw the controls, folded away where the type is large."""
    state = compare_state()
    if state.controls.large:
        with st.expander("Model and input"):
            return _question(pool, state, st.container(horizontal=True))
    return _question(pool, state, line)


def _question(pool: ModelPool, state: CompareState, line: Container) -> Question:
    first = line.container(width=WIDTHS[0], key="place of model")  # wider where there is room: page.css
    second, third, fourth = (line.container(width=width) for width in WIDTHS[1:])
    with first:
        model = models.model_box(state)
    info = models.model_info(pool, model)
    state.model_chosen(multimodal=info.multimodal)
    with second:
        examples = titles(model, multimodal=info.multimodal)
        st.selectbox("Example", examples, **state.widget("example", listed=examples, then=state.example_chosen))
    with third:
        label = _class_box("Class to explain", PREDICTED, info.labels, "class_", CLASS_HELP, state)
    versus = None
    if len(info.labels) != 2 or state.controls.versus != NO_OTHER:  # of two, one is always explained against the other
        with fourth:
            others = tuple(other for other in info.labels if other != label)
            versus = _class_box("Rather than", NO_OTHER, others, "versus", VERSUS_HELP, state)
    with st.container(key="decides"):  # as high before a model is loaded, so that nothing below it moves
        plain_text.caption(models.decides_line(model, info.labels))
    example = _with_image(info, state) if info.multimodal else _texts(info.input_names, state)
    return Question(model, example, label, versus)


def _class_box(
    title: str, neither: str, labels: Sequence[str], field: str, help: str, state: CompareState
) -> str | None:
    """Return the chosen class, None for `neither`. A person who types in the box searches it."""
    value = getattr(state.controls, field)
    asked = [] if value == neither else [value]
    options = [neither, *(labels or asked)]  # before the model is loaded, its classes may not be known
    chosen = st.selectbox(title, options, help=help, **state.widget(field, options=options, listed=options))
    return None if chosen == neither else chosen


def _with_image(info: models.ModelInfo, state: CompareState) -> Example:
    """The image on the left, the text about it on the right, and below how to give another image."""
    left, right = st.columns(2)
    with left, st.container(key="given_image"):
        image = _image(state)
    with right:
        name = plain_text.label(info.input_names[0].capitalize(), ONE) if info.input_names else ONE
        text = _text(name, "text", state)
        curated = named(state.controls.example)
        if curated is not None:
            st.caption(curated.why)
        _image_controls(info.generator_noun, state)
    return Example(text, image=image)


def _texts(input_names: tuple[str, ...], state: CompareState) -> Example:
    """One box, or two side by side. Where the input names are not known, an empty second box means a single text."""
    if input_names == SINGLE_TEXT:
        return Example(_text(ONE, "text", state))
    names = display_input_names(input_names, 2) if input_names else (ONE, MAYBE_TWO)
    boxes = zip(st.columns(2), names, TEXTS, strict=True)
    first, second = (_text(name, key, state, column) for column, name, key in boxes)
    return Example(first, second if input_names or second.strip() else None)


def _text(name: str, field: str, state: CompareState, column: Container | None = None) -> str:
    typed = partial(file_rows.text_changed, state)
    return (column or st).text_area(name, height=72, **state.widget(field, then=typed)) or ""


def _image(state: CompareState) -> InputImage | None:
    """Draw the image that is explained, with its name."""
    image, name = state.image(), state.controls.picture
    if image is not None:
        display = display_image(image)
        width = min(WIDEST, display.width * HIGHEST // display.height)
        st.image(display.content, width=max(width, 1), alt="The image that is explained")
        if name == OWN_IMAGE:
            name = f"your own image, {display.width:,} × {display.height:,} pixels"
        plain_text.caption(name)
    return image


def _image_controls(generator_noun: str, state: CompareState) -> None:
    """How to give another image, and what was wrong with the last one that was given."""
    noun = next((noun for noun in (generator_noun, *generator_nouns()) if noun), "")
    with st.container(horizontal=True, vertical_alignment="top"):
        with st.expander("Your own image", width=200):
            st.file_uploader(
                "Your own image",
                type=list(SUFFIXES),
                key=_uploader(state),
                on_change=uploaded,
                max_upload_size=MEGABYTES,
                label_visibility="collapsed",
            )
            component("paste")(key="paste", data={"most": MEGABYTES * 2**20}, on_pasted_change=pasted)
        if noun:
            st.button(
                f"Another {noun}",
                key="another",
                on_click=state.next_generated,
                args=(noun,),
                help="Generates an image with a statement, which replaces the text. An image of your own is kept in "
                "the memory of this server while you look at it, and not written to its disk.",
            )
    if state.image_problem:
        plain_text.error(state.image_problem)


def _uploader(state: CompareState) -> str:
    return f"picture file {state.images_uploaded}"


def uploaded() -> None:
    """Takes the file. The box is empty afterwards, because the image itself is shown."""
    state = compare_state()
    file = value_of(_uploader(state))
    if file is not None:
        state.take_image(file.getvalue())
        state.images_uploaded += 1


def pasted() -> None:
    """Takes what came from the clipboard; the component sends nothing where it is too large."""
    address = str(sent_by("paste", "pasted") or "")
    try:
        content = base64.b64decode(address.partition(",")[2], validate=True)
    except binascii.Error:
        content = b""
    if content:
        compare_state().take_image(content)
    else:
        compare_state().image_problem = TOO_LARGE
