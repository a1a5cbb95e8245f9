from collections.abc import Callable
from dataclasses import replace
from math import exp

import numpy as np
import pytest

from app.compare.duel import duel_sentence, no_duel_sentence
from explainers.api import explain
from explainers.comparison.answer import answered
from explainers.comparison.decision import card_of
from explainers.comparison.duel import (
    SMALLEST,
    Chance,
    duel,
    duel_candidates,
    known_answers,
    mean_ranks,
    opposite_claims,
    separable_duel,
)
from explainers.metrics.erasure import MaskedPredictor, erasure_curves
from explainers.models.calls import Meter
from explainers.models.frozen_model import FrozenModel
from explainers.results.answer import Answer, Null
from explainers.results.attribution import Attribution
from explainers.results.comparison import Comparison
from explainers.results.decision import RANDOM_ORDERS, Decision, Settings
from explainers.results.events import Duel, DuelSide, MethodResult

TEXT = "the film was good a plot not very"
NAMES = ("lime", "kernel_shap")
FULL, WITHOUT_GOOD = 1 / (1 + exp(-3)), 0.5


@pytest.fixture
def planted(bag: Callable[..., FrozenModel]) -> FrozenModel:
    """Only "good", unit 3 of the eight of TEXT, moves p(positive)."""
    return bag({word: 3.0 * (word == "good") for word in TEXT.split()})


Rank = Callable[..., Comparison]


@pytest.fixture
def ranked(planted: FrozenModel) -> Rank:
    """A comparison of two methods that score the units as given, by unit number; all others, neutral or not, get 0."""

    def build(
        *scored: dict[int, float],
        names: tuple[str, ...] = NAMES,
        model: FrozenModel = planted,
        neutral: int = 0,
    ) -> Comparison:
        encoding = model.encode(" ".join([TEXT, *["a"] * neutral]))
        decision = Decision(card_of(model), encoding, 1, Settings())
        answers = MaskedPredictor(model, encoding, "mask")
        results = []
        for name, scores in zip(names, scored, strict=True):
            values = tuple(scores.get(unit, 0.0) for unit in range(len(encoding.units)))
            attribution = Attribution(name, encoding, 1, values, signed=True)
            results.append(MethodResult(attribution, erasure_curves(answers, values, 1), {}, {}))
        return Comparison(decision, (1 - FULL, FULL), tuple(results))

    return build


def fought(model: FrozenModel, comparison: Comparison, methods: tuple[str, str] = NAMES) -> Duel | None:
    return duel(comparison, methods, MaskedPredictor(model, comparison.decision.encoding, "mask"))


def test_the_smallest_experiment_finds_the_planted_word(planted: FrozenModel, ranked: Rank) -> None:
    comparison = ranked({3: 2.0, 0: 1.0, 4: 0.5}, {1: 2.0, 2: 1.0, 5: 0.5}, neutral=92)
    result = fought(planted, comparison)
    assert result is not None
    assert [side.units for side in result.sides] == [(3,), (1,)]
    assert [side.removed for side in result.sides] == pytest.approx([WITHOUT_GOOD, FULL])
    assert [side.kept for side in result.sides] == pytest.approx([FULL, 0.5])  # "good" alone, and a word of weight 0
    assert result.full == pytest.approx(FULL)
    assert result.winner == "lime"
    assert 20 < len(result.random_removed) == len(result.random_kept) <= 2 * RANDOM_ORDERS


def test_the_order_of_the_methods_does_not_decide(planted: FrozenModel, ranked: Rank) -> None:
    comparison = ranked({3: 2.0}, {1: 2.0}, neutral=92)
    one, other = fought(planted, comparison), fought(planted, comparison, (NAMES[1], NAMES[0]))
    assert one is not None
    assert other is not None
    assert one.winner == other.winner == "lime"
    assert other.sides == (one.sides[1], one.sides[0])


def test_one_word_of_eight_may_be_luck(planted: FrozenModel, ranked: Rank) -> None:
    comparison = ranked({3: 2.0}, {1: 2.0})
    result = fought(planted, comparison)
    assert result is not None
    assert result.winner is None
    # all eight sets of one word: one of them is "good"
    assert sorted(result.random_removed) == pytest.approx([WITHOUT_GOOD, *[FULL] * 7])
    assert duel_sentence(comparison, result) == (
        "LIME ranks “good” high, KernelSHAP ranks “film” high. Which does the model need more? p(positive) is 0.95. "
        "Without “good” it is 0.50. Without “film” it is 0.95. Without a random word it is 0.90 on average. Not "
        f"decided with up to three words per side: random words differ by as much too often (p = {result.p:.3g})."
    )


