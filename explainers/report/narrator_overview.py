"""How the narrators did on unseen inputs, from the stored evaluation of the shipped weights.

The track record of one of them beside its sentence, all of them in a table with advice which to use, and the part of a
model card about their evaluation; and what readers found about a narrator's sentences.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from explainers.installation import ASSETS
from explainers.methods.narrator_specs import NARRATORS, NarratorSpec, narrator_spec
from explainers.models.bundle_cards import BUNDLES, bundle_names
from explainers.report import evaluation_tables, narrator_tables, wording
from explainers.report.tables import Table, TableColumn, command_block, key_column
from explainers.training.artifacts import available_artifacts

SUMMARY = ASSETS / "readings" / "summary.json"


@dataclass(frozen=True)
class ReadShare:
    """A share of `n` sentences with its 95 % interval."""

    mean: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class Reading:
    """What `readers` found about the sentences that one set of weights wrote."""

    readers: tuple[str, ...]
    grammatical: ReadShare
    holds: ReadShare
    holds_where_right: ReadShare  # of inputs that the model classified correctly


def reading_of(narrator: str, sha256: str) -> Reading | None:
    """The largest reading of these weights; None where nobody has read theirs."""
    if not SUMMARY.is_file():
        return None
    entries = _entries(SUMMARY.stat().st_mtime_ns)
    own = [entry for entry in entries if entry["writer"] == narrator and entry["sha256"] == sha256]
    if not own:
        return None
    entry = max(own, key=lambda one: int(one["inputs"]))
    shares = {name: ReadShare(**entry[name]) for name in ("grammatical", "holds", "holds_where_right")}
    return Reading(tuple(entry["readers"]), **shares)


@lru_cache(maxsize=2)
def _entries(_changed: int) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads(SUMMARY.read_text(encoding="utf-8"))
    return entries


Row = Mapping[str, Any]
QUESTION = "right on unseen inputs"


@dataclass(frozen=True)
class TrackRecord:
    """In a word or two, and in sentences for a tooltip; `right` is the share of right reasons, None where not known."""

    answer: str
    detail: str
    right: float | None = None


def track_record(model: str, narrator: str) -> TrackRecord | None:
    """None for weights that are not the shipped ones, and for narrators that the stored evaluation lacks."""
    folder = BUNDLES / model / "narrative"
    tables = stored_evaluations(folder) if model in bundle_names() else []
    if not tables:
        return None
    used = next(
        (artifact for artifact in available_artifacts(model, "", "narrative") if artifact.method == narrator), None
    )
    if used is None or used.path.parent != folder:
        return None
    table = next((table for table in tables if any(row["method"] == narrator for row in table["rows"])), tables[0])
    if table["model"]["version"] != used.card["model"]["version"]:
        return None
    row = next((row for row in table["rows"] if row["method"] == narrator), None)
    reading = reading_of(narrator, used.card["sha256"])
    if reading is not None and (row is None or narrator_tables.RIGHT not in row):
        return _as_read(reading)
    return None if row is None else _record(row, judged_reasons(table["data"]))


def _as_read(reading: Reading) -> TrackRecord:
    where, every, readers = reading.holds_where_right, reading.holds, len(reading.readers)
    by = f"Mean of {readers} readers" if readers > 1 else "By one reader"
    return TrackRecord(
        percent(where.mean),
        f"Read beside unseen inputs: of {where.n} reasons where the model was right, {_share_of(asdict(where))} hold, "
        f"which means true of the input and a reason for the class; of all {every.n}, {_share_of(asdict(every))}. "
        f"{percent(reading.grammatical.mean)} are grammatical. {by}; assets/docs/readings.md says who.",
        where.mean,
    )


def judged_reasons(data: Mapping[str, Any]) -> int:
    """On how many inputs an evaluation has judged the reasons."""
    return int(data.get("reasons", data["pairs"]))


@lru_cache(maxsize=16)
def _table(path: Path, _changed: int) -> dict[str, Any]:
    table: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return table


def _record(row: Row, inputs: int) -> TrackRecord | None:
    if narrator_tables.RIGHT in row:
        return TrackRecord(
            percent(row[narrator_tables.RIGHT]["mean"]),
            f"Of the unseen inputs that the model classified correctly, {_share_of(row[narrator_tables.RIGHT])} got "
            "a reason that was right: true, and about what the known reason is about. Of all "
            f"{inputs:,}, {_share_of(row['reason_true'])} got one that was true.",
            row[narrator_tables.RIGHT]["mean"],
        )
    if "own_words" in row:
        return TrackRecord(
            "not known",
            f"Nothing checks whether its reasons are right. On {inputs:,} unseen inputs {_share_of(row['own_words'])} "
            f"of their content words stood in the input itself, and {percent(row['other_words']['mean'])} in another "
            f"one of the same class; {_share_of(row['picked_of_ten'])} of the reasons share more of them with their "
            "own input than with nine others.",
        )
    return None


def _share_of(value: dict[str, float]) -> str:
    return f"{percent(value['mean'])} [{value['low'] * 100:.0f}, {value['high'] * 100:.0f}]"


def percent(share: float) -> str:
    return f"{share * 100:.0f} %"


Rows = Sequence[Mapping[str, Any]]
PICKED = "picked_of_ten"
TIES = {
    "phi": "nothing",
    "phi_ts": "its class: a second classifier recovers the model's probabilities",
    "cause": "its class: that classifier also follows exchanges of neurons",
}
COLUMNS = {narrator_tables.RIGHT: "right", PICKED: "picks its input of ten"}


def overview_cells(tables: Mapping[str, Rows]) -> list[dict[str, str]]:
    """A row per narrator; `tables` are the evaluations' rows by model."""
    return _overview_table(tables).cells(NARRATORS)


