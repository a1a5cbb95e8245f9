"""The texts that a method learns from: pasted, from a file, or drawn by the model's generator."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import streamlit as st

from app import plain_text
from app.model_info import ModelInfo
from app.train.state import train_state
from explainers.datasets.example import Example
from explainers.datasets.user_texts import FEWEST, SUFFIXES, check_texts, parse_lines, parse_texts
from explainers.errors import DataUnavailable

MEGABYTES = 10
LISTED = 5  # bad rows that are named one by one
GENERATED = (
    "No texts are needed: for this model, the examples are drawn by its generator with a fixed seed. They differ from "
    "those on which the model was trained and tested."
)
ELSEWHERE = (
    "This model reads images, and only texts can be given here. Fit the method on the command line: "
    "python -m explainers fit, with --data, --format and --pictures."
)
TWO_TEXTS = "A charming and often affecting journey.\nThe plot goes nowhere.\n…"
TWO_PAIRS = "Two boys kick a ball.\tChildren are playing.\nA man sleeps.\tA man is running.\n…"


@dataclass(frozen=True)
class SubmittedTexts:
    """The texts, or what is wrong with them. `typed` is false as long as nothing was given; with `generated` the
    model's own data are drawn when the training starts."""

    texts: tuple[Example, ...] = ()
    problem: str = f"No texts yet. Paste at least {FEWEST}, one per line, or choose a file."
    typed: bool = False
    generated: bool = False
    left_out: tuple[str, ...] = ()  # what is wrong with rows that are not among the texts


def submitted_texts(info: ModelInfo) -> SubmittedTexts:
    """Texts, or what the model's generator draws."""
    if not info.multimodal:
        return _texts(info)
    if info.generator_noun:
        st.info(GENERATED)
        return SubmittedTexts(problem="", generated=True)
    st.info(ELSEWHERE)
    return SubmittedTexts(problem=ELSEWHERE)


def _texts(info: ModelInfo) -> SubmittedTexts:
    """From the box or from a file, and what is wrong where the model cannot read them."""
    names = info.input_names
    first, second = (plain_text.label(name, "text") for name in names) if info.pairs else ("", "")
    left, right = st.columns([2, 1])
    with left:
        typed = st.text_area(
            f"Pairs, one per line: {first}, tab, {second}" if info.pairs else "Texts, one per line",
            height=232,
            placeholder=TWO_PAIRS if info.pairs else TWO_TEXTS,
            **train_state().widget("train_texts"),
        )
    with right:
        file = st.file_uploader(
            "Or a file",
            type=list(SUFFIXES),
            key="train file",
            max_upload_size=MEGABYTES,
            help="A text file with one text per line, or a table with a column text. For pairs a table with the "
            "columns premise and hypothesis, or text and text_pair. UTF-8.",
        )
        submitted = from_file(file.name, file.getvalue(), names) if file is not None else from_box(typed or "", names)
        if submitted.texts:
            source = "from the file; remove it to use the box" if file is not None else "from the box"
            st.caption(f"**{len(submitted.texts):,} texts**, each once, {source}. A tenth is held out for validation.")
        st.caption("They are written to the disk of this server, and deleted with the training.")
    if submitted.left_out:
        more = len(submitted.left_out) - LISTED
        plain_text.warning(" ".join((*submitted.left_out[:LISTED], f"{more:,} more rows are left out." * (more > 0))))
    if submitted.problem and submitted.typed:
        plain_text.error(submitted.problem)
    return submitted


def from_file(name: str, content: bytes, input_names: tuple[str, ...]) -> SubmittedTexts:
    if not content.strip():
        return SubmittedTexts(problem="The file is empty. Choose another one, or remove it to use the box.", typed=True)
    bad_rows: list[DataUnavailable] = []
    submitted = _checked(lambda: parse_texts(content, name, bad_rows.append), input_names)
    return replace(submitted, left_out=tuple(map(str, bad_rows)))


def from_box(content: str, input_names: tuple[str, ...]) -> SubmittedTexts:
    if not content.strip():
        return SubmittedTexts()
    parse = pasted_pairs if len(input_names) == 2 else parse_lines
    return _checked(lambda: parse(content), input_names)


def _checked(parse: Callable[[], list[Example]], input_names: tuple[str, ...]) -> SubmittedTexts:
    try:
        return SubmittedTexts(check_texts(parse(), input_names), "", typed=True)
    except DataUnavailable as error:
        return SubmittedTexts(problem=str(error), typed=True)


def pasted_pairs(content: str) -> list[Example]:
    """A pair per line, as it comes from a spreadsheet: with a tab between the texts."""
    columns = (line.partition("\t") for line in content.splitlines())
    return [Example(first.strip(), second.strip() or None) for first, _, second in columns]
