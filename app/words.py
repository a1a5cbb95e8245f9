"""In words: what the narrators say of a decision, as plain data, and the component that draws it.

The data for the component:
    drawn     when it was made: Streamlit may hand over two drawings in the wrong order
    note      what all of this is
    labels    per text what it is called; segments: per text a list of [characters, unit number or -1]
    cards     id, name, idea, caution, differs (sentences), status, sentence, mark, verdict, reading, mentions, foot
    sentence  a list of [characters, unit numbers]: the words of the input that a piece stands for, mostly none
    mentions  text and unit numbers of every word of the input that the sentence mentions, in whatever form
    reasons   of this example, and whose they are: people's, or of the rules that made its picture
Nothing in it is HTML: the component writes all of it as text.
"""

import re
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from app.cards import component, labels, remaining, segments
from app.engine import Run
from explainers.narrative.entries import NARRATORS, NarratorEntry
from explainers.narrative.weights import available
from explainers.report.text import one_line, visible

if TYPE_CHECKING:
    from explainers.narrative.narrative import Narrative

SAME, OTHER, NONE = "✓", "≠", "–"
NOTE = (
    "A language model says these sentences. It reads nothing but the state from which the classifier reads its class, "
    "and has learned its reasons from people's, or from the rules that drew the pictures. Underlined: "
    "words of the input, found afterwards by comparing words (derived, not part of the method). "
    f"{SAME} means that the sentence names the model's class, not that the rest of it is true: often it is not."
)
PEOPLE, RULES = "People said of this example:", "The rules that made this picture say:"
WORD = re.compile(r"\w+(?:['’-]\w+)*")


def show(run: Run, explanations: Sequence[str] = ()) -> None:
    """Draws the sentences of a run; nothing where the model has no narrators. `explanations` are the example's."""
    data = payload(run, explanations)
    if data["cards"]:
        st.subheader("In words", anchor=False)
        component("words")(key="words", data=data)


def payload(run: Run, explanations: Sequence[str] = ()) -> dict[str, Any]:
    return {
        "drawn": time.time(),
        "note": NOTE,
        "labels": labels(run),
        "segments": segments(run),
        "cards": [card(run, entry) for entry in NARRATORS if entry.id in expected(run)],
        "reasons": [visible(each) for each in explanations],
        "whose": RULES if run.request.picture is not None else PEOPLE,
    }


def expected(run: Run) -> set[str]:
    """The narrators of the run's model: those that have spoken, and those that will."""
    found = {each.method for each in run.narratives} | {each.method for each in run.unspoken}
    name, version = (run.request.model, "") if run.whole is None else (run.whole.model.name, run.whole.model.version)
    return found | set(available(name, version))  # known before the model is loaded, so that nothing jumps


def card(run: Run, entry: NarratorEntry) -> dict[str, Any]:
    said = next((each for each in run.narratives if each.method == entry.id), None)
    failure = next((each.reason for each in run.unspoken if each.method == entry.id), "")
    found = {
        "id": entry.id,
        "name": entry.name,
        "idea": entry.idea,
        "caution": f"{entry.caution} ({entry.source}.)",
        "differs": list(entry.differs),
        "status": "done" if said else "failed" if failure else "waiting" if run.active else "stopped",
        "sentence": [],
        "mark": "",
        "verdict": "",
        "reading": "",
        "mentions": [],
        "foot": failure or ("" if said or run.active else "stopped before it was done"),
    }
    return found | _spoken(run, said) if said is not None and run.whole is not None else found


def _spoken(run: Run, said: "Narrative") -> dict[str, Any]:
    mark, verdict = stated(run, said)
    words = mentioned(run, said)
    return {
        "sentence": pieces(said.text, words),
        "mark": mark,
        "verdict": verdict,
        "reading": reading(run, said),
        "mentions": [{"text": text, "units": units} for text, units in words.values()],
        "foot": f"{said.seconds:.2f} s",
    }


def predicted(run: Run) -> int:
    return max(range(len(run.probabilities)), key=lambda index: run.probabilities[index])


def stated(run: Run, said: "Narrative") -> tuple[str, str]:
    """Which class the sentence states and whether it is the model's: a mark, and the same in words."""
    if said.stated is None:
        return NONE, "states no class"
    if said.stated == predicted(run):
        return SAME, f"states {_label(run, said.stated)}: agrees with the model"
    return OTHER, f"states {_label(run, said.stated)}: differs from the model, which says {_label(run, predicted(run))}"


def reading(run: Run, said: "Narrative") -> str:
    """What C2 makes of what the narrator is about to say."""
    if not said.read:
        return "has no second classifier that reads the sentence"
    read = max(range(len(said.read)), key=lambda index: said.read[index])
    how = "as the model" if read == predicted(run) else "unlike the model"
    return f"C2 reads {_label(run, read)}, {said.read[read]:.2f}, {how}"


def mentioned(run: Run, said: "Narrative") -> dict[str, tuple[str, list[int]]]:
    """By stem: a word of the input that the sentence mentions, with the numbers of all its units in the whole text."""
    from explainers.narrative.measures import content, stem  # brings torch, which has been loaded by now

    if run.whole is None:
        return {}
    units, left = run.whole.encoding.units, remaining(run)
    found: dict[str, tuple[str, list[int]]] = {}
    for number in said.mentions:
        unit = left[number]
        if units[unit].kind == "patch":  # its name is ours, nobody wrote it
            continue
        for word in content(units[unit].text)[:1]:
            found.setdefault(stem(word), (visible(units[unit].text), []))[1].append(unit)
    return found


def pieces(text: str, words: dict[str, tuple[str, list[int]]]) -> list[tuple[str, list[int]]]:
    """The sentence cut into words and what lies between them; each with the units that it mentions."""
    from explainers.narrative.measures import content, stem

    found: list[tuple[str, list[int]]] = []
    at = 0
    for match in WORD.finditer(text):
        units = next((words[stem(word)][1] for word in content(match[0]) if stem(word) in words), [])
        if units:
            found += [(visible(text[at : match.start()]), []), (visible(match[0]), units)]
            at = match.end()
    return [*found, (visible(text[at:]), [])]


def _label(run: Run, label: int) -> str:
    return one_line(run.whole.model.labels[label]) if run.whole is not None else "the class"
