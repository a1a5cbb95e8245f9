"""Which units carry the decision, and which explanations are better than chance on this input.

The consensus of the comparable methods is tested first (`explainers.metrics.chance`), then the methods that sample and
then the others, both in the order of their agreement. The first that fails ends the test, so that on an input where
every order is random any of them is named with a probability of at most 5 %. Methods that pass are told apart by their
first units only.

Methods that were optimised on the metrics or ask the model in words, controls of one part, random orders and a
person's order never take part;
nor do methods that rank nothing, or that explain the predicted class only where something else is asked for.

`leaders` has the methods that lead in a metric, where the lead is more than noise and beyond the random orders.
"""

import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from explainers.attribution.controls import RANDOM
from explainers.comparison import consensus
from explainers.comparison.confidence import compared_count, confidence
from explainers.metrics.chance import FEWEST_UNITS, evidence, fixed_sequence, sampled_null
from explainers.metrics.faithfulness import decisive_metric, decisive_metrics
from explainers.metrics.spec import MetricSpec
from explainers.results.answer import CONSENSUS, LEAST, Answer, Confidence, ErasureEffect, Units
from explainers.results.attribution import PERCENTS, top_count

if TYPE_CHECKING:
    from explainers.models.inputs.encoding import Unit
    from explainers.results.comparison import Comparison
    from explainers.results.events import MethodResult, OperatorCheck, RandomControl

FIRST = 20  # percent of the units: the first ones of a method
ENOUGH = 0.8  # of the largest fall of p among the first units: fewer words that reach it are the decisive ones
ONE_METHOD = "A consensus needs at least two methods that rank the input and can be compared. Add one."
NO_METHOD = "Only methods that are not compared, such as controls, have been computed. Add another one."
PREDICTED_ONLY = "The methods that were chosen explain the predicted class only, and this is another one."
NO_CONTRAST = "The methods that were chosen explain a class, not one class rather than another."
NOTHING = "No method gave an explanation."
NOT_KNOWN = "How often such an answer is right is not known: {}."
CONTRAST_NOT_MEASURED = "it was not measured where one class is explained rather than another"
UNLIKE_TRAINING = "it was not measured for inputs unlike those that the model was trained on"
PART_NOT_MEASURED = "it was not measured where the words of some sentences alone are explained"
SENTENCES_NOT_MEASURED = "it was measured for words only"
NO_CONTROL = "The random orders could not be measured: {}"
FLAT = "Every method gives equal scores, so none ranks the input."
SMALLEST = 0.02  # difference in AOPC; with a smaller one another seed changes more leads
VISIBLE = 0.005  # two decimals show no smaller difference


def answered(comparison: "Comparison", *, finished: bool) -> "Comparison":
    """Return the comparison with its answer, provisional unless the run has `finished` and no method is missing."""
    return replace(comparison, answer=answer(comparison, finished=finished and not comparison.lacks_methods))


def consensus_members(comparison: "Comparison") -> list["MethodResult"]:
    """Return the results that make the consensus: comparable, for what is asked, and not all scores equal."""
    target, predicted = comparison.decision.target, comparison.predicted
    return [
        result
        for result in comparison.displayed_results
        if consensus.takes_part(result.attribution, target, predicted=predicted)
    ]


def answer(comparison: "Comparison", *, finished: bool) -> Answer:
    """Return what the results so far say; provisional unless `finished`."""
    abstaining = tuple(
        result.attribution.method for result in comparison.results if consensus.abstains(result, comparison)
    )
    pending = Answer("pending", abstaining=abstaining, provisional=not finished)
    refusal = _refused_at_once(comparison)
    if refusal:
        return replace(pending, status="open", refusal=refusal, provisional=False)  # no method changes that
    joint, control = comparison.consensus, comparison.random_control
    members = {member.attribution.method: member for member in consensus_members(comparison)}
    controls_only = all(consensus.spec_of(member).is_control for member in members.values())
    untested = control is None and RANDOM.id not in comparison.postponed and not comparison.failure(RANDOM.id)
    if joint is None or untested or len(members) < consensus.FEWEST_METHODS or controls_only:
        refusal = _nothing_to_test(comparison, members) if finished else ""
        return replace(pending, status="open", refusal=refusal) if refusal else pending
    if control is None:
        return _led(pending, comparison, joint, members)
    return _tested(pending, comparison, joint, members, control)


