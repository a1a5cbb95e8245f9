"""The head of the Compare page: model, example, class, and the text or texts with the image."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import model_info as models
from app import plain_text
from app.compare import address_check, drawing_options, image_input, url_state
from app.compare.curated_examples import named, titles
from app.model_pool import ModelPool
from explainers.datasets.example import Example
from explainers.models.inputs.requirements import SINGLE_TEXT, display_input_names

ONE, MAYBE_TWO = "Text", "Second text (only for models of pairs)"
PREDICTED = "the predicted one"


def question(pool: ModelPool) -> tuple[str, Example, str | None]:
    """Model, input, and class to explain (None: the predicted one). Folded away where the type is large."""
    with st.expander("Model and input") if drawing_options.is_large() else st.container():
        return _question(pool)


def _question(pool: ModelPool) -> tuple[str, Example, str | None]:
    first, second, third = st.columns(3)
    with first:
        model = models.model_box()
    info = models.model_info(pool, model)
    url_state.model_chosen(model, multimodal=info.multimodal)
    with second:
        examples = titles(model, multimodal=info.multimodal)
        st.selectbox(
            "Example",
            examples,
            index=examples.index(url_state.default_example(examples)),
            key="example",
            bind="query-params",
            persist_state="session",
            on_change=url_state.example_chosen,
        )
    with third:
        if info.labels:
            address_check.check("class", (PREDICTED, *info.labels), "class")
        label = st.selectbox(
            "Class to explain",
            [PREDICTED, *info.labels],
            key="class",
            bind="query-params",
            persist_state="session",
            help="Positive scores support this class. Choose another class to see what supports that one.",
        )
    example = _with_image(info) if info.multimodal else _texts(info.input_names)
    return model, example, None if label == PREDICTED else label


def _with_image(info: models.ModelInfo) -> Example:
    """The image on the left, the text about it on the right, and below how to give another image."""
    left, right = st.columns(2)
    with left:
        image = image_input.show()
    with right:
        text = _text(plain_text.label(info.input_names[0].capitalize(), ONE) if info.input_names else ONE, "text")
        curated = named(st.session_state["example"])
        if curated is not None:
            st.caption(curated.why)
        image_input.controls(info.generator_noun)
    return Example(text, image=image)


def _texts(input_names: tuple[str, ...]) -> Example:
    """One box, or two side by side. Where the input names are not known, an empty second box means a single text."""
    if input_names == SINGLE_TEXT:
        return Example(_text(ONE, "text"))
    names = display_input_names(input_names, 2) if input_names else (ONE, MAYBE_TWO)
    boxes = zip(st.columns(2), names, url_state.TEXTS, strict=True)
    first, second = (_text(name, key, column) for column, name, key in boxes)
    return Example(first, second if input_names or second.strip() else None)


def _text(name: str, key: str, column: DeltaGenerator | None = None) -> str:
    box = (column or st).text_area
    return box(name, key=key, height=72, persist_state="session", on_change=url_state.text_changed) or ""
