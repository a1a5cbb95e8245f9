"""The image beside the text: of an example, a generated one, or a person's own; and the controls that give one."""

import base64
import binascii

import streamlit as st

from app import plain_text
from app.compare import url_state
from app.compare.curated_examples import (
    GENERATED,
    curated_examples,
    example_of,
    generated_example,
    generator_nouns,
    is_generated,
    named,
)
from app.compare.url_state import OWN_IMAGE
from app.components import component
from explainers.datasets.example import Example
from explainers.datasets.image import InputImage
from explainers.errors import DataUnavailable
from explainers.report.display_images import display_image

KINDS = ("png", "jpg", "jpeg", "webp", "gif", "bmp")
MEGABYTES = 10
WIDEST, HIGHEST = 480, 170  # pixels of the image above the controls
TOO_LARGE = f"The pasted image is too large. Give an image of at most {MEGABYTES} MB."


def current() -> InputImage | None:
    """The image that is explained."""
    name = str(st.session_state.get("picture", ""))
    if name == OWN_IMAGE:
        image: InputImage | None = st.session_state.get("own picture")
        return image
    if is_generated(name):
        return generated_example(name).image
    curated = named(name)
    return example_of(curated).image if curated is not None else None


def reference(example: Example) -> Example | None:
    """The curated or generated example with these inputs, with its reasons and evidence; None for anything else."""
    name = str(st.session_state.get("picture", ""))
    candidates = [generated_example(name)] if is_generated(name) else []
    candidates += [example_of(each) for each in curated_examples() if each.text == example.text]
    inputs = example.text, example.pair, example.image
    return next((each for each in candidates if (each.text, each.pair, each.image) == inputs), None)


def show() -> InputImage | None:
    """The image that is explained, with its name."""
    image, name = current(), str(st.session_state.get("picture", ""))
    if image is not None:
        display = display_image(image)
        width = min(WIDEST, display.width * HIGHEST // display.height)
        st.image(display.content, width=max(width, 1), alt="The image that is explained")
        if name == OWN_IMAGE:
            name = f"your own image, {display.width:,} × {display.height:,} pixels"
        plain_text.caption(name)
    return image


def controls(generator_noun: str) -> None:
    """How to give another image, and what was wrong with the last one that was given."""
    left, right = st.columns(2, vertical_alignment="center")
    with left:
        st.file_uploader(
            "Your own image",
            type=list(KINDS),
            key=f"picture file {_number()}",
            on_change=uploaded,
            max_upload_size=MEGABYTES,
            label_visibility="collapsed",
        )
    noun = next((each for each in (generator_noun, *generator_nouns()) if each), "")
    with right, st.container(horizontal=True, vertical_alignment="center"):
        component("paste")(key="paste", data={"most": MEGABYTES * 2**20}, on_pasted_change=pasted)
        if noun:
            st.button(
                f"Another {noun}",
                key="another",
                on_click=another,
                args=(noun,),
                help="Generates an image with a statement, which replaces the text. An image of your own is kept in "
                "the memory of this server while you look at it, and not written to its disk.",
            )
    if st.session_state.get("picture problem"):
        plain_text.error(st.session_state["picture problem"])


def uploaded() -> None:
    """Takes the file. The box is empty afterwards, because the image itself is shown."""
    file = st.session_state[f"picture file {_number()}"]
    if file is not None:
        take(file.getvalue())
        st.session_state["picture number"] = _number() + 1


def _number() -> int:
    return int(st.session_state.get("picture number", 0))


def pasted() -> None:
    """Takes what came from the clipboard; the component sends nothing where it is too large."""
    address = str(st.session_state["paste"].get("pasted") or "")
    try:
        content = base64.b64decode(address.partition(",")[2], validate=True)
    except binascii.Error:
        content = b""
    if content:
        take(content)
    else:
        st.session_state["picture problem"] = TOO_LARGE


def take(content: bytes) -> None:
    """Makes this the image; if it is none, says why, and the previous one stays."""
    try:
        image = InputImage.uploaded(content)
        display_image(image)
    except DataUnavailable as error:
        st.session_state["picture problem"] = f"{error} The previous image stays."
        return
    st.session_state["own picture"] = image
    url_state.image_changed(OWN_IMAGE)


def another(noun: str) -> None:
    """The next generated image with its statement, which replaces the text."""
    last = f"last {noun}"
    number = int(st.session_state.get(last, 0)) + 1
    name = str(st.session_state.get("picture", ""))
    match = GENERATED.fullmatch(name) if is_generated(name) else None
    number = int(match[2]) + 1 if match else number
    st.session_state[last] = number
    url_state.image_changed(f"{noun} {number}")
    st.session_state["text"] = generated_example(f"{noun} {number}").text
