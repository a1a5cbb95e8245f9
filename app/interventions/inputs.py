"""The examples of the Interventions page as plain values, and what is seen of them.

Results are cached by these values.
"""

from functools import lru_cache
from typing import NamedTuple

import streamlit as st

from app import plain_text
from explainers.datasets.example import Example, InputImage
from explainers.models import tasks
from explainers.report import display_images, wording

SHORT = 34  # characters of each text in a list
WIDTH = 240  # pixels of an image beside its text


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
    """A person's texts with images, each once, and a sentence for the first of the rows that are `left_out`; `columns`
    are those of texts and images."""

    rows: PlainInputs
    problems: tuple[str, ...]
    left_out: int
    columns: tuple[str, str]


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
