"""An evaluation of narrators as files: its table, its items, and a page of examples with two kinds of errors.

Trade-off (CAuSE's Fig. 3): one narrator states another class than the model's, and its reason is closer to the given
ones than that of a narrator that states the model's class. Wrong reason (its Table 6): the class is the model's, the
reason is not right.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from explainers.datasets.example import Example
from explainers.evaluation.narrator_runs import NarratorEvaluation
from explainers.evaluation.narrators import record_text
from explainers.methods.narrator_specs import NARRATORS, narrator_spec
from explainers.narrative import sentences, text_metrics
from explainers.narrative.content_words import reason_of
from explainers.report import narrator_tables, wording
from explainers.report.tables import Table, TableColumn
from explainers.results.manifest import strict_json

Record = Mapping[str, Any]
EXAMPLES_ON_PAGE = 20
Row = dict[str, Any]
SHOWN = 5
TRADE_OFF = (
    "Selected by rule: one narrator states another class than the model's, and its reason is closer to the given "
    "reasons than that of a narrator that states the model's class. Closer means a higher BLEU-4 of the reason alone "
    "(sacrebleu, smoothed, against all given reasons). Of several such pairs the one with the largest difference is "
    "shown."
)
BY_RULES = (
    "Selected by rule: the sentence states the model's class and gives a reason that is not right. By the generator's "
    "rules it is not true of the input, or not on topic; what cannot be told does not count as right. Inputs that the "
    "model classifies wrongly are left out, as no right reason for its class is known."
)
BY_WORDS = (
    "Selected by rule: the sentence states the model's class and gives a reason of which no content word, class names "
    "apart, stands in the text of the input in any form. No rules are known that could check a reason further."
)
FIRST = "This holds for {count:,} of {inputs:,} inputs. Below, in the order of the test part: the first {shown}."
MOST = (
    "This holds for at least one narrator on {count:,} of {inputs:,} inputs. Below: the {shown} on which it holds for "
    "the most narrators, equal ones in the order of the test part, with the sentences of these narrators."
)
NONE = "This holds for none of {inputs:,} inputs."


@dataclass(frozen=True)
class TradeOff:
    """Two narrators on input `number`, from 0, and the BLEU-4 of their reasons with the given ones."""

    number: int
    plausible: str  # states another class than the model's
    faithful: str
    closeness: tuple[float, float]


@dataclass(frozen=True)
class ClassRight:
    """The inputs, from 0, for which each narrator gives a reason for the model's class: all of them, and those where
    the reason is wrong."""

    inputs: dict[str, tuple[int, ...]]
    wrong: dict[str, tuple[int, ...]]

    def wrong_about(self, number: int) -> list[str]:
        """The narrators whose reason for this input is wrong."""
        return [method for method, numbers in self.wrong.items() if number in numbers]

    @property
    def most_often_wrong(self) -> list[int]:
        """Inputs with a wrong reason: those for which most narrators are wrong first, equal ones in their order."""
        numbers = sorted({number for of_method in self.wrong.values() for number in of_method})
        return sorted(numbers, key=lambda number: -len(self.wrong_about(number)))


@dataclass(frozen=True)
class SentenceErrors:
    """`by_rules` tells whether reasons were checked by the rules of a generator, or only by their words."""

    trade_offs: tuple[TradeOff, ...]
    class_right: ClassRight
    by_rules: bool

    def shown(self, most: int) -> list[int]:
        """The inputs of which at most `most` of either kind are shown, from 0."""
        first = [trade_off.number for trade_off in self.trade_offs[:most]]
        return sorted({*first, *self.class_right.most_often_wrong[:most]})


def sentence_errors(records: Sequence[Record], labels: Sequence[str]) -> SentenceErrors:
    """The errors in an evaluation's records; `labels` are the model's classes."""
    by_rules = all("true" in record and "on_topic" in record for record in records)
    return SentenceErrors(trade_offs(records, labels), right_classes(records, labels, by_rules=by_rules), by_rules)


def trade_offs(records: Sequence[Record], labels: Sequence[str]) -> tuple[TradeOff, ...]:
    """One per input that has any: the pair of narrators with the largest difference. Both give a reason."""
    by_input = (_trade_off(number, record, labels) for number, record in enumerate(records))
    return tuple(row for row in by_input if row is not None)


def _trade_off(number: int, record: Record, labels: Sequence[str]) -> TradeOff | None:
    stated = _stated(record, labels)
    faithful = [method for method, name in stated.items() if name == record["predicted"]]
    others = [method for method, name in stated.items() if name not in (None, record["predicted"])]
    pairs = list(product(others, faithful))
    compared = [*others, *faithful] if pairs else []
    closeness = {method: text_metrics.sentence_bleu(reason_of(record[method]), record["people"]) for method in compared}
    best = max(pairs, key=lambda pair: closeness[pair[0]] - closeness[pair[1]], default=None)
    if best is None or closeness[best[0]] <= closeness[best[1]]:
        return None
    return TradeOff(number, *best, (closeness[best[0]], closeness[best[1]]))


def right_classes(records: Sequence[Record], labels: Sequence[str], *, by_rules: bool) -> ClassRight:
    """Judge by rules, if the records say whether a reason is true and on topic, or by its words."""
    inputs: dict[str, list[int]] = {}
    wrong: dict[str, list[int]] = {}
    for number, record in enumerate(records):
        for method, stated in _stated(record, labels).items():
            right = _right_by_rules(record, method) if by_rules else _right_by_words(record, method, labels)
            if stated == record["predicted"] and right is not None:
                inputs.setdefault(method, []).append(number)
                wrong.setdefault(method, []).extend([] if right else [number])
    return ClassRight(*({method: tuple(mine) for method, mine in by_method.items()} for by_method in (inputs, wrong)))


def _right_by_rules(record: Record, method: str) -> bool | None:
    """None where the given reasons are about another class than the model's."""
    on_topic = record["on_topic"][method]
    return None if on_topic is None else bool(on_topic and record["true"][method])


