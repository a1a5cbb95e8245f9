from dataclasses import replace
from math import nan

import pytest

from app.compare.guess import guess_sentence, ordinal
from explainers.api import explain
from explainers.attribution.given import GUESS, GivenOrder, guess_spec
from explainers.errors import ExplanationError
from explainers.methods.registry import METHODS, check_applicable, default_methods, groups, method_spec, select
from explainers.models.frozen_model import FrozenModel

TEXT = "the film was not good"


def test_the_first_mark_scores_highest_and_the_others_nothing(bert: FrozenModel) -> None:
    attribution = GivenOrder((3, 1)).attribute(bert, bert.encode(TEXT), 2)
    assert attribution.scores == (0.0, 1.0, 0.0, 2.0, 0.0)
    assert (attribution.method, attribution.label, attribution.signed) == ("guess", 2, False)


@pytest.mark.parametrize(
    ("order", "reason"),
    [
        ((), "No unit is marked. Mark at least one"),
        ((0, 5), "no unit 5. Choose numbers from 0 to 4"),
        ((-1,), "no unit -1"),
    ],
)
def test_what_is_no_order_is_refused(bert: FrozenModel, order: tuple[int, ...], reason: str) -> None:
    with pytest.raises(ExplanationError, match=reason):
        GivenOrder(order).attribute(bert, bert.encode(TEXT), 0)


def test_it_is_known_but_not_offered() -> None:
    assert method_spec("guess") is GUESS
    assert [spec.id for spec in select(["lime", "guess"])] == ["guess", "lime"]
    assert "guess" not in (*METHODS.ids, *default_methods())
    assert GUESS.group not in groups()
    assert GUESS.colour not in [spec.colour for spec in METHODS]
    with pytest.raises(ExplanationError, match="guess needs units that you mark"):
        check_applicable(["guess"], None)  # type: ignore[arg-type]


def test_it_never_leads_and_is_no_control() -> None:
    assert not GUESS.comparable
    assert not GUESS.explains
    assert not GUESS.is_control
    assert not GUESS.optimised


def test_removed_units_are_left_out_of_the_order() -> None:
    spec = guess_spec((4, 1, 3, 4), removed=(3, 0))
    assert spec is not None
    assert dict(spec.fixed) == {"order": (2, 0)}  # of the units 1, 2 and 4 that remain
    assert guess_spec((3,), removed=(3,)) is None
    assert guess_spec(()) is None


def test_a_guess_is_measured_like_a_method_and_its_place_is_told(bert: FrozenModel) -> None:
    methods = ["occlusion", "gradient_x_input", "random"]
    comparison = explain(bert, TEXT, methods=methods, guess=[3, 4])
    assert comparison.methods == ("consensus", "guess", *methods)
    _, guess, *rest = comparison.results
    assert guess.metrics.keys() == rest[0].metrics.keys()
    assert guess.attribution.model_calls == 0
    for place, aopc_c in ((1, 1.0), (3, -1.0)):
        told = replace(guess, metrics={**guess.metrics, "aopc_c": aopc_c, "aopc_s": -aopc_c})
        sentence = guess_sentence(replace(comparison, results=(told, *rest)))
        assert sentence.startswith(
            f"Your order: AOPC-C {'−' if aopc_c < 0 else ''}1.00, {ordinal(place)} of 3; AOPC-S "
        )
        assert sentence.endswith(f", {ordinal(place)} of 3.")
    assert guess_sentence(replace(comparison, results=tuple(rest))) == ""


def test_what_is_not_defined_has_no_place_and_counts_for_nobody(bert: FrozenModel) -> None:
    comparison = explain(bert, TEXT, methods=["occlusion", "gradient_x_input"], guess=[3])
    _, guess, first, second = comparison.results

    def told(guess_value: float, rival: float, *ids: str) -> str:
        ids = ids or ("aopc_c", "aopc_s")
        results = [
            replace(result, metrics=dict.fromkeys(ids, value))
            for result, value in zip((guess, first, second), (guess_value, rival, 0.5), strict=True)
        ]
        return guess_sentence(replace(comparison, results=tuple(results)))

    assert told(0.4, nan, "aopc_c") == "Your order: AOPC-C 0.40, 2nd of 2."
    assert told(nan, 0.4) == ""
    assert told(0.4, 0.4, "dffot") == ""


def test_a_number_that_is_no_unit_fails_with_a_sentence(bert: FrozenModel) -> None:
    (failure,) = explain(bert, TEXT, methods=[], guess=[9]).failures
    assert failure.method == "guess"
    assert "no unit 9" in failure.reason


def test_places_have_their_endings() -> None:
    assert [ordinal(number) for number in (1, 2, 3, 4, 11, 12, 13, 21, 112)] == (
        ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "112th"]
    )
