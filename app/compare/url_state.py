"""What a session remembers, and how the address of the page carries it.

Widgets that are bound to the address look after themselves. Texts, image and removed units are carried here: the texts
by the example's title or, where they are short, in full; a long text is never put into the address. An image is carried
by its name, which an uploaded one does not have. The second text and the image are remembered also while a model is
chosen that reads neither.
"""

import re

import streamlit as st

from app.compare.curated_examples import OWN_TEXT, is_generated, named, titles
from explainers.datasets.example import Example
from explainers.models.bundle_cards import bundle_names

OWN_IMAGE = "your own picture"  # its name in the session
TEXTS = ("text", "pair")  # their names in the session and in the address
LONGEST_IN_ADDRESS = 400  # characters
RENAMED = {"Picture": "Image", "Picture only": "Image only"}  # values in addresses that were copied earlier
NUMBER = re.compile(r"[0-9]{1,6}")  # of a unit; the address can hold anything


def begin() -> None:
    """Once per session: takes the texts and the removed units from the address, or opens with the first example."""
    if any(name in st.session_state for name in ("text", "kept text")):
        for name in TEXTS:
            if name not in st.session_state:  # a widget's value is lost when it is no longer drawn
                st.session_state[name] = st.session_state.get(f"kept {name}", "")
        return
    _translate_address()
    texts = [st.query_params.get(name) for name in TEXTS]
    model, title = st.query_params.get("model") or (bundle_names() or ("",))[0], st.query_params.get("example", "")
    fitting = (*titles(model), *titles(model, multimodal=True))  # whether it reads images may not be known yet
    title = title if title in fitting else titles(model)[0]
    if any(text is not None for text in texts):
        st.session_state["example"] = title = OWN_TEXT
    curated = named(title)
    if curated is not None:
        _set_inputs(curated.texts, curated.title if curated.image else "")
    else:
        _set_inputs((texts[0] or "", texts[1] or ""), _image_in_address())
    numbers = st.query_params.get("removed", "").split(".")
    st.session_state["removed"] = tuple(int(number) for number in numbers if NUMBER.fullmatch(number))


def _translate_address() -> None:
    """Gives widgets the present names of values that the address has by their former ones."""
    erased, controls = st.query_params.get("erased", ""), st.query_params.get_all("pictures")
    if erased in RENAMED:
        st.session_state["erased"] = RENAMED[erased]
    if any(name in RENAMED for name in controls):
        st.session_state["pictures"] = [RENAMED.get(name, name) for name in controls]


def _image_in_address() -> str:
    """The name of an example with an image, or of a generated one; empty where it is neither."""
    name = st.query_params.get("picture", "")
    curated = named(name)
    return name if is_generated(name) or (curated is not None and curated.image) else ""


def example_chosen() -> None:
    """The example's texts and image replace the current ones; "your own text" leaves them."""
    curated = named(st.session_state["example"])
    if curated is not None:
        _set_inputs(curated.texts, curated.title if curated.image else "")
        st.session_state["removed"] = ()


def model_chosen(model: str, *, multimodal: bool = False) -> None:
    """An example of another model is replaced by the first one of this model; a text of one's own stays."""
    if st.session_state.get("example", OWN_TEXT) not in titles(model, multimodal=multimodal):
        st.session_state["example"] = titles(model, multimodal=multimodal)[0]
        example_chosen()


def text_changed() -> None:
    st.session_state["removed"], st.session_state["picture problem"] = (), ""
    curated = named(st.session_state["example"])
    if curated is None or curated.texts != tuple(st.session_state.get(name, "") for name in TEXTS):
        st.session_state["example"] = OWN_TEXT


def image_changed(name: str) -> None:
    """Another image replaces the current one; the text stays."""
    st.session_state["picture"], st.session_state["picture problem"] = name, ""
    st.session_state["example"] = OWN_TEXT
    st.session_state["removed"] = ()


def _set_inputs(texts: tuple[str, str], image: str) -> None:
    """With an empty `image` the current one stays, for another model."""
    for name, text in zip(TEXTS, texts, strict=True):
        st.session_state[name] = text
    if image:
        st.session_state["picture"] = image
    st.session_state["picture problem"] = ""


def unit_clicked() -> None:
    """Removes the unit that was clicked, or restores it. A click may be delivered twice, and counts once."""
    clicked = st.session_state["cards"].get("toggled")
    if clicked is not None and clicked != st.session_state.get("last click"):
        st.session_state["last click"] = clicked
        removed = set(st.session_state["removed"]) ^ {int(clicked["unit"])}
        st.session_state["removed"] = tuple(sorted(removed))


def resized() -> None:
    """Remembers whether the page is as narrow as a phone, where plots stand below each other."""
    st.session_state["narrow"] = bool(st.session_state["cards"].get("narrow"))


def is_narrow() -> bool:
    return bool(st.session_state.get("narrow", False))


def restore_all() -> None:
    st.session_state["removed"] = ()


def to_address(example: Example) -> None:
    """Writes into the address what no widget writes by itself. `example` is the input that is explained."""
    own_text = st.session_state["example"] == OWN_TEXT
    texts = (example.text, example.pair or "") if own_text else ("", "")
    short = all(len(text) <= LONGEST_IN_ADDRESS for text in texts)
    image = st.session_state.get("picture", "") if own_text and example.image is not None else ""
    st.session_state["left out"] = "" if short else "text"
    if image == OWN_IMAGE:
        st.session_state["left out"] = "picture" if short else "text and picture"
    for name, text in zip(TEXTS, texts, strict=True):
        st.session_state[f"kept {name}"] = st.session_state[name]
        _put(name, text if short else "")
    _put("picture", "" if image == OWN_IMAGE else image)
    _put("removed", ".".join(map(str, st.session_state["removed"])))


def left_out_of_address() -> str:
    """What the address does not hold of the input: nothing, "text", "picture" or both."""
    return str(st.session_state.get("left out", ""))


def _put(name: str, value: str) -> None:
    """Only where it differs: each time the browser is told of an address, it adds a step to its history."""
    if value and value != st.query_params.get(name):
        st.query_params[name] = value
    elif not value and name in st.query_params:
        del st.query_params[name]
