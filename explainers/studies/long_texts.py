"""`python -m explainers study long-texts`: long texts by word and by sentence, with and without a budget of time.

A row per text and way in long_texts.jsonl: seconds, units, what was complete, and the decisive characters. With
`--early` only what small budgets give.
"""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from explainers.commands.options import ModelName, Yes, downloads, show_progress, user_errors
from explainers.evaluation.record_file import Record, appending, read_records, resume_records
from explainers.installation import ASSETS
from explainers.report.tables import command_block
from explainers.results.answer import DECIDING

if TYPE_CHECKING:
    from explainers.models.frozen_model import FrozenModel
    from explainers.results.comparison import Comparison

DOCUMENT, STORED = ASSETS / "docs" / "long_texts.md", ASSETS / "studies" / "long_texts"
FILE = "long_texts.jsonl"
EARLY, LONGER = "-early", 300  # in the name of a stored file, and words above which a text is in the second group


@dataclass(frozen=True)
class Way:
    """How a text is explained: the unit, and the budget in seconds, None until all is done."""

    unit: str
    budget: float | None

    @property
    def name(self) -> str:
        return f"{self.unit}s, {'until done' if self.budget is None else f'{self.budget:g} s'}"


WAYS = (Way("word", None), Way("word", 20.0), Way("sentence", None), Way("sentence", 20.0))
EARLY_WAYS = (Way("sentence", 5.0), Way("sentence", 20.0))


def long_texts_command(
    model: ModelName = "sst2",
    data: Annotated[Path, typer.Option(help="A file with texts, as for study evaluation.")] = Path("reviews.csv"),
    out: Annotated[Path, typer.Option(help="Folder of the rows; an interrupted run goes on.")] = Path(
        "runs/long_texts"
    ),
    early: Annotated[bool, typer.Option("--early", help="Only by sentence, within 5 and 20 seconds.")] = False,
    yes: Yes = False,
) -> None:
    """Explain long texts by word and by sentence, until all is done and within 20 seconds."""
    with user_errors(), downloads(yes=yes):
        from explainers.datasets import user_texts
        from explainers.models.catalog import load

        frozen = load(model)
        texts = [example.text for example in user_texts.parse_texts(data.read_bytes(), data.name, user_texts.logged)]
        signature = {"model": model, "version": frozen.version, "texts": texts}
        done = {(row["text"], row["way"]) for row in resume_records(out / FILE, signature)}
        with appending(out / FILE) as append:
            for number, text in enumerate(texts):
                for way in EARLY_WAYS if early else WAYS:
                    if (number, way.name) not in done:
                        append({"text": number, "way": way.name, **row_of(frozen, text, way)})
                show_progress(f"{number + 1} of {len(texts)} texts")
        option = " --early" if early else ""
        words = f".venv/bin/python -m explainers study long-texts --model {model} --data FILE{option}"
        STORED.mkdir(parents=True, exist_ok=True)
        stored = {"command": words, "rows": list(read_records(out / FILE))}
        (STORED / f"{model}{EARLY if early else ''}.json").write_text(json.dumps(stored) + "\n", encoding="utf-8")
        DOCUMENT.write_text(document(), encoding="utf-8")


def row_of(model: "FrozenModel", text: str, way: Way) -> Record:
    """Return what it took to explain the text in this way, and what came of it."""
    from explainers.api import explain

    started = time.perf_counter()
    comparison = explain(model, text, unit=way.unit, budget=way.budget)
    answer = comparison.answer
    return {
        "seconds": round(time.perf_counter() - started, 1),
        "units": len(comparison.decision.encoding.units),
        "words": len(text.split()),
        "orders": answer.orders if answer is not None else 0,
        "leading": answer is not None and answer.leading,
        "complete": comparison.is_complete,
        "status": answer.status if answer is not None else "pending",
        "operators": len(comparison.operator_checks),
        "first": decisive(comparison),
    }


def decisive(comparison: "Comparison") -> list[list[int]]:
    """Return the characters, start and end, of the decisive units; none without a consensus."""
    if comparison.answer is None:
        return []
    units = comparison.decision.encoding.units
    return [[units[unit].start, units[unit].end] for unit in comparison.answer.words]


def document() -> str:
    """Return the document of all stored rows."""
    parts = ["# Long texts by word, by sentence, and in 20 seconds", INTRODUCTION]
    for path in sorted(STORED.glob("*.json"), key=lambda path: path.stem):
        stored = json.loads(path.read_text(encoding="utf-8"))
        if path.stem.endswith(EARLY):
            name, text = path.stem.removesuffix(EARLY), early_table(stored["rows"])
            parts += [f"## `{name}`, small budgets", EARLY_INTRODUCTION, command_block(stored["command"]), text]
        else:
            parts += [f"## `{path.stem}`", command_block(stored["command"]), table(stored["rows"])]
    return "\n\n".join(parts) + "\n"


INTRODUCTION = """\
The default methods on reviews of 150 to 250 words, one thread, on two cores of which other work took one or both:
compare within the table only. Medians over the texts. “Same place”: the first decisive word, or sentence, of this way
overlaps the first decisive words when all is done."""


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a row per way, with medians, and of answers the counts."""
    whole = {row["text"]: row["first"] for row in rows if row["way"] == WAYS[0].name}
    lines = [
        "| | units | seconds, median (most) | all complete | supported | same place |",
        "|---|---|---|---|---|---|",
    ]
    for way in WAYS:
        own = [row for row in rows if row["way"] == way.name]
        if not own:
            continue
        seconds = [row["seconds"] for row in own]
        same = [overlaps(row["first"][:1], whole.get(row["text"], [])) for row in own if row["first"]]
        lines.append(
            f"| {way.name} | {np.median([row['units'] for row in own]):.0f} | {np.median(seconds):.0f} "
            f"({max(seconds):.0f}) | "
            f"{sum(row['complete'] for row in own)} of {len(own)} | "
            f"{sum(row['status'] == 'supported' for row in own)} of {len(own)} | {sum(same)} of {len(same)} |"
        )
    return "\n".join(lines)


EARLY_INTRODUCTION = """\
By sentence, one thread, on two cores of which other work took one or both. “Tested”: all 19 random orders had time.
“So far”: fewer had, and the answer names the sentences that lead. Medians over the texts."""


def early_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a row per budget and length of the texts, with counts of answers and medians."""
    lines = [
        "| words | budget | sentences | seconds (most) | orders | tested | so far | neither |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for longer in (False, True):
        for way in EARLY_WAYS:
            own = [row for row in rows if row["way"] == way.name and (row["words"] > LONGER) == longer]
            if not own:
                continue
            words, seconds = [row["words"] for row in own], [row["seconds"] for row in own]
            tested = sum(row["orders"] >= DECIDING for row in own)
            leading = sum(row["leading"] for row in own)
            lines.append(
                f"| {min(words)}–{max(words)} | {way.budget:g} s | {np.median([row['units'] for row in own]):.0f} | "
                f"{np.median(seconds):.0f} ({max(seconds):.0f}) | {np.median([row['orders'] for row in own]):.0f} | "
                f"{tested} of {len(own)} | {leading} of {len(own)} | {len(own) - tested - leading} of {len(own)} |"
            )
    return "\n".join(lines)


def overlaps(one: Sequence[Sequence[int]], other: Sequence[Sequence[int]]) -> bool:
    """Return whether any characters of the one are among those of the other."""
    return any(begin < end2 and begin2 < end for begin, end in one for begin2, end2 in other)
