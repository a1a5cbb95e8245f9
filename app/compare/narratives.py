"""Explanations in words: the narrators' sentences as plain data, and the component that draws them (assets/words.js).

    time      when it was made: Streamlit may deliver two payloads in the wrong order
    verdict   which sentence is best supported
    note      what all of this is
    lines     how many lines are reserved, so that little below moves
    questions what is checked about each sentence, and what is known of the narrator
    entries   id, name, status, old, sentence, checks, problem, mentions, about; equal sentences are one entry
    sentence  a list of [characters, unit numbers]: the words of the input that a piece stands for, mostly none
    checks    per question its state ("yes", "no", "none", "waiting" or "record"), answer in a word or two, and detail
    mentions  text and unit numbers of every word of the input that the sentence mentions, in whatever form
    about     per narrator its name, idea, caution, deviations, reading and seconds
    reasons   reference explanations of this example, and whose they are: people's, or the generator's
Nothing in it is HTML: the component writes all of it as text.

Which words of the input a sentence mentions, in whatever form, and where they stand in it.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from app.compare.heat_maps import remaining
from app.compare.runs import Run
from app.components import component, newest
from explainers.errors import without_folders
from explainers.methods.narrator_specs import NARRATORS, NarratorSpec, narrator_spec
from explainers.narrative.content_words import WORD, content, stem
from explainers.report import narratives, narrator_overview, wording
from explainers.training.artifacts import runnable_narrators, waiting_narrators

if TYPE_CHECKING:
    from explainers.results.events import Failure, Narrative, NarrativeCheck


def mentioned(run: Run, narrative: "Narrative") -> dict[str, tuple[str, list[int]]]:
    """Map each stem to a word of the input that the sentence mentions, with all its unit numbers in the whole text."""
    if run.whole is None:
        return {}
    units, numbers = run.whole.encoding.units, remaining(run)
    words: dict[str, tuple[str, list[int]]] = {}
    for index in narrative.mentions:
        number = numbers[index]
        if units[number].kind == "patch":  # its name was not written by the narrator
            continue
        for word in content(units[number].text)[:1]:
            words.setdefault(stem(word), (wording.visible(units[number].text), []))[1].append(number)
    return words


def pieces(text: str, words: dict[str, tuple[str, list[int]]]) -> list[tuple[str, list[int]]]:
    """The sentence cut into words and what lies between them; each with the units that it mentions."""
    result: list[tuple[str, list[int]]] = []
    end = 0
    for match in WORD.finditer(text):
        units = next((words[stem(word)][1] for word in content(match[0]) if stem(word) in words), [])
        if units:
            result += [(wording.visible(text[end : match.start()]), []), (wording.visible(match[0]), units)]
            end = match.end()
    return [*result, (wording.visible(text[end:]), [])]


NOT_KNOWN = "not known"
RESERVED = 3  # most of the time narrators that read the same agree
UNDERLINED = "Underlined: words of the input, matched afterwards."
ESTIMATED = "The chance of this one is estimated from what can be measured without a reader."
PEOPLE, RULES = "People explained this example:", "Reason from the generator's rules:"
Entry = dict[str, Any]


def show(run: Run, explanations: Sequence[str] = ()) -> None:
    """Draws the sentences of a run; nothing where it has no narrators. `explanations` are the example's."""
    data = payload(run, explanations)
    if data["entries"]:
        st.header("In words", anchor=False)
        component("words")(key="words", data=newest("words", data))


def payload(run: Run, explanations: Sequence[str] = ()) -> dict[str, Any]:
    """Built again only where something visible has changed."""
    before = None if run.previous is None else (_narratives(run.previous), _narrative_checks(run.previous))
    known = _narratives(run), _failures(run), _narrative_checks(run)
    key = (tuple(explanations), id(run.whole), run.status, run.probabilities, known, before, _absent(run))
    return run.view("narratives", key, lambda: _payload(run, explanations))


