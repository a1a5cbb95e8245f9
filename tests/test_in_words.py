"""Where the sentences come in a comparison, and what a narrator that fails does to it: nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from explainers import comparison
from explainers.api import explain
from explainers.comparison import Chance, Event, Failed, Measured, Question, run
from explainers.errors import Cancelled, ExplanationError
from explainers.methods import chosen
from explainers.models.classifier import FrozenModel
from explainers.models.encoding import Encoding
from explainers.models.meter import Meter
from explainers.narrative import narrate
from explainers.narrative.narrative import Narrative
from explainers.settings import Settings


@pytest.fixture
def question(bert: FrozenModel) -> Question:
    return Question(bert, bert.encode("the film was not good"), 0, Settings(samples=40, steps=5))


@pytest.fixture
def spoken(monkeypatch: pytest.MonkeyPatch) -> dict[str, Exception]:
    """Three narrators; those in the dictionary fail with its exceptions."""
    failing: dict[str, Exception] = {}

    def say(_model: FrozenModel, _encoding: Encoding, method: str) -> Narrative:
        if method in failing:
            raise failing[method]
        return Narrative(method, "The answer is good.", 0, (), (1,), 0.1)

    known = {name: Path(name) for name in ("cause_phi", "cause_phi_ts", "cause")}
    monkeypatch.setattr(comparison, "available", lambda _model, _version: known)
    monkeypatch.setattr(narrate, "narrate", say)
    return failing


def kinds(events: Iterator[Event]) -> list[str]:
    shown = {Narrative: "words", Chance: "chance"}
    return [
        event.attribution.method if isinstance(event, Measured) else shown[type(event)]
        for event in events
        if isinstance(event, Measured | Narrative | Chance)
    ]


@pytest.mark.usefixtures("spoken")
def test_sentences_come_after_what_takes_one_pass_and_before_what_takes_many(question: Question) -> None:
    entries = chosen(["lime", "occlusion", "attention_mean"])
    found = kinds(run(question, entries, Meter()))
    assert found == ["attention_mean", "words", "words", "words", "occlusion", "chance", "lime"]


@pytest.mark.usefixtures("spoken")
def test_sentences_come_also_where_no_method_is_asked_for(question: Question) -> None:
    assert kinds(run(question, (), Meter(), chance_known=True)) == ["words"] * 3
    assert kinds(run(question, (), Meter(), chance_known=True, in_words=False)) == []


def test_a_narrator_that_fails_says_why_and_the_others_go_on(question: Question, spoken: dict[str, Exception]) -> None:
    spoken["cause_phi"] = ExplanationError("The file is damaged.")
    spoken["cause_phi_ts"] = KeyError("x")
    first, second, third = run(question, (), Meter(), chance_known=True)
    assert first == Failed("cause_phi", "The file is damaged.")
    assert isinstance(second, Failed)
    assert second.reason == "Something went wrong inside Crosslight (KeyError)."
    assert isinstance(third, Narrative)


def test_stopping_is_no_failure(question: Question, spoken: dict[str, Exception]) -> None:
    spoken["cause_phi"] = Cancelled("Stopped.")
    with pytest.raises(Cancelled):
        list(run(question, (), Meter(), chance_known=True))


@pytest.mark.usefixtures("spoken")
def test_the_json_has_sentence_and_stated_label(bert: FrozenModel) -> None:
    found = explain(bert, "the film was not good", methods=["random"]).as_dict()["narratives"]
    assert [each["method"] for each in found] == ["cause_phi", "cause_phi_ts", "cause"]
    assert {(each["text"], each["stated_label"]) for each in found} == {("The answer is good.", bert.labels[0])}


def test_a_model_without_narrators_says_nothing(bert: FrozenModel) -> None:
    assert explain(bert, "good", methods=["random"]).narratives == ()
