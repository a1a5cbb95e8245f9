"""Which explanation the evidence supports on one input, how surely, and when that cannot be judged.

Evidence is AOPC-C (by removing) and AOPC-S (by keeping); see `explainers.comparison.leaders` for when a method leads.

clear     one or several methods lead in both metrics, or in one while nobody leads in the other
tied      different methods lead in the two metrics, or some beat random orders and none is ahead of the others
refused   fewer than three units; p(class) at most 0.05, or no larger than what random orders differ by; no order
          moves p by more than 0.05; equal scores everywhere; the 95 % band of random orders covers
          every method in both metrics, or each of the foremost in one of them, where several methods often get by luck
          (assets/docs/verdicts.md); nobody there to judge
pending   no method or no random control yet

Methods that were optimised on the metrics, controls of one part and a person's order never take part; methods that do
not rank the units, and learned ones for a class that is not predicted, neither.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from explainers.comparison.candidates import abstains, by_evidence, comparable_results, ranks, spec_of
from explainers.comparison.effects import effect
from explainers.comparison.refusals import refused_at_once, refused_by_results
from explainers.comparison.standings import SMALLEST, Standings, standings
from explainers.metrics.agreement import spearman
from explainers.results.verdict import Certainty, Effect, Experiment, Verdict

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison, MethodResult, RandomControl

__all__ = ["Certainty", "Effect", "Experiment", "Verdict", "verdict"]


def verdict(comparison: "Comparison", *, finished: bool, smallest: float = SMALLEST) -> Verdict:
    """What the results so far say; provisional unless `finished`. A difference in AOPC below `smallest` is none."""
    abstaining = frozenset(each.attribution.method for each in comparison.results if abstains(each, comparison))
    optimised = frozenset(each.attribution.method for each in comparison.results if spec_of(each).optimised)
    order = by_evidence(comparison, abstaining | optimised)
    pending = Verdict(
        "pending",
        abstaining=tuple(method for method in order if method in abstaining),
        order=order,
        provisional=not finished,
    )
    refusal = refused_at_once(comparison)
    if refusal:
        return replace(pending, certainty="refused", refusal=refusal, provisional=False)  # no method changes that
    candidates = [each for each in comparable_results(comparison) if each.attribution.method not in abstaining]
    waiting = not finished and all(spec_of(each).is_control for each in candidates)
    if comparison.random_control is None or waiting:
        return pending
    return _judged(pending, comparison, candidates, comparison.random_control, smallest)


def _judged(
    pending: Verdict,
    comparison: "Comparison",
    candidates: Sequence["MethodResult"],
    control: "RandomControl",
    smallest: float,
) -> Verdict:
    by_method = {each.attribution.method: each for each in candidates}
    ranking = [method for method in pending.order if method in by_method and ranks(by_method[method])]
    values = {method: by_method[method].metrics for method in ranking}
    noise = {method: by_method[method].noise for method in ranking}
    here = standings(ranking, values, noise, control.scores, smallest=smallest)
    best = tuple(method for method in ranking if method in here.best)
    within_random = tuple(each for each in pending.order if each in by_method and each not in here.beyond_random)
    refusal = refused_by_results(comparison, candidates, here)
    if refusal:
        return replace(pending, certainty="refused", refusal=refusal, within_random=within_random)
    elsewhere = {
        check.erasure: standings(ranking, check.metrics, noise, check.random, smallest=smallest)
        for check in comparison.operator_checks
        if set(best) <= set(check.metrics)
    }
    leading = tuple((each, tuple(method for method in best if method in here.ahead[each])) for each in here.reasons)
    curves = {method: by_method[method].curves for method in best}
    return replace(
        pending,
        certainty="clear" if here.clear else "tied",
        best=best,
        effects=tuple(
            effect(each, list(curves.values()), [curves[method] for method in methods], control)
            for each, methods in leading
        ),
        leading=leading,
        rivals=_rivals(here, pending.order),
        holds=tuple((erasure, _holds(here, there)) for erasure, there in elsewhere.items()),
        within_random=within_random,
        dissenter=_dissenter(best, by_method, within_random),
    )


def _rivals(here: Standings, order: Sequence[str]) -> tuple[tuple[Experiment, tuple[str, ...]], ...]:
    """Who leads in an experiment in which none of the best does."""
    sides = ((each, here.leading[each]) for each in here.leading if not here.best & here.leading[each])
    return tuple((each, tuple(method for method in order if method in methods)) for each, methods in sides if methods)


def _holds(here: Standings, there: Standings) -> bool:
    """Whether the best are foremost elsewhere too: all of them if they are clear, one of them if they are tied."""
    return here.best <= there.foremost if here.clear else bool(here.best & there.foremost)


def _dissenter(
    best: Sequence[str], by_method: Mapping[str, "MethodResult"], within_random: Sequence[str]
) -> str | None:
    """Of the methods that are neither controls nor best, if possible beyond random orders, the most different one."""
    others = [method for method, each in by_method.items() if method not in best and not spec_of(each).is_control]
    scores = {method: each.attribution.scores for method, each in by_method.items()}
    beyond = [method for method in others if method not in within_random]
    return min(beyond or others, key=lambda method: spearman(scores[best[0]], scores[method]), default=None)
