"""In which units an input is explained: words, also of some sentences alone, tokens, sentences, or the examples of a
prompt.

Of a long text the sentences are explained first, and then the words of those that matter.
"""

from collections.abc import Sequence
from typing import cast

import streamlit as st

from app import plain_text
from app.compare.state import AUTO, CompareState
from explainers.datasets.example import Example
from explainers.metrics.chance import FEWEST_UNITS
from explainers.models.inputs.encoding import TEXT_UNITS, Encoding, UnitKind
from explainers.models.inputs.words import pieces_of, sentences_of, word_spans
from explainers.models.prompt import PromptError, prompt_named, split_name
from explainers.models.prompted.filled import has_examples
from explainers.report.wording import counted, one_line
from explainers.results.answer import Units
from explainers.results.decision import Settings

LONG = 60  # words; of longer texts the sentences are explained first
LONGEST_SENTENCE = 40  # characters of it in the list
FEW_SENTENCES = (
    f"By word: {{}} found, and the test against random orders needs {FEWEST_UNITS}. A sentence ends at . ! ? or a line "
    "break, and longer ones than 100 words at a comma."
)
OTHER_NUMBERS = (
    "This address was made when the text was cut into {} sentences; today there are {}. Which ones it means cannot be "
    "told. Choose them again."
)


def controls(example: Example, state: CompareState) -> tuple[UnitKind, tuple[int, ...]]:
    """Draw the choice, and return the unit and the sentences that are opened."""
    offered = (AUTO, *TEXT_UNITS, *(("example",) if _prompt_has_examples(state.controls.model) else ()))
    chosen = st.segmented_control(
        "Unit",
        offered,
        required=True,
        help="What gets one score: a word as people write it, a token as the model reads it, a sentence, or an example "
        f"of a language model's prompt. Auto: the sentences of texts with more than {LONG} words, else words. In an "
        "image it is always a patch.",
        **state.widget("unit", options=offered, then=state.restore_all, initial="default", folded=True),
    )
    unit = kind(example, chosen or AUTO)
    if chosen == AUTO and (note := why_words(example)):
        plain_text.caption(note)
    if unit != "sentence" or example.image is not None:
        state.change(opened=(), sentences=0)
        return unit, ()
    sentences = sentences_of(example.texts)
    _renumber(example, state)
    names = {
        number: f"{number + 1}: {one_line(example.texts[segment][begin:end], LONGEST_SENTENCE)}"
        for number, (segment, (begin, end)) in enumerate(sentences)
    }
    opened = st.multiselect(
        "Explain only the words of",
        list(names),
        format_func=names.__getitem__,
        placeholder="no sentence",
        help="The words of these sentences get a score each. The rest of the text stays as it is.",
        **state.widget("opened", options=names, then=state.restore_all, initial="default", folded=True),
    )
    state.change(sentences=len(sentences) if opened or state.controls.removed else 0)
    return unit, tuple(opened)


def _prompt_has_examples(model: str) -> bool:
    try:
        return has_examples(prompt_named(split_name(model)[1]).template)
    except PromptError:
        return False


def _renumber(example: Example, state: CompareState) -> None:
    """Give the numbers of an address, which may be from before long sentences were cut into pieces, the meaning that
    they had. Where that cannot be told, they go, with a sentence."""
    named = bool({"opened", "removed"} & state.unchecked)
    state.unchecked.discard("removed")
    pieces, opened, removed = pieces_of(example.texts), state.controls.opened, state.controls.removed
    count, then = sum(map(len, pieces)), state.controls.sentences or len(pieces)
    if not named or not (opened or removed) or then == count or max(opened, default=0) >= then:
        return
    if then == len(pieces) and not (opened and removed):
        changed = {name: _pieces(pieces, getattr(state.controls, name)) for name in ("opened", "removed")}
    else:
        changed = {"opened": (), "removed": ()}
        state.note("opened", OTHER_NUMBERS.format(then, count))
    state.change(**changed)


def _pieces(pieces: Sequence[tuple[int, ...]], numbers: Sequence[int]) -> tuple[int, ...]:
    return tuple(piece for number in numbers for own in pieces[number : number + 1] for piece in own)


def kind(example: Example, chosen: str) -> UnitKind:
    """Return the unit that is chosen, or the one that suits the input."""
    if chosen != AUTO:
        return cast(UnitKind, chosen)
    return "sentence" if _is_long(example) and len(sentences_of(example.texts)) >= FEWEST_UNITS else "word"


def why_words(example: Example) -> str:
    """Return why a long text is explained by word where nothing is chosen; empty for other inputs."""
    if not _is_long(example) or kind(example, AUTO) != "word":
        return ""
    return FEW_SENTENCES.format(counted(len(sentences_of(example.texts)), "sentence"))


def _is_long(example: Example) -> bool:
    return example.image is None and sum(len(word_spans(text)) for text in example.texts) > LONG


def closed_sentences(encoding: Encoding, settings: Settings, units: Units) -> tuple[int, ...]:
    """Return the numbers of the sentences that these units of an input are, where they have words enough to explain."""
    if settings.unit != "sentence" or settings.opened or encoding.multimodal:
        return ()
    words = sum(len(word_spans(encoding.units[unit].text)) for unit in units)
    return tuple(encoding.sentence_of(encoding.units[unit]) for unit in units) if words >= FEWEST_UNITS else ()


def has_actions(closed: Units, settings: Settings) -> bool:
    """Return whether sentences can be opened or closed."""
    return bool(closed or settings.opened)


def actions(closed: Units, settings: Settings, state: CompareState, *, marked: bool, disabled: bool) -> None:
    """Draw the button that opens the sentences which carry the decision, or that come first, or the one that closes
    them."""
    if closed:
        which = f"{'marked' if marked else 'first'} sentence{'s' if len(closed) > 1 else ''}"
        st.button(
            f"Explain the words of the {which}",
            key="answer open",
            on_click=state.change,
            kwargs={"opened": tuple(sorted(closed)), "removed": ()},
            disabled=disabled,
        )
    if settings.opened:
        st.button(
            "Back to the sentences",
            key="answer close",
            on_click=state.change,
            kwargs={"opened": (), "removed": ()},
            disabled=disabled,
        )
