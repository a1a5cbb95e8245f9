"""Reasons, read: sentences of narrators and of people, judged by readers who do not know who wrote them.

    draw    pairs that no other measurement has used, their sentences shuffled and unnamed, and the key apart from them
    table   shares of grammatical, true, supporting and informative reasons by writer, from the marks of all readers

The pairs are the last ones of the order from which the other studies take the first: the test part, shuffled by a seed,
of which at most `RESERVED` have been used by any command whose results are stored. A sentence is marked with yes, no or
? in four columns; the guide for readers stands in assets/docs/readings.md.
"""

import csv
import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from explainers.annotations.records import READ_QUESTIONS
from explainers.errors import DataUnavailable
from explainers.installation import ASSETS
from explainers.metrics.bootstrap import wilson
from explainers.models.tasks import reason_truth, task_of
from explainers.narrative.content_words import reason_of
from explainers.report.tables import Table, TableColumn, csv_text
from explainers.training.artifacts import find_artifact

if TYPE_CHECKING:
    from explainers.datasets.example import Example, InputImage
    from explainers.models.frozen_model import FrozenModel

FOLDER, DOCUMENT = ASSETS / "readings", ASSETS / "docs" / "readings.md"
RESERVED = 1_000  # of the test part, from which other measurements take theirs
PEOPLE = "people"
ANSWERS = {"yes": True, "no": False, "?": None}
BLANK = [""] * len(READ_QUESTIONS)
BEGIN, END = "<!-- results -->", "<!-- /results -->"
SHOWN = 40  # unselected sentences in the document
Mark = Mapping[str, bool | None]  # of one sentence, by question
Marks = Mapping[str, Mapping[str, Mark]]  # by reader and sentence


@dataclass(frozen=True)
class ReadItem:
    """What a reader sees. `shown` is the input in words, `stated` the class that the sentence is about."""

    id: str
    shown: str
    stated: str
    reason: str
    image: "InputImage | None" = None


@dataclass(frozen=True)
class KeyEntry:
    """What a reader does not see: who wrote the reason, for which input, and whether the model's class is right."""

    id: str
    writer: str
    input: int
    right: bool
    references: tuple[str, ...] = ()
    checked: bool | None = None  # by rules: whether the reason is true; None where no rules can tell


def unused(examples: Sequence["Example"], n: int, seed: int, skip: int = 0) -> list["Example"]:
    """`n` examples that stand behind the first `RESERVED` of the order in which the other commands take theirs, and
    before the last `skip`, which earlier readings have used."""
    order = list(examples)
    random.Random(seed).shuffle(order)
    if len(order) < RESERVED + n + skip:
        used = f" and {skip:,} were read" if skip else ""
        raise DataUnavailable(
            f"{len(order):,} examples are too few: {RESERVED:,} are left to other measurements{used}."
        )
    return order[len(order) - n - skip : len(order) - skip]


def card(model: "FrozenModel", narrators: Sequence[str], command: str) -> dict[str, Any]:
    """Which model and which weights wrote the sentences, and the command that drew them."""
    artifacts = {name: find_artifact(model.name, model.version, name) for name in narrators}
    return {
        "command": command,
        "model": {"name": model.name, "version": model.version},
        "weights": {name: artifact.card["sha256"] for name, artifact in artifacts.items()},
    }


def draw(
    model: "FrozenModel", examples: Sequence["Example"], narrators: Sequence[str], seed: int
) -> tuple[list[ReadItem], list[KeyEntry]]:
    """A sentence of every narrator for every example, and one of people's where there is one, shuffled by the seed."""
    from explainers.api import explain

    written: list[tuple[ReadItem, KeyEntry]] = []
    for number, example in enumerate(examples):
        comparison = explain(model, example.text, text_pair=example.pair, image=example.image, methods=list(narrators))
        predicted = int(np.argmax(comparison.probabilities))
        shown = described(example)
        for narrative in comparison.narratives:
            stated = model.labels[predicted if narrative.stated is None else narrative.stated]
            right = predicted == example.label
            reason = reason_of(narrative.text) or narrative.text
            truth = reason_truth(model.name, reason, example).true
            entry = KeyEntry("", narrative.method, number, right, example.explanations, truth)
            written.append((ReadItem("", shown, stated, reason, example.image), entry))
        if example.explanations and example.label is not None:
            entry = KeyEntry("", PEOPLE, number, predicted == example.label, example.explanations[1:])
            stated = model.labels[example.label]
            written.append((ReadItem("", shown, stated, example.explanations[0], example.image), entry))
    random.Random(seed).shuffle(written)
    return (
        [
            ReadItem(str(place), item.shown, item.stated, plain(item.reason), item.image)
            for place, (item, _) in enumerate(written, 1)
        ],
        [KeyEntry(str(place), *list(asdict(entry).values())[1:]) for place, (_, entry) in enumerate(written, 1)],
    )


