"""The position of the narratives in a run, and narrators that fail."""

from collections.abc import Iterator

import pytest

from explainers import api
from explainers.api import explain
from explainers.comparison import runner
from explainers.comparison.decision import card_of
from explainers.comparison.runner import Event, run
from explainers.errors import Cancelled, ExplanationError
from explainers.methods.registry import select
from explainers.models.calls import Meter
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding
from explainers.narrative import checks, narrate
from explainers.results.decision import Decision, Settings
from explainers.results.events import Failure, MethodResult, Narrative, NarrativeCheck, RandomControl

FITTED = ("cause_phi", "cause_phi_ts", "cause")


@pytest.fixture
def decision(bert: FrozenModel) -> Decision:
    return Decision(card_of(bert), bert.encode("the film was not good"), 0, Settings(samples=40, steps=5))


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> dict[str, Exception]:
    """Three narrators; those in the dictionary fail with its exceptions."""
    errors: dict[str, Exception] = {}

    def narrated(_model: FrozenModel, _encoding: Encoding, method: str) -> Narrative:
        if method in errors:
            raise errors[method]
        return Narrative(method, "The answer is good.", 0, (), (1,), 0.1)

    monkeypatch.setattr(runner, "runnable_narrators", lambda _model, _version: tuple(FITTED))
    monkeypatch.setattr(narrate, "narrate", narrated)
    return errors


def kinds(events: Iterator[Event]) -> list[str]:
    names = {Narrative: "narrative", RandomControl: "control", NarrativeCheck: "check"}
    return [
        event.attribution.method if isinstance(event, MethodResult) else names[type(event)]
        for event in events
        if isinstance(event, MethodResult | Narrative | RandomControl | NarrativeCheck)
    ]


@pytest.mark.usefixtures("failing")
def test_narratives_come_after_the_methods_of_one_pass_and_before_those_of_many(
    bert: FrozenModel, decision: Decision
) -> None:
    specs = select(["lime", "occlusion", "attention_mean"])
    order = kinds(run(bert, decision, specs, Meter()))
    quick = ["attention_mean", *["narrative"] * 3, "control", "occlusion", "consensus", *["check"] * 3]
    assert order == [*quick, "lime", "consensus"]  # the joint order of the first two, then of all three


@pytest.mark.usefixtures("failing")
def test_narratives_come_without_methods_too(bert: FrozenModel, decision: Decision) -> None:
    assert kinds(run(bert, decision, (), Meter(), control_known=True)) == ["narrative"] * 3 + ["check"] * 3
    assert kinds(run(bert, decision, (), Meter(), control_known=True, narrators=())) == []


@pytest.mark.usefixtures("failing")
def test_only_the_chosen_narrators_run_and_are_checked(bert: FrozenModel, decision: Decision) -> None:
    events = list(run(bert, decision, (), Meter(), control_known=True, narrators=("cause_phi_ts",)))
    assert [(type(event), event.method) for event in events] == [  # type: ignore[union-attr]
        (Narrative, "cause_phi_ts"),
        (NarrativeCheck, "cause_phi_ts"),
    ]


@pytest.mark.usefixtures("failing")
def test_a_check_that_fails_says_why_and_the_sentence_stays(
    bert: FrozenModel, decision: Decision, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_arguments: object, **_options: object) -> NarrativeCheck:
        raise KeyError("x")

    monkeypatch.setattr(checks, "check_narrative", broken)
    *_, check = run(bert, decision, (), Meter(), control_known=True)
    reason = "Internal error in Crosslight (KeyError)."
    assert check == NarrativeCheck("cause", true_note=reason, use_note=reason)


def test_a_narrator_that_fails_gives_its_reason_and_the_others_go_on(
    bert: FrozenModel, decision: Decision, failing: dict[str, Exception]
) -> None:
    failing["cause_phi"] = ExplanationError("The file is damaged.")
    failing["cause_phi_ts"] = KeyError("x")
    first, second, third, _ = run(bert, decision, (), Meter(), control_known=True)
    assert first == Failure("cause_phi", "The file is damaged.")
    assert isinstance(second, Failure)
    assert second.reason == "Internal error in Crosslight (KeyError)."
    assert isinstance(third, Narrative)


def test_stopping_is_no_failure(bert: FrozenModel, decision: Decision, failing: dict[str, Exception]) -> None:
    failing["cause_phi"] = Cancelled("Stopped.")
    with pytest.raises(Cancelled):
        list(run(bert, decision, (), Meter(), control_known=True))


@pytest.mark.usefixtures("failing")
def test_the_json_has_sentence_stated_label_and_what_was_checked(
    bert: FrozenModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "find_artifact", lambda *_arguments: None)
    narratives = explain(bert, "the film was not good", methods=["random", *FITTED]).as_dict()["narratives"]
    assert [narrative["method"] for narrative in narratives] == list(FITTED)
    assert {(narrative["text"], narrative["stated_label"]) for narrative in narratives} == {
        ("The answer is good.", bert.labels[0])
    }
    assert {narrative["true"] for narrative in narratives} == {None}
    assert {type(narrative["used"]) for narrative in narratives} <= {bool, type(None)}


@pytest.mark.usefixtures("failing")
def test_methods_without_a_narrator_give_no_sentence(bert: FrozenModel) -> None:
    assert explain(bert, "the film was not good", methods=["random"]).narratives == ()


def test_a_narrator_that_is_not_fitted_is_a_sentence(bert: FrozenModel) -> None:
    with pytest.raises(
        ExplanationError, match="cause puts one model's decisions into words, and it has not been fitted"
    ):
        explain(bert, "good", methods=["random", "cause"])


def test_a_model_without_narrators_has_no_narratives(bert: FrozenModel) -> None:
    assert explain(bert, "good", methods=["random"]).narratives == ()
