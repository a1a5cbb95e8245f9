from dataclasses import replace

import pytest

from app.interventions.conclusions import (
    TRIED,
    of_counterfactual,
    of_draws,
    of_following,
    of_interchange,
    of_no_change,
    of_stated,
    over_set,
)
from app.interventions.heading import changed
from explainers.metrics.bootstrap import Interval
from explainers.narrative import counterfactual
from explainers.narrative.counterfactual import DRAWS, CounterfactualCheck, NarratorCheck
from explainers.narrative.interchange_check import InterchangeCheck, InterchangeRates, Side

LABELS = ("entailment", "neutral", "contradiction")
MOVED = "The intervention moves the model from entailment to neutral"
FIRST, SECOND = (0.8, 0.1, 0.1), (0.2, 0.7, 0.1)


def narrator(method: str, before: int | None, after: int | None) -> NarratorCheck:
    return NarratorCheck(method, ("…", "…"), (before, after), ((), ()))


def check(*narrators: NarratorCheck) -> CounterfactualCheck:
    return CounterfactualCheck(0, 1, FIRST, SECOND, 0.5, 2.0, True, narrators)


@pytest.mark.parametrize(
    ("narrators", "sentence"),
    [
        (
            (narrator("cause_phi", 0, 0), narrator("cause_phi_ts", 0, 1), narrator("cause", 0, 1)),
            "The sentences of φ + TS and CAuSE + word losses followed the model; the sentence of φ did not follow the "
            "model.",
        ),
        (
            (narrator("cause", 2, 1),),
            "The sentence of CAuSE + word losses arrived at the model's new class, but had not stated the old one.",
        ),
        ((narrator("cause", 0, None),), "The sentence of CAuSE + word losses stated no class."),
        ((), ""),
    ],
)
def test_the_verdict_says_which_sentences_followed(narrators: tuple[NarratorCheck, ...], sentence: str) -> None:
    assert of_counterfactual(check(*narrators)) == sentence


def test_where_the_model_kept_its_class_nothing_follows() -> None:
    assert "nothing follows" in of_counterfactual(replace(check(narrator("cause", 0, 1)), met=False))


@pytest.mark.parametrize(
    ("model", "reader", "sentence"),
    [
        (
            SECOND,
            SECOND,
            "The intervention moves the model from entailment to neutral; C2 reads neutral too: they agree.",
        ),
        (
            SECOND,
            FIRST,
            "The intervention moves the model from entailment to neutral; C2 reads entailment: they differ.",
        ),
        (FIRST, FIRST, "The model stays with entailment; C2 reads entailment too: they agree."),
    ],
)
def test_an_intervention_in_words(model: tuple[float, ...], reader: tuple[float, ...], sentence: str) -> None:
    result = InterchangeCheck(Side(FIRST, SECOND, model), Side(FIRST, SECOND, reader), ("a", "b", ""))
    assert of_interchange(result, LABELS) == sentence


@pytest.mark.parametrize(
    ("changing", "opened", "sentence"),
    [
        ((), False, "None of the draws 0 to 99 changes the model's class for this base and source."),
        (
            (3,),
            False,
            "1 of the draws 0 to 99 changes the model's class for this base and source; the first is draw 3.",
        ),
        (
            (3, 8),
            False,
            "2 of the draws 0 to 99 change the model's class for this base and source; the first is draw 3.",
        ),
        (
            (3, 8),
            True,
            "Chosen because it changes the model's class: the first base and source of the set for which draw 3 does "
            "so. For these two, 2 of the draws 0 to 99 do.",
        ),
    ],
)
def test_the_draws_that_change_the_class_in_words(changing: tuple[int, ...], opened: bool, sentence: str) -> None:
    assert of_draws(3, changing, opened=opened) == sentence
    assert TRIED == DRAWS


def test_what_was_tried_for_an_opening_is_what_the_search_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counterfactual, "OPENING_DRAWS", 5)
    monkeypatch.setattr(counterfactual, "OPENING_EXAMPLES", 30)
    assert "in hidden 1, none of the draws 0 to 4 changes" in of_no_change(60, "hidden 1")
    assert "any two of the first 30 examples" in of_no_change(60, "hidden 1")
    assert "any two of the first 12 examples" in of_no_change(12, "hidden 1")


def test_two_that_differed_before_are_not_blamed_on_the_intervention() -> None:
    result = InterchangeCheck(Side(FIRST, SECOND, FIRST), Side(SECOND, SECOND, SECOND), ("a", "b", ""))
    assert (
        of_interchange(result, LABELS) == "The model stays with entailment; C2 reads neutral: they differ, as before."
    )


def test_a_stated_class_beside_the_models() -> None:
    assert of_stated(1, 1, LABELS) == "states neutral, as the model"
    assert of_stated(0, 1, LABELS) == "states entailment, the model predicts neutral"
    assert of_stated(None, 1, LABELS) == "states no class"


def test_shares_over_a_set_and_one_that_has_no_pairs() -> None:
    half = Interval(0.5, 0.25, 0.75, 30)
    rows = over_set(InterchangeRates(30, 30, half, half, half, half, None))
    assert rows[0] == {
        "how often": "C1 and C2 agree before the intervention",
        "share": "50.0%",
        "95 % interval": "25.0% to 75.0%",
        "ordered pairs": "30",
    }
    assert (rows[-1]["share"], rows[-1]["ordered pairs"]) == ("–", "0")


def test_bars_escape_names_and_tell_their_numbers() -> None:
    html = changed(("<b>", '"x"'), (0.25, 0.75), (1.0, 0.0))
    assert "<b>" not in html
    assert "&lt;b&gt;: 0.250 before, 1.000 after; &quot;x&quot;: 0.750 before, 0.000 after" in html
    assert '<span class="strongest">&lt;b&gt;</span>' in html
    assert "0.250 → 1.000" in html


@pytest.mark.parametrize(
    ("share", "pairs", "text"),
    [
        (0.0, 1, "did not follow the one exchange that changes"),
        (1.0, 1, "followed the one exchange that changes"),
        (0.0, 3, "followed none of the 3 exchanges that change"),
        (0.5, 4, "followed 2 of the 4 exchanges that change"),
    ],
)
def test_how_often_the_second_classifier_followed(share: float, pairs: int, text: str) -> None:
    half = Interval(0.5, 0.25, 0.75, 30)
    rates = InterchangeRates(30, 30, half, half, half, half, Interval(share, 0.0, 1.0, pairs))
    assert of_following(rates, "CAuSE") == f"C2 of CAuSE {text} the model's class."
    assert of_following(replace(rates, followed=None), "CAuSE") == ""