def test_two_words_are_taken_where_one_does_not_separate(bag: Callable[..., FrozenModel], ranked: Rank) -> None:
    # "good" and "plot" say the same twice: p is high as long as one of them stays, almost
    model = bag({word: 9.0 * (word in ("good", "plot")) for word in TEXT.split()})
    comparison = ranked({3: 2.0, 5: 1.5}, {1: 2.0, 2: 1.5}, model=model, neutral=52)
    result = fought(model, comparison)
    assert result is not None
    assert [side.units for side in result.sides] == [(3, 5), (1, 2)]
    assert result.sides[0].removed == pytest.approx(0.5)
    assert result.winner == "lime"
    assert duel_sentence(replace(comparison, probabilities=(0.0, 1.0)), result) == (
        "LIME ranks “good” and “plot” high, KernelSHAP ranks “film” and “was” high. Which does the model need more? "
        "p(positive) is 1.00. Without “good” and “plot” it is 0.50. Without “film” and “was” it is 1.00. Without two "
        "random words it is 1.00 on average. So this experiment supports LIME: random words seldom differ by as much "
        "(p = 0.00169)."
    )


def test_claims_that_are_both_wrong_are_not_separated(planted: FrozenModel, ranked: Rank) -> None:
    comparison = ranked({0: 2.0, 7: 1.0}, {1: 2.0, 2: 1.0})
    result = fought(planted, comparison)
    assert result is not None
    assert result.winner is None
    assert [side.units for side in result.sides] == [(0,), (1,)]  # the smallest experiment
    assert duel_sentence(comparison, result).endswith(
        "Not decided with up to three words per side: neither side counts more than random words."
    )


def test_a_side_is_chosen_by_its_ranks_and_not_by_the_answers(planted: FrozenModel, ranked: Rank) -> None:
    # both claim two words; "good" is the second of the first method's
    comparison = ranked({0: 2.0, 3: 1.0}, {1: 2.0, 2: 1.0})
    result = fought(planted, comparison)
    assert result is not None
    assert result.sides[0].units == (0,)


@pytest.mark.parametrize("other", [{3: 5.0, 0: 1.0}, {3: 2.0, 0: 1.0}])
def test_methods_with_the_same_top_units_have_no_duel(
    planted: FrozenModel, ranked: Rank, other: dict[int, float]
) -> None:
    comparison = ranked({3: 2.0, 0: 1.0}, other)
    assert fought(planted, comparison) is None
    assert no_duel_sentence(comparison, NAMES) == (
        "LIME and KernelSHAP rank the same words highest, so removing a few words cannot tell them apart."
    )


def test_equal_scores_claim_nothing(planted: FrozenModel, ranked: Rank) -> None:
    assert fought(planted, ranked({3: 1.0}, dict.fromkeys(range(8), 1.0))) is None


def test_a_negative_score_is_no_claim(planted: FrozenModel, ranked: Rank) -> None:
    comparison = ranked({3: 1.0}, {unit: -1.0 - unit for unit in range(8)})
    assert fought(planted, comparison) is None


@pytest.mark.parametrize("control", ["random", "premise_only"])
def test_controls_that_rank_nothing_have_no_duel(planted: FrozenModel, ranked: Rank, control: str) -> None:
    comparison = ranked({3: 1.0}, {1: 1.0}, names=("lime", control))
    assert fought(planted, comparison, ("lime", control)) is None
    assert "gives no ranking for the class positive" in no_duel_sentence(comparison, ("lime", control))
    assert fought(planted, comparison, ("lime", "lime")) is None
    assert no_duel_sentence(comparison, ("lime", "lime")) == "A duel needs two different methods."


def test_a_method_that_answered_for_another_class_has_no_duel(planted: FrozenModel, ranked: Rank) -> None:
    comparison = ranked({3: 1.0}, {1: 1.0})
    first, second = comparison.results
    other = replace(second, attribution=replace(second.attribution, label=0))
    assert fought(planted, replace(comparison, results=(first, other))) is None


def test_the_rule_of_the_winner() -> None:
    sides = [(unit,) for unit in range(4)]
    chance = Chance(tuple(sides), np.array([[0.9], [0.7], [0.9], [0.7]]), (0.1,), Null((1.9,) * 19))  # mean 0.8
    assert chance.winner((0.5, 0.7), 1) == 0  # 2 usual leads
    assert chance.winner((0.7, 0.5), 1) == 1
    assert chance.winner((0.5, 0.69), 1) is None  # random sides are as far apart
    assert replace(chance, null=Null((1.9,) * 18)).winner((0.5, 0.7), 1) is None  # too few of them: p = 1/19
    assert chance.winner((0.85, 1.2), 1) is None  # neither is worse than random words
    assert replace(chance, null=Null((0.0,) * 19)).winner((0.5, 0.5 + SMALLEST / 2), 1) is None


def test_leads_count_in_multiples_of_those_of_random_sides_without_a_common_unit() -> None:
    sides = [(0, 1), (1, 2), (3, 4)]
    chance = Chance.of(sides, np.asarray([[0.1], [0.9], [0.5]]))
    assert chance.usual == pytest.approx((0.4,))  # 0.4 and 0.4, not the 0.8 of the first two
    assert chance.null.values == pytest.approx((1.0, 1.0))
    assert Chance.of(sides, np.full((3, 1), 0.5)).usual == (SMALLEST,)


