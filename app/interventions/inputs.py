"""The examples of the Interventions page as plain values, what is seen of them, and what a session holds.

Results are cached by these values.
"""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import streamlit as st

from app import plain_text
from app.session import NOT_CARRIED, TEXT, PageState, came_from_another_page, carried, held, whole_number
from explainers.datasets.example import Example, InputImage
from explainers.models import tasks
from explainers.report import display_images, wording

SHORT = 34  # characters of each text in a list
WIDTH = 240  # pixels of an image beside its text
RANDOM, TYPED = "20 % at random", "typed"
FIRST, LAST = 101, 999_000  # with which a generated set begins, and may begin
OF_A_FILE = tuple(f"{key}_{name}" for key in ("base", "source") for name in ("own", "file", "file_text"))
SETS, DRAWS = (0, LAST), (0, 9999)


class PlainInput(NamedTuple):
    """A pair of texts, or a text with an image: that of a generated example, such as "scene 7", or a person's file.

    `content` is the content of the file, whose name is `image`; `own` examples stay out of the address.
    """

    text: str
    pair: str = ""
    image: str = ""
    content: bytes = b""
    own: bool = False


PlainInputs = tuple[PlainInput, ...]


class OwnImages(NamedTuple):
    """A person's texts with images, each once, and a sentence for the first of the rows that are `left_out`."""

    rows: PlainInputs
    problems: tuple[str, ...]
    left_out: int


@lru_cache(maxsize=256)
def generated(name: str) -> Example:
    return tasks.generated_example(name)


def example_of(plain: PlainInput) -> Example:
    """Return what the model reads, without label and reasons."""
    if plain.content:
        return Example(plain.text, image=InputImage(plain.content))
    image = generated(plain.image).image if plain.image else None
    return Example(plain.text, plain.pair or None, image=image)


def generated_inputs(noun: str, first: int, count: int) -> PlainInputs:
    """Return examples of the generator with this noun, by consecutive numbers."""
    names = [f"{noun} {number}" for number in range(first, first + count)]
    return tuple(PlainInput(generated(name).text, image=name) for name in names)


def in_line(plain: PlainInput) -> str:
    return f"{plain.image}: {plain.text}" if plain.image else f"{plain.text} → {plain.pair}"


def list_entry(number: int, plain: PlainInput) -> str:
    """Return the example as it stands in a list; its number, or that of its generated image, makes it unique."""
    if plain.content:
        return f"{number}. {wording.one_line(plain.image, SHORT)}: {wording.one_line(plain.text, SHORT)}"
    if plain.image:
        return f"{plain.image}: {wording.one_line(plain.text, 2 * SHORT)}"
    return f"{number}. {wording.one_line(plain.text, SHORT)} → {wording.one_line(plain.pair, SHORT)}"


def show(plain: PlainInput) -> None:
    """Draw both texts, or the image with its text beside it."""
    if not plain.image:
        plain_text.paragraph(f"{plain.text}\n→ {plain.pair}")
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        show_image(plain)
        plain_text.paragraph(plain.text)


def show_image(plain: PlainInput) -> None:
    """Draw the image; nothing for a pair of texts."""
    image = example_of(plain).image
    if image is not None:
        display = display_images.display_image(image)
        st.image(display.content, width=WIDTH, alt=plain.image)


@dataclass(frozen=True)
class InterventionsControls:
    """Every control of the page; None: what the page shows until a person chooses, which depends on model and set."""

    asked: str = field(default="", metadata=carried(TEXT, "model", undo=False, download=False))  # by a Compare address
    speaker: str | None = field(default=None, metadata=carried(TEXT, "speaker", undo=False, download=False))
    set_: str | None = field(default=None, metadata=carried(TEXT, "set", undo=False, download=False))
    set_from: int = field(default=FIRST, metadata=carried(whole_number(*SETS), "set from", undo=False, download=False))
    base: str | None = field(default=None, metadata=carried(TEXT, "base", undo=False, download=False))
    source: str | None = field(default=None, metadata=carried(TEXT, "source", undo=False, download=False))
    base_image: str | None = field(default=None, metadata=carried(TEXT, "base image", undo=False, download=False))
    source_image: str | None = field(default=None, metadata=carried(TEXT, "source image", undo=False, download=False))
    narrator: str | None = field(default=None, metadata=carried(TEXT, "narrator", undo=False, download=False))
    layer: str | None = field(default=None, metadata=carried(TEXT, "layer", undo=False, download=False))
    which: str = field(default=RANDOM, metadata=carried(TEXT, "which", undo=False, download=False))
    neurons: str = field(default="0-15, 40", metadata=carried(TEXT, "neurons", undo=False, download=False))
    draw: int | None = field(default=None, metadata=carried(whole_number(*DRAWS), "draw", undo=False, download=False))

    # A person's own examples, and what is typed in place of an example of the set, stay out of the address.
    base_own: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    source_own: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    base_premise: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    base_hypothesis: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    base_text: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    source_premise: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    source_hypothesis: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    source_text: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    base_file: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    source_file: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    base_file_text: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    source_file_text: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    base_number: int | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    source_number: int | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))


@dataclass
class InterventionsState(PageState[InterventionsControls]):
    controls: InterventionsControls = field(default_factory=InterventionsControls)
    own_file: str = ""  # the id of the file whose examples are chosen among
    own_images: OwnImages | None = None  # of that file, where it holds images

    def begin(self) -> None:
        """Called first in a run of the page: a model that an address asked for gives way to one chosen elsewhere."""
        if came_from_another_page():
            self.change(asked="")
        super().begin()

    def give(self, file: str) -> None:
        """Another file of own examples, or none (""): what was chosen or typed for the one before goes with it."""
        if file != self.own_file:
            self.own_file, self.own_images = file, None
            self.change(**{name: None for name in OF_A_FILE})


def interventions_state() -> InterventionsState:
    """Return what the session holds of the Interventions page."""
    return held(InterventionsState)