def _payload(run: Run, explanations: Sequence[str]) -> dict[str, Any]:
    specs = [spec for spec in NARRATORS if spec.id in _expected(run)]
    all_records = records = narratives.known_records(run.request.model, [spec.id for spec in specs])
    if run.whole is not None:
        records = narratives.applicable_records(all_records, run.whole.encoding, _narratives(run))

    def place(spec: NarratorSpec) -> tuple[bool, bool, float]:
        """Reasons about this input first, and of those the ones that are most often right."""
        record = all_records[spec.id]
        return spec.reads == "words", not spec.reads_tokens, -(record.right or 0.0) if record is not None else 0.0

    specs.sort(key=place)
    unlike = run.whole is not None and run.whole.encoding.unlike_training
    tells = any(all_records.values()) and not unlike  # also for a sentence of which nothing is known
    return {
        "verdict": _verdict(run, specs, records),
        "note": " ".join(filter(None, (narratives.NOTE, UNDERLINED, _absent(run)))),
        "lines": min(len(specs), RESERVED),
        "questions": [*narratives.QUESTIONS, *([narrator_overview.QUESTION] if tells else [])],
        "entries": [_with_record(entry, records, _chances(run)) if tells else entry for entry in _merged(run, specs)],
        "reasons": [wording.visible(explanation) for explanation in explanations],
        "whose": RULES if run.request.example.image is not None else PEOPLE,
    }


def _absent(run: Run) -> str:
    """Which narrators of the model cannot run here, and what to do."""
    version = "" if run.whole is None else run.whole.card.version
    there = {narrative.method for narrative in _narratives(run)}
    waiting = [id for id in waiting_narrators(run.request.model, version) if id not in there]
    names = [narrator_spec(id).name for id in waiting]
    is_ = "is" if len(names) == 1 else "are"
    what = f"{is_} missing: SmolLM2 is not on this machine. “methods · edit” gets it."
    return f"{' and '.join(names)} {what}" if names else ""


def _verdict(run: Run, specs: Sequence[NarratorSpec], records: narratives.Records) -> str:
    """Not before every sentence was checked."""
    if run.active and len(_narratives(run)) + len(_failures(run)) < len(specs):
        return narratives.BEING_GENERATED
    return narratives.sentence_verdict(_checked(run), records, _chances(run), max(run.probabilities, default=1.0))


def _merged(run: Run, specs: Sequence[NarratorSpec]) -> list[Entry]:
    """Entries with equal sentences as one, which has all their names."""
    entries = [_entry(run, spec) for spec in specs]
    return [
        group[0]
        | {
            "id": " ".join(row["id"] for row in group),
            "name": narratives.names_of([row["id"] for row in group]),
            "about": _without_repetition([about for row in group for about in row["about"]]),
        }
        for group in narratives.grouped(entries, _shown)
    ]


