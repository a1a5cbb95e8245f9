"""A comparison in a few plain sentences, made of templates and of numbers that the tables and plots contain too."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from explainers.attribution.controls import RANDOM
from explainers.comparison.answer import answer
from explainers.methods.narrator_specs import NARRATORS
from explainers.methods.registry import method_spec
from explainers.metrics.faithfulness import METRICS
from explainers.report import answer as answer_report
from explainers.report.answer import answer_sentences, heading
from explainers.report.wording import decimals, join_names, name_of_units, one_line, quoted_among, target_name
from explainers.results.attribution import Attribution, ranking
from explainers.results.decision import RANDOM_ORDERS

if TYPE_CHECKING:
    from explainers.methods.registry import MethodSpec
    from explainers.results.comparison import Comparison
    from explainers.results.events import MethodResult

Firsts = dict[str, int | None]  # by name of a method, the unit that it ranks first
Group = tuple[int, list[str]]  # a unit and the methods that rank it first


def summary(comparison: "Comparison") -> str:
    """Return which units carry the decision, by what evidence and how surely, and what the methods agree on.

    Plain text, not escaped. Controls and a person's order have no part in the agreement.
    """
    if len(comparison.decision.encoding.units) == 1:
        return " ".join(
            filter(None, [*_other_class(comparison), *_single_unit(comparison), budget_sentence(comparison)])
        )
    answered = comparison.answer or answer(comparison, finished=True)
    sentences = [*answer_sentences(answered, comparison), *_agreement(comparison, _methods(comparison))]
    return " ".join(filter(None, [*_other_class(comparison), *sentences, budget_sentence(comparison)]))


def printed(comparison: "Comparison") -> str:
    """Return the summary, and why methods gave nothing."""
    reasons = (f"{part_name(failure.method)}: {failure.reason}" for failure in comparison.failures)
    return " ".join([summary(comparison), *reasons])


def budget_sentence(comparison: "Comparison") -> str:
    """Return what did not fit into the budget; empty where everything did."""
    if comparison.is_complete:
        return ""
    return f"Not complete within {comparison.budget:g} s: {join_names(missing_parts(comparison))}. More time adds them."


def missing_parts(comparison: "Comparison") -> list[str]:
    """Return the names of what did not fit into the budget: methods, random orders, erasure operators."""
    erasures = comparison.decision.card.erasures
    operators = [part for part in comparison.postponed if part in erasures]
    parts = [part for part in dict.fromkeys((*comparison.postponed, *comparison.ended_early)) if part not in operators]
    return [_counted(comparison) if part == RANDOM.id else part_name(part) for part in parts] + [
        f"erasing by {erasure}" for erasure in operators
    ]


def _counted(comparison: "Comparison") -> str:
    """Return the name of the random orders, and how many of them there are where some are missing."""
    done = len(comparison.random_control.curves) if comparison.random_control is not None else 0
    return f"{part_name(RANDOM.id)}{f' ({done} of {RANDOM_ORDERS})' if 0 < done < RANDOM_ORDERS else ''}"


def agreement_sentence(comparison: "Comparison") -> str:
    """Which methods rank which unit first, and that this decides nothing where the answer is open; empty where there
    is a single unit. Controls, which are named, and a person's order have no part in it."""
    if len(comparison.decision.encoding.units) == 1:
        return ""
    answered = comparison.answer or answer(comparison, finished=True)
    sentences = _agreement(comparison, _methods(comparison))
    controls = _controls(comparison) if sentences else []
    if sentences and answered.status == "open":
        head = "nothing is decided yet" if answered.undecided else heading(answered, comparison)
        firsts = {result.method: first_choice(result.attribution) for result in _methods(comparison)}
        sentences.append(f"But {head[:1].lower()}{head[1:]}." if _groups(firsts) else f"{head[:1].upper()}{head[1:]}.")
    return " ".join([*sentences, *controls])


def first_choice(attribution: Attribution) -> int | None:
    """The unit with the highest score, if that is positive and no other unit has the same."""
    order = ranking(attribution.scores)
    scores = [attribution.scores[unit] for unit in order[:2]]
    alone = len(scores) < 2 or not math.isclose(scores[0], scores[1], rel_tol=1e-6)
    return int(order[0]) if scores[0] > 0 and alone else None