def _right_by_words(record: Record, method: str, labels: Sequence[str]) -> bool:
    """Return whether any of its content words, class names apart, stands in the input."""
    return text_metrics.mentioned(sentences.without_label(reason_of(record[method]), labels), record_text(record)) > 0


def _stated(record: Record, labels: Sequence[str]) -> dict[str, str | None]:
    """Map each narrator that gives a reason to the class that its sentence states, None if it states none."""
    classes = {
        method: sentences.stated_class(record[method], labels)
        for method in NARRATORS.ids
        if method in record and reason_of(record[method])
    }
    return {method: None if number is None else labels[number] for method, number in classes.items()}


def error_sections(
    errors: SentenceErrors, rows: Sequence[Row], input_names: Sequence[str], labels: Sequence[str], reasons: str
) -> str:
    """Markdown. `rows` are the records of all inputs; `reasons` says who gave the reasons of the data set."""

    def shown(number: int, table: str) -> Iterator[str]:
        row = rows[number]
        yield f"### Input {number + 1}: {narrator_tables.class_title(row)}"
        yield from narrator_tables.input_parts(number + 1, row, input_names)
        yield table
        yield f"{reasons}: {' · '.join(row['people'])}"

    parts = ["## More plausible, but not the model's class", TRADE_OFF]
    parts.append(_count(FIRST, len(errors.trade_offs), len(rows)))
    for trade_off in errors.trade_offs[:SHOWN]:
        closeness = zip((trade_off.plausible, trade_off.faithful), trade_off.closeness, strict=True)
        parts += shown(trade_off.number, _closeness_table(rows[trade_off.number], labels).markdown(closeness))
    most_often = errors.class_right.most_often_wrong
    parts += ["## The class is right, the reason is not", BY_RULES if errors.by_rules else BY_WORDS]
    parts += [_counts(errors.class_right, by_rules=errors.by_rules), _count(MOST, len(most_often), len(rows))]
    for number in most_often[:SHOWN]:
        wrong = errors.class_right.wrong_about(number)
        parts += shown(number, narrator_tables.example_table(rows[number], labels).markdown(wrong))
    return "\n\n".join(filter(None, parts)) + "\n"


def _count(text: str, count: int, inputs: int) -> str:
    return (text if count else NONE).format(count=count, inputs=inputs, shown=min(count, SHOWN))


def _closeness_table(row: Row, labels: Sequence[str]) -> Table[tuple[str, float]]:
    """A row per narrator, by id, and the BLEU-4 of its reason."""
    return Table(
        (
            TableColumn("narrator", lambda scored: narrator_spec(scored[0]).name),
            TableColumn("states", lambda scored: narrator_tables.stated_name(scored[0], row, labels)),
            TableColumn("BLEU-4 of the reason", lambda scored: wording.decimals(scored[1], 3)),
            TableColumn("sentence", lambda scored: row[scored[0]]),
        )
    )


def _counts(class_right: ClassRight, *, by_rules: bool) -> str:
    """How often that happens to every narrator; empty where none gives a reason."""
    wrong = "reason not right" if by_rules else "no content word in the input"
    counts: Table[str] = Table(
        (
            narrator_tables.NARRATOR,
            TableColumn(
                "inputs with the model's class and a reason", lambda scored: len(class_right.inputs[scored]), ","
            ),
            TableColumn(f"of which: {wrong}", lambda scored: len(class_right.wrong[scored]), ","),
        )
    )
    return counts.markdown(class_right.inputs)


def write_narratives(evaluation: NarratorEvaluation, out: Path) -> None:
    """`table.json`, `items.jsonl`, the page `examples.md` and its images."""
    out.mkdir(parents=True, exist_ok=True)
    table = {
        **evaluation.about,
        "rows": evaluation.rows,
        "baselines": evaluation.baselines,
        "examples": evaluation.items[:EXAMPLES_ON_PAGE],
        **({"tournament": evaluation.tournament} if evaluation.tournament else {}),
    }
    content = strict_json(table) + "\n"
    (out / "table.json").write_text(content, encoding="utf-8")
    with (out / "items.jsonl").open("w", encoding="utf-8") as file:
        for record in evaluation.items:
            print(json.dumps(record, ensure_ascii=False), file=file)
    reasons = "The generator" if evaluation.generated else "People"
    names, labels = evaluation.model.input_names, evaluation.model.labels
    errors = sentence_errors(evaluation.items, labels)
    first = evaluation.items[:EXAMPLES_ON_PAGE]
    page = "\n".join(
        [
            narrator_tables.examples_page(first, evaluation.about["command"], names, labels, reasons),
            error_sections(errors, evaluation.items, names, labels, reasons),
        ]
    )
    (out / "examples.md").write_text(page, encoding="utf-8")
    numbers = sorted({*range(len(first)), *errors.shown(SHOWN)})
    write_images({number + 1: evaluation.inputs[number] for number in numbers}, out / narrator_tables.IMAGE_FOLDER)


def write_images(examples: Mapping[int, Example], folder: Path) -> None:
    """The images of the page, by the numbers that its items have."""
    for number, example in examples.items():
        if example.image is not None:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{number}.png").write_bytes(example.image.png())
