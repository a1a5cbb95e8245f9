"""The picture beside the text: of an example, a generated scene, or a person's own; and the controls that give one."""

import base64
import binascii
from functools import lru_cache
from pathlib import Path

import streamlit as st

from app import state
from app.cards import component
from app.safe import markdown
from app.state import OWN_PICTURE, SCENE, Sample, samples
from explainers.datasets.example import Example
from explainers.datasets.picture import Picture
from explainers.errors import DataUnavailable
from explainers.report.pictures import shown

PICTURES = Path(__file__).parents[1] / "assets" / "pictures"
KINDS = ("png", "jpg", "jpeg", "webp", "gif", "bmp")
MEGABYTES = 10
WIDEST, HIGHEST = 480, 170  # pixels of the picture above the controls
TOO_LARGE = f"What was pasted is too large. Give a picture of at most {MEGABYTES} MB."


@lru_cache(maxsize=64)
def scene(name: str) -> Example:
    """The generated picture of this name, such as "scene 7", and what is said about it; its number is the seed."""
    from explainers.datasets.scenes.generator import items

    (seed,) = map(int, name.split()[1:])
    return next(items(seed, held_out=True)).example()


@lru_cache(maxsize=64)
def of_sample(sample: Sample) -> Example:
    picture = Picture((PICTURES / sample.picture).read_bytes()) if sample.picture else None
    return Example(
        sample.text,
        sample.pair,
        label=sample.label,
        explanations=sample.explanations,
        picture=picture,
        evidence=sample.evidence,
    )


def current() -> Picture | None:
    """The picture that is asked about."""
    name = str(st.session_state.get("picture", ""))
    if name == OWN_PICTURE:
        own: Picture | None = st.session_state.get("own picture")
        return own
    if SCENE.fullmatch(name):
        return scene(name).picture
    sample = state.named(name)
    return of_sample(sample).picture if sample is not None else None


def known(asked: Example) -> Example | None:
    """The example or the generated scene that this is, with its reasons and its evidence; None for anything else."""
    name = str(st.session_state.get("picture", ""))
    candidates = [scene(name)] if SCENE.fullmatch(name) else []
    candidates += [of_sample(each) for each in samples() if each.text == asked.text]
    parts = asked.text, asked.pair, asked.picture
    return next((each for each in candidates if (each.text, each.pair, each.picture) == parts), None)


def show() -> Picture | None:
    """The picture that is asked about, with its name where no example says what it is."""
    picture, name = current(), str(st.session_state.get("picture", ""))
    if picture is not None:
        drawn = shown(picture)
        wide = min(WIDEST, drawn.width * HIGHEST // drawn.height)
        st.image(drawn.content, width=max(wide, 1), alt="The picture that is explained")
        size = f", {drawn.width:,} × {drawn.height:,} pixels" if name == OWN_PICTURE else ""
        st.caption(markdown(f"{name}{size}"))
    return picture


def giving() -> None:
    """How to give another picture, and what was wrong with the last one that was given."""
    left, right = st.columns(2, vertical_alignment="center")
    with left:
        st.file_uploader(
            "A picture of your own",
            type=list(KINDS),
            key=f"picture file {_number()}",
            on_change=uploaded,
            max_upload_size=MEGABYTES,
            label_visibility="collapsed",
        )
    with right, st.container(horizontal=True, vertical_alignment="center"):
        component("paste")(key="paste", data={"most": MEGABYTES * 2**20}, on_pasted_change=pasted)
        st.button(
            "Another scene",
            key="another",
            on_click=another,
            help="Draws a picture, and a statement about it takes the text's place. A picture of your own is kept in "
            "the memory of this server as long as you look at it, and not written to its disk.",
        )
    if st.session_state.get("picture problem"):
        st.error(markdown(st.session_state["picture problem"]))


def uploaded() -> None:
    """Takes the file; the box is empty afterwards, for what is shown is the picture itself."""
    file = st.session_state[f"picture file {_number()}"]
    if file is not None:
        take(file.getvalue())
        st.session_state["picture number"] = _number() + 1


def _number() -> int:
    return int(st.session_state.get("picture number", 0))


def pasted() -> None:
    """Takes what came from the clipboard; the component sends nothing where it is too large."""
    given = str(st.session_state["paste"].get("pasted") or "")
    try:
        content = base64.b64decode(given.partition(",")[2], validate=True)
    except binascii.Error:
        content = b""
    if content:
        take(content)
    else:
        st.session_state["picture problem"] = TOO_LARGE


def take(content: bytes) -> None:
    """Makes it the picture if it is one; else says why not, and the one before stays."""
    try:
        picture = Picture.uploaded(content)
        shown(picture)
    except DataUnavailable as error:
        st.session_state["picture problem"] = f"{error} The picture above is the one from before."
        return
    st.session_state["own picture"] = picture
    state.picture_given(OWN_PICTURE)


def another() -> None:
    """The next generated scene with its statement, which takes the text's place."""
    number = int(st.session_state.get("last scene", 0)) + 1
    current_one = SCENE.fullmatch(str(st.session_state.get("picture", "")))
    number = int(current_one[1]) + 1 if current_one else number
    st.session_state["last scene"] = number
    state.picture_given(f"scene {number}")
    st.session_state["text"] = scene(f"scene {number}").text
