"""A comparison in a few plain sentences. Every clause is a template filled with figures that are shown elsewhere."""

import math
from typing import TYPE_CHECKING

import numpy as np

from explainers.explanation import Attribution, ranking
from explainers.methods import chosen
from explainers.report.text import decimals, listed, one_line
from explainers.report.units import called, name_of_units
from explainers.report.verdict import verdict

if TYPE_CHECKING:
    from explainers.api import Comparison
    from explainers.comparison import Measured

PERCENT = 20  # of the units, for the clause about removal


def summary(comparison: "Comparison") -> str:
    """What the methods agree on, what removing the best one's top words does, and which one to trust here.

    Plain text: whoever shows it escapes it. Controls are left out of the agreement.
    """
    if len(comparison.question.encoding.units) == 1:
        return " ".join([*_other_class(comparison), *_single_unit(comparison)])
    explained = [result for result in comparison.results if _entry_of(result)[1] != "Controls"]
    clauses = [_other_class(comparison), _agreement(comparison, explained), _removal(comparison, explained)]
    return " ".join([*(sentence for clause in clauses for sentence in clause), *verdict(comparison)])


def first_choice(attribution: Attribution) -> int | None:
    """The unit with the highest score, if it speaks for the class and no other unit has the same score."""
    order = ranking(attribution.scores)
    scores = [attribution.scores[unit] for unit in order[:2]]
    alone = len(scores) < 2 or not math.isclose(scores[0], scores[1], rel_tol=1e-6)
    return int(order[0]) if scores[0] > 0 and alone else None


def _entry_of(result: "Measured") -> tuple[str, str]:
    """The method's name and group."""
    (entry,) = chosen([result.attribution.method])
    return entry.name, entry.group


def _other_class(comparison: "Comparison") -> list[str]:
    """Said only where what is explained is not what the model predicts."""
    predicted, explained = int(np.argmax(comparison.probabilities)), comparison.question.label
    if predicted == explained:
        return []
    named = [
        f"{one_line(comparison.question.model.labels[index])} ({decimals(comparison.probabilities[index])})"
        for index in (predicted, explained)
    ]
    return [f"The model's first choice is {named[0]}; explained is what speaks for {named[1]}."]


def _single_unit(comparison: "Comparison") -> list[str]:
    unit, label = name_of_units(comparison.question), one_line(comparison.label)
    where = "picture and text have" if comparison.question.encoding.pictured else "text has"
    said = f"The {where} a single {unit}, so there is nothing to rank"
    paths = [result.path for result in comparison.results] + list(comparison.chance.paths if comparison.chance else ())
    if not paths:
        return [f"{said}."]
    return [f"{said}; removing it {_change(label, paths[0].full, float(paths[0].removed[-1, paths[0].label]))}."]


def _agreement(comparison: "Comparison", explained: "list[Measured]") -> list[str]:
    """Who puts which unit first."""
    unit = name_of_units(comparison.question)
    firsts = {_entry_of(result)[0]: first_choice(result.attribution) for result in explained}
    if len(firsts) < 2:
        return [
            f"{name} singles out no {unit}." if at is None else f"{name} puts {_quoted(comparison, at)} first."
            for name, at in firsts.items()
        ]
    together = _groups(firsts)
    if together:
        return [f"{_who_agrees(comparison, together)}{_who_differs(firsts, together)}."]
    if all(at is None for at in firsts.values()):
        return [f"None of the {len(firsts)} methods singles out a {unit}."]
    nobody = f"{listed(list(firsts))} do not" if len(firsts) == 2 else f"No two of the {len(firsts)} methods"
    return [f"{nobody} put the same {unit} first."]


def _groups(firsts: dict[str, int | None]) -> list[tuple[int, list[str]]]:
    """Units that at least two methods put first, with these methods; the most frequent first."""
    units = dict.fromkeys(at for at in firsts.values() if at is not None)
    groups = [(at, [name for name, its in firsts.items() if its == at]) for at in units]
    return sorted((group for group in groups if len(group[1]) > 1), key=lambda group: -len(group[1]))


def _who_agrees(comparison: "Comparison", together: list[tuple[int, list[str]]]) -> str:
    verbs = ["agree on", *["on"] * (len(together) - 1)]
    return ", ".join(
        f"{listed(names)} {verb} {_quoted(comparison, at)}" for verb, (at, names) in zip(verbs, together, strict=True)
    )


def _who_differs(firsts: dict[str, int | None], together: list[tuple[int, list[str]]]) -> str:
    apart = [name for name in firsts if not any(name in names for _, names in together)]
    return f"; {listed(apart)} differ{'s' if len(apart) == 1 else ''}" if apart else ""


def _quoted(comparison: "Comparison", at: int) -> str:
    """The unit's text, of a pair which text it is from, and which one it is if it occurs more than once there; a patch
    is told by its place."""
    units, unit = comparison.question.encoding.units, comparison.question.encoding.units[at]
    if unit.kind == "patch":
        return called(unit, one_line(unit.text))
    same = [index for index, other in enumerate(units) if (other.text, other.segment) == (unit.text, unit.segment)]
    which = [f"number {same.index(at) + 1} of {len(same)}"] if len(same) > 1 else []
    place = ", ".join([*filter(None, [comparison.names[unit.segment].lower()]), *which])
    return f"{called(unit, one_line(unit.text))}{f' ({place})' if place else ''}"


def _removal(comparison: "Comparison", explained: "list[Measured]") -> list[str]:
    """What is left without the top units of the method with the highest AOPC-C, and without as many random ones.

    A method that was optimised on these figures is no candidate.
    """
    compared = [result for result in explained if not chosen([result.attribution.method])[0].optimised]
    if not compared:
        return []
    best = max(compared, key=lambda result: result.metrics["aopc_c"])
    name, left = _entry_of(best)[0], best.path.when_removed(PERCENT)
    whose = f"{name}'" if name.endswith("s") else f"{name}'s"
    said = f"Removing {whose} top {PERCENT} % {_change(one_line(comparison.label), best.path.full, left)}"
    if comparison.chance is None:
        return [f"{said}."]
    orders = [path.when_removed(PERCENT) for path in comparison.chance.paths]
    mean = float(np.mean(orders))
    only = "only " if left < np.quantile(orders, 0.025) and mean < best.path.full else ""
    return [f"{said}, a random {PERCENT} % takes it {only}to {decimals(mean)} on average."]


def _change(label: str, before: float, after: float) -> str:
    same = decimals(before) == decimals(after)
    return (
        f"leaves {label} at {decimals(after)}"
        if same
        else f"takes {label} from {decimals(before)} to {decimals(after)}"
    )
