"""What a session remembers, and how the address of the page carries it.

Widgets that are bound to the address look after themselves. The texts and the removed words are carried here: the
texts by the example's title or, where they are short, in full; a long text is never put into the address. The second
text is remembered also while a model is chosen that reads only one.
"""

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import streamlit as st

from explainers.datasets.example import Example
from explainers.models.cards import bundled

EXAMPLES = Path(__file__).parents[1] / "assets" / "examples.json"
OWN_TEXT = "your own text"
TEXTS = ("text", "pair")  # their names in the session and in the address
LONGEST_IN_ADDRESS = 400  # characters
NUMBER = re.compile(r"[0-9]{1,6}")  # of a unit; the address can hold anything


@dataclass(frozen=True)
class Sample:
    """A curated text, or a pair of them, for an embedded model; `explanations` are reasons that people gave."""

    model: str
    title: str
    text: str
    pair: str | None = None
    explanations: tuple[str, ...] = ()

    @property
    def texts(self) -> tuple[str, str]:
        return self.text, self.pair or ""


@cache
def samples() -> tuple[Sample, ...]:
    found = json.loads(EXAMPLES.read_text(encoding="utf-8"))
    return tuple(Sample(**{**each, "explanations": tuple(each.get("explanations", ()))}) for each in found)


def explanations(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Reasons that people gave for these very texts, where they are an example."""
    return next((each.explanations for each in samples() if tuple(filter(None, each.texts)) == texts), ())


def titles(model: str) -> list[str]:
    """The examples of a model, or of the one that it was made from; where it has none, all of them."""
    own = [sample.title for sample in samples() if f"{model}-".startswith(f"{sample.model}-")]
    return [*(own or [sample.title for sample in samples()]), OWN_TEXT]


def begin() -> None:
    """Once per session: takes the texts and the removed words from the address, or opens with the first example."""
    if any(name in st.session_state for name in ("text", "kept text")):
        for name in TEXTS:  # a widget's value is lost when it is no longer drawn
            st.session_state[name] = st.session_state.get(name, st.session_state.get(f"kept {name}", ""))
        return
    given = [st.query_params.get(name) for name in TEXTS]
    model, title = st.query_params.get("model") or (bundled() or ("",))[0], st.query_params.get("example", "")
    title = title if title in titles(model) else titles(model)[0]
    if any(each is not None for each in given):
        st.session_state["example"] = title = OWN_TEXT
    _show(texts_of(title) or (given[0] or "", given[1] or ""))
    removed = st.query_params.get("removed", "")
    st.session_state["removed"] = tuple(int(each) for each in removed.split(".") if NUMBER.fullmatch(each))


def texts_of(title: str) -> tuple[str, str] | None:
    """Both texts of an example, the second one empty where it is single."""
    return next((sample.texts for sample in samples() if sample.title == title), None)


def example_chosen() -> None:
    """The example's texts take the place of those in the boxes; "your own text" leaves what is there."""
    if st.session_state["example"] != OWN_TEXT:
        _show(texts_of(st.session_state["example"]) or ("", ""))
        st.session_state["removed"] = ()


def model_chosen(model: str) -> None:
    """An example of another model makes place for the first one of this model; an own text stays."""
    if st.session_state.get("example", OWN_TEXT) not in titles(model):
        st.session_state["example"] = titles(model)[0]
        example_chosen()


def text_changed() -> None:
    st.session_state["removed"] = ()
    if texts_of(st.session_state["example"]) != tuple(st.session_state.get(name, "") for name in TEXTS):
        st.session_state["example"] = OWN_TEXT


def _show(texts: tuple[str, str]) -> None:
    for name, text in zip(TEXTS, texts, strict=True):
        st.session_state[name] = text


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


def to_address(example: Example) -> None:
    """Writes into the address what no widget writes by itself. `example` is what is really asked."""
    own = st.session_state["example"] == OWN_TEXT
    texts = (example.text, example.pair or "") if own else ("", "")
    st.session_state["carried"] = all(len(text) <= LONGEST_IN_ADDRESS for text in texts)
    for name, text in zip(TEXTS, texts, strict=True):
        st.session_state[f"kept {name}"] = st.session_state[name]
        _put(name, text if st.session_state["carried"] else "")
    _put("removed", ".".join(map(str, st.session_state["removed"])))


def carried_by_address() -> bool:
    """Whether the address is enough to restore the texts."""
    return bool(st.session_state.get("carried", True))


def _put(name: str, value: str) -> None:
    if value:
        st.query_params[name] = value
    elif name in st.query_params:
        del st.query_params[name]