def _led(
    pending: Answer, comparison: "Comparison", joint: "MethodResult", members: Mapping[str, "MethodResult"]
) -> Answer:
    """Return the answer without random orders, which had no time or failed: which units come first, and nothing about
    how sure that is."""
    failed = comparison.failure(RANDOM.id)
    refusal = NO_CONTROL.format(failed) if failed else _unmoved(comparison, [joint, *members.values()])
    cut = top_count(len(joint.attribution.scores), FIRST)
    return replace(pending, status="open", refusal=refusal, **_described(joint, members, cut))


def _described(joint: "MethodResult", members: Mapping[str, "MethodResult"], cut: int) -> dict[str, Any]:
    """Return the decisive units, and how far the methods agree on them."""
    words = _first(joint.attribution.scores, _decisive_count(joint, cut))
    rows = [member.attribution.scores for member in members.values()]
    return {
        "words": words,
        "agreement": consensus.agreement(rows, cut),
        "compared": len(rows),
        "members": tuple(members),
        "cut": cut,
        "naming": sum(set(words) <= consensus.top_units(scores, cut) for scores in rows),
    }


def _tested(
    pending: Answer,
    comparison: "Comparison",
    joint: "MethodResult",
    members: Mapping[str, "MethodResult"],
    control: "RandomControl",
) -> Answer:
    null, cut = control.exact or sampled_null(control.scores), top_count(len(joint.attribution.scores), FIRST)
    rows = {method: member.attribution.scores for method, member in members.items()}
    described = replace(
        pending,
        effect=_effect(joint, control, _decisive_count(joint, cut)),
        p=null.p(evidence(joint.metrics)),
        orders=len(null.values),
        exact=null.exact,
        **_described(joint, members, cut),
    )
    refusal = _unmoved(comparison, [joint, *members.values()])
    if refusal:
        return replace(described, status="open", refusal=refusal)
    described = replace(described, **_confidence(comparison, rows))
    order = tuple(
        method for method in consensus.by_agreement(rows, cut) if not math.isnan(evidence(members[method].metrics))
    )
    if not null.beaten_by(evidence(joint.metrics)):
        return replace(described, status="open", random=order)
    tested = consensus.order_of_tests(order)
    passed = fixed_sequence(tested, lambda method: null.beaten_by(evidence(members[method].metrics)))
    passing = tuple(method for method in order if method in passed)
    first = consensus.top_units(joint.attribution.scores, cut)
    other = {method: _others(rows[method], first, cut) for method in passing}
    supported = tuple(method for method in passing if 2 * len(other[method]) <= cut)
    return replace(
        described,
        status="supported",
        holds=tuple((check.erasure, _holds(check)) for check in comparison.operator_checks if _has(check, CONSENSUS)),
        supported=supported,
        differs=tuple((method, other[method]) for method in passing if method not in supported),
        random=tested[len(passed) :],
        single=_single(comparison, passing, members, control),
    )


def _confidence(comparison: "Comparison", rows: Mapping[str, tuple[float, ...]]) -> dict[str, Any]:
    """Return how often such a consensus was right where the truth is known, or why that is not known."""
    given = _confidence_or_reason(comparison, rows)
    return {"confidence": given} if isinstance(given, Confidence) else {"no_confidence": NOT_KNOWN.format(given)}