def _overview_table(tables: Mapping[str, Rows]) -> Table[NarratorSpec]:
    def right(model: str, column: str) -> TableColumn[NarratorSpec]:
        header = f"{COLUMNS[column]}, {model}"
        return TableColumn(header, lambda spec: _share(tables[model], spec.id, column))

    return Table(
        (
            TableColumn("narrator", lambda spec: spec.name),
            TableColumn("reads", _reads),
            TableColumn("ties its sentence to the model", lambda spec: TIES[spec.losses]),
            *(right(model, column) for model, rows in tables.items() if (column := _judged(rows))),
        )
    )


def advice(tables: Mapping[str, Rows]) -> list[str]:
    """A sentence per model with such metrics: whose reasons did best."""
    return [_advice(model, column, rows) for model, rows in tables.items() if (column := _judged(rows))]


def _judged(rows: Rows) -> str:
    """What reasons are judged by: rules where there are any; empty where neither was measured."""
    return next((column for column in COLUMNS if any(column in row for row in rows)), "")


def _share(rows: Rows, method: str, column: str) -> str:
    row = next((row for row in rows if row["method"] == method and column in row), None)
    return "" if row is None else percent(row[column]["mean"])


def _advice(model: str, column: str, rows: Rows) -> str:
    measured = sorted((row for row in rows if column in row), key=lambda row: -row[column]["mean"])
    level = [row for row in measured if row[column]["high"] >= measured[0][column]["mean"]]
    shares = [f"{narrator_spec(row['method']).name} ({percent(row[column]['mean'])})" for row in level]
    if column == narrator_tables.RIGHT:
        return (
            f"On {model} reasons are right most often from {wording.join_names(shares)}, of the unseen inputs that "
            "the model classified correctly."
        )
    return (
        f"On {model} nothing tells whether reasons are right. Those that share more words with their own input than "
        f"with nine others of its class come most often from {wording.join_names(shares)}."
    )


def _reads(spec: NarratorSpec) -> str:
    if not spec.reads_tokens:
        return "the state from which the model predicts"
    return "the words" if spec.reads == "words" else "the states of all tokens too"


NARRATOR_NOTE = (
    "{inputs:,} inputs of the split `{split}`, {trainings}. Each input is put into words five times, and "
    "a vote decides which class was stated. Agreement and CCMR are F1 over the sentences that state a class. BLEU and "
    "the other text metrics measure how similar to the given reasons the sentences are, not whether they are true. ± "
    "is half of the 95 % bootstrap interval over inputs; brackets hold paired 95 % intervals."
)

TRUTH_NOTE = (
    "Whether the reason is true of its input is checked by the generator's own rules: the sentence is parsed and "
    "compared with what the image holds, over {inputs:,} inputs, one sentence each. A reason that depends on a "
    "covered box, or has none of the generator's forms, cannot be told and does not count as true. The control is the "
    "same reason checked on the next input. [How the checker was checked](../../docs/narratives.md)."
)
NO_TRUTH_NOTE = "Whether a reason is true of its input is not checked: no rules are known that could."
TOPIC_NOTE = (
    "A reason is on topic if it makes the same kind of claim as the given reason about the same colours, shapes, "
    "sizes, places and boxes; it is right if it is also true. Both count where the model's class is the right one."
)
MEANING_NOTE = (
    "Content words are compared by their stems, without class names: the share of a sentence's that stand in its own "
    "input, against five other inputs of the same predicted class, and how often the own one of ten such inputs shares "
    "the most of them (0.1 by chance). Different sentences are those expected among 100 of them. BERTScore compares "
    "the reasons token by token in layer 5 of all-MiniLM-L6-v2, without rescaling, so unrelated reasons score high "
    "too. The table after that erases, by the mask operator, the words that a sentence names: how much further the "
    "probability of the stated class falls than without as many random words (ten draws), and than without as many "
    "random content words, which is stricter, as a sentence only names content words. Below the narrators stand what "
    "they are compared with: random training sentences of the predicted class, the input's own last text as the "
    "reason, and the first given reason of each input."
)
READER_NOTE = (
    "Of the narrators with a second classifier C2: how many principal directions hold 99 % of the variance of F(c), "
    "which C2 reads, and how often C2 has the model's new class after an exchange of 20 % of a hidden layer's neurons, "
    "made in both classifiers alike: one draw per layer, all ordered pairs of inputs where the exchange changes the "
    "model's class and C2 agreed with the model before."
)
COMPARED_BY = ((narrator_tables.RIGHT, "right reasons"), ("own_minus_other", "words of its own input"))


