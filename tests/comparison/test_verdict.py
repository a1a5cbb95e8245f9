"""Forty inputs: on twenty a verdict must be refused, on twenty it must be given. And what else a verdict says."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explainers.api import explain
from explainers.comparison.effects import effect
from explainers.comparison.verdict import verdict
from explainers.models.frozen_model import FrozenModel
from explainers.results.comparison import Comparison, Failure
from explainers.results.strict_json import strict_json

IG, LIME, OCCLUSION, GRADIENT = "integrated_gradients", "lime", "occlusion", "gradient_x_input"
TEN = (0.4, 0.3, 0.2, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)  # weights of the units, and the right scores
HALF = (0.1, 0.3, 0.0, 0.2, 0.0, 0.0, 0.0, 0.05, 0.0, 0.0)  # begins with the second unit
WRONG, FLAT = TEN[::-1], (0.5,) * 10
REVIEW = "A charming and often affecting journey, although the ending feels rushed."
PRAISE = (
    "The plot is predictable and the jokes are old, yet the two leads are so funny that I laughed all the way through."
)
PICTURES = Path(__file__).parents[1] / "contracts"
CHEAP: dict[str, Any] = {"samples": 20, "steps": 5}
Scores = tuple[float, ...]
Probability = Callable[[np.ndarray], np.ndarray]  # masks (B, units) → p of class 1, (B,)
Compared = Callable[..., Comparison]
Model = Callable[[str], FrozenModel]
Make = Callable[[Compared, Model], Comparison]


def additive(weights: Scores = TEN, low: float = 0.1, high: float = 0.9) -> Probability:
    """From `low` without any unit to `high` with all of them."""
    return lambda kept: low + (high - low) * kept @ np.asarray(weights)


def anything(strong: int, low: float = 0.1, high: float = 0.9) -> Probability:
    """`high` as long as one of the first `strong` units is there."""
    return lambda kept: np.where(kept[:, :strong].any(axis=1), high, low)


def everything(strong: int, low: float = 0.1, high: float = 0.9) -> Probability:
    """`high` only while all of the first `strong` units are there."""
    return lambda kept: np.where(kept[:, :strong].all(axis=1), high, low)


def constant(p: float) -> Probability:
    return lambda kept: np.full(len(kept), p)


def made(*arguments: Any, **options: Any) -> Make:
    return lambda compared, _model: compared(*arguments, **options)


def asked(name: str, *methods: str, **given: Any) -> Make:
    return lambda _compared, model: explain(model(name), methods=methods, **CHEAP, **given)


def luck(units: int, methods: int) -> Make:
    """Random orders under the names of methods."""
    draw = np.random.default_rng(3)
    weights = tuple(draw.dirichlet(np.full(units, 0.3)).tolist())
    names = ("aml", "cimi", "ciem", "ivra", IG, LIME, "kernel_shap", OCCLUSION, GRADIENT)[:methods]
    return made(additive(weights), {name: tuple(draw.standard_normal(units).tolist()) for name in names}, units=units)


def undefined(compared: Compared, _model: Model) -> Comparison:
    comparison = compared(additive(), {IG: TEN, OCCLUSION: WRONG})
    results = tuple(replace(each, metrics=dict.fromkeys(each.metrics, math.nan)) for each in comparison.results)
    return replace(comparison, results=results)


def by_removing_only(compared: Compared, _model: Model) -> Comparison:
    comparison = compared(additive(), {IG: TEN, OCCLUSION: WRONG})
    first, second = comparison.results
    kept_as_wrong = {**first.metrics, "aopc_s": second.metrics["aopc_s"]}
    return replace(comparison, results=(replace(first, metrics=kept_as_wrong), second))


def failed(compared: Compared, _model: Model) -> Comparison:
    return replace(compared(additive(), {}), failures=(Failure(IG, "There is not enough memory."),))


TOO_FEW, LOW_P, UNMOVED = "a verdict needs at least 3", "The probability of this class is", "The probability stays"
EQUAL, WITHIN_RANDOM = "gives equal scores", "The band of random orders covers every method"
LUCK, CONTROLS, PREDICTED = "in one alone that may be luck", "Only controls", "explain the predicted class only"
REFUSED: dict[str, tuple[Make, str]] = {
    "one word": (made(additive((1.0,)), {IG: (1.0,)}, units=1), TOO_FEW),
    "two words": (made(additive((0.9, 0.1)), {IG: (0.9, 0.1), OCCLUSION: (0.1, 0.9)}, units=2), TOO_FEW),
    "one word and a full stop": (asked("sst2", OCCLUSION, text="Good."), TOO_FEW),
    "three words that any order finds": (
        made(additive((0.5, 0.3, 0.2)), {IG: (0.5, 0.3, 0.2)}, units=3),
        WITHIN_RANDOM,
    ),
    "three words without an opinion": (asked("sst2", IG, OCCLUSION, text="the of and"), WITHIN_RANDOM),
    "p near zero": (made(additive(high=0.04, low=0.0), {IG: TEN, OCCLUSION: WRONG}), LOW_P),
    "the other class of a sure model": (asked("sst2", IG, OCCLUSION, text=REVIEW, label="negative"), LOW_P),
    "p that random orders move as far": (
        made(lambda kept: np.where(kept[:, :5].all(1), 0.1, 0.9), {IG: TEN, OCCLUSION: WRONG}),
        "random orders alone move it",
    ),
    "a saturated model": (made(constant(0.999), {IG: TEN, OCCLUSION: WRONG}), UNMOVED),
    "a model that hardly reads": (made(additive(low=0.94, high=0.97), {IG: TEN, OCCLUSION: WRONG}), UNMOVED),
    "equal scores, one method": (made(additive(), {IG: FLAT}), EQUAL),
    "equal scores, every method": (made(additive(), {IG: FLAT, LIME: (0.0,) * 10}), EQUAL),
    "equal but for rounding": (made(additive(), {IG: (0.5, 0.5 - 1e-12, *FLAT[2:])}), EQUAL),
    "equal at every cut": (made(additive(), {IG: (*(1.0,) * 7, *(0.0,) * 3)}), EQUAL),
    "a class that learned methods do not explain": (
        made(additive(high=0.45), {"ciem": TEN, "cimi": HALF}),
        PREDICTED,
    ),
    "controls only": (made(additive(), {"attention_mean": TEN, "random": WRONG}), CONTROLS),
    "every method failed": (failed, "No method gave an explanation"),
    "only a method that optimised the metrics": (made(additive(), {"faml": TEN}), "optimised"),
    "wrong explanations": (made(additive(), {IG: WRONG, OCCLUSION: WRONG}), WITHIN_RANDOM),
    "random orders as methods": (luck(20, 9), WITHIN_RANDOM),
    "random orders of few units": (luck(5, 9), WITHIN_RANDOM),
    "ahead in one experiment only": (by_removing_only, LUCK),
    "metrics that are not defined": (undefined, WITHIN_RANDOM),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_verdict_is_refused(name: str, compared: Compared, embedded: Model) -> None:
    make, reason = REFUSED[name]
    judged = verdict(make(compared, embedded), finished=True)
    assert (judged.certainty, judged.best, judged.effects, judged.holds, judged.dissenter) == (
        "refused",
        (),
        (),
        (),
        None,
    )
    assert reason in judged.refusal


def divided(compared: Compared, _model: Model) -> Comparison:
    """IG costs more when its units are removed, LIME less when only its units are kept."""
    comparison = compared(additive(), {IG: TEN, LIME: TEN, OCCLUSION: WRONG})
    first, second, third = comparison.results
    removing, keeping = ({**first.metrics, "aopc_c": 0.7, "aopc_s": 0.1}, {**first.metrics, "aopc_s": 0.0})
    return replace(comparison, results=(replace(first, metrics=removing), replace(second, metrics=keeping), third))


def ranked(*first: int, units: int = 20) -> Scores:
    """Scores with these units first, in this order, and then the others from the end."""
    order = [*first, *(unit for unit in range(units - 1, -1, -1) if unit not in first)]
    return tuple(float(units - order.index(unit)) for unit in range(units))


GIVEN: dict[str, tuple[Make, str, tuple[str, ...]]] = {
    "one finds everything": (made(additive(), {IG: TEN, LIME: HALF, OCCLUSION: WRONG}), "clear", (IG,)),
    "a single method": (made(additive(), {IG: TEN}), "clear", (IG,)),
    "two of three find everything": (made(additive(), {IG: TEN, LIME: TEN, OCCLUSION: WRONG}), "clear", (IG, LIME)),
    "all find everything": (made(additive(), {IG: TEN, LIME: TEN}), "tied", (IG, LIME)),
    "a lead within noise": (
        made(additive(), {IG: TEN, LIME: HALF, OCCLUSION: WRONG}, noise={LIME: 0.2}),
        "clear",
        (IG, LIME),
    ),
    "nobody ahead beyond noise": (made(additive(), {IG: TEN, LIME: HALF}, noise={LIME: 0.2}), "tied", (IG, LIME)),
    "a lead beyond noise": (made(additive(), {IG: TEN, LIME: HALF}, noise={LIME: 0.01}), "clear", (IG,)),
    "one by removing, one by keeping": (divided, "tied", (IG, LIME)),
    "words that say the same": (made(anything(2), {IG: TEN, OCCLUSION: WRONG}), "clear", (IG,)),
    "a control that is best": (made(additive(), {"attention_mean": TEN, LIME: WRONG}), "clear", ("attention_mean",)),
    "a learned method, predicted class": (made(additive(), {"aml": TEN, LIME: WRONG}), "clear", ("aml",)),
    "learned methods abstain": (
        made(additive(high=0.45), {"cimi": TEN, IG: TEN, OCCLUSION: WRONG}),
        "clear",
        (IG,),
    ),
    "a learned method that reads the class": (
        made(additive(high=0.45), {"aml": TEN, IG: HALF, OCCLUSION: WRONG}),
        "clear",
        ("aml",),
    ),
    "an optimised method takes no part": (made(additive(), {"faml": TEN, LIME: HALF, IG: WRONG}), "clear", (LIME,)),
    "a person's order takes no part": (made(additive(), {"guess": TEN, LIME: HALF, IG: WRONG}), "clear", (LIME,)),
    "equal scores take no part": (made(additive(), {IG: FLAT, LIME: HALF}), "clear", (LIME,)),
    "four units": (made(additive((0.5, 0.3, 0.2, 0.0)), {IG: ranked(0, 1, 2, units=4)}, units=4), "clear", (IG,)),
    "a long text": (
        made(additive((*TEN, *(0.0,) * 70)), {IG: ranked(0, 1, 2, 3, units=80), LIME: ranked(units=80)}, units=80),
        "clear",
        (IG,),
    ),
    "a review": (asked("sst2", IG, OCCLUSION, "aml", text=PRAISE), "", ()),
    "a pair": (
        asked("nli", IG, OCCLUSION, "aml", text="Two boys kick a ball in the park.", text_pair="Children sleep."),
        "",
        (),
    ),
    "an image": (
        asked("scenes", OCCLUSION, text="All the blocks are yellow.", image=PICTURES / "one-box.png"),
        "",
        (),
    ),
}


def test_who_leads_in_one_experiment_and_is_random_in_the_other_is_a_rival(compared: Compared, embedded: Model) -> None:
    comparison = divided(compared, embedded)
    first, second, third = comparison.results
    lucky = replace(second, metrics={**second.metrics, "aopc_c": third.metrics["aopc_c"]})
    judged = verdict(replace(comparison, results=(first, lucky, third)), finished=True)
    assert (judged.certainty, judged.divided, judged.best) == ("tied", True, (IG,))
    assert (judged.leading, judged.rivals) == ((("removing", (IG,)),), (("keeping", (LIME,)),))
    assert verdict(comparison, finished=True).rivals == ()


@pytest.mark.parametrize("name", GIVEN)
def test_a_verdict_is_given(name: str, compared: Compared, embedded: Model) -> None:
    make, certainty, best = GIVEN[name]
    judged = verdict(make(compared, embedded), finished=True)
    assert judged.certainty == certainty or (not certainty and judged.certainty in ("clear", "tied"))
    assert judged.best == best or (not best and judged.best)
    assert judged.effects
    assert not judged.refusal


def test_the_tables_have_twenty_inputs_and_more() -> None:
    assert len(REFUSED) >= 20 <= len(GIVEN)


def test_before_method_and_control_the_verdict_is_pending(compared: Compared) -> None:
    one = compared(additive(), {IG: TEN}, control=False)
    assert verdict(one, finished=False).certainty == "pending"
    assert verdict(compared(additive(), {}), finished=False).certainty == "pending"
    assert verdict(compared(additive(), {"attention_mean": TEN}), finished=False).certainty == "pending"
    first = verdict(compared(additive(), {IG: TEN}), finished=False)
    assert (first.certainty, first.best, first.provisional) == ("clear", (IG,), True)


def test_the_effect_is_read_at_twenty_percent(compared: Compared) -> None:
    comparison = compared(additive(), {IG: TEN, OCCLUSION: WRONG})
    removing, keeping = verdict(comparison, finished=True).effects
    # two of ten units weigh 0.7 of the 0.8 between 0.1 and 0.9
    assert (removing.experiment, removing.percent, removing.before) == ("removing", 20, pytest.approx(0.9))
    assert (removing.after, keeping.after) == (pytest.approx((0.34,)), pytest.approx((0.66,)))
    control = comparison.random_control
    assert control is not None
    assert removing.random == pytest.approx(np.mean([curves.when_removed(20) for curves in control.curves]))


def test_where_the_lead_does_not_show_at_twenty_percent_it_is_read_where_it_does(compared: Compared) -> None:
    best = compared(everything(5), {IG: ranked(0, 1, 2, 3, 4, units=10), OCCLUSION: WRONG})
    curves = best.results[0].curves
    assert best.random_control is not None
    shown = effect("keeping", [curves], [curves], best.random_control)
    assert (shown.percent, shown.after) == (50, (pytest.approx(0.9),))  # four units alone are not enough


def test_a_verdict_holds_where_the_best_are_foremost_under_the_other_operator_too(compared: Compared) -> None:
    others = {"delete": additive(), "zero": additive(WRONG)}
    clear = compared(additive(), {IG: TEN, LIME: HALF, OCCLUSION: WRONG}, others=others)
    assert verdict(clear, finished=True).holds == (("delete", True), ("zero", False))
    one_of_two = compared(additive(), {IG: TEN, LIME: TEN}, others={"zero": additive(WRONG)})
    assert verdict(one_of_two, finished=True).holds == (("zero", False),)


def test_of_several_clear_ones_all_must_hold_and_of_tied_ones_one(compared: Compared) -> None:
    clear = compared(additive(), {IG: TEN, LIME: TEN, OCCLUSION: WRONG}, others={"zero": additive()})
    (check,) = clear.operator_checks
    one_falls = replace(check, metrics={**check.metrics, LIME: check.metrics[OCCLUSION]})
    assert verdict(clear, finished=True).holds == (("zero", True),)
    assert verdict(replace(clear, operator_checks=(one_falls,)), finished=True).holds == (("zero", False),)
    tied = verdict(replace(clear, results=clear.results[:2], operator_checks=(one_falls,)), finished=True)
    assert (tied.certainty, tied.holds) == ("tied", (("zero", True),))


def test_the_order_is_by_evidence_with_those_that_take_no_part_last(compared: Compared) -> None:
    methods = {"faml": TEN, "cimi": TEN, OCCLUSION: WRONG, IG: TEN, LIME: HALF, "random": WRONG}
    judged = verdict(compared(additive(high=0.45), methods), finished=True)
    assert judged.order == (IG, LIME, "random", OCCLUSION, "faml", "cimi") or judged.order[:2] == (IG, LIME)
    assert set(judged.order[-2:]) == {"cimi", "faml"}
    assert judged.abstaining == ("cimi",)
    assert judged.within_random == (OCCLUSION,)


def test_the_dissenter_is_no_control_and_if_possible_not_within_random(compared: Compared) -> None:
    methods = {IG: TEN, LIME: HALF, OCCLUSION: WRONG, "attention_mean": WRONG}
    assert verdict(compared(additive(), methods), finished=True).dissenter == LIME
    assert verdict(compared(additive(), {IG: TEN, OCCLUSION: WRONG}), finished=True).dissenter == OCCLUSION
    assert verdict(compared(additive(), {IG: TEN, LIME: TEN}), finished=True).dissenter is None


def test_a_verdict_is_json(compared: Compared) -> None:
    judged = verdict(compared(additive(), {IG: TEN, OCCLUSION: WRONG}, others={"zero": additive()}), finished=True)
    written = json.loads(strict_json(judged.as_dict()))
    assert (written["best"], written["certainty"], written["holds"]) == ([IG], "clear", {"zero": True})
    assert written["effects"][0]["after"] == {IG: pytest.approx(0.34)}
