"""Attributions that another program made, a JSON object per line.

{"text": …, "method": "my method", "tokens": [[0, 4], [5, 9]], "scores": [0.2, -1.3]}

"spans" may stand for "tokens". A pair has "text_pair" too, and its tokens a third number: 0 for the first text, 1 for
the second. Optional: "signed" (by default true where a score is negative), "label" (the class that is explained, or "A
rather than B") and "offsets" ("UTF-16 code units"; code points otherwise). How scores of spans become scores of units
is the rule of `explainers.attribution.given`. ERASER's results are read too: soft scores per token, or hard spans.

What comes from outside as a row among the methods: attributions of another program, and people's marks.

A file of attributions, whatever its format: lines of JSON, or an archive with ERASER's results and documents.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from explainers.annotations import judged, record_json, records
from explainers.annotations.formats.archives import is_archive, read_archive
from explainers.annotations.formats.eraser import token_spans
from explainers.annotations.formats.own_records import UTF16, BadRow, Imported, from_utf16, json_lines, utf16_offsets
from explainers.attribution.given import FROM_FILE, PEOPLE
from explainers.datasets.example import Example
from explainers.datasets.tables import decode_text
from explainers.errors import DataUnavailable
from explainers.methods.registry import MethodSpec

ScoredSpan = tuple[int, int, int]  # number of the text, start and end


@dataclass(frozen=True)
class ForeignAttribution:
    """A score per span of one input, made by `method`; `label` is what it is about, "" for anything."""

    example: Example
    method: str
    spans: tuple[ScoredSpan, ...]
    scores: tuple[float, ...]
    signed: bool
    label: str = ""

    @property
    def spec(self) -> MethodSpec:
        """The method that answers with these scores, for this input only."""
        id = f"{FROM_FILE.id}:{self.method}"
        return _given(FROM_FILE, id, self.example, self.spans, self.scores, signed=self.signed, label=self.label)


def people_spec(example: Example, marks: Sequence[records.Marked]) -> MethodSpec | None:
    """The row of people's marks: every unit scores the share of people who marked it; None without marks in a text."""
    words = judged.word_encoding(example)  # half a marked word is a marked word, whichever half it is
    snapped = [judged.marks_of(judged.marked_units(marked, words), words) for marked in marks]
    spans, scores = [], []
    for segment in (0, 1):
        own = [marked.spans_of_pair if segment else marked.spans_of_text for marked in snapped]
        edges = sorted({edge for spans in own for span in spans for edge in (span.start, span.end)})
        for start, end in pairwise(edges):
            share = sum(any(span.start <= start and end <= span.end for span in spans) for spans in own) / len(marks)
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
    texts = example.texts
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


NAME = re.compile(r"[\w][\w .+-]{0,39}")


@dataclass(frozen=True)
class ForeignFile:
    """The rows that can be used, and a sentence for each of the others."""

    attributions: tuple[ForeignAttribution, ...]
    bad_rows: tuple[BadRow, ...] = ()

    def problems(self) -> tuple[str, ...]:
        return Imported(bad_rows=self.bad_rows).problems()

    def of(self, example: Example) -> tuple[ForeignAttribution, ...]:
        """Those of this input. Raises `DataUnavailable` if there are none."""
        texts = (example.text, example.pair)
        own = tuple(
            attribution
            for attribution in self.attributions
            if (attribution.example.text, attribution.example.pair) == texts
        )
        if not own:
            sentence = f"The file has no scores of this text, and of {len(self.attributions):,} others."
            raise DataUnavailable(" ".join([sentence, *self.problems()[:1]]))
        return own


def read_attributions(content: str) -> ForeignFile:
    """Good rows are kept; a bad one has a sentence, and so has a second one of a method for the same input."""
    return _read(json_lines(content), attribution_of)


def read_eraser_results(content: str, documents: Mapping[str, str], method: str) -> ForeignFile:
    """The rationales of ERASER's results: soft scores where there are any, else 1 for the tokens of hard ones."""
    return _read(json_lines(content), lambda row: _of_results(row, documents, method))


def _read(rows: Iterable[object], read: Callable[[record_json.Content], ForeignAttribution]) -> ForeignFile:
    attributions: dict[tuple[str, str | None, str], ForeignAttribution] = {}
    bad: list[BadRow] = []
    for number, row in enumerate(rows, 1):
        try:
            if isinstance(row, DataUnavailable):
                raise row
            attribution = read(record_json.json_object(row, "an object"))
            key = (attribution.example.text, attribution.example.pair, attribution.method)
            if key in attributions:
                raise DataUnavailable(f"The method {attribution.method} is there twice for this text.")
            attributions[key] = attribution
        except (DataUnavailable, ValueError) as error:
            bad.append(BadRow(number, str(error)))
    return ForeignFile(tuple(attributions.values()), tuple(bad))