def _without_repetition(about: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A deviation that several narrators share stands with the first of them."""
    before: set[str] = set()
    result = []
    for line in about:
        result.append(line | {"deviations": [text for text in line["deviations"] if text not in before]})
        before |= set(line["deviations"])
    return result


def _with_record(entry: Entry, records: narratives.Records, chances: Mapping[str, float]) -> Entry:
    """How likely the reason holds, or how often those of its narrators were right, as the last check."""
    ids = entry["id"].split()
    own = {narrator_spec(id).name: record for id in ids if (record := records[id]) is not None}
    answers = [NOT_KNOWN if (record := records[id]) is None else record.answer for id in ids]
    likely = [chances[id] for id in ids if id in chances]
    answers = [f"{narrator_overview.percent(max(likely))} for this one"] if likely else answers
    answers = answers[:1] if len(set(answers)) == 1 else answers  # else one for each name, in their order
    detail = " ".join(f"{name}: {record.detail}" if len(own) > 1 else record.detail for name, record in own.items())
    detail = f"{ESTIMATED} {detail}" if likely else detail
    return entry | {"checks": [*entry["checks"], {"state": "record", "answer": ", ".join(answers), "detail": detail}]}


def _shown(entry: Entry) -> Hashable:
    text = "".join(piece for piece, _ in entry["sentence"])
    return (text, entry["old"]) if text else entry["id"]


def _expected(run: Run) -> set[str]:
    """The narrators of the run: those that are done, and those to come."""
    done = {narrative.method for narrative in _narratives(run)} | {failure.method for failure in _failures(run)}
    if run.request.narrators is not None:
        return done | set(run.request.narrators)
    name, version = (run.request.model, "") if run.whole is None else (run.whole.card.name, run.whole.card.version)
    return done | set(runnable_narrators(name, version))  # also before the model is loaded, so nothing jumps


def _entry(run: Run, spec: NarratorSpec) -> Entry:
    failure = run.failure(spec.id)
    origin = run if failure or _narrative(run, spec) or run.previous is None else run.previous
    narrative = _narrative(origin, spec)
    status = "failed" if failure else "done" if narrative else "waiting" if run.active else "stopped"
    entry: Entry = {
        "id": spec.id,
        "name": spec.name,
        "status": status,
        "old": origin is not run and narrative is not None,
        "sentence": [],
        "checks": [_waiting("" if status == "failed" else "…")] * len(narratives.QUESTIONS),
        "problem": without_folders(failure) or ("stopped before it was done" if status == "stopped" else ""),
        "mentions": [],
        "about": [_about(origin, spec, narrative)],
    }
    return entry | _generated(origin, narrative) if narrative is not None and origin.whole is not None else entry


def _narrative(run: Run, spec: NarratorSpec) -> "Narrative | None":
    return next((narrative for narrative in _narratives(run) if narrative.method == spec.id), None)


def _narratives(run: Run) -> "tuple[Narrative, ...]":
    return () if run.current is None else run.current.narratives


def _narrative_checks(run: Run) -> "tuple[NarrativeCheck, ...]":
    return () if run.current is None else run.current.narrative_checks


def _failures(run: Run) -> "tuple[Failure, ...]":
    """Those of narrators."""
    return (
        ()
        if run.current is None
        else tuple(failure for failure in run.current.failures if failure.method in NARRATORS.ids)
    )


def _waiting(answer: str) -> dict[str, str]:
    return {"state": "waiting", "answer": answer, "detail": ""}


def _about(run: Run, spec: NarratorSpec, narrative: "Narrative | None") -> dict[str, Any]:
    return {
        "name": spec.name,
        "idea": spec.idea,
        "caution": f"{spec.caution} ({spec.source}.)",
        "deviations": list(spec.deviations),
        "reading": reading(run, narrative) if narrative is not None else "",
        "seconds": f"{narrative.seconds:.2f} s" if narrative is not None else "",
    }


def _generated(run: Run, narrative: "Narrative") -> dict[str, Any]:
    words = mentioned(run, narrative)
    return {
        "sentence": pieces(narrative.text, words),
        "checks": checks(run, narrative),
        "mentions": [{"text": text, "units": units} for text, units in words.values()],
    }


def checks(run: Run, narrative: "Narrative") -> list[dict[str, str]]:
    """The answers to `QUESTIONS`."""
    return [
        {"state": line.state, "answer": line.answer, "detail": line.detail} for line in _check_lines(run, narrative)
    ]


def _chances(run: Run) -> dict[str, float]:
    return {check.method: check.chance for check in _narrative_checks(run) if check.chance is not None}


def _checked(run: Run) -> dict[str, list[narratives.CheckLine]]:
    """What was checked of every sentence of this run; nothing before the first one."""
    return (
        {narrative.method: _check_lines(run, narrative) for narrative in _narratives(run)}
        if run.whole is not None
        else {}
    )


def _check_lines(run: Run, narrative: "Narrative") -> list[narratives.CheckLine]:
    """The lines of the checks; a run that was stopped waits for none."""
    check = next((check for check in _narrative_checks(run) if check.method == narrative.method), None)
    labels = run.whole.card.labels if run.whole is not None else ()
    lines = narratives.check_lines(narrative, check, predicted(run), labels)
    return [
        narratives.CheckLine(line.question, "none", "not checked", "Stopped before it was checked.")
        if line.state == "waiting" and not run.active
        else line
        for line in lines
    ]


def predicted(run: Run) -> int:
    return max(range(len(run.probabilities)), key=lambda index: run.probabilities[index])


def reading(run: Run, narrative: "Narrative") -> str:
    """Which class C2 reads from the sentence that the narrator is about to generate."""
    if not narrative.read:
        return "No second classifier (C2) reads the sentence."
    best = max(range(len(narrative.read)), key=lambda index: narrative.read[index])
    agreement = "as the model" if best == predicted(run) else "unlike the model"
    return f"C2 reads {_label(run, best)}, {narrative.read[best]:.2f}, {agreement}."


def _label(run: Run, label: int) -> str:
    return wording.one_line(run.whole.card.labels[label]) if run.whole is not None else "the class"