def reading_examples(model: str, data: Path | None) -> Sequence["Example"]:
    """The labelled examples of which the readings take theirs: the model's test part, or people's statements (NLVR)."""
    from explainers.datasets.scenes.nlvr import read_nlvr

    task = task_of(model)
    if task is None:
        raise DataUnavailable(f"{model} has no labelled data to read. Choose an embedded model.")
    if not task.generated:
        return task.read(data).test
    if data is None:
        raise DataUnavailable("People's statements about images need NLVR's folder; give it with --data.")
    parts = read_nlvr(data)
    return (*parts.dev, *parts.test)


def plain(reason: str) -> str:
    """In lower case and without the full stop, which tell people's sentences from narrators'."""
    return reason.lower().strip().rstrip(".").strip()


def described(example: "Example") -> str:
    """The input in words: both texts, or the statement and what is in the image."""
    if example.image is None:
        return f"PREMISE: {example.text} HYPOTHESIS: {example.pair}"
    from explainers.datasets.scenes.nlvr import recover_scene
    from explainers.datasets.scenes.world import BOXES

    scene = recover_scene(example.image.pixels())
    if scene is None:
        raise DataUnavailable("The contents of an image cannot be read, so that readers could not judge a sentence.")
    boxes = []
    for number, name in enumerate(BOXES):
        things = sorted(scene.box(number), key=lambda thing: -thing.top)
        order = "tower from the base up" if scene.towers else "from the bottom up"
        listed = ", ".join(
            f"{thing.colour} {'block' if scene.towers else thing.shape}"
            + (f" ({thing.size} px at x {thing.left}, y {thing.top})" if not scene.towers else "")
            for thing in things
        )
        boxes.append(f"{name} box ({order}): {listed or 'empty'}")
    return f"IMAGE: {'; '.join(boxes)}. STATEMENT: {example.text}"


