"""One task of one item as plain data for the component of assets/annotate.js, which writes all of it as text.

    key          which person, item, task and version; a draft in the browser belongs to it
    task, title, instruction, step ("1 of 3"), progress (done, skipped, total)
    labels, segments, image      the input, as in the score sheet of the Compare page
    prediction   the model's answer in words; empty while the person must not know it
    classes      the names among which "mark" asks for the person's own answer, and "simulate" for the model's
    maps         letter, and cells by unit number: colour and line; only for "simulate" and "rank"
    sentences    letter and text
    reason       the `sentence`, the `stated` class, and `questions` with id, question and guide; only for "read"
    suggestions  letter, and the numbers of the units that this method suggests
    answered     what this person confirmed before, in the form in which the component answers; None without
    flagged, comment, can_undo, revisiting, first_counts
    reply, problem, stored       the id of the last action that was carried out, and how it ended

Methods are letters here, which differ between people and items. Nothing in the data tells which method a letter is, and
without the project's salt nobody can find out.
"""

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.annotate.answers import Stored
from app.annotate.projects import ONE_BY_ONE, TITLES, Prepared, PreparedMap, Project
from app.annotate.tables import method_name
from explainers.annotations import records
from explainers.annotations.formats.own_records import class_number
from explainers.annotations.judged import marked_units
from explainers.models.inputs.encoding import Encoding
from explainers.report import colours, display_images, wording
from explainers.results.attribution import ranking, top_count

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MOST_CLASSES = 8  # that a sentence names
THICKEST = 5  # pixels of a map's underline
SUGGESTED = 20  # percent of the units that are suggested, from the top, those that support the class
COLOURS = "Blue supports its answer, orange opposes it; violet is strong in either direction."
INSTRUCTIONS: dict[records.Task, str] = {
    "mark": "{question} Then press the {units} from which your answer follows, or drag across them. With the "
    "keyboard: arrows move, Space marks, Shift and arrows mark several, Ctrl and Enter confirm.",
    "simulate": "The colours show which {units} mattered to the model, by one method in each map. " + COLOURS,
    "read": "Somebody gave this reason for the class below. Judge the reason, whether or not that class is right. With "
    "the keyboard: Tab and arrows choose, Ctrl and Enter confirm.",
    "rank": f"Each map shows which {{units}} mattered to the model, by one method. {COLOURS} Choose the most "
    "convincing map first.",
    "rate": "Each sentence explains the model's answer. Judge every sentence by itself.",
    "inspect": "The marked {units} are a method's suggestion. Change the marks where they are wrong.",
    "correct": "Change each generated sentence until it explains the model's answer correctly.",
}
GUIDE: dict[str, tuple[str, str, str]] = {  # question, when it is a yes, and an example, as in assets/docs/readings.md
    "grammatical": (
        "Is it grammatical?",
        "it is a grammatical English clause; case and punctuation do not count",
        "“a man is a person” yes; “the man is is sitting” no",
    ),
    "true": (
        "Is it true of the input?",
        "it is true of the input, taken by itself",
        "“a dog is an animal” of a pair about a dog: yes",
    ),
    "supports": (
        "Does it support the class?",
        "somebody who believes it has a reason to answer this class",
        "“sitting is not standing” for contradiction: yes",
    ),
    "informative": (
        "Is it more than a copy?",
        "it says more than a copy of the input, or of the class",
        "“the hypothesis is true” no",
    ),
}
PREDICTION_HIDDEN: tuple[records.Task, ...] = (
    "mark",
    "simulate",
    "read",
)  # in which the model's answer would influence people


def shuffled(methods: Sequence[str], salt: str, *about: object) -> tuple[str, ...]:
    """Return the methods in an order that is the same for this person, item and task, and independent otherwise."""

    def draw(method: str) -> bytes:
        message = "\0".join([*map(str, about), method])
        return hmac.new(salt.encode(), message.encode(), hashlib.sha256).digest()

    return tuple(sorted(methods, key=draw))


def lettered(methods: Sequence[str], salt: str, *about: object) -> dict[str, str]:
    """Return the methods by letter, in the order of display; more methods than letters are no question for a person."""
    return dict(zip(LETTERS, shuffled(methods, salt, *about), strict=False))


def alias(method: str, salt: str) -> str:
    """Return a name that is the same everywhere in a project and tells nothing about the method."""
    return f"method-{hmac.new(salt.encode(), method.encode(), hashlib.sha256).hexdigest()[:6]}"


