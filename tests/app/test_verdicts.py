from dataclasses import replace

import pytest

from app.bars import changed
from app.verdicts import of_exchange, of_stated, of_switch, over_set
from explainers.metrics.intervals import Interval
from explainers.narrative.intervening import Exchange, Side
from explainers.narrative.over_set import OverSet
from explainers.narrative.switching import Spoken, Switch

LABELS = ("entailment", "neutral", "contradiction")
FIRST, SECOND = (0.8, 0.1, 0.1), (0.2, 0.7, 0.1)


def spoken(method: str, before: int | None, after: int | None) -> Spoken:
    return Spoken(method, ("…", "…"), (before, after), ((), ()))


def switch(*said: Spoken) -> Switch:
    return Switch(0, 1, FIRST, SECOND, 0.5, 2.0, True, said)


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (
            (spoken("cause_phi", 0, 0), spoken("cause_phi_ts", 0, 1), spoken("cause", 0, 1)),
            "The sentences of φ + TS and CAuSE followed the model; the sentence of φ did not follow the model.",
        ),
        (
            (spoken("cause", 2, 1),),
            "The sentence of CAuSE came to the model's new class, but had not stated the old one.",
        ),
        ((spoken("cause", 0, None),), "The sentence of CAuSE stated no class."),
        ((), ""),
    ],
)
def test_the_verdict_says_which_sentences_followed(said: tuple[Spoken, ...], sentence: str) -> None:
    assert of_switch(switch(*said)) == sentence


def test_where_the_model_kept_its_class_nothing_follows() -> None:
    assert "nothing follows" in of_switch(replace(switch(spoken("cause", 0, 1)), met=False))


@pytest.mark.parametrize(
    ("model", "reader", "sentence"),
    [
        (SECOND, SECOND, "The exchange brings the model from entailment to neutral; C2 says neutral too: they agree."),
        (SECOND, FIRST, "The exchange brings the model from entailment to neutral; C2 says entailment: they differ."),
        (FIRST, FIRST, "The model stays with entailment; C2 says entailment too: they agree."),
    ],
)
def test_an_exchange_in_words(model: tuple[float, ...], reader: tuple[float, ...], sentence: str) -> None:
    found = Exchange(Side(FIRST, SECOND, model), Side(FIRST, SECOND, reader), ("a", "b", ""))
    assert of_exchange(found, LABELS) == sentence


def test_two_that_differed_before_are_not_blamed_on_the_exchange() -> None:
    found = Exchange(Side(FIRST, SECOND, FIRST), Side(SECOND, SECOND, SECOND), ("a", "b", ""))
    assert of_exchange(found, LABELS) == "The model stays with entailment; C2 says neutral: they differ, as before."


def test_a_stated_class_beside_the_models() -> None:
    assert of_stated(1, 1, LABELS) == "states neutral, as the model"
    assert of_stated(0, 1, LABELS) == "states entailment, the model says neutral"
    assert of_stated(None, 1, LABELS) == "states no class"


def test_shares_over_a_set_and_one_that_has_no_pairs() -> None:
    half = Interval(0.5, 0.25, 0.75, 30)
    rows = over_set(OverSet(30, 30, half, half, half, half, None))
    assert rows[0] == {
        "how often": "C1 and C2 agree before the exchange",
        "share": "50.0%",
        "95 % interval": "25.0% to 75.0%",
        "ordered pairs": "30",
    }
    assert (rows[-1]["share"], rows[-1]["ordered pairs"]) == ("–", "0")


def test_bars_escape_names_and_tell_their_numbers() -> None:
    found = changed(("<b>", '"x"'), (0.25, 0.75), (1.0, 0.0))
    assert "<b>" not in found
    assert "&lt;b&gt;: 0.250 before, 1.000 after; &quot;x&quot;: 0.750 before, 0.000 after" in found
    assert '<span class="strongest">&lt;b&gt;</span>' in found
    assert "0.250 → 1.000" in found
