from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from math import exp

import numpy as np
import pytest

from explainers.api import explain
from explainers.comparison.claims import mean_ranks, opposite_claims
from explainers.comparison.duel import duel, leading_side
from explainers.comparison.known_answers import known_answers
from explainers.comparison.random_sides import ORDERS, needed_leads
from explainers.comparison.standings import SMALLEST
from explainers.metrics.erasure import Answers, erasure_curves
from explainers.models.frozen_model import FrozenModel
from explainers.models.meter import Meter
from explainers.report.duel import duel_sentence, no_duel_sentence
from explainers.results.attribution import Attribution
from explainers.results.comparison import Comparison, MethodResult, Question
from explainers.results.duel import Duel, DuelSide
from explainers.results.settings import Settings

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
    """A comparison of two methods that score the units as given, by unit number; the others get 0, as do fillers."""

    def build(
        *scored: dict[int, float],
        names: tuple[str, ...] = NAMES,
        model: FrozenModel = planted,
        fillers: int = 0,
    ) -> Comparison:
        encoding = model.encode(" ".join([TEXT, *["a"] * fillers]))
        question = Question(model, encoding, 1, Settings())
        answers = Answers(model, encoding, "mask")
        results = []
        for name, scores in zip(names, scored, strict=True):
            values = tuple(scores.get(unit, 0.0) for unit in range(len(encoding.units)))
            attribution = Attribution(name, encoding, 1, values, signed=True)
            results.append(MethodResult(attribution, erasure_curves(answers, values, 1), {}, {}))
        return Comparison(question, (1 - FULL, FULL), tuple(results))

    return build


def test_the_smallest_experiment_finds_the_planted_word(ranked: Rank) -> None:
    comparison = ranked({3: 2.0, 0: 1.0, 4: 0.5}, {1: 2.0, 2: 1.0, 5: 0.5}, fillers=92)
    result = duel(comparison, NAMES)
    assert result is not None
    assert [side.units for side in result.sides] == [(3,), (1,)]
    assert [side.removed for side in result.sides] == pytest.approx([WITHOUT_GOOD, FULL])
    assert [side.kept for side in result.sides] == pytest.approx([FULL, 0.5])  # "good" alone, and a word of weight 0
    assert result.full == pytest.approx(FULL)
    assert result.winner == "lime"
    assert 20 < len(result.random_removed) == len(result.random_kept) <= 2 * ORDERS


def test_the_order_of_the_methods_does_not_decide(ranked: Rank) -> None:
    comparison = ranked({3: 2.0}, {1: 2.0}, fillers=92)
    one, other = duel(comparison, NAMES), duel(comparison, (NAMES[1], NAMES[0]))
    assert one is not None
    assert other is not None
    assert one.winner == other.winner == "lime"
    assert other.sides == (one.sides[1], one.sides[0])


def test_one_word_of_eight_may_be_luck(ranked: Rank) -> None:
    comparison = ranked({3: 2.0}, {1: 2.0})
    result = duel(comparison, NAMES)
    assert result is not None
    assert result.winner is None
    # all eight sets of one word: one of them is "good"
    assert sorted(result.random_removed) == pytest.approx([WITHOUT_GOOD, *[FULL] * 7])
    assert duel_sentence(comparison, result) == (
        "LIME says “good” matters, KernelSHAP says “film”. Without “good” 0.95 → 0.50, without “film” 0.95 → 0.95, "
        "without a random word 0.90 on average: random words differ by as much too often to decide, and no experiment "
        "with up to three words per side separates the methods."
    )