def attribution_of(row: record_json.Content) -> ForeignAttribution:
    """Raises `DataUnavailable` with a sentence for wrong lengths, numbers that are not finite, and offsets beyond."""
    pair = record_json.optional(row, "text_pair", str) or record_json.optional(row, "pair", str)
    texts = tuple(filter(None, (record_json.field(row, "text", str), pair)))
    tokens = record_json.field(row, "tokens" if "tokens" in row else "spans", list)
    scores = [record_json.typed(score, float, "scores") for score in record_json.field(row, "scores", list)]
    if len(tokens) != len(scores):
        raise DataUnavailable(f"There are {len(scores):,} scores for {len(tokens):,} tokens.")
    if not all(map(math.isfinite, scores)):
        raise DataUnavailable("A score is not a finite number.")
    places = [utf16_offsets(text) for text in texts] if row.get("offsets") == UTF16 else None
    spans = tuple(_span(token, texts, places) for token in tokens)
    signed = record_json.field(row, "signed", bool, min(scores, default=0) < 0)
    if not signed and min(scores, default=0) < 0:
        raise DataUnavailable("A score is negative, although the scores are said to be unsigned.")
    example = Example(texts[0] if texts else "", texts[1] if len(texts) > 1 else None)
    return ForeignAttribution(
        example, _name(row), spans, tuple(scores), signed, record_json.field(row, "label", str, "")
    )


def _name(row: record_json.Content) -> str:
    name = str(record_json.field(row, "method", str)).strip()
    if not NAME.fullmatch(name):
        raise DataUnavailable("The name of a method has up to 40 letters, digits, spaces and the marks . _ + -")
    return name


def _span(token: object, texts: Sequence[str], places: Sequence[list[int]] | None) -> ScoredSpan:
    """Without characters where start and end are equal, as tokenizers give it for special tokens."""
    if not isinstance(token, list) or len(token) not in (2, 3):
        raise DataUnavailable("A token is a list of start and end, and in a pair the number of its text.")
    start, end, segment = (record_json.typed(number, int, "tokens") for number in (*token, 0)[:3])
    if not 0 <= segment < len(texts):
        raise DataUnavailable(f"The token {start} to {end} is in text {segment}, of {len(texts)} counted from 0.")
    if places is not None and start != end:
        span = from_utf16(start, end, places[segment])
        start, end = span.start, span.end
    if not 0 <= start <= end <= len(texts[segment]):
        raise DataUnavailable(
            f"The token {start} to {end} is not within the text of {len(texts[segment]):,} characters."
        )
    return segment, start, end


def _of_results(row: record_json.Content, documents: Mapping[str, str], method: str) -> ForeignAttribution:
    rationales = [
        record_json.json_object(rationale, "a rationale") for rationale in record_json.field(row, "rationales", list)
    ]
    if not rationales:
        raise DataUnavailable("There is no rationale.")
    names = [record_json.field(rationale, "docid", str) for rationale in rationales]
    if len(set(names)) > 2 or not set(names) <= documents.keys():
        raise DataUnavailable("The documents of its rationales are not there, or more than the two of a pair.")
    spans: list[ScoredSpan] = []
    scores: list[float] = []
    for segment, rationale in enumerate(rationales):
        tokens = token_spans(documents[names[segment]])
        own = _token_scores(rationale, len(tokens))
        spans += [(segment, token.start, token.end) for token in tokens]
        scores += own
    texts = [documents[name] for name in names]
    example = Example(texts[0], texts[1] if len(texts) > 1 else None)
    return ForeignAttribution(
        example, _name({"method": method}), tuple(spans), tuple(scores), min(scores, default=0) < 0
    )


def _token_scores(rationale: record_json.Content, tokens: int) -> list[float]:
    soft = record_json.optional(rationale, "soft_rationale_predictions", list)
    if soft is not None:
        scores = [record_json.typed(score, float, "soft_rationale_predictions") for score in soft]
        if len(scores) != tokens or not all(map(math.isfinite, scores)):
            raise DataUnavailable(f"There are {len(scores):,} finite scores or fewer for {tokens:,} tokens.")
        return scores
    marked = [0.0] * tokens
    for hard in record_json.field(rationale, "hard_rationale_predictions", list):
        span = record_json.json_object(hard, "a span")
        first, last = record_json.field(span, "start_token", int), record_json.field(span, "end_token", int)
        if not 0 <= first <= last <= tokens:
            raise DataUnavailable(
                f"The rationale {first} to {last} is not within the {tokens:,} tokens of the document."
            )
        marked[first:last] = [1.0] * (last - first)
    return marked


def read_scores(content: bytes, name: str, part: str = "") -> ForeignFile | None:
    """The attributions of a file, or None if it has none. In an archive every .jsonl file of results is a method of its
    name; `part` selects one. Raises `DataUnavailable` if the file cannot be read."""
    if not is_archive(name):
        text = decode_text(content, name) if name.lower().endswith(".jsonl") else ""
        return read_attributions(text) if _has(text, "scores", "method") else None
    archive = read_archive(content, name)
    files = [
        read_eraser_results(lines, archive.documents, split)
        for split, lines in archive.splits.items()
        if part in ("", split) and _has(lines, "rationales")
    ]
    if not files:
        return None
    return ForeignFile(
        tuple(attribution for file in files for attribution in file.attributions),
        tuple(row for file in files for row in file.bad_rows),
    )


def _has(text: str, *fields: str) -> bool:
    """Return whether the first line has these fields."""
    first = next(iter(json_lines(text)), None)
    return isinstance(first, dict) and first.keys() >= set(fields)