def _confidence_or_reason(comparison: "Comparison", rows: Mapping[str, tuple[float, ...]]) -> Confidence | str:
    encoding = comparison.decision.encoding
    if comparison.decision.target.is_contrast:
        return CONTRAST_NOT_MEASURED
    if encoding.unlike_training:
        return UNLIKE_TRAINING
    if comparison.decision.settings.opened:
        return PART_NOT_MEASURED
    if not comparison.decision.settings.by_word:
        return SENTENCES_NOT_MEASURED
    units = len(encoding.units)
    shared = consensus.agreement(list(rows.values()), compared_count(units))
    return confidence(shared, units, texts=len(encoding.texts), methods=rows, image=encoding.multimodal)


def _decisive_count(joint: "MethodResult", cut: int) -> int:
    """Return how many of the first units of the consensus are decisive: the fewest that make p fall by `ENOUGH` of what
    more of them do. Only counts that the metrics read are tried."""
    units = len(joint.attribution.scores)
    counts = sorted({top_count(units, percent) for percent in PERCENTS if top_count(units, percent) <= cut})
    falls = [joint.curves.full - joint.curves.removed_at(count) for count in counts]
    return next((count for count, fall in zip(counts, falls, strict=True) if fall >= ENOUGH * max(falls)), counts[-1])


def _effect(joint: "MethodResult", control: "RandomControl", count: int) -> ErasureEffect:
    curves = joint.curves
    whole, without = curves.removed[0], curves.removed[curves.counts.index(count)]  # (C,)
    return ErasureEffect(
        curves.full,
        curves.removed_at(count),
        curves.kept_at(count),
        float(np.mean([curve.removed_at(count) for curve in control.curves])),
        float(np.mean([curve.kept_at(count) for curve in control.curves])),
        changes_class=bool(whole.argmax() != without.argmax()),
    )


def _first(scores: Sequence[float], count: int) -> Units:
    """Return the `count` units with the highest scores, the highest first."""
    top = consensus.top_units(tuple(scores), count)
    return tuple(sorted(top, key=lambda unit: (-scores[unit], unit)))


def _others(scores: tuple[float, ...], first: frozenset[int], cut: int) -> Units:
    """Return the first units of a method that are not among those of the consensus, the highest score first."""
    return tuple(unit for unit in _first(scores, cut) if unit not in first)


def _holds(check: "OperatorCheck") -> bool:
    return sampled_null(check.random).beaten_by(evidence(check.metrics[CONSENSUS]))


def _has(check: "OperatorCheck", method: str) -> bool:
    return not check.failure and method in check.metrics


def _single(
    comparison: "Comparison",
    passing: Sequence[str],
    members: Mapping[str, "MethodResult"],
    control: "RandomControl",
) -> str | None:
    """Return the method that leads in AOPC-S beyond noise and is beaten in at most half of the operators × {removing,
    keeping}; None if there is none."""
    keeping = decisive_metric("keeping")
    scores = {method: members[method].metrics[keeping.id] for method in passing}
    noise = {method: members[method].noise.get(keeping.id, 0.0) for method in passing}
    if len(scores) < consensus.FEWEST_METHODS:
        return None
    foremost = leaders(scores, noise, control.scores[keeping.id], higher=False, smallest=SMALLEST)
    if len(foremost) != 1:
        return None
    (method,) = foremost
    tables: list[Mapping[str, Mapping[str, float]]] = [{name: members[name].metrics for name in passing}]
    tables += [check.metrics for check in comparison.operator_checks if set(passing) <= set(check.metrics)]
    beaten = [_beaten(method, table, passing, metric) for table in tables for metric in decisive_metrics()]
    return method if 2 * sum(beaten) <= len(beaten) else None


def _beaten(method: str, table: Mapping[str, Mapping[str, float]], passing: Sequence[str], metric: MetricSpec) -> bool:
    own = metric.sign * table[method][metric.id]
    return any(metric.sign * table[name][metric.id] > own + SMALLEST for name in passing if name != method)