def test_two_words_are_taken_where_one_does_not_separate(bag: Callable[..., FrozenModel], ranked: Rank) -> None:
    # "good" and "plot" say the same twice: p is high as long as one of them stays, almost
    model = bag({word: 9.0 * (word in ("good", "plot")) for word in TEXT.split()})
    comparison = ranked({3: 2.0, 5: 1.5}, {1: 2.0, 2: 1.5}, model=model, fillers=52)
    result = duel(comparison, NAMES)
    assert result is not None
    assert [side.units for side in result.sides] == [(3, 5), (1, 2)]
    assert result.sides[0].removed == pytest.approx(0.5)
    assert result.winner == "lime"
    assert duel_sentence(replace(comparison, probabilities=(0.0, 1.0)), result) == (
        "LIME says “good” and “plot” matter, KernelSHAP says “film” and “was”. Without “good” and “plot” 1.00 → 0.50, "
        "without “film” and “was” 1.00 → 1.00, without two random words 1.00 on average: the evidence supports LIME."
    )


def test_claims_that_are_both_wrong_are_not_separated(ranked: Rank) -> None:
    comparison = ranked({0: 2.0, 7: 1.0}, {1: 2.0, 2: 1.0})
    result = duel(comparison, NAMES)
    assert result is not None
    assert result.winner is None
    assert [side.units for side in result.sides] == [(0,), (1,)]  # the smallest experiment
    assert duel_sentence(comparison, result).endswith(
        "neither side does better than chance: what they disagree about counts no more than random words, and no "
        "experiment with up to three words per side separates the methods."
    )


def test_a_side_is_chosen_by_its_ranks_and_not_by_the_answers(ranked: Rank) -> None:
    # both claim two words; "good" is the second of the first method's
    comparison = ranked({0: 2.0, 3: 1.0}, {1: 2.0, 2: 1.0})
    result = duel(comparison, NAMES)
    assert result is not None
    assert result.sides[0].units == (0,)


@pytest.mark.parametrize("other", [{3: 5.0, 0: 1.0}, {3: 2.0, 0: 1.0}])
def test_methods_with_the_same_top_units_have_no_duel(ranked: Rank, other: dict[int, float]) -> None:
    comparison = ranked({3: 2.0, 0: 1.0}, other)
    assert duel(comparison, NAMES) is None
    assert no_duel_sentence(comparison, NAMES) == (
        "LIME and KernelSHAP rank the same words highest, so no experiment of few words separates them."
    )


def test_equal_scores_claim_nothing(ranked: Rank) -> None:
    assert duel(ranked({3: 1.0}, dict.fromkeys(range(8), 1.0)), NAMES) is None


def test_a_negative_score_is_no_claim(ranked: Rank) -> None:
    comparison = ranked({3: 1.0}, {unit: -1.0 - unit for unit in range(8)})
    assert duel(comparison, NAMES) is None


@pytest.mark.parametrize("control", ["random", "premise_only"])
def test_controls_that_rank_nothing_have_no_duel(ranked: Rank, control: str) -> None:
    comparison = ranked({3: 1.0}, {1: 1.0}, names=("lime", control))
    assert duel(comparison, ("lime", control)) is None
    assert "gives no ranking for the class positive" in no_duel_sentence(comparison, ("lime", control))
    assert duel(comparison, ("lime", "lime")) is None
    assert no_duel_sentence(comparison, ("lime", "lime")) == "A duel needs two different methods."


def test_a_method_that_answered_for_another_class_has_no_duel(ranked: Rank) -> None:
    comparison = ranked({3: 1.0}, {1: 1.0})
    first, second = comparison.results
    other = replace(second, attribution=replace(second.attribution, label=0))
    assert duel(replace(comparison, results=(first, other)), NAMES) is None


def test_the_rule_of_the_winner() -> None:
    random = (0.9, 0.7, 0.9, 0.7)  # mean 0.8
    assert leading_side((0.5, 0.7), random, 0.19) == 0
    assert leading_side((0.7, 0.5), random, 0.19) == 1
    assert leading_side((0.5, 0.7), random, 0.2) is None
    assert leading_side((0.85, 1.2), random, 0.1) is None  # neither is worse than random words


