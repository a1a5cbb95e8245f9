"""The rows of a file that can be used as annotations: of known methods, each one once; a decision is an answer."""

from collections.abc import Sequence

from app.annotate.tables import method_name
from explainers.annotations.records import (
    Annotation,
    Answer,
    Corrected,
    Inspected,
    Ranked,
    Rated,
    Several,
    Simulated,
    one_method_answers,
)
from explainers.errors import ExplanationError

DECIDED_BY = "decision"  # the annotator's name of what an owner decided, in downloads


def usable(given: Sequence[Annotation]) -> tuple[tuple[Annotation, ...], tuple[str, ...]]:
    """Return the annotations that can be stored, and a sentence for each other one."""
    kept: dict[tuple[str, str, str, int], Annotation] = {}
    left_out: list[str] = []
    for annotation in given:
        key = (annotation.item, annotation.annotator, annotation.task, annotation.version)
        fault = "it is there twice; the first one counts." if key in kept else _fault(annotation)
        if fault:
            left_out.append(
                f"Annotation ({annotation.task}) of item {annotation.item[:60]} by {annotation.annotator[:60]}: {fault}"
            )
        else:
            kept[key] = annotation
    return tuple(kept.values()), tuple(left_out)


def _fault(annotation: Annotation) -> str:
    if annotation.annotator == DECIDED_BY and annotation.answer is None:
        return "it is an owner's decision without an answer."
    for method in _methods(annotation.answer):
        try:
            method_name(method)
        except ExplanationError:
            return f"it judges {method[:60]!r}, which is no method here. Blind downloads have stand-in names."
    return ""


def _methods(answer: Answer | None) -> tuple[str, ...]:
    match answer:
        case Ranked(methods=methods):
            return methods
        case Rated(scores=scores):
            return tuple(score.method for score in scores)
        case Simulated() | Inspected() | Corrected() | Several():
            return tuple(single.method for single in one_method_answers(answer))
        case _:
            return ()
