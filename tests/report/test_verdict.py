import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from explainers.models.inputs.encoding import Unit
from explainers.report.luck import RATES
from explainers.report.operators import holds_line
from explainers.report.verdict import (
    abstaining_line,
    certainty_label,
    certainty_note,
    evidence_line,
    headline,
    shared_first_line,
    verdict_sentences,
    within_random_line,
)
from explainers.results.verdict import Effect, Verdict

IG, LIME = "integrated_gradients", "lime"
REMOVING = Effect("removing", 20, 0.95, (0.06, 0.06), 0.84)
KEEPING = Effect("keeping", 20, 0.95, (0.9, 0.84), 0.41)
LEADING = (("removing", (IG, LIME)), ("keeping", (IG, LIME)))
CLEAR = Verdict("clear", best=(IG, LIME), effects=(REMOVING, KEEPING), leading=LEADING)  # type: ignore[arg-type]
DIVIDED = Verdict(
    "tied",
    best=(IG, LIME),
    effects=(Effect("removing", 20, 0.95, (0.06, 0.5), 0.84), KEEPING),
    leading=(("removing", (IG,)), ("keeping", (LIME,))),
)
TIED = Verdict("tied", best=(IG, LIME), effects=(REMOVING,), leading=LEADING)  # type: ignore[arg-type]
REFUSED = Verdict("refused", refusal="The input has 2 words; a verdict needs at least 3.")
ONE_SIDE = Verdict(
    "tied",
    best=(LIME,),
    effects=(Effect("removing", 20, 0.95, (0.06,), 0.84),),
    leading=(("removing", (LIME,)),),
    rivals=(("keeping", (IG,)),),
)


def comparison(*, multimodal: bool = False) -> Any:
    model = SimpleNamespace(labels=("nega\ntive\u202e", "positive"))
    settings = SimpleNamespace(erasure="mask")
    question = SimpleNamespace(model=model, encoding=SimpleNamespace(multimodal=multimodal), settings=settings)
    return SimpleNamespace(question=question, predicted=0, displayed_results=())


COMPARISON = comparison()


@pytest.mark.parametrize(
    ("verdict", "head", "label"),
    [
        (Verdict("pending"), "", ""),
        (CLEAR, "Best supported here: Integrated gradients, LIME", "clear"),
        (TIED, "Best supported here: Integrated gradients, LIME", "tied within noise"),
        (DIVIDED, "Divided evidence: Integrated gradients by removing; LIME by keeping", "divided"),
        (
            ONE_SIDE,
            "Divided evidence: LIME by removing; by keeping another method leads (Integrated gradients)",
            "divided",
        ),
        (REFUSED, "No explanation can be preferred on this input", "cannot be judged"),
        (
            Verdict("clear", best=("attention_mean",), provisional=True),
            "Best supported here: the control Attention (mean)",
            "provisional",
        ),
    ],
)
def test_head_and_label(verdict: Verdict, head: str, label: str) -> None:
    assert (headline(verdict, COMPARISON), certainty_label(verdict, COMPARISON)) == (head, label)


@pytest.mark.parametrize(
    ("holds", "label"),
    [
        ((("delete", False), ("zero", False)), "clear only when words are masked"),
        ((("delete", True), ("zero", False)), "clear"),
        ((), "clear"),
    ],
)
def test_what_holds_under_one_operator_alone_is_not_simply_clear(holds: Any, label: str) -> None:
    assert certainty_label(Verdict("clear", best=(IG,), holds=holds), COMPARISON) == label


def agreeing(*first: int) -> Any:
    """Methods whose first words are these of "Nobody is outside here"."""
    methods = ("lime", "kernel_shap", "occlusion", "aml", "attention_mean")
    units = tuple(Unit(word, 0, 0) for word in ("Nobody", "is", "outside", "here"))
    question = SimpleNamespace(encoding=SimpleNamespace(units=units), label=0)
    results = tuple(
        SimpleNamespace(attribution=SimpleNamespace(method=method, scores=(np.arange(4) == at) + np.arange(4) / 10))
        for method, at in zip(methods, first, strict=False)
    )
    return SimpleNamespace(question=question, predicted=0, displayed_results=results, names=("",))


@pytest.mark.parametrize(
    ("first", "line"),
    [
        ((0, 0, 0, 2), "3 of 4 methods rank “Nobody” first; which of them is best is open"),
        ((0, 0, 0, 2, 2), "3 of 4 methods rank “Nobody” first; which of them is best is open"),  # not a control
        ((0, 0, 2, 2), ""),
        ((0, 0), ""),
    ],
)
def test_where_nothing_is_preferred_the_page_says_that_methods_agree(first: tuple[int, ...], line: str) -> None:
    assert shared_first_line(REFUSED, agreeing(*first)) == line
    assert shared_first_line(CLEAR, agreeing(*first)) == ""


