"""Owen values against their definition, and against themselves by word and by sentence."""

from collections.abc import Callable
from itertools import chain, permutations, product

import numpy as np
import pytest
from numpy.typing import NDArray

from explainers.attribution import owen
from explainers.attribution.kernel_shap import KernelShap
from explainers.attribution.owen import Owen, Regression, coalitions_of, contexts_of, owen_values, turns
from explainers.datasets.example import Example
from explainers.models.calls import Meter
from explainers.models.frozen_model import FrozenModel

Masks = NDArray[np.bool_]
Answer = Callable[[Masks], NDArray[np.float64]]
THREE = np.array([0, 0, 0, 1, 1, 2])
TEXT = "the plot is thin . a fine cast saves it . go see it"


def interacting(units: int, seed: int = 1, size: float = 0.8) -> Answer:
    """A function of masks in which any two units act together."""
    rng = np.random.default_rng(seed)
    single, pairs = rng.normal(0, 1.5, units), rng.normal(0, size, (units, units))

    def answer(masks: Masks) -> NDArray[np.float64]:
        kept = masks.astype(float)
        values: NDArray[np.float64] = 1 / (1 + np.exp(-(kept @ single + np.einsum("bi,ij,bj->b", kept, pairs, kept))))
        return values

    return answer


def by_definition(answer: Answer, coalitions: NDArray[np.int64]) -> NDArray[np.float64]:
    """The mean over all orders in which every sentence comes as a whole."""
    members = [np.flatnonzero(coalitions == number) for number in range(coalitions.max() + 1)]
    values, orders = np.zeros(len(coalitions)), 0
    for sentences in permutations(range(len(members))):
        for inside in product(*(permutations(members[number]) for number in sentences)):
            kept = np.zeros((1, len(coalitions)), dtype=bool)
            before = answer(kept)[0]
            for unit in chain(*inside):
                kept[0, unit] = True
                after = answer(kept)[0]
                values[unit] += after - before
                before = after
            orders += 1
    return values / orders


def test_the_mean_over_seeds_is_the_definition_and_every_estimate_keeps_the_sums_of_the_sentences() -> None:
    answer = interacting(6)
    exact = by_definition(answer, THREE)
    estimates = np.array([owen_values(answer, THREE, 100, seed)[0] for seed in range(40)])
    assert estimates.mean(axis=0) == pytest.approx(exact, abs=0.002)
    sums = np.array([[row[number == THREE].sum() for number in range(3)] for row in estimates])
    assert sums == pytest.approx(np.tile([exact[number == THREE].sum() for number in range(3)], (40, 1)), abs=1e-5)


def test_a_sentence_of_many_words_is_taken_apart_without_bias() -> None:
    """Fewer masks than there are pairs of a mask and a set of other sentences."""
    coalitions = np.array([0] * 7 + [1, 1, 2, 3, 3])
    answer = interacting(12, seed=4, size=0.3)
    long_run = np.mean([owen_values(answer, coalitions, 500, seed)[0] for seed in range(100)], axis=0)
    walks = np.zeros(12)
    rng = np.random.default_rng(0)
    for _ in range(3000):
        order = np.concatenate([rng.permutation(np.flatnonzero(coalitions == one)) for one in rng.permutation(4)])
        kept = np.zeros((13, 12), dtype=bool)
        kept[:, order] = np.tril(np.ones((13, 12), dtype=bool), -1)
        walks[order] += np.diff(answer(kept))
    assert long_run == pytest.approx(walks / 3000, abs=0.012)


def test_the_spread_is_about_the_deviation_between_seeds() -> None:
    coalitions = np.array([0] * 7 + [1] * 6 + [2, 3, 3])
    answer = interacting(16, seed=4, size=0.3)
    runs = [owen_values(answer, coalitions, 500, seed) for seed in range(30)]
    deviation = np.std([scores for scores, _ in runs], axis=0)
    spread = np.mean([draws.std(axis=0) for _, draws in runs], axis=0)
    assert 0.5 < spread[deviation > 1e-6].mean() / deviation[deviation > 1e-6].mean() < 2


def test_what_adds_up_is_exact() -> None:
    weights = np.arange(1.0, 7.0)
    scores, draws = owen_values(lambda masks: masks @ weights, THREE, 100, 0)
    assert scores == pytest.approx(weights, abs=1e-5)
    assert draws == pytest.approx(np.tile(weights, (owen.DRAWS, 1)), abs=1e-5)


def test_a_sentence_may_be_very_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owen, "DRAWS", 1)
    coalitions = np.array([0] * 1100 + [1])
    scores, draws = owen_values(lambda masks: masks.mean(axis=1), coalitions, 100, 0)
    assert scores.sum() == pytest.approx(1, abs=1e-5)
    assert np.isfinite(draws).all()


def test_sets_of_other_sentences_are_of_all_sizes_and_never_hold_the_sentence() -> None:
    rng = np.random.default_rng(0)
    sizes = np.zeros(6, dtype=int)
    for _ in range(300):
        sets = np.array(list(contexts_of(6, 2, rng)))
        assert not sets[:, 2].any()
        sizes += np.bincount(sets.sum(axis=1), minlength=6)
    assert sizes == pytest.approx(np.full(6, 400), rel=0.15)
    assert len(set(turns(5, 8))) == 40
    assert list(turns(5, 8))[:6] == [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (0, 1)]


def test_the_words_of_a_sentence_share_what_it_has_as_a_unit(bert: FrozenModel) -> None:
    words = bert.encode(TEXT)
    closed = words.by_sentence()
    assert (len(closed.units), coalitions_of(closed).tolist()) == (3, [0, 1, 2])
    first, second = (Owen().attribute(bert, encoding, 1) for encoding in (closed, words))
    sums = np.bincount(coalitions_of(words), second.scores)
    assert np.bincount(coalitions_of(words)).min() == 3
    assert sums == pytest.approx(first.scores, abs=1e-5)
    assert first.scores == pytest.approx(KernelShap(sampling="shared").attribute(bert, closed, 1).scores, abs=1e-5)


def test_a_single_sentence_has_shapley_values(bert: FrozenModel) -> None:
    encoding = bert.encode("a fine cast")
    result = Owen().attribute(bert, encoding, 1)
    assert result.scores == pytest.approx(KernelShap(sampling="shared").attribute(bert, encoding, 1).scores, abs=1e-5)
    (only,) = Owen().attribute(bert, bert.encode("fine"), 1).scores
    whole, nothing = bert.probabilities(bert.encode("fine"), np.array([[True], [False]]))[:, 1]
    assert only == pytest.approx(whole - nothing, abs=1e-5)


def test_it_costs_no_more_than_is_announced_however_long_the_text(bert: FrozenModel) -> None:
    text = " ".join([TEXT] * 4)
    meter = Meter()
    encoding = bert.encode(text)
    Owen(samples=100).attribute(bert.metered(meter), encoding, 1)
    assert 0 < meter.calls <= owen.OWEN.passes(len(encoding.units), 100, 0)


def test_the_texts_of_a_pair_and_an_image_are_coalitions(speaker: FrozenModel) -> None:
    encoding = speaker.encode(Example("the film was good", "a dull plot"))
    numbers = coalitions_of(encoding)
    assert [unit.segment for unit in encoding.units] == numbers.tolist()
    level = Regression.between(lambda masks: masks.mean(axis=1), numbers, 100, 0)
    assert level.masks.shape == (4, 2)