def stored_evaluations(folder: Path) -> list[dict[str, Any]]:
    """Those in `evaluation.json`, and of narrators that were measured apart from these, `evaluation-<name>.json`."""
    paths = [
        path
        for path in (folder / evaluation_tables.EVALUATION, *sorted(folder.glob("evaluation-*.json")))
        if path.is_file()
    ]
    return [_table(path, path.stat().st_mtime_ns) for path in paths]


def narrator_evaluation(folder: Path) -> Iterator[str]:
    """The tables and unselected sentences; nothing where the folder holds neither."""
    for number, table in enumerate(stored_evaluations(folder)):
        rows, baselines, data = table["rows"], table.get("baselines", []), table["data"]
        trainings = trainings_of(rows)
        yield f"### {names_of(rows)}" if number else "## Explanations in words"
        yield command_block(table["command"])
        yield NARRATOR_NOTE.format(inputs=data["pairs"], split=data["split"], trainings=trainings)
        yield (TRUTH_NOTE if narrator_tables.truth_markdown(rows) else NO_TRUTH_NOTE).format(
            inputs=judged_reasons(data)
        )
        yield from notes(rows)
        tables, gains = narrator_tables.narrator_markdown(rows, baselines).rsplit("\n\n", 1)
        yield tables
        yield "\n".join(f"- {line}" for line in gains.splitlines())
        if "tournament" in table:
            yield f"### {narrator_tables.TITLE}"
            yield from narrator_tables.tournament_parts(table["tournament"])
            yield "### Sentences"
        yield from unselected_sentences(rows, table.get("examples", []))
    if (folder / "examples.md").is_file():
        yield "[Sentences for the first 20 of these inputs](narrative/examples.md), unselected and unedited."


def names_of(rows: Sequence[Row]) -> str:
    """As in "φ, φ + TS and CAuSE"."""
    return wording.join_names([narrator_tables.row_name(row) for row in rows])


def trainings_of(rows: Sequence[Row]) -> str:
    """As in "3 trainings per narrator, only one of CAuSE"."""
    most = max(row["seeds"] for row in rows)
    once = [narrator_tables.row_name(row) for row in rows if row["seeds"] < most]
    every = "one training" if most == 1 else f"{most} trainings"
    return f"{every} per narrator" + (f", only one of {wording.join_names(once)}" if once else "")


def notes(rows: Sequence[Row]) -> Iterator[str]:
    if any(narrator_tables.RIGHT in row for row in rows):
        yield TOPIC_NOTE
    if any("own_words" in row for row in rows):
        yield MEANING_NOTE
    if any("reader_directions" in row for row in rows):
        yield READER_NOTE


def unselected_sentences(rows: Sequence[Row], examples: Sequence[Row]) -> Iterator[str]:
    """The sentences of the narrator whose sentences score highest, on the first inputs; nothing without examples."""
    measured = [(name, title) for name, title in COMPARED_BY if all(name in row for row in rows)]
    if not examples or not measured:
        return
    name, title = measured[0]
    best = max(rows, key=lambda row: float(row[name]["mean"]))
    yield (
        f"The first {len(examples)} of these inputs, none left out, and the sentences of "
        f"{narrator_tables.row_name(best)}, which scores highest by {title}:"
    )
    yield _examples_table(best["method"]).markdown(examples)


def _examples_table(method: str) -> Table[Row]:
    """An input per row, with the sentence of one narrator and whether its reason is right, where that is known."""

    def right(example: Row) -> str | None:
        if "on_topic" not in example:
            return None
        on_topic = example["on_topic"][method]
        return wording.UNDEFINED if on_topic is None else "yes" if on_topic and example["true"][method] else "no"

    return Table(
        (
            TableColumn("input", _input),
            key_column("predicted", "model's class"),
            TableColumn("right", right, optional=True),
            key_column(method, "sentence"),
        )
    )


def _input(example: Row) -> str:
    image = "(image) " if example["pictured"] else ""
    return image + " → ".join(text for text in (example["text"], example["pair"]) if text)