def write(
    folder: Path, name: str, items: Sequence[ReadItem], key: Sequence[KeyEntry], about: Mapping[str, Any]
) -> None:
    """`NAME.items.csv` for readers, with empty columns to fill in, and `NAME.key.jsonl`, which they must not see, and
    `NAME.card.json`, `about` what was drawn. Images lie in `NAME.images`, and the column image has their names."""
    folder.mkdir(parents=True, exist_ok=True)
    names = _write_images(folder / f"{name}.images", items, key)
    columns = ("id", "input", *(["image"] if names else []), "class", "reason", *READ_QUESTIONS)
    rows = [
        (item.id, item.shown, *([names.get(item.id, "")] if names else []), item.stated, item.reason, *BLANK)
        for item in items
    ]
    table = csv_text(pd.DataFrame(rows, columns=columns))
    (folder / f"{name}.items.csv").write_text(table, encoding="utf-8", newline="")
    (folder / f"{name}.card.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
    lines = (json.dumps(asdict(entry), ensure_ascii=False) + "\n" for entry in key)
    (folder / f"{name}.key.jsonl").write_text("".join(lines), encoding="utf-8")


def _write_images(folder: Path, items: Sequence[ReadItem], key: Sequence[KeyEntry]) -> dict[str, str]:
    """Write a file per input that has one. Return its name by sentence."""
    names: dict[str, str] = {}
    for item, entry in zip(items, key, strict=True):
        if item.image is not None:
            folder.mkdir(exist_ok=True)
            names[item.id] = f"{entry.input + 1}.png"
            (folder / names[item.id]).write_bytes(item.image.png())
    return names


def read_key(path: Path) -> dict[str, KeyEntry]:
    """Raises `DataUnavailable` where there is no such reading."""
    if not path.is_file():
        raise DataUnavailable(f"There is no reading {path.name.partition('.')[0]!r} in {path.parent}.")
    rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return {row["id"]: KeyEntry(**{**row, "references": tuple(row["references"])}) for row in rows}


def read_items(path: Path) -> dict[str, ReadItem]:
    with path.open(encoding="utf-8", newline="") as file:
        return {
            row["id"]: ReadItem(row["id"], row["input"], row["class"], row["reason"]) for row in csv.DictReader(file)
        }


def read_marks(path: Path, ids: Iterable[str]) -> dict[str, dict[str, bool | None]]:
    """A reader's answers by sentence and question; the file has the columns id and `READ_QUESTIONS`.

    Raises `DataUnavailable` for an answer that is none, and where sentences are missing.
    """
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    marks: dict[str, dict[str, bool | None]] = {}
    for line, row in enumerate(rows, 2):
        for question in READ_QUESTIONS:
            if row.get(question) not in ANSWERS:
                answers = ", ".join(ANSWERS)
                raise DataUnavailable(f"{path.name}, line {line}: {question} is {row.get(question)!r}, not {answers}.")
        marks[row["id"]] = {question: ANSWERS[row[question]] for question in READ_QUESTIONS}
    missing = sorted(set(ids) - marks.keys(), key=int)
    if missing:
        raise DataUnavailable(f"{path.name} has no marks for {len(missing)} sentences, such as {missing[0]}.")
    return marks


def holds(mark: Mark) -> bool:
    """Return whether a reason holds: true of the input, and it supports the stated class."""
    return bool(mark["true"]) and bool(mark["supports"])


def writers(key: Mapping[str, KeyEntry]) -> list[str]:
    """In the order of display: people last."""
    return sorted({entry.writer for entry in key.values()}, key=lambda name: (name == PEOPLE, name))


def summary_table(key: Mapping[str, KeyEntry], marks: Marks, reasons: Mapping[str, str]) -> Table[str]:
    """A row per writer: shares over sentences, with the mean of the readers, and BLEU-4 of the reasons alone."""

    def ids(writer: str) -> list[str]:
        return [id for id, entry in key.items() if entry.writer == writer]

    def share(header: str, judge: Callable[[Mark], bool]) -> TableColumn[str]:
        return TableColumn(header, lambda writer: _share(ids(writer), marks, judge))

    def where_right(writer: str) -> str:
        right = [id for id in ids(writer) if key[id].right]
        return f"{_share(right, marks, holds)} (n = {len(right)})"

    def closeness(writer: str) -> float | None:
        from explainers.narrative.text_metrics import bleu

        compared = [id for id in ids(writer) if key[id].references]
        sentences, references = [reasons[id] for id in compared], [key[id].references for id in compared]
        return bleu(sentences, references)["bleu_4"] if compared else None

    return Table(
        (
            TableColumn("written by", str),
            TableColumn("n", lambda writer: len(ids(writer))),
            share("grammatical", lambda mark: bool(mark["grammatical"])),
            share("true of the input", lambda mark: bool(mark["true"])),
            share("holds", holds),
            TableColumn("holds, model right", where_right),
            share("more than a copy", lambda mark: bool(mark["informative"])),
            TableColumn("BLEU-4 of the reason", closeness, ".2f"),
            TableColumn("true by rules", lambda writer: _checked([key[id] for id in ids(writer)])),
        )
    )


def _checked(entries: Sequence[KeyEntry]) -> str:
    """The share that the rules call true among those that they can judge, and how many these are."""
    judged = [entry.checked for entry in entries if entry.checked is not None]
    return f"{100 * np.mean(judged):.0f} % of {len(judged)}" if judged else "–"


def _share(ids: Sequence[str], marks: Marks, judge: Callable[[Mark], bool]) -> str:
    """The mean share of the readers, with the interval of that share over sentences."""
    if not ids:
        return "–"
    yes = float(np.mean([sum(judge(own[id]) for id in ids) for own in marks.values()]))
    low, high = wilson(yes, len(ids))
    return f"{100 * yes / len(ids):.0f} % [{100 * low:.0f}, {100 * high:.0f}]"


@dataclass(frozen=True)
class ReaderAgreement:
    """Two readers about one question: the share of equal answers, and Cohen's κ, NaN where all are the same."""

    one: str
    other: str
    question: str
    equal: float
    kappa: float


def agreements(marks: Marks) -> list[ReaderAgreement]:
    """The agreement of every two readers, for each question and for `holds`."""
    from itertools import combinations

    from sklearn.metrics import cohen_kappa_score

    rows = []
    for one, other in combinations(sorted(marks), 2):
        ids = sorted(marks[one], key=int)
        for name in (*READ_QUESTIONS, "holds"):
            left, right = (
                [holds(marks[who][id]) if name == "holds" else str(marks[who][id][name]) for id in ids]
                for who in (one, other)
            )
            same = float(np.mean([a == b for a, b in zip(left, right, strict=True)]))
            kappa = float(cohen_kappa_score(left, right)) if len({*left, *right}) > 1 else float("nan")
            rows.append(ReaderAgreement(one, other, name, same, kappa))
    return rows


AGREEMENT: Table[ReaderAgreement] = Table(
    (
        TableColumn("readers", lambda row: f"{row.one}, {row.other}"),
        TableColumn("question", lambda row: row.question),
        TableColumn("equal", lambda row: 100 * row.equal, lambda share: f"{share:.0f} %"),
        TableColumn("κ", lambda row: row.kappa, ".2f"),
    )
)


def results(folder: Path = FOLDER) -> str:
    """The tables of all readings in the folder, in Markdown. Raises `DataUnavailable` for damaged marks."""
    parts = []
    for path in sorted(folder.glob("*.key.jsonl")):
        name = path.name.partition(".")[0]
        key, items = read_key(path), read_items(folder / f"{name}.items.csv")
        readers = {
            marks.name.split(".")[2]: read_marks(marks, key) for marks in sorted(folder.glob(f"{name}.marks.*.csv"))
        }
        inputs = len({entry.input for entry in key.values()})
        parts += [
            f"### `{name}`",
            f"{inputs} inputs, {len(key)} sentences, readers: {', '.join(readers) or 'none yet'}.",
        ]
        if readers:
            reasons = {id: item.reason for id, item in items.items()}
            parts += [summary_table(key, readers, reasons).markdown(writers(key))]
            parts += [AGREEMENT.markdown(agreements(readers))] if len(readers) > 1 else []
            parts += [_copied(key, items)]
            parts += ["The first sentences in the order of the file, none left out:", _listed(key, items, readers)]
    return "\n\n".join(part for part in parts if part)


def _copied(key: Mapping[str, KeyEntry], items: Mapping[str, ReadItem]) -> str:
    """BLEU-4 of the hypothesis itself in the place of a reason, "" for inputs without one."""
    from explainers.narrative.text_metrics import bleu

    whole = {entry.input: id for id, entry in key.items() if entry.writer != PEOPLE and entry.references}
    texts = {id: plain(items[id].shown.partition("HYPOTHESIS: ")[2]) for id in whole.values()}
    if not any(texts.values()):
        return ""
    score = bleu(list(texts.values()), [key[id].references for id in texts])["bleu_4"]
    return f"The hypothesis itself in the place of the reason has a BLEU-4 of {score:.2f}."


def _listed(key: Mapping[str, KeyEntry], items: Mapping[str, ReadItem], marks: Marks) -> str:
    def read(id: str) -> str:
        return ", ".join("holds" if holds(own[id]) else "does not hold" for own in marks.values())

    table: Table[str] = Table(
        (
            TableColumn("input", lambda id: items[id].shown.replace("|", "/")),
            TableColumn("class", lambda id: items[id].stated.replace("|", "/")),
            TableColumn("reason", lambda id: items[id].reason.replace("|", "/")),
            TableColumn("by", lambda id: key[id].writer),
            TableColumn("read", read),
        )
    )
    return table.markdown(sorted(key, key=int)[:SHOWN])


def document(text: str, folder: Path = FOLDER) -> str:
    """The document with the results between its two marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{results(folder)}\n\n{END}{after}"
