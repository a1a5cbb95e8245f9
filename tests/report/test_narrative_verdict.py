"""Which sentence is best supported, in one line."""

import pytest

from explainers.report.narratives import (
    BEING_CHECKED,
    FAILED,
    NO_CLASS,
    ONLY_CLASS,
    QUESTIONS,
    SOME_FAILED,
    CheckLine,
    sentence_verdict,
)
from explainers.report.narrator_overview import TrackRecord


def lines(*states: str) -> list[CheckLine]:
    return [CheckLine(question, state, state, "") for question, state in zip(QUESTIONS, states, strict=True)]  # type: ignore[arg-type]


def record(right: float | None) -> TrackRecord:
    return TrackRecord("", "", right)


def test_nothing_is_said_where_nothing_was_generated() -> None:
    assert sentence_verdict({}, {}) == ""


@pytest.mark.parametrize(
    ("states", "verdict"),
    [
        (("yes", "waiting", "none"), BEING_CHECKED),
        (("no", "yes", "yes"), NO_CLASS),
        (("none", "yes", "yes"), NO_CLASS),
        (("yes", "no", "yes"), FAILED),
        (("yes", "yes", "no"), FAILED),
        (("yes", "none", "none"), ONLY_CLASS),
    ],
)
def test_no_sentence_is_trusted_that_fails_a_check_or_passes_none(states: tuple[str, ...], verdict: str) -> None:
    assert sentence_verdict({"cause": lines(*states)}, {}) == verdict


def test_where_some_fail_and_the_others_cannot_be_checked_it_says_so() -> None:
    checks = {"cause_phi": lines("yes", "none", "none"), "cause": lines("yes", "none", "no")}
    assert sentence_verdict(checks, {}) == SOME_FAILED


def test_the_one_that_passes_most_checks_is_named() -> None:
    checks = {
        "cause_phi": lines("yes", "yes", "none"),
        "cause": lines("yes", "yes", "yes"),
        "cause_phi_ts": lines("yes", "no", "yes"),
    }
    assert sentence_verdict(checks, {}) == (
        "Best supported: CAuSE + word losses. It names the model's class and is true of the input, and the model uses "
        "the words that it names."
    )


def test_several_are_named_where_they_pass_the_same_checks() -> None:
    checks = {narrator: lines("yes", "none", "yes") for narrator in ("cause_phi", "cause")}
    assert sentence_verdict(checks, {}) == (
        "Best supported: φ and CAuSE + word losses. They name the model's class, and the model uses the words that "
        "they name. Whether their reasons hold is not known."
    )
    one = sentence_verdict({"cause": checks["cause"]}, {"cause": record(None)})
    assert one.endswith("uses the words that it names. Whether its reason holds is not known.")


def test_what_a_narrator_does_on_unseen_inputs_counts_where_it_is_known() -> None:
    checks = {"cause_phi": lines("yes", "yes", "yes"), "cause_tokens": lines("yes", "yes", "none")}
    records = {"cause_phi": record(0.05), "cause_tokens": record(0.92)}
    assert sentence_verdict(checks, records) == (
        "Best supported: CAuSE (tokens). It names the model's class and is true of the input. Right reasons on unseen "
        "inputs that the model classified correctly: CAuSE (tokens) 92 %."
    )
    assert sentence_verdict({"cause_phi": checks["cause_phi"]}, records) == (
        "No sentence can be preferred. φ passes the checks, perhaps by luck. Right reasons on unseen inputs that the "
        "model classified correctly: φ 5 %."
    )


def test_with_several_records_each_has_its_own() -> None:
    checks = {narrator: lines("yes", "yes", "none") for narrator in ("cause_phi_tokens", "cause_tokens")}
    known = {"cause_phi_tokens": record(0.9), "cause_tokens": record(0.92)}
    text = sentence_verdict(checks, known)
    assert text.startswith("Best supported: φ (tokens) and CAuSE (tokens). They name the model's class and are true of")
    assert text.endswith("correctly: φ (tokens) 90 % and CAuSE (tokens) 92 %.")
    some = sentence_verdict(checks, {"cause_tokens": record(0.92)})
    assert some.startswith("Best supported: φ (tokens) and CAuSE (tokens).")
    assert some.endswith("correctly: CAuSE (tokens) 92 %.")  # of the other it is not known
    poor = {"cause_phi_tokens": record(0.1), "cause_tokens": record(0.2)}
    text = sentence_verdict(checks, poor)
    assert "φ (tokens) and CAuSE (tokens) pass the checks, perhaps by luck. Right reasons" in text
    assert text.endswith(": φ (tokens) 10 % and CAuSE (tokens) 20 %.")


def test_of_two_that_pass_one_check_each_the_true_reason_is_preferred() -> None:
    checks = {"cause_phi": lines("yes", "none", "yes"), "cause": lines("yes", "yes", "none")}
    assert sentence_verdict(checks, {}).startswith("Best supported: CAuSE + word losses. It names")


def test_one_of_which_nothing_is_known_is_not_better_than_one_that_is_mostly_wrong() -> None:
    checks = {narrator: lines("yes", "none", "yes") for narrator in ("cause_phi", "cause_tokens")}
    assert sentence_verdict(checks, {"cause_phi": record(None), "cause_tokens": record(0.46)}).startswith(
        "No sentence can be preferred. φ and CAuSE (tokens) pass the checks, perhaps by luck."
    )


def test_the_chance_of_this_sentence_comes_before_its_narrators_record() -> None:
    checks = {narrator: lines("yes", "none", "yes") for narrator in ("cause_phi_tokens", "cause_tokens")}
    records = {narrator: record(0.46) for narrator in checks}
    text = sentence_verdict(checks, records, {"cause_phi_tokens": 0.55, "cause_tokens": 0.71})
    assert text.startswith("Best supported: CAuSE (tokens). It names the model's class, and the model uses")
    assert text.endswith("Chance that the reason holds, estimated without a reader: CAuSE (tokens) 71 %.")
    text = sentence_verdict(
        checks, {narrator: record(0.9) for narrator in checks}, {narrator: 0.3 for narrator in checks}
    )
    assert text.startswith("No sentence can be preferred.")
    assert text.endswith("φ (tokens) 30 % and CAuSE (tokens) 30 %.")


def test_where_the_model_is_unsure_its_class_may_be_wrong() -> None:
    checks = {"cause": lines("yes", "yes", "yes")}
    assert "The model itself is unsure (p = 0.55)" in sentence_verdict(checks, {}, certainty=0.55)
    assert "unsure" not in sentence_verdict(checks, {}, certainty=0.6)


def test_where_nothing_more_could_be_decided_the_record_tells_which_is_most_likely_right() -> None:
    checks = {"cause_tokens": lines("yes", "none", "no"), "cause_phi_tokens": lines("yes", "none", "none")}
    text = sentence_verdict(checks, {"cause_tokens": record(0.9), "cause_phi_tokens": record(0.84)})
    assert text == (
        "Only the class could be checked here. The reason that is likeliest to hold is that of φ (tokens)."
        " Right reasons on unseen inputs that the model classified correctly: φ (tokens) 84 %."
    )
    assert sentence_verdict(checks, {"cause_phi_tokens": record(0.4)}) == SOME_FAILED