def _methods(comparison: "Comparison") -> list["MethodResult"]:
    """Return the results that the answer compares and that explain what is asked for, without controls."""
    target, predicted = comparison.decision.target, comparison.predicted
    return [
        result
        for result, spec in ((result, _spec(result)) for result in comparison.results)
        if spec.comparable and spec.explains and not spec.is_control and spec.can_explain(target, predicted)
    ]


def _controls(comparison: "Comparison") -> list[str]:
    """Return which controls have no part in the agreement, besides the random orders."""
    specs = map(_spec, comparison.results)
    controls = [spec.id for spec in specs if spec.is_control and not spec.is_random and not spec.is_given]
    noun = "is a control and has" if len(controls) == 1 else "are controls and have"
    return [f"{answer_report.names(controls)} {noun} no part in this."] if controls else []


def part_name(part: str) -> str:
    """Return the name of a method, of a narrator, or of the random orders."""
    if part == RANDOM.id:
        return "the random orders"
    if part in METRICS.ids:
        return f"{METRICS.get(part).name} of the random orders"
    return NARRATORS.get(part).name if part in NARRATORS.ids else method_spec(part).name


def _spec(result: "MethodResult") -> "MethodSpec":
    return method_spec(result.attribution.method)


def _other_class(comparison: "Comparison") -> list[str]:
    """Only where something else than the predicted class is explained."""
    if comparison.explains_predicted:
        return []
    predicted = one_line(comparison.decision.card.labels[comparison.predicted])
    first = f"{predicted} ({decimals(max(comparison.probabilities))})"
    second = f"{target_name(comparison.decision)} ({decimals(comparison.probability)})"
    return [f"The model predicts {first}; the explanations are for {second}."]


def _single_unit(comparison: "Comparison") -> list[str]:
    unit, label = name_of_units(comparison.decision), target_name(comparison.decision)
    has = "image and text have" if comparison.decision.encoding.multimodal else "text has"
    start = f"The {has} a single {unit}, so no ranking is possible"
    curves = [result.curves for result in comparison.results]
    curves += comparison.random_control.curves if comparison.random_control else ()
    if not curves:
        return [f"{start}."]
    return [f"{start}; removing it {_change(label, curves[0].full, float(curves[0].removed[-1, curves[0].label]))}."]


def _agreement(comparison: "Comparison", results: Sequence["MethodResult"]) -> list[str]:
    """Which methods rank which unit first."""
    unit = name_of_units(comparison.decision)
    firsts: Firsts = {_spec(result).name: first_choice(result.attribution) for result in results}
    if len(firsts) < 2:
        return [
            f"{name} singles out no {unit}." if at is None else f"{name} ranks {quoted_among(comparison, at)} first."
            for name, at in firsts.items()
        ]
    groups = _groups(firsts)
    if groups:
        return [f"{_who_agrees(comparison, groups)}{_who_differs(firsts, groups)}."]
    if all(at is None for at in firsts.values()):
        return [f"Controls aside, none of the {len(firsts)} methods singles out a {unit}."]
    no_two = f"Controls aside, no two of the {len(firsts)} methods"
    nobody = f"{join_names(list(firsts))} do not" if len(firsts) == 2 else no_two
    return [f"{nobody} rank the same {unit} first."]


def _groups(firsts: Firsts) -> list[Group]:
    """Units that at least two methods rank first, with these methods; the most frequent unit first."""
    units = dict.fromkeys(at for at in firsts.values() if at is not None)
    groups = [(at, [name for name, first in firsts.items() if first == at]) for at in units]
    return sorted((group for group in groups if len(group[1]) > 1), key=lambda group: -len(group[1]))


def _who_agrees(comparison: "Comparison", groups: Sequence[Group]) -> str:
    (first, names), *others = groups
    rest = (f"{join_names(names)} {quoted_among(comparison, at)}" for at, names in others)
    return ", ".join([f"{join_names(names)} rank {quoted_among(comparison, first)} first", *rest])


def _who_differs(firsts: Firsts, groups: Sequence[Group]) -> str:
    others = [name for name in firsts if not any(name in names for _, names in groups)]
    return f"; {join_names(others)} differ{'s' if len(others) == 1 else ''}" if others else ""


def _change(label: str, before: float, after: float) -> str:
    same = decimals(before) == decimals(after)
    return (
        f"leaves {label} at {decimals(after)}"
        if same
        else f"takes {label} from {decimals(before)} to {decimals(after)}"
    )