@dataclass(frozen=True)
class TaskQuestion:
    """What is asked of a person now; `version` is that of the answer that they will give."""

    project: Project
    annotator: int
    item_number: int
    item: records.Item
    prepared: Prepared
    task: records.Task
    version: int

    @property
    def key(self) -> str:
        shown = "".join(self.letters) if self.project.spec.blind else str(len(self.letters))
        of = f".{len(self.prepared.maps)}" if self.task == "rank" else ""  # another set of maps has the same letters
        return f"{self.annotator}.{self.item_number}.{self.task}.{self.version}.{shown}{of}"

    def same_as(self, other: "TaskQuestion") -> bool:
        """Return whether it asks the same person the same; explanations may have come in between."""
        mine, theirs = ((e.project.id, e.annotator, e.item_number, e.task, e.version) for e in (self, other))
        return mine == theirs

    @property
    def letters(self) -> dict[str, str]:
        """Return the methods of this task that have an explanation, by letter.

        Letters belong to all methods of the project, so that one that comes late takes no other's. Tasks about one
        method at a time ask about the first ones, which differ between people and items; everybody ranks the same maps
        of an item.
        """
        judged: Mapping[str, object] = self.prepared.sentences if self.uses_sentences else self.prepared.maps
        spec = self.project.spec
        about = (self.annotator, self.item.id, self.task)
        methods = spec.narrators if self.uses_sentences else spec.methods
        if self.task == "rank":
            drawn = shuffled(methods, self.project.salt, self.item.id, self.task)
            methods = tuple(id for id in drawn if id in judged)[: spec.maps_to_rank]
        by_letter = lettered(methods, self.project.salt, *about)
        letters = {letter if spec.blind else method_name(id): id for letter, id in by_letter.items() if id in judged}
        return dict(list(letters.items())[: spec.methods_per_item]) if self.task in ONE_BY_ONE else letters

    @property
    def uses_sentences(self) -> bool:
        return self.task in ("rate", "correct")

    @property
    def classes(self) -> tuple[str, ...]:
        """Return among which classes a person chooses; empty without such a question and for a model with one."""
        labels = self.prepared.labels
        return labels if self.task == "simulate" or (self.task == "mark" and len(labels) > 1) else ()

    @property
    def possible(self) -> bool:
        """Return whether enough methods have answered."""
        if self.task == "read":
            return self.item.reason is not None
        return self.task == "mark" or len(self.letters) >= (2 if self.task == "rank" else 1)


def payload(question: TaskQuestion, answered: Stored | None, **around: Any) -> dict[str, Any]:
    """Return the data of the component; `around` are progress, step, and what else is not of the question."""
    prepared, task, letters = question.prepared, question.task, question.letters
    maps = {} if question.uses_sentences else {letter: prepared.maps[id] for letter, id in letters.items()}
    return {
        "key": question.key,
        "task": task,
        "title": TITLES[task],
        "instruction": instruction(task, prepared),
        "labels": list(prepared.names) if len(prepared.texts) > 1 else [""],
        "segments": segments(prepared),
        "image": image(question.item, prepared),
        "prediction": "" if task in PREDICTION_HIDDEN else prediction(prepared),
        "classes": list(map(wording.visible, question.classes)),
        "maps": [{"letter": letter, "cells": cells(heat_map)} for letter, heat_map in maps.items()]
        if task in ("simulate", "rank")
        else [],
        "sentences": [
            {"letter": letter, "text": wording.visible(prepared.sentences[id])}
            for letter, id in (letters.items() if question.uses_sentences else ())
        ],
        "suggestions": [{"letter": letter, "suggested": suggestion(heat_map)} for letter, heat_map in maps.items()]
        if task == "inspect"
        else [],
        "reason": reason(question.item) if task == "read" else None,
        "answered": _answered(question, answered),
        "flagged": answered is not None and answered.flagged,
        "comment": answered.comment if answered is not None else "",
        **around,
    }


def instruction(task: records.Task, prepared: Prepared) -> str:
    """Return what to do, in the words of this input."""
    names = list(map(wording.visible, prepared.labels))
    named = 1 < len(names) <= MOST_CLASSES
    classes = f": {', '.join(names[:-1])} or {names[-1]}" if named else " which class it is"
    question = f"Decide for yourself{classes}."
    units = "words or patches" if any(unit.box is not None for unit in prepared.units) else "words"
    return INSTRUCTIONS[task].format(question=question, units=units)