def test_evidence_is_what_the_strongest_units_do() -> None:
    assert evidence_line(CLEAR, COMPARISON) == "without their top 20 % 0.95 → 0.06; without a random 20 % 0.84"
    assert evidence_line(DIVIDED, COMPARISON) == (
        "Integrated gradients: without its top 20 % 0.95 → 0.06; without a random 20 % 0.84; "
        "LIME: with only its top 20 % 0.95 → 0.84; with only a random 20 % 0.41"
    )
    assert evidence_line(ONE_SIDE, COMPARISON) == (
        "LIME: without its top 20 % 0.95 → 0.06; without a random 20 % 0.84; "
        "Integrated gradients is at the level of chance by removing"
    )
    assert "; Integrated gradients is at the level of chance by removing." in verdict_sentences(ONE_SIDE, COMPARISON)[0]
    assert evidence_line(REFUSED, COMPARISON) == "The input has 2 words; a verdict needs at least 3"
    several = Verdict("clear", best=("aml", IG, LIME), effects=(Effect("removing", 10, 0.9, (0.1, 0.3, 0.2), 0.8),))
    assert (
        evidence_line(several, COMPARISON) == "without their top 10 % 0.90 → 0.10 to 0.30; without a random 10 % 0.80"
    )


@pytest.mark.parametrize(
    ("holds", "line"),
    [
        ((), ""),
        ((("delete", True),), "Holds when words are deleted"),
        ((("delete", True), ("zero", False)), "Holds when words are deleted; not when embeddings are zeroed"),
        ((("delete", False), ("zero", False)), "Does not hold when words are deleted or embeddings are zeroed"),
        (
            (("mask", True), ("delete", True), ("blur", True)),
            "Holds when words are masked, words are deleted or the image is blurred",
        ),
    ],
)
def test_under_which_operators_it_holds(holds: Any, line: str) -> None:
    assert holds_line(Verdict("clear", best=(IG,), holds=holds), COMPARISON) == line


def test_patches_are_erased_too_where_there_are_any() -> None:
    judged = Verdict("clear", best=(IG,), holds=(("delete", True), ("zero", True), ("blur", False)))
    assert holds_line(judged, comparison(multimodal=True)) == (
        "Holds when words and patches are deleted or embeddings are zeroed; "
        "not when patches are blurred and words are masked"
    )


def test_the_note_says_how_often_luck_gets_as_far_as_was_measured() -> None:
    rates = json.loads(RATES.read_text(encoding="utf-8"))
    share = 100 * rates["random orders as methods"]["verdict"][0]
    assert certainty_note(ONE_SIDE) == (
        "The method named beats all 10 random orders, by removing and by keeping. "
        f"10 random orders in the place of the methods got a verdict too on {share:.0f} % of {rates['inputs']} inputs "
        "of sst2."
    )
    assert certainty_note(CLEAR).startswith("The methods named beat all 10 random orders")
    assert certainty_note(REFUSED) == certainty_note(Verdict("pending")) == ""


def test_long_lists_are_counted() -> None:
    four = ("ivra", "cimi", "ciem", "attention_mean")
    line = within_random_line(Verdict("clear", within_random=four))
    assert line == "At the level of chance: IvRA, CIMI, CIEM, Attention (mean)"
    six = within_random_line(Verdict("tied", within_random=(*four, "lime", "occlusion")))
    assert six == "At the level of chance: IvRA, CIMI, CIEM, Attention (mean) and 2 more"
    assert within_random_line(Verdict("refused", within_random=four)) == ""


def test_who_explains_another_class_is_named_with_the_class_on_one_line() -> None:
    assert abstaining_line(CLEAR, COMPARISON) == ""
    one, two = (abstaining_line(Verdict("clear", abstaining=who), COMPARISON) for who in (("aml",), ("aml", "cimi")))
    assert one == "AML explains the predicted class only, which is nega tive"
    assert two == "AML, CIMI explain the predicted class only, which is nega tive"


def test_the_sentences_say_everything() -> None:
    assert verdict_sentences(Verdict("pending"), COMPARISON) == []
    assert verdict_sentences(REFUSED, COMPARISON) == [
        "No explanation can be preferred on this input (cannot be judged): "
        "The input has 2 words; a verdict needs at least 3."
    ]
    first, *_ = verdict_sentences(CLEAR, COMPARISON)
    assert first.endswith("0.84; with only their top 20 % 0.95 → 0.90 and 0.84; with only a random 20 % 0.41.")
