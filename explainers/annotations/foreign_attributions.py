"""What comes from outside as a row among the methods: attributions of another program, and people's marks."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from explainers.annotations.judged import word_encoding
from explainers.annotations.records import Marked
from explainers.annotations.units import marked_units, marks_of
from explainers.datasets.example import Example
from explainers.methods.given_specs import ELSEWHERE, PEOPLE
from explainers.methods.spec import MethodSpec

ScoredSpan = tuple[int, int, int]  # number of the text, start and end


@dataclass(frozen=True)
class ForeignAttribution:
    """A score per span of one input, made by `method`; `label` is the class that it is about, "" for any."""

    example: Example
    method: str
    spans: tuple[ScoredSpan, ...]
    scores: tuple[float, ...]
    signed: bool
    label: str = ""

    @property
    def spec(self) -> MethodSpec:
        """The method that answers with these scores, for this input only."""
        id = f"{ELSEWHERE.id}:{self.method}"
        return _given(ELSEWHERE, id, self.example, self.spans, self.scores, signed=self.signed, label=self.label)


def people_spec(example: Example, marks: Sequence[Marked]) -> MethodSpec | None:
    """The row of people's marks: every unit scores the share of people who marked it; None without marks in a text."""
    words = word_encoding(example)  # half a marked word is a marked word, whichever half it is
    snapped = [marks_of(marked_units(marked, words), words) for marked in marks]
    spans, scores = [], []
    for segment in (0, 1):
        own = [marked.spans_of_pair if segment else marked.spans_of_text for marked in snapped]
        edges = sorted({edge for each in own for span in each for edge in (span.start, span.end)})
        for start, end in pairwise(edges):
            share = sum(any(span.start <= start and end <= span.end for span in each) for each in own) / len(marks)
            if share:
                spans.append((segment, start, end))
                scores.append(share)
    return _given(PEOPLE, PEOPLE.id, example, spans, scores, signed=False, label="") if spans else None


def _given(
    spec: MethodSpec,
    id: str,
    example: Example,
    spans: Sequence[ScoredSpan],
    scores: Sequence[float],
    *,
    signed: bool,
    label: str,
) -> MethodSpec:
    texts = (example.text,) if example.pair is None else (example.text, example.pair)
    fixed = {
        "method": id,
        "texts": texts,
        "spans": tuple(spans),
        "scores": tuple(scores),
        "signed": signed,
        "label": label,
    }
    name = spec.name if id == spec.id else f"{id.partition(':')[2]} (from a file)"
    return replace(spec, id=id, name=name, signed=signed, fixed=tuple(fixed.items()))
