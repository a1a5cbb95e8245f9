"""Two kinds of errors in the records of an evaluation of narrators, found by rule.

Trade-off (CAuSE's Fig. 3): one narrator states another class than the model's, and its reason is closer to the given
ones than that of a narrator that states the model's class. Wrong reason (its Table 6): the class is the model's, the
reason is not right.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from explainers.evaluation.narrator_records import record_text
from explainers.methods.narrator_specs import NARRATORS
from explainers.narrative.sentences import reason_of, stated_class, without_label
from explainers.narrative.text_metrics import mentioned, sentence_bleu

Record = Mapping[str, Any]


@dataclass(frozen=True)
class TradeOff:
    """Of input `number`, from 0: two narrators, and the BLEU-4 of their reasons with the given ones."""

    number: int
    plausible: str  # states another class than the model's
    faithful: str
    closeness: tuple[float, float]


@dataclass(frozen=True)
class ClassRight:
    """By narrator the inputs, from 0, for which it gives a reason for the model's class: all of them, and those for
    which the reason is wrong."""

    inputs: dict[str, tuple[int, ...]]
    wrong: dict[str, tuple[int, ...]]

    def wrong_about(self, number: int) -> list[str]:
        """The narrators whose reason for this input is wrong."""
        return [method for method, numbers in self.wrong.items() if number in numbers]

    @property
    def most_often_wrong(self) -> list[int]:
        """Inputs with a wrong reason: those for which most narrators are wrong first, equal ones in their order."""
        numbers = sorted({number for each in self.wrong.values() for number in each})
        return sorted(numbers, key=lambda number: -len(self.wrong_about(number)))


@dataclass(frozen=True)
class SentenceErrors:
    """`by_rules` tells whether reasons were checked by the rules of a generator, or only by their words."""

    trade_offs: tuple[TradeOff, ...]
    class_right: ClassRight
    by_rules: bool

    def shown(self, most: int) -> list[int]:
        """The inputs of which at most `most` of either kind are shown, from 0."""
        first = [each.number for each in self.trade_offs[:most]]
        return sorted({*first, *self.class_right.most_often_wrong[:most]})


def sentence_errors(records: Sequence[Record], labels: Sequence[str]) -> SentenceErrors:
    """Of an evaluation's records; `labels` are the model's classes."""
    by_rules = all("true" in record and "on_topic" in record for record in records)
    return SentenceErrors(trade_offs(records, labels), right_classes(records, labels, by_rules=by_rules), by_rules)


def trade_offs(records: Sequence[Record], labels: Sequence[str]) -> tuple[TradeOff, ...]:
    """One per input that has any: the pair of narrators with the largest difference. Both give a reason."""
    by_input = (_trade_off(number, record, labels) for number, record in enumerate(records))
    return tuple(each for each in by_input if each is not None)


def _trade_off(number: int, record: Record, labels: Sequence[str]) -> TradeOff | None:
    stated = _stated(record, labels)
    faithful = [method for method, name in stated.items() if name == record["predicted"]]
    others = [method for method, name in stated.items() if name not in (None, record["predicted"])]
    pairs = list(product(others, faithful))
    compared = [*others, *faithful] if pairs else []
    closeness = {method: sentence_bleu(reason_of(record[method]), record["people"]) for method in compared}
    best = max(pairs, key=lambda pair: closeness[pair[0]] - closeness[pair[1]], default=None)
    if best is None or closeness[best[0]] <= closeness[best[1]]:
        return None
    return TradeOff(number, *best, (closeness[best[0]], closeness[best[1]]))


def right_classes(records: Sequence[Record], labels: Sequence[str], *, by_rules: bool) -> ClassRight:
    """By rules, if the records say whether a reason is true and on topic, or by its words."""
    inputs: dict[str, list[int]] = {}
    wrong: dict[str, list[int]] = {}
    for number, record in enumerate(records):
        for method, stated in _stated(record, labels).items():
            right = _right_by_rules(record, method) if by_rules else _right_by_words(record, method, labels)
            if stated == record["predicted"] and right is not None:
                inputs.setdefault(method, []).append(number)
                wrong.setdefault(method, []).extend([] if right else [number])
    return ClassRight(*({method: tuple(mine) for method, mine in each.items()} for each in (inputs, wrong)))


def _right_by_rules(record: Record, method: str) -> bool | None:
    """None where the given reasons are about another class than the model's."""
    on_topic = record["on_topic"][method]
    return None if on_topic is None else bool(on_topic and record["true"][method])


def _right_by_words(record: Record, method: str, labels: Sequence[str]) -> bool:
    """Whether any of its content words, class names apart, stands in the input."""
    return mentioned(without_label(reason_of(record[method]), labels), record_text(record)) > 0


def _stated(record: Record, labels: Sequence[str]) -> dict[str, str | None]:
    """By narrator that gives a reason the class that its sentence states, None if it states none."""
    classes = {
        method: stated_class(record[method], labels)
        for method in NARRATORS.ids
        if method in record and reason_of(record[method])
    }
    return {method: None if number is None else labels[number] for method, number in classes.items()}