def reason(item: records.Item) -> dict[str, Any] | None:
    """Return the reason that is read, without its writer, and what is asked about it; None where there is none."""
    if item.reason is None:
        return None
    questions = [
        {"id": id, "question": question, "yes": f"yes if {yes}", "example": example}
        for id, (question, yes, example) in GUIDE.items()
    ]
    return {
        "sentence": wording.visible(item.reason.sentence),
        "stated": wording.visible(item.reason.stated),
        "questions": questions,
    }


def segments(prepared: Prepared) -> list[list[tuple[str, int]]]:
    """Return the texts cut into units and what lies between them (-1)."""
    result = []
    for number, text in enumerate(prepared.texts):
        pieces: list[tuple[str, int]] = []
        end = 0
        for index, unit in enumerate(prepared.units):
            if unit.box is None and unit.segment == number:
                pieces += [(wording.visible(text[end : unit.start]), -1)] if end < unit.start else []
                pieces.append((wording.visible(text[unit.start : unit.end]), index))
                end = unit.end
        result.append([*pieces, (wording.visible(text[end:]), -1)] if end < len(text) else pieces)
    return result


def image(item: records.Item, prepared: Prepared) -> dict[str, Any] | None:
    """Return `src`, `width`, `height`, and `patches` by unit number; None for a text."""
    if item.example.image is None:
        return None
    display = display_images.display_image(item.example.image)
    patches = {
        str(number): (*display.percent_box(unit.box), f"patch {unit.text}")
        for number, unit in enumerate(prepared.units)
        if unit.box is not None
    }
    return {"src": display.uri, "width": display.width, "height": display.height, "patches": patches}


def prediction(prepared: Prepared) -> str:
    name = wording.visible(prepared.labels[prepared.label])
    return f"The model's answer: {name} ({prepared.probabilities[prepared.label]:.2f})"


def cells(scored: PreparedMap) -> dict[str, dict[str, str]]:
    """Return the colours of a map, whose strongest unit has the full colour."""
    strong = colours.strengths(scored.scores, scale="method", strongest=colours.strongest([scored.scores]))
    return {
        str(unit): {
            "colour": colours.colour(strength, signed=scored.signed),
            "line": f"{round(abs(strength) * THICKEST)}px",
        }
        for unit, strength in enumerate(strong)
    }


def suggestion(scored: PreparedMap) -> list[int]:
    """Return the units in the top share that support the class, in the order of the text."""
    order = ranking(scored.scores).tolist()
    return sorted(unit for unit in order[: top_count(len(order), SUGGESTED)] if scored.scores[unit] > 0)


def _answered(question: TaskQuestion, stored: Stored | None) -> dict[str, Any] | None:
    letters = {id: letter for letter, id in question.letters.items()}
    encoding = question.prepared.encoding
    match stored.answer if stored is not None else None:
        case records.Marked() as marked:
            units = sorted(marked_units(marked, encoding))
            own = class_number(stored.own_class, question.classes) if stored is not None else None
            return {"marked": units, "none": not units, **({} if own is None else {"label": own})}
        case records.Simulated() | records.Inspected() | records.Corrected() | records.Several() as answer:
            given = {
                letters[single.method]: single
                for single in records.one_method_answers(answer)
                if single.method in letters
            }
            return {"given": {letter: _given(single, encoding) for letter, single in given.items()}}
        case records.Ranked(methods=methods):
            return {"order": _known(methods, letters)}
        case records.ReadReason() as read:
            return {"read": read.judgements}
        case records.Rated(scores=scores):
            return {
                "scores": {
                    letters[score.method]: {"relatedness": score.relatedness, "fluency": score.fluency}
                    for score in scores
                    if score.method in letters
                }
            }
        case _:
            return None


def _given(answer: records.OneMethod, encoding: Encoding) -> dict[str, Any]:
    match answer:
        case records.Simulated(label=label):
            return {"label": label}
        case records.Inspected(verdict=verdict, marked=changed):
            corrected = {"marked": sorted(marked_units(changed, encoding))} if changed is not None else {}
            return {"verdict": verdict, **corrected}
        case _:
            return {"sentence": answer.sentence}


def _known(methods: Sequence[str], letters: Mapping[str, str]) -> list[str]:
    return [letters[id] for id in methods if id in letters]
