"""What a session remembers, and how the address of the page carries it.

Widgets that are bound to the address look after themselves. Texts, picture and removed units are carried here: the
texts by the example's title or, where they are short, in full; a long text is never put into the address. A picture is
carried by its name, which an uploaded one does not have. The second text and the picture are remembered also while a
model is chosen that reads neither.
"""

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from explainers.datasets.example import Evidence, Example
from explainers.models.cards import bundled

EXAMPLES = Path(__file__).parents[1] / "assets" / "examples.json"
OWN_TEXT = "your own text"
OWN_PICTURE = "your own picture"
SCENE = re.compile(r"scene ([0-9]{1,6})")  # the name of a generated picture
TEXTS = ("text", "pair")  # their names in the session and in the address
LONGEST_IN_ADDRESS = 400  # characters
NUMBER = re.compile(r"[0-9]{1,6}")  # of a unit; the address can hold anything


@dataclass(frozen=True)
class Sample:
    """A curated text, a pair of them, or a text with a `picture` (its file's name), for an embedded model.

    `explanations` are reasons that people or the generator gave, `label` is the number of the right class of that
    model where it is known, `why` says what there is to see in it.
    """

    model: str
    title: str
    text: str
    pair: str | None = None
    explanations: tuple[str, ...] = ()
    picture: str = ""
    evidence: Evidence | None = None
    label: int | None = None
    why: str = ""

    @property
    def texts(self) -> tuple[str, str]:
        return self.text, self.pair or ""


@cache
def samples() -> tuple[Sample, ...]:
    return tuple(_sample(each) for each in json.loads(EXAMPLES.read_text(encoding="utf-8")))


def _sample(found: dict[str, Any]) -> Sample:
    known = found.get("evidence")
    evidence = known and Evidence(*(tuple(map(tuple, known[name])) for name in ("words", "boxes")))
    return Sample(**{**found, "explanations": tuple(found.get("explanations", ())), "evidence": evidence})


def named(title: str) -> Sample | None:
    return next((sample for sample in samples() if sample.title == title), None)


def titles(model: str, *, pictured: bool = False) -> list[str]:
    """The examples of a model, or of the one that it was made from; where it has none, all of its kind."""
    own = [sample.title for sample in samples() if f"{model}-".startswith(f"{sample.model}-")]
    others = [sample.title for sample in samples() if bool(sample.picture) is pictured]
    return [*(own or others), OWN_TEXT]


def begin() -> None:
    """Once per session: takes the texts and the removed words from the address, or opens with the first example."""
    if any(name in st.session_state for name in ("text", "kept text")):
        for name in TEXTS:  # a widget's value is lost when it is no longer drawn
            st.session_state[name] = st.session_state.get(name, st.session_state.get(f"kept {name}", ""))
        return
    given = [st.query_params.get(name) for name in TEXTS]
    model, title = st.query_params.get("model") or (bundled() or ("",))[0], st.query_params.get("example", "")
    fitting = (*titles(model), *titles(model, pictured=True))  # whether it reads pictures may not be known yet
    title = title if title in fitting else titles(model)[0]
    if any(each is not None for each in given):
        st.session_state["example"] = title = OWN_TEXT
    sample = named(title)
    if sample is not None:
        _show(sample.texts, sample.title if sample.picture else "")
    else:
        _show((given[0] or "", given[1] or ""), _picture_in_address())
    removed = st.query_params.get("removed", "")
    st.session_state["removed"] = tuple(int(each) for each in removed.split(".") if NUMBER.fullmatch(each))


def _picture_in_address() -> str:
    """The name of an example with a picture, or of a generated scene; empty where it is neither."""
    name = st.query_params.get("picture", "")
    sample = named(name)
    return name if SCENE.fullmatch(name) or (sample is not None and sample.picture) else ""


def texts_of(title: str) -> tuple[str, str] | None:
    """Both texts of an example, the second one empty where it is single."""
    sample = named(title)
    return sample.texts if sample is not None else None


def example_chosen() -> None:
    """The example's texts and picture take the place of those that are there; "your own text" leaves them."""
    sample = named(st.session_state["example"])
    if sample is not None:
        _show(sample.texts, sample.title if sample.picture else "")
        st.session_state["removed"] = ()


def model_chosen(model: str, *, pictured: bool = False) -> None:
    """An example of another model makes place for the first one of this model; an own text stays."""
    if st.session_state.get("example", OWN_TEXT) not in titles(model, pictured=pictured):
        st.session_state["example"] = titles(model, pictured=pictured)[0]
        example_chosen()


def text_changed() -> None:
    st.session_state["removed"], st.session_state["picture problem"] = (), ""
    if texts_of(st.session_state["example"]) != tuple(st.session_state.get(name, "") for name in TEXTS):
        st.session_state["example"] = OWN_TEXT


def picture_given(name: str) -> None:
    """Another picture takes the place of the one that is there; the text stays."""
    st.session_state["picture"], st.session_state["picture problem"] = name, ""
    st.session_state["example"] = OWN_TEXT
    st.session_state["removed"] = ()


def _show(texts: tuple[str, str], picture: str) -> None:
    """Without a `picture` the one that is there stays, for another model."""
    for name, text in zip(TEXTS, texts, strict=True):
        st.session_state[name] = text
    if picture:
        st.session_state["picture"] = picture
    st.session_state["picture problem"] = ""


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
    short = all(len(text) <= LONGEST_IN_ADDRESS for text in texts)
    picture = st.session_state.get("picture", "") if own and example.picture is not None else ""
    st.session_state["left out"] = "" if short else "text"
    if picture == OWN_PICTURE:
        st.session_state["left out"] = "picture" if short else "text and picture"
    for name, text in zip(TEXTS, texts, strict=True):
        st.session_state[f"kept {name}"] = st.session_state[name]
        _put(name, text if short else "")
    _put("picture", "" if picture == OWN_PICTURE else picture)
    _put("removed", ".".join(map(str, st.session_state["removed"])))


def left_out_of_address() -> str:
    """What the address does not hold of the question: nothing, "text", "picture" or both."""
    return str(st.session_state.get("left out", ""))


def _put(name: str, value: str) -> None:
    if value:
        st.query_params[name] = value
    elif name in st.query_params:
        del st.query_params[name]
