"""The part of a model card about the evaluation of narrators."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from explainers.report.evaluation_tables import EVALUATION
from explainers.report.markdown_table import command_block, markdown_table
from explainers.report.narrator_tables import narrator_markdown
from explainers.report.sentence_tables import RIGHT, row_name, truth_markdown
from explainers.report.text import UNDEFINED, join_names
from explainers.report.tournament_tables import TITLE, tournament_parts
from explainers.report.track_record import judged_reasons

Row = dict[str, Any]
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
COMPARED_BY = ((RIGHT, "right reasons"), ("own_minus_other", "words of its own input"))


def narrator_evaluation(folder: Path) -> Iterator[str]:
    """The tables and unselected sentences; nothing where the folder holds neither."""
    path = folder / EVALUATION
    if path.is_file():
        table = json.loads(path.read_text(encoding="utf-8"))
        rows, baselines, data = table["rows"], table.get("baselines", []), table["data"]
        trainings = trainings_of(rows)
        yield "## Explanations in words"
        yield command_block(table["command"])
        yield NARRATOR_NOTE.format(inputs=data["pairs"], split=data["split"], trainings=trainings)
        yield (TRUTH_NOTE if truth_markdown(rows) else NO_TRUTH_NOTE).format(inputs=judged_reasons(data))
        yield from notes(rows)
        tables, gains = narrator_markdown(rows, baselines).rsplit("\n\n", 1)
        yield tables
        yield "\n".join(f"- {line}" for line in gains.splitlines())
        if "tournament" in table:
            yield f"### {TITLE}"
            yield from tournament_parts(table["tournament"])
            yield "### Sentences"
        yield from unselected_sentences(rows, table.get("examples", []))
    if (folder / "examples.md").is_file():
        yield "[Sentences for the first 20 of these inputs](narrative/examples.md), unselected and unedited."


def trainings_of(rows: Sequence[Row]) -> str:
    """As in "3 trainings per narrator, only one of CAuSE"."""
    most = max(row["seeds"] for row in rows)
    once = [row_name(row) for row in rows if row["seeds"] < most]
    every = "one training" if most == 1 else f"{most} trainings"
    return f"{every} per narrator" + (f", only one of {join_names(once)}" if once else "")


def notes(rows: Sequence[Row]) -> Iterator[str]:
    if any(RIGHT in row for row in rows):
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
        f"The first {len(examples)} of these inputs, none left out, and the sentences of {row_name(best)}, which "
        f"scores highest by {title}:"
    )
    yield markdown_table([_cells(best["method"], example) for example in examples])


def _cells(method: str, example: Row) -> dict[str, str]:
    right = {}
    if "on_topic" in example:
        on_topic = example["on_topic"][method]
        right["right"] = UNDEFINED if on_topic is None else "yes" if on_topic and example["true"][method] else "no"
    image = "(image) " if example["pictured"] else ""
    return {
        "input": image + " → ".join(text for text in (example["text"], example["pair"]) if text),
        "model's class": example["predicted"],
        **right,
        "sentence": example[method],
    }
