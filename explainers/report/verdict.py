"""A verdict in plain text: its lines for the page, and its sentences for the document, terminal and notebook."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from explainers.comparison.candidates import abstains, comparable_results, ranks, spec_of
from explainers.methods.registry import method_spec
from explainers.report.luck import luck
from explainers.report.operators import holds_line, operator_clause
from explainers.report.text import decimals, join_names, one_line
from explainers.report.unit_names import quoted_among
from explainers.results.settings import RANDOM_ORDERS
from explainers.results.verdict import Effect, Experiment, Verdict

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison

FEWEST_AGREEING = 3  # methods
NAMED = 4  # methods at most in a list; the others are counted
WITH: dict[Experiment, str] = {"removing": "without", "keeping": "with only"}
LABELS = {"pending": "", "clear": "clear", "tied": "tied within noise", "refused": "cannot be judged"}


def headline(verdict: Verdict, comparison: "Comparison") -> str:
    """ "Best supported here: Integrated gradients, LIME"; empty while the verdict is pending."""
    if verdict.certainty == "refused":
        return "No explanation can be preferred on this input"
    if verdict.divided:
        sides = [f"{names(methods, mark_controls=True)} by {each}" for each, methods in verdict.leading]
        sides += [f"by {each} {_others(methods)} ({names(methods)})" for each, methods in verdict.rivals]
        return f"Divided evidence: {'; '.join(sides)}"
    return f"Best supported here: {names(verdict.best, mark_controls=True)}" if verdict.best else ""


def certainty_label(verdict: Verdict, comparison: "Comparison") -> str:
    """How sure it is, in a few words; empty while it is pending."""
    pending = verdict.certainty == "pending"
    if verdict.provisional and not pending:
        return "provisional"
    if verdict.certainty == "clear" and verdict.holds and not any(holds for _, holds in verdict.holds):
        return f"clear only when {operator_clause(comparison)}"
    return "divided" if verdict.divided else LABELS[verdict.certainty]


def certainty_note(verdict: Verdict) -> str:
    """What being named means, and how often luck alone gets as far; empty where no method is named."""
    if not verdict.best:
        return ""
    who, verb = ("The method", "beats") if len(verdict.best) == 1 else ("The methods", "beat")
    return f"{who} named {verb} all {RANDOM_ORDERS} random orders, by removing and by keeping. {luck().sentence}"


def evidence_line(verdict: Verdict, comparison: "Comparison") -> str:
    """What the best methods' strongest units do to p(class), and random ones; or why nothing can be judged.

    Of a clear verdict only the experiment in which they are further from random orders.
    """
    if verdict.certainty == "refused":
        return verdict.refusal.removesuffix(".")
    if not verdict.effects:
        return ""
    shown = verdict.effects if verdict.certainty == "tied" else [max(verdict.effects, key=_size)]
    return "; ".join([_effects(verdict, shown), *_rival_clauses(verdict)])


def within_random_line(verdict: Verdict) -> str:
    """ "At the level of chance: IvRA, Attention"; empty where nothing can be judged, which says more."""
    judged = verdict.certainty in ("clear", "tied")
    return f"At the level of chance: {names(verdict.within_random)}" if verdict.within_random and judged else ""


def shared_first_line(verdict: Verdict, comparison: "Comparison") -> str:
    """ "8 of 9 methods rank “Nobody” first"; empty where a method is preferred, or most of them do not agree."""
    if verdict.certainty != "refused":
        return ""
    judged = [
        each
        for each in comparable_results(comparison)
        if ranks(each) and not abstains(each, comparison) and not spec_of(each).is_control
    ]
    first = Counter(int(np.argmax(each.attribution.scores)) for each in judged)
    at, count = max(first.items(), key=lambda item: item[1], default=(0, 0))
    if count < FEWEST_AGREEING or 2 * count <= len(judged):
        return ""
    return f"{count} of {len(judged)} methods rank {quoted_among(comparison, at)} first; which of them is best is open"


def abstaining_line(verdict: Verdict, comparison: "Comparison") -> str:
    """ "AML, CIMI explain the predicted class only, which is positive"."""
    if not verdict.abstaining:
        return ""
    verb = "explains" if len(verdict.abstaining) == 1 else "explain"
    predicted = one_line(comparison.question.model.labels[comparison.predicted])
    return f"{names(verdict.abstaining)} {verb} the predicted class only, which is {predicted}"


def verdict_sentences(verdict: Verdict, comparison: "Comparison") -> list[str]:
    """Everything above in sentences; none while the verdict is pending."""
    if verdict.certainty == "pending":
        return []
    effects = "; ".join([_effects(verdict, verdict.effects), *_rival_clauses(verdict)])
    evidence = verdict.refusal.removesuffix(".") if verdict.refusal else effects
    first = f"{headline(verdict, comparison)} ({certainty_label(verdict, comparison)}): {evidence}"
    lines = (
        first,
        shared_first_line(verdict, comparison),
        holds_line(verdict, comparison),
        within_random_line(verdict),
        abstaining_line(verdict, comparison),
    )
    return [f"{line}." for line in lines if line]


def names(methods: Sequence[str], *, mark_controls: bool = False) -> str:
    """ "A, B, C and 3 more"."""
    shown = [_name(method, mark_controls) for method in methods[: NAMED if len(methods) > NAMED + 1 else None]]
    more = len(methods) - len(shown)
    return f"{', '.join(shown)}{f' and {more} more' if more else ''}"


def _name(method: str, mark_controls: bool) -> str:
    """Without a comma, because it stands in a list: "Attention (mean)"."""
    spec = method_spec(method)
    name, comma, detail = spec.name.partition(", ")
    prefix = "the control " if mark_controls and spec.is_control else ""
    return f"{prefix}{name}{f' ({detail})' if comma else ''}"


def _effects(verdict: Verdict, effects: Sequence[Effect]) -> str:
    """Of divided evidence, in every experiment only the effect of those that lead in it."""
    if not verdict.divided:
        return "; ".join(_clause(effect, effect.after) for effect in effects)
    leading = dict(verdict.leading)
    after = [dict(zip(verdict.best, effect.after, strict=True)) for effect in effects]
    return "; ".join(
        f"{names(leading[effect.experiment])}: {_clause(effect, [values[each] for each in leading[effect.experiment]])}"
        for effect, values in zip(effects, after, strict=True)
    )


def _others(methods: Sequence[str]) -> str:
    return "another method leads" if len(methods) == 1 else "other methods lead"


def _rival_clauses(verdict: Verdict) -> list[str]:
    """Why those who lead in the other experiment are not among the best."""
    other: dict[Experiment, Experiment] = {"removing": "keeping", "keeping": "removing"}
    return [
        f"{names(methods)} {'is' if len(methods) == 1 else 'are'} at the level of chance by {other[each]}"
        for each, methods in verdict.rivals
    ]


def _size(effect: Effect) -> float:
    """How far the best are from random orders, in the mean."""
    return abs(sum(effect.after) / len(effect.after) - effect.random)


def _clause(effect: Effect, after: Sequence[float]) -> str:
    """ "without their top 20 % 0.95 → 0.06; without a random 20 % 0.84"."""
    prefix, whose = WITH[effect.experiment], "its" if len(after) == 1 else "their"
    change = f"{decimals(effect.before)} → {_values(after)}"
    share = f"{effect.percent} %"
    return f"{prefix} {whose} top {share} {change}; {prefix} a random {share} {decimals(effect.random)}"


def _values(values: Sequence[float]) -> str:
    """One where all are shown alike, two joined by "and", of more the lowest and the highest."""
    shown = [decimals(value) for value in values]
    if len(set(shown)) == 1:
        return shown[0]
    return join_names(shown) if len(shown) == 2 else f"{decimals(min(values))} to {decimals(max(values))}"
