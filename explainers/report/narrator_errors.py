"""The sections of the page of examples that show errors of narrators, with the rules by which they were selected."""

from collections.abc import Iterator, Sequence
from typing import Any

from explainers.evaluation.sentence_errors import ClassRight, SentenceErrors, TradeOff
from explainers.methods.narrator_specs import narrator_spec
from explainers.report.markdown_table import markdown_table
from explainers.report.narrator_tables import class_title, example_cells, input_parts
from explainers.report.text import decimals

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


def error_sections(
    errors: SentenceErrors, rows: Sequence[Row], input_names: Sequence[str], labels: Sequence[str], reasons: str
) -> str:
    """Markdown. `rows` are the records of all inputs; `reasons` says who gave the reasons of the data set."""

    def shown(number: int, cells: Sequence[dict[str, str]]) -> Iterator[str]:
        row = rows[number]
        yield f"### Input {number + 1}: {class_title(row)}"
        yield from input_parts(number + 1, row, input_names)
        yield markdown_table(cells)
        yield f"{reasons}: {' · '.join(row['people'])}"

    parts = ["## More plausible, but not the model's class", TRADE_OFF]
    parts.append(_count(FIRST, len(errors.trade_offs), len(rows)))
    for each in errors.trade_offs[:SHOWN]:
        parts += shown(each.number, _trade_off_cells(each, rows[each.number], labels))
    most_often = errors.class_right.most_often_wrong
    parts += ["## The class is right, the reason is not", BY_RULES if errors.by_rules else BY_WORDS]
    parts += [_counts(errors.class_right, by_rules=errors.by_rules), _count(MOST, len(most_often), len(rows))]
    for number in most_often[:SHOWN]:
        wrong = errors.class_right.wrong_about(number)
        parts += shown(number, [example_cells(method, rows[number], labels) for method in wrong])
    return "\n\n".join(filter(None, parts)) + "\n"


def _count(text: str, count: int, inputs: int) -> str:
    return (text if count else NONE).format(count=count, inputs=inputs, shown=min(count, SHOWN))


def _trade_off_cells(trade_off: TradeOff, row: Row, labels: Sequence[str]) -> list[dict[str, str]]:
    """A line for either narrator."""
    return [
        {
            "narrator": narrator_spec(method).name,
            "states": example_cells(method, row, labels)["states"],
            "BLEU-4 of the reason": decimals(closeness, 3),
            "sentence": row[method],
        }
        for method, closeness in zip((trade_off.plausible, trade_off.faithful), trade_off.closeness, strict=True)
    ]


def _counts(class_right: ClassRight, *, by_rules: bool) -> str:
    """How often that happens to every narrator; empty where none gives a reason."""
    wrong = "reason not right" if by_rules else "no content word in the input"
    lines = [
        {
            "narrator": narrator_spec(method).name,
            "inputs with the model's class and a reason": f"{len(numbers):,}",
            f"of which: {wrong}": f"{len(class_right.wrong[method]):,}",
        }
        for method, numbers in class_right.inputs.items()
    ]
    return markdown_table(lines) if lines else ""