def test_the_needed_lead_is_what_random_sides_seldom_reach() -> None:
    sides = [(unit,) for unit in range(40)]
    spread = np.linspace(0.1, 0.9, 40)[:, None]  # leads |i - j| / 39 · 0.8 of pairs of 40 values
    (needed,) = needed_leads(sides, spread)
    leads = [abs(float(one - other)) for one, other in combinations(spread[:, 0], 2)]
    assert 0.02 < np.mean([lead > needed for lead in leads]) <= 0.03
    assert needed_leads(sides, np.full((40, 1), 0.5)) == pytest.approx(
        SMALLEST
    )  # also where all random sides are equal
    # three sizes are three tries: each needs more than it would alone
    three = np.random.default_rng(0).normal(0.5, 0.1, (40, 3))
    alone = [needed_leads(sides, three[:, [at]])[0] for at in range(3)]
    assert (needed_leads(sides, three) >= alone).all()
    assert needed_leads(sides, three).sum() > sum(alone)


def test_only_random_sides_without_a_common_unit_are_compared() -> None:
    sides = [(0, 1), (1, 2), (3, 4)]
    removed = np.asarray([[0.1], [0.9], [0.5]])
    assert needed_leads(sides, removed) == pytest.approx([0.4])  # not the 0.8 of the first two


def test_equal_scores_share_a_rank() -> None:
    assert mean_ranks((0.0, 3.0, 0.0, 1.0)).tolist() == [2.5, 0.0, 2.5, 1.0]


def test_both_sides_have_as_many_claims_their_highest_first(ranked: Rank) -> None:
    first, second = (each.attribution for each in ranked({5: 9.0, 1: 8.0}, {2: 9.0, 3: 8.0, 5: -1.0}).results)
    assert opposite_claims(first, second, 1) == ((5,), (2,))
    assert opposite_claims(first, second, 2) == ((5, 1), (2, 3))
    assert opposite_claims(first, second, 3) is None
    third = ranked({5: 9.0, 1: 8.0}, {2: 9.0, 1: 8.0}).results[1].attribution
    assert opposite_claims(first, third, 1) == ((5,), (2,))


def test_what_is_known_is_what_the_model_says(bert: FrozenModel) -> None:
    comparison = explain(bert, "the film was not good a dull plot", methods=["occlusion", "attention_mean", "random"])
    question, known = comparison.question, known_answers(comparison)
    masks = np.asarray([np.frombuffer(mask, dtype=bool) for mask in known])
    asked = bert.probabilities(question.encoding, masks, "mask")[:, question.label]
    assert list(known.values()) == pytest.approx(asked.tolist(), abs=1e-5)
    assert len(masks) > 80
    singles = ~np.eye(len(question.encoding.units), dtype=bool)
    assert all(mask.tobytes() in known for mask in singles)


def test_a_duel_costs_a_few_dozen_passes_at_most(bert: FrozenModel) -> None:
    text = "the film was not good a dull plot very bad the unwatchable film was a good bad not dull very plot"
    comparison = explain(bert, text, methods=["occlusion", "gradient_x_input"])
    meter = Meter()
    answers = Answers(bert.metered(meter), comparison.question.encoding, "mask")
    result = duel(comparison, ("occlusion", "gradient_x_input"), answers)
    assert result is not None
    assert len(result.random_removed) == len(result.random_kept)
    assert 0 < meter.calls < 70


def test_many_units_are_drawn_by_the_seed(ranked: Rank) -> None:
    comparison = ranked({3: 2.0}, {1: 2.0}, fillers=92)
    results = [duel(comparison, NAMES) for _ in range(2)]
    assert results[0] is not None
    assert results[0] == results[1]
    assert replace(comparison, duels=(results[0],)).as_dict()["duels"][0]["winner"] == "lime"
    assert "duels" not in comparison.as_dict()


def test_sides_that_hardly_differ_are_said_to(ranked: Rank) -> None:
    comparison = ranked({3: 2.0}, {1: 2.0})
    sides = DuelSide("lime", (3,), 0.5, 0.9), DuelSide("kernel_shap", (1,), 0.51, 0.9)
    assert "0.51, without a random word 0.80: the two sides hardly differ, and no experiment" in duel_sentence(
        comparison, Duel(sides, FULL, (0.8,), (0.5,), None)
    )