def _refused_at_once(comparison: "Comparison") -> str:
    """Return what is known before any method is finished; empty if nothing speaks against an answer."""
    p = comparison.probability
    number = len(comparison.decision.encoding.units)
    if number < FEWEST_UNITS:
        name = "unit" if comparison.decision.encoding.multimodal else comparison.decision.settings.name_of_unit
        counted = f"{number} {name}{'' if number == 1 else 's'}"
        has = f"{_whole(comparison)} {counted}"
        if comparison.decision.settings.name_of_unit in ("word", "token") and any(
            map(_is_punctuation, comparison.decision.encoding.units)
        ):
            has += ", punctuation included"
        return f"{has}; the test against random orders needs at least {FEWEST_UNITS}."
    if p <= LEAST:
        what = comparison.decision.explained if comparison.decision.target.is_contrast else "this class"
        return f"The probability of {what} is only {p:.2f}, so erasing units can hardly lower it."
    return ""


def _whole(comparison: "Comparison") -> str:
    """Return what the units are of, with its verb."""
    if comparison.decision.settings.opened:
        return "What is explained has"
    return f"The {'prompt' if comparison.decision.encoding.examples else 'input'} has"


def _is_punctuation(unit: "Unit") -> bool:
    return all(unicodedata.category(character).startswith("P") for character in unit.text)


def _nothing_to_test(comparison: "Comparison", members: Mapping[str, "MethodResult"]) -> str:
    """Return why a finished comparison has no consensus."""
    comparable = consensus.comparable_results(comparison)
    if any(consensus.abstains(method, comparison) for method in comparable) and not members:
        return NO_CONTRAST if comparison.decision.target.is_contrast else PREDICTED_ONLY
    if all(consensus.spec_of(method).is_control for method in comparable):
        return NO_METHOD if comparison.results else NOTHING
    return ONE_METHOD if members else FLAT


def _unmoved(comparison: "Comparison", results: Sequence["MethodResult"]) -> str:
    label = comparison.decision.label
    p = np.concatenate([line[:, label] for result in results for line in (result.curves.removed, result.curves.kept)])
    if np.abs(p - results[0].curves.full).max() > LEAST:
        return ""
    opened = bool(comparison.decision.settings.opened)
    what = "whichever of these words are removed" if opened else "whatever is removed or kept"
    return f"The probability stays between {p.min():.2f} and {p.max():.2f}, {what}."


def leaders(
    scores: dict[str, float],
    noise: dict[str, float],
    random_scores: Sequence[float],
    *,
    higher: bool,
    smallest: float = VISIBLE,
) -> frozenset[str]:
    """The methods whose metric is best, if that is a real difference; otherwise none.

    Real means: beyond the 95 % band of the random orders, and ahead of every method that is not itself among the best
    by more than 1.96 standard deviations of sampling noise and by more than `smallest`. A method with a better
    value than one of the best is among them too. Methods for which the metric is not defined (NaN) take no part;
    where it is not defined for a random order, none leads. Noise that is not defined counts as infinite.
    """
    scores = {method: score for method, score in scores.items() if not math.isnan(score)}
    noise = {method: math.inf if math.isnan(noise[method]) else noise[method] for method in scores}
    sign = 1 if higher else -1
    if not scores:
        return frozenset()
    best = max(scores, key=lambda method: sign * scores[method])
    tied = {
        method
        for method in scores
        if method == best
        or abs(scores[best] - scores[method]) <= max(smallest, 1.96 * float(np.hypot(noise[best], noise[method])))
    }
    worst = min(sign * scores[method] for method in tied)
    tied = {method for method in scores if sign * scores[method] >= worst}
    edge = edge_of_band(random_scores, higher=higher) if random_scores else -np.inf * sign
    beats_random = sign * scores[best] > sign * edge
    return frozenset(tied) if beats_random and len(tied) < max(len(scores), 2) else frozenset()


def edge_of_band(random_scores: Sequence[float], *, higher: bool) -> float:
    """The edge of the 95 % band of random orders that a method has to pass: the score of one of them, not one between
    two, so that of ten orders it is the best. Row marks, tables, verdict and exports test against this edge alone."""
    if higher:
        return float(np.quantile(random_scores, 0.975, method="higher"))
    return float(np.quantile(random_scores, 0.025, method="lower"))
