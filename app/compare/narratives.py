"""Explanations in words: the narrators' sentences as plain data, and the component that draws them (assets/words.js).

    time      when it was made: Streamlit may deliver two payloads in the wrong order
    note      what all of this is
    labels    names of the texts; segments: per text a list of [characters, unit number or -1]
    cards     id, name, idea, caution, deviations, status, sentence, mark, verdict, reading, mentions, foot
    sentence  a list of [characters, unit numbers]: the words of the input that a piece stands for, mostly none
    mentions  text and unit numbers of every word of the input that the sentence mentions, in whatever form
    reasons   reference explanations of this example, and whose they are: people's, or the generator's
Nothing in it is HTML: the component writes all of it as text.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from app.compare.heat_maps import remaining
from app.compare.method_cards import labels, segments
from app.compare.runs import Run
from app.components import component, newest
from explainers.errors import without_folders
from explainers.methods.narrator_specs import NARRATORS, NarratorSpec
from explainers.report.text import one_line, visible
from explainers.training.artifacts import available_artifacts

if TYPE_CHECKING:
    from explainers.results.narrative import Narrative

SAME, OTHER, NONE = "✓", "≠", "–"
NOTE = (
    "A language model generates these sentences. It reads only the state from which the classifier predicts, and has "
    "learned its reasons from people, or from the rules of the generator. Underlined: words of the input, matched "
    f"afterwards (derived, not part of the method). {SAME} means that the sentence states the model's class, not that "
    "the rest of it is true: often it is not."
)
PEOPLE, RULES = "People explained this example:", "Reason from the generator's rules:"
WORD = re.compile(r"\w+(?:['’-]\w+)*")


def show(run: Run, explanations: Sequence[str] = ()) -> None:
    """Draws the sentences of a run; nothing where the model has no narrators. `explanations` are the example's."""
    data = payload(run, explanations)
    if data["cards"]:
        st.subheader("In words", anchor=False)
        component("words")(key="words", data=newest("words", data))


def payload(run: Run, explanations: Sequence[str] = ()) -> dict[str, Any]:
    """Built again only where something visible has changed."""
    key = (tuple(explanations), id(run.whole), run.status, run.narratives, run.narrator_failures)
    return run.view("narratives", key, lambda: _payload(run, explanations))


def _payload(run: Run, explanations: Sequence[str]) -> dict[str, Any]:
    return {
        "note": NOTE,
        "labels": labels(run),
        "segments": segments(run),
        "cards": [_card(run, spec) for spec in NARRATORS if spec.id in _expected(run)],
        "reasons": [visible(each) for each in explanations],
        "whose": RULES if run.request.example.image is not None else PEOPLE,
    }


def _expected(run: Run) -> set[str]:
    """The narrators of the run's model: those that are done, and those to come."""
    done = {each.method for each in run.narratives} | {each.method for each in run.narrator_failures}
    name, version = (run.request.model, "") if run.whole is None else (run.whole.model.name, run.whole.model.version)
    fitted = available_artifacts(name, version, "narrative")  # also before the model is loaded, so nothing jumps
    return done | {artifact.method for artifact in fitted}


def _card(run: Run, spec: NarratorSpec) -> dict[str, Any]:
    narrative = next((each for each in run.narratives if each.method == spec.id), None)
    reason = next((each.reason for each in run.narrator_failures if each.method == spec.id), "")
    failure = without_folders(reason)
    card = {
        "id": spec.id,
        "name": spec.name,
        "idea": spec.idea,
        "caution": f"{spec.caution} ({spec.source}.)",
        "deviations": list(spec.deviations),
        "status": "done" if narrative else "failed" if failure else "waiting" if run.active else "stopped",
        "sentence": [],
        "mark": "",
        "verdict": "",
        "reading": "",
        "mentions": [],
        "foot": failure or ("" if narrative or run.active else "stopped before it was done"),
    }
    return card | _generated(run, narrative) if narrative is not None and run.whole is not None else card


def _generated(run: Run, narrative: "Narrative") -> dict[str, Any]:
    mark, verdict = stated(run, narrative)
    words = mentioned(run, narrative)
    return {
        "sentence": pieces(narrative.text, words),
        "mark": mark,
        "verdict": verdict,
        "reading": reading(run, narrative),
        "mentions": [{"text": text, "units": units} for text, units in words.values()],
        "foot": f"{narrative.seconds:.2f} s",
    }


def predicted(run: Run) -> int:
    return max(range(len(run.probabilities)), key=lambda index: run.probabilities[index])


def stated(run: Run, narrative: "Narrative") -> tuple[str, str]:
    """Which class the sentence states and whether it is the model's: a mark, and the same in words."""
    if narrative.stated is None:
        return NONE, "states no class"
    label, model = _label(run, narrative.stated), _label(run, predicted(run))
    if narrative.stated == predicted(run):
        return SAME, f"states {label}: agrees with the model"
    return OTHER, f"states {label}: differs from the model, which predicts {model}"


def reading(run: Run, narrative: "Narrative") -> str:
    """Which class C2 reads from the sentence that the narrator is about to generate."""
    if not narrative.read:
        return "no second classifier (C2) reads the sentence"
    best = max(range(len(narrative.read)), key=lambda index: narrative.read[index])
    agreement = "as the model" if best == predicted(run) else "unlike the model"
    return f"C2 reads {_label(run, best)}, {narrative.read[best]:.2f}, {agreement}"


def mentioned(run: Run, narrative: "Narrative") -> dict[str, tuple[str, list[int]]]:
    """By stem: a word of the input that the sentence mentions, with all its unit numbers in the whole text."""
    from explainers.narrative.text_metrics import content, stem  # brings torch, which is loaded by now

    if run.whole is None:
        return {}
    units, numbers = run.whole.encoding.units, remaining(run)
    words: dict[str, tuple[str, list[int]]] = {}
    for index in narrative.mentions:
        number = numbers[index]
        if units[number].kind == "patch":  # its name was not written by the narrator
            continue
        for word in content(units[number].text)[:1]:
            words.setdefault(stem(word), (visible(units[number].text), []))[1].append(number)
    return words


def pieces(text: str, words: dict[str, tuple[str, list[int]]]) -> list[tuple[str, list[int]]]:
    """The sentence cut into words and what lies between them; each with the units that it mentions."""
    from explainers.narrative.text_metrics import content, stem

    result: list[tuple[str, list[int]]] = []
    end = 0
    for match in WORD.finditer(text):
        units = next((words[stem(word)][1] for word in content(match[0]) if stem(word) in words), [])
        if units:
            result += [(visible(text[end : match.start()]), []), (visible(match[0]), units)]
            end = match.end()
    return [*result, (visible(text[end:]), [])]


def _label(run: Run, label: int) -> str:
    return one_line(run.whole.model.labels[label]) if run.whole is not None else "the class"
