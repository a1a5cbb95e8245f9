"""A comparison in a few plain sentences, made of templates and of numbers that the tables and plots contain too."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from explainers.methods.registry import method_spec
from explainers.metrics.faithfulness import verdict_metric
from explainers.report.text import decimals, join_names, one_line
from explainers.report.unit_names import name_of_units, quoted_unit
from explainers.report.verdict import verdict
from explainers.results.attribution import Attribution, ranking

if TYPE_CHECKING:
    from explainers.methods.spec import MethodSpec
    from explainers.results.comparison import Comparison, MethodResult

PERCENT = 20  # of the units, for the sentence about removal
Firsts = dict[str, int | None]  # by name of a method, the unit that it ranks first
Group = tuple[int, list[str]]  # a unit and the methods that rank it first


def summary(comparison: "Comparison") -> str:
    """What the methods agree on, the effect of removing the best one's top units, and which explanation to trust.

    Plain text, not escaped. Controls have no part in the agreement.
    """
    if len(comparison.question.encoding.units) == 1:
        return " ".join([*_other_class(comparison), *_single_unit(comparison)])
    results = [result for result in comparison.results if not _spec(result).is_control]
    sentences = [*_other_class(comparison), *_agreement(comparison, results), *_removal(comparison, results)]
    return " ".join([*sentences, *verdict(comparison)])


def first_choice(attribution: Attribution) -> int | None:
    """The unit with the highest score, if that is positive and no other unit has the same."""
    order = ranking(attribution.scores)
    scores = [attribution.scores[unit] for unit in order[:2]]
    alone = len(scores) < 2 or not math.isclose(scores[0], scores[1], rel_tol=1e-6)
    return int(order[0]) if scores[0] > 0 and alone else None


def _spec(result: "MethodResult") -> "MethodSpec":
    return method_spec(result.attribution.method)


def _other_class(comparison: "Comparison") -> list[str]:
    """Only where the explained class is not the predicted one."""
    predicted, explained = int(np.argmax(comparison.probabilities)), comparison.question.label
    if predicted == explained:
        return []
    first, second = (
        f"{one_line(comparison.question.model.labels[index])} ({decimals(comparison.probabilities[index])})"
        for index in (predicted, explained)
    )
    return [f"The model predicts {first}; the explanations are for {second}."]


def _single_unit(comparison: "Comparison") -> list[str]:
    unit, label = name_of_units(comparison.question), one_line(comparison.label)
    has = "image and text have" if comparison.question.encoding.multimodal else "text has"
    start = f"The {has} a single {unit}, so no ranking is possible"
    curves = [result.curves for result in comparison.results]
    curves += comparison.random_control.curves if comparison.random_control else ()
    if not curves:
        return [f"{start}."]
    return [f"{start}; removing it {_change(label, curves[0].full, float(curves[0].removed[-1, curves[0].label]))}."]


def _agreement(comparison: "Comparison", results: Sequence["MethodResult"]) -> list[str]:
    """Which methods rank which unit first."""
    unit = name_of_units(comparison.question)
    firsts: Firsts = {_spec(result).name: first_choice(result.attribution) for result in results}
    if len(firsts) < 2:
        return [
            f"{name} singles out no {unit}." if at is None else f"{name} ranks {_quoted(comparison, at)} first."
            for name, at in firsts.items()
        ]
    groups = _groups(firsts)
    if groups:
        return [f"{_who_agrees(comparison, groups)}{_who_differs(firsts, groups)}."]
    if all(at is None for at in firsts.values()):
        return [f"None of the {len(firsts)} methods singles out a {unit}."]
    nobody = f"{join_names(list(firsts))} do not" if len(firsts) == 2 else f"No two of the {len(firsts)} methods"
    return [f"{nobody} rank the same {unit} first."]


def _groups(firsts: Firsts) -> list[Group]:
    """Units that at least two methods rank first, with these methods; the most frequent unit first."""
    units = dict.fromkeys(at for at in firsts.values() if at is not None)
    groups = [(at, [name for name, first in firsts.items() if first == at]) for at in units]
    return sorted((group for group in groups if len(group[1]) > 1), key=lambda group: -len(group[1]))


def _who_agrees(comparison: "Comparison", groups: Sequence[Group]) -> str:
    verbs = ["agree on", *["on"] * (len(groups) - 1)]
    return ", ".join(
        f"{join_names(names)} {verb} {_quoted(comparison, at)}" for verb, (at, names) in zip(verbs, groups, strict=True)
    )


def _who_differs(firsts: Firsts, groups: Sequence[Group]) -> str:
    others = [name for name in firsts if not any(name in names for _, names in groups)]
    return f"; {join_names(others)} differ{'s' if len(others) == 1 else ''}" if others else ""


def _quoted(comparison: "Comparison", at: int) -> str:
    """A patch by its position; a word with its text of a pair, and numbered if it occurs there more than once."""
    units, unit = comparison.question.encoding.units, comparison.question.encoding.units[at]
    if unit.kind == "patch":
        return quoted_unit(unit, one_line(unit.text))
    same = [index for index, other in enumerate(units) if (other.text, other.segment) == (unit.text, unit.segment)]
    occurrence = [f"number {same.index(at) + 1} of {len(same)}"] if len(same) > 1 else []
    details = ", ".join([*filter(None, [comparison.names[unit.segment].lower()]), *occurrence])
    return f"{quoted_unit(unit, one_line(unit.text))}{f' ({details})' if details else ''}"


def _removal(comparison: "Comparison", results: Sequence["MethodResult"]) -> list[str]:
    """The probability without the top units of the method that is best when they are removed, and without random units.

    Methods that were optimised on the metrics are no candidates.
    """
    metric = verdict_metric("removing")
    candidates = [result for result in results if not _spec(result).optimised and metric.id in result.metrics]
    defined = [result for result in candidates if not math.isnan(result.metrics[metric.id])]
    best = max(defined, key=lambda result: metric.sign * result.metrics[metric.id], default=None)
    if best is None:
        return []
    name, after = _spec(best).name, best.curves.when_removed(PERCENT)
    whose = f"{name}'" if name.endswith("s") else f"{name}'s"
    effect = f"Removing {whose} top {PERCENT} % {_change(one_line(comparison.label), best.curves.full, after)}"
    if comparison.random_control is None:
        return [f"{effect}."]
    orders = [curves.when_removed(PERCENT) for curves in comparison.random_control.curves]
    mean = float(np.mean(orders))
    only = "only " if after < np.quantile(orders, 0.025) and mean < best.curves.full else ""
    return [f"{effect}; a random {PERCENT} % takes it {only}to {decimals(mean)} on average."]


def _change(label: str, before: float, after: float) -> str:
    same = decimals(before) == decimals(after)
    return (
        f"leaves {label} at {decimals(after)}"
        if same
        else f"takes {label} from {decimals(before)} to {decimals(after)}"
    )
