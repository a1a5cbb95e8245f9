"""What a session remembers, and how the address of the page carries it.

Widgets that are bound to the address look after themselves. The text and the removed words are carried here: the
text by the example's title or, where it is short, in full; a long text is never put into the address.
"""

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import streamlit as st

EXAMPLES = Path(__file__).parents[1] / "assets" / "examples.json"
OWN_TEXT = "your own text"
LONGEST_IN_ADDRESS = 400  # characters
NUMBER = re.compile(r"[0-9]{1,6}")  # of a unit; the address can hold anything


@dataclass(frozen=True)
class Sample:
    """A curated text for an embedded model."""

    model: str
    title: str
    text: str


@cache
def samples() -> tuple[Sample, ...]:
    return tuple(Sample(**each) for each in json.loads(EXAMPLES.read_text(encoding="utf-8")))


def titles() -> list[str]:
    return [*(sample.title for sample in samples()), OWN_TEXT]


def begin() -> None:
    """Once per session: takes the text and the removed words from the address, or opens with the first example."""
    begun = [name for name in ("text", "kept text") if name in st.session_state]
    if begun:
        st.session_state["text"] = st.session_state[begun[0]]  # a widget's value is lost when its page is left
        return
    given = st.query_params.get("text")
    title = st.query_params.get("example", "")
    title = title if title in titles() else samples()[0].title
    if given is not None:
        st.session_state["example"] = OWN_TEXT
    st.session_state["text"] = given if given is not None else text_of(title)
    removed = st.query_params.get("removed", "")
    st.session_state["removed"] = tuple(int(each) for each in removed.split(".") if NUMBER.fullmatch(each))


def text_of(title: str) -> str:
    return next((sample.text for sample in samples() if sample.title == title), "")


def example_chosen() -> None:
    """The example's text takes the place of the one in the box; "your own text" leaves what is there."""
    if st.session_state["example"] != OWN_TEXT:
        st.session_state["text"] = text_of(st.session_state["example"])
        st.session_state["removed"] = ()


def text_changed() -> None:
    st.session_state["removed"] = ()
    if st.session_state["text"] != text_of(st.session_state["example"]):
        st.session_state["example"] = OWN_TEXT


def unit_clicked() -> None:
    """Removes the unit that was clicked, or brings it back."""
    clicked = st.session_state["cards"].get("toggled")
    if clicked is not None:
        removed = set(st.session_state["removed"]) ^ {int(clicked)}
        st.session_state["removed"] = tuple(sorted(removed))


def resized() -> None:
    """Remembers whether the page is as narrow as a phone, where charts stand below each other."""
    st.session_state["narrow"] = bool(st.session_state["cards"].get("narrow"))


def is_narrow() -> bool:
    return bool(st.session_state.get("narrow", False))


def bring_back() -> None:
    st.session_state["removed"] = ()


def to_address() -> None:
    """Writes into the address what no widget writes by itself."""
    text, removed = st.session_state["text"], st.session_state["removed"]
    st.session_state["kept text"] = text
    _put("text", text if st.session_state["example"] == OWN_TEXT and 0 < len(text) <= LONGEST_IN_ADDRESS else "")
    _put("removed", ".".join(map(str, removed)))


def carried_by_address() -> bool:
    """Whether the address is enough to restore the text."""
    return st.session_state["example"] != OWN_TEXT or len(st.session_state["text"]) <= LONGEST_IN_ADDRESS


def _put(name: str, value: str) -> None:
    if value:
        st.query_params[name] = value
    elif name in st.query_params:
        del st.query_params[name]
