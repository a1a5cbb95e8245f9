"""What a session remembers, and how the address of the page carries it.

Widgets that are bound to the address look after themselves. Texts, image and removed units are carried here: the texts
by the example's title or, where they are short, in full; a long text is never put into the address. An image is carried
by its name, which an uploaded one does not have. The second text and the image are remembered also while a model is
chosen that reads neither.
"""

import hashlib
import re

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from app import page_compat
from app.compare import address_check
from app.compare.curated_examples import OWN_TEXT, is_generated, named, titles
from explainers.datasets.example import Example
from explainers.models.bundle_cards import bundle_names

OWN_IMAGE = "your own picture"  # its name in the session
TEXTS = ("text", "pair")  # their names in the session and in the address
LONGEST_IN_ADDRESS = 400  # characters
RENAMED = {"Picture": "Image", "Picture only": "Image only"}  # values in addresses that were copied earlier
LONG, LONG_TEXTS, LONG_TEXTS_KEPT = "own", "long texts", 20  # in the address; in the session; and how many
NUMBER = re.compile(r"[0-9]{1,6}")  # of a unit; the address can hold anything


def begin() -> None:
    """At the start of a session and after the browser's Back: takes the texts and the removed units from the address,
    or opens with the first example."""
    if any(name in st.session_state for name in ("text", "kept text")) and not stepped_back():
        for name in TEXTS:
            if name not in st.session_state:  # a widget's value is lost when it is no longer drawn
                st.session_state[name] = st.session_state.get(f"kept {name}", "")
        return
    _translate_address()
    model, title = st.query_params.get("model") or (bundle_names() or ("",))[0], st.query_params.get("example", "")
    fitting = (*titles(model), *titles(model, multimodal=True))  # whether it reads images may not be known yet
    address_check.check("example", fitting, "example")
    title = title if title in fitting else titles(model)[0]
    texts = _own_texts()
    if texts is not None:
        st.session_state["example"] = title = OWN_TEXT
    curated = named(title)
    if curated is not None:
        _set_inputs(curated.texts, curated.title if curated.image else "")
    else:
        _set_inputs(texts or ("", ""), _image_in_address())
    numbers = st.query_params.get("removed", "").split(".")
    st.session_state["removed"] = tuple(int(number) for number in numbers if NUMBER.fullmatch(number))
    st.session_state["view"] = st.query_params.get("view", "")


def _own_texts() -> tuple[str, str] | None:
    """Those of the address, or those that are too long for it, which only the session has; None for an example."""
    if any(name in st.query_params for name in TEXTS):
        return st.query_params.get("text", ""), st.query_params.get("pair", "")
    own = st.query_params.get(LONG, "")
    texts: tuple[str, str] | None = st.session_state.get(LONG_TEXTS, {}).get(own)
    if own and texts is None:
        address_check.note(LONG, "The text of this address was too long for it. Paste the text to see the same page.")
    return texts


def _remember_long(texts: tuple[str, str]) -> str:
    """By what the address calls texts that are too long for it."""
    name = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:8]
    others = {key: value for key, value in st.session_state.get(LONG_TEXTS, {}).items() if key != name}
    st.session_state[LONG_TEXTS] = dict([*others.items(), (name, texts)][-LONG_TEXTS_KEPT:])
    return name


def stepped_back() -> bool:
    """Whether the browser went back or forward in the history of this page. Back from another page brings what the
    session has."""
    return _in_history() and not page_compat.came_from_another_page()


def _in_history() -> bool:
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation


def default_example(examples: list[str]) -> str:
    """What Streamlit takes after the browser's Back where the address names no example, as with a text of one's own."""
    if stepped_back() and any(name in st.query_params for name in (*TEXTS, LONG)):
        return OWN_TEXT
    present = st.session_state.get("example")
    return present if _in_history() and page_compat.came_from_another_page() and present in examples else examples[0]


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


def own_texts(texts: tuple[str, str]) -> None:
    """Texts of a person's own replace the current ones; the image stays."""
    _set_inputs(texts, "")
    st.session_state["example"] = OWN_TEXT
    st.session_state["removed"] = ()


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
    clicked = st.session_state["sheet"].get("toggled")
    if clicked is not None and clicked != st.session_state.get("last click"):
        st.session_state["last click"] = clicked
        removed = set(st.session_state["removed"]) ^ {int(clicked["unit"])}
        st.session_state["removed"] = tuple(sorted(removed))


def resized() -> None:
    """Remembers whether the page is as narrow as a phone."""
    st.session_state["narrow"] = bool(st.session_state["sheet"].get("narrow"))


def is_narrow() -> bool:
    return bool(st.session_state.get("narrow", False))


def view_chosen() -> None:
    st.session_state["view"] = str(st.session_state["sheet"].get("view"))


def sheet_view() -> str:
    """ "rows" or "matrix"."""
    return "matrix" if st.session_state.get("view") == "matrix" else "rows"


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
    for name in TEXTS:
        st.session_state[f"kept {name}"] = st.session_state[name]
    _put(
        {
            **{name: text if short else "" for name, text in zip(TEXTS, texts, strict=True)},
            LONG: "" if short else _remember_long((texts[0], texts[1])),
            "picture": "" if image == OWN_IMAGE else image,
            "removed": ".".join(map(str, st.session_state["removed"])),
            "view": "matrix" if sheet_view() == "matrix" else "",
        }
    )


def left_out_of_address() -> str:
    """What the address does not hold of the input: nothing, "text", "picture" or both."""
    return str(st.session_state.get("left out", ""))


def _put(values: dict[str, str]) -> None:
    """All that differs at once: each time the browser is told of an address, it adds a step to its history."""
    changed = {name: value for name, value in values.items() if value != st.query_params.get(name, "")}
    if len(changed) == 1 and not all(changed.values()):
        del st.query_params[next(iter(changed))]
    elif changed:
        st.query_params.update({name: value or [] for name, value in changed.items()})  # an empty list is left out


def drop_unknown_units(units: int) -> None:
    """What the address removes beyond the last unit of the input, with a sentence."""
    removed = st.session_state["removed"]
    if any(number >= units for number in removed):
        st.session_state["removed"] = tuple(number for number in removed if number < units)
        address_check.note("removed", f"The address removes units that do not exist: the input has {units}.")
        st.rerun(scope="app")
