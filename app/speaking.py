"""What the page of interventions computes, once per question: everything is remembered by plain values.

The modules that bring torch with them are imported where they are needed, so that the page is drawn before they load.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from app.controls import reads_pictures, version_of
from app.engine import Engine
from app.safe import markdown
from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.models.cards import bundled
from explainers.narrative.weights import available, fitted

if TYPE_CHECKING:
    from explainers.narrative.cause import Narrator
    from explainers.narrative.intervening import Exchange
    from explainers.narrative.over_set import OverSet
    from explainers.narrative.switching import Switch
    from explainers.narrative.telling import Seen, Told

KEPT, SETS_KEPT = 200, 8  # answers, and sets of examples with their states
Pair = tuple[str, str]
Pairs = tuple[Pair, ...]


@dataclass(frozen=True)
class Speaker:
    """A model with narrators. `weights` are the narrators' ids, files and times, so that fitting anew is noticed."""

    model: str
    version: str
    weights: tuple[tuple[str, str, int], ...]

    @property
    def methods(self) -> tuple[str, ...]:
        return tuple(method for method, _, _ in self.weights)


@dataclass(frozen=True)
class About:
    """`sizes` are the numbers of neurons: of the state, then of each hidden layer of the head."""

    labels: tuple[str, ...]
    sizes: tuple[int, ...]


def speakers(engine: Engine) -> dict[str, Speaker]:
    """The models of pairs that have narrators, by name: embedded ones, and the one that is chosen elsewhere."""
    found = {}
    for model in dict.fromkeys([*bundled(), str(st.session_state.get("model") or "")]):
        if reads_pictures(engine, model):
            continue
        version = version_of(engine, model)
        known = available(model, version) if version else {}
        files = tuple((method, str(path), path.stat().st_mtime_ns) for method, path in known.items())
        if files:
            found[model] = Speaker(model, version, files)
    return found


@contextmanager
def told(doing: str) -> Iterator[None]:
    """Says in words what takes its time, and afterwards what was wrong with the question, if anything was."""
    try:
        with st.spinner(doing, show_time=True):
            yield
    except ExplanationError as error:
        st.error(markdown(str(error)))
        st.stop()


@st.cache_resource(show_spinner=False, max_entries=SETS_KEPT)
def about(_engine: Engine, speaker: Speaker) -> About:
    from explainers.models.inside import head
    from explainers.narrative.interchange import sizes

    model = _engine.model(speaker.model)
    return About(model.labels, sizes(head(model)))


@st.cache_resource(show_spinner=False, max_entries=SETS_KEPT)
def states(_engine: Engine, speaker: Speaker, pairs: Pairs) -> "Seen":
    from explainers.narrative.telling import seen

    return seen(_engine.model(speaker.model), [Example(*each) for each in pairs])


@st.cache_resource(show_spinner=False, max_entries=2 * SETS_KEPT)
def sentences(_engine: Engine, speaker: Speaker, method: str, pairs: Pairs) -> "Told":
    from explainers.narrative.telling import tell

    known = states(_engine, speaker, pairs)
    return tell(_narrator(_engine, speaker, method), known.states, _engine.model(speaker.model).labels)


@st.cache_data(show_spinner=False, max_entries=KEPT)
def exchange(
    _engine: Engine, speaker: Speaker, method: str, base: Pair, source: Pair, layer: int, neurons: tuple[int, ...]
) -> "Exchange":
    from explainers.narrative.intervening import exchange as exchanged

    narrator = _narrator(_engine, speaker, method)
    return exchanged(_engine.model(speaker.model), narrator, Example(*base), Example(*source), layer, neurons)


@st.cache_data(show_spinner=False, max_entries=KEPT)
def over_set(
    _engine: Engine, speaker: Speaker, method: str, pairs: Pairs, layer: int, neurons: tuple[int, ...]
) -> "OverSet":
    from explainers.narrative.over_set import over_set as over

    known, said = states(_engine, speaker, pairs), sentences(_engine, speaker, method, pairs)
    return over(_engine.model(speaker.model), _narrator(_engine, speaker, method), known, said, layer, neurons)


@st.cache_data(show_spinner=False, max_entries=KEPT)
def switch(_engine: Engine, speaker: Speaker, base: Pair, pairs: Pairs) -> "Switch":
    from explainers.narrative.switching import switch as switched

    narrators = {method: _narrator(_engine, speaker, method) for method in speaker.methods}
    known = states(_engine, speaker, pairs)
    return switched(_engine.model(speaker.model), narrators, Example(*base), known)


def _narrator(engine: Engine, speaker: Speaker, method: str) -> "Narrator":
    return fitted(engine.model(speaker.model), method)[1]