def test_the_page_opens_on_a_pair_that_an_experiment_separates(planted: FrozenModel, ranked: Rank) -> None:
    three = {3: 2.0, 0: 1.0}, {3: 3.0, 4: 1.0}, {1: 2.0, 2: 1.0}
    comparison = ranked(*three, names=("lime", "occlusion", "kernel_shap"), neutral=92)
    named = replace(
        comparison, answer=Answer("supported", supported=("lime", "occlusion"), differs=(("kernel_shap", (1,)),))
    )
    assert len(list(duel_candidates(named))) == 3
    answers = MaskedPredictor(planted, named.decision.encoding, "mask")
    result = separable_duel(named, answers)
    assert result is not None
    assert result.winner in ("lime", "occlusion")
    assert result.sides[1].method == "kernel_shap"
    only = replace(comparison, answer=Answer("supported", supported=("lime", "occlusion")))
    assert separable_duel(only, answers) is None  # both begin with "good"
    assert separable_duel(comparison, answers) is None  # nothing is named
    assert list(duel_candidates(answered(comparison, finished=True))) == []


def test_the_prediction_flips_where_another_class_is_likelier(ranked: Rank) -> None:
    comparison = ranked({3: 2.0}, {1: 2.0})
    sides = DuelSide("lime", (3,), 0.22, 0.9), DuelSide("kernel_shap", (1,), 0.88, 0.9)
    sentence = duel_sentence(comparison, Duel(sides, 0.88, (0.85,), (0.5,), "lime", 0.05))
    assert "Without “good” it is 0.22; the prediction flips. Without “film” it is 0.88. " in sentence


def test_equal_scores_share_a_rank() -> None:
    assert mean_ranks((0.0, 3.0, 0.0, 1.0)).tolist() == [2.5, 0.0, 2.5, 1.0]


def test_both_sides_have_as_many_claims_their_highest_first(ranked: Rank) -> None:
    first, second = (result.attribution for result in ranked({5: 9.0, 1: 8.0}, {2: 9.0, 3: 8.0, 5: -1.0}).results)
    assert opposite_claims(first, second, 1) == ((5,), (2,))
    assert opposite_claims(first, second, 2) == ((5, 1), (2, 3))
    assert opposite_claims(first, second, 3) is None
    third = ranked({5: 9.0, 1: 8.0}, {2: 9.0, 1: 8.0}).results[1].attribution
    assert opposite_claims(first, third, 1) == ((5,), (2,))


def test_what_is_known_is_what_the_model_says(bert: FrozenModel) -> None:
    comparison = explain(bert, "the film was not good a dull plot", methods=["occlusion", "attention_mean", "random"])
    decision, known = comparison.decision, known_answers(comparison)
    masks = np.asarray([np.frombuffer(mask, dtype=bool) for mask in known])
    asked = bert.probabilities(decision.encoding, masks, "mask")[:, decision.label]
    assert list(known.values()) == pytest.approx(asked.tolist(), abs=1e-5)
    assert len(masks) > 80
    singles = ~np.eye(len(decision.encoding.units), dtype=bool)
    assert all(mask.tobytes() in known for mask in singles)


def test_a_duel_costs_a_few_dozen_passes_at_most(bert: FrozenModel) -> None:
    text = "the film was not good a dull plot very bad the unwatchable film was a good bad not dull very plot"
    comparison = explain(bert, text, methods=["occlusion", "gradient_x_input"])
    meter = Meter()
    answers = MaskedPredictor(bert.metered(meter), comparison.decision.encoding, "mask")
    result = duel(comparison, ("occlusion", "gradient_x_input"), answers)
    assert result is not None
    assert len(result.random_removed) == len(result.random_kept)
    assert 0 < meter.calls < 120


def test_many_units_are_drawn_by_the_seed(planted: FrozenModel, ranked: Rank) -> None:
    comparison = ranked({3: 2.0}, {1: 2.0}, neutral=92)
    results = [fought(planted, comparison) for _ in range(2)]
    assert results[0] is not None
    assert results[0] == results[1]
    assert replace(comparison, duels=(results[0],)).as_dict()["duels"][0]["winner"] == "lime"
    assert "duels" not in comparison.as_dict()


def test_sides_that_hardly_differ_are_said_to(ranked: Rank) -> None:
    comparison = ranked({3: 2.0}, {1: 2.0})
    sides = DuelSide("lime", (3,), 0.5, 0.9), DuelSide("kernel_shap", (1,), 0.51, 0.9)
    sentence = duel_sentence(comparison, Duel(sides, FULL, (0.8,), (0.5,), None))
    assert sentence.endswith("Not decided with up to three words per side: the two sides hardly differ.")
