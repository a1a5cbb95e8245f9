import numpy as np
import pytest
from scipy.stats import spearmanr

from explainers.metrics.agreement import LENGTH, aligned, consistency
from explainers.metrics.bootstrap import item_weights

GENERATOR = np.random.default_rng(0)


def test_only_the_order_of_the_scores_counts() -> None:
    assert aligned((1.0, 5.0, 2.0)) == pytest.approx(aligned((-1.0, 100.0, 0.0)))
    assert aligned((1.0, 5.0, 2.0)) != pytest.approx(aligned((5.0, 1.0, 2.0)))


def test_ranks_lie_at_the_same_relative_positions() -> None:
    ramp = np.arange(LENGTH) - (LENGTH - 1) / 2
    assert aligned((0.0, 1.0)) == pytest.approx(ramp / np.linalg.norm(ramp))
    assert aligned((0.0, 0.1, 0.2, 0.3, 0.4)) == pytest.approx(aligned((0.0, 1.0)))
    assert not aligned((7.0,)).any()
    assert not aligned((1.0, 1.0, 1.0)).any()


def test_explanations_as_far_apart_as_the_states_have_a_cons_of_one() -> None:
    states = np.array([[0.0], [1.0], [3.0], [7.0]])
    scores = [tuple(np.roll(range(LENGTH), shift)) for shift in range(4)]
    rows = np.stack([aligned(row) for row in scores])
    interval = consistency(rows, scores)
    assert interval is not None
    assert interval.mean == pytest.approx(1)
    other = consistency(states, scores)
    assert other is not None
    assert other.mean < 1


def test_it_is_the_correlation_over_pairs() -> None:
    states = GENERATOR.normal(size=(12, 3))
    scores = [tuple(GENERATOR.normal(size=GENERATOR.integers(3, 9)).tolist()) for _ in range(12)]
    rows = np.stack([aligned(row) for row in scores])
    pairs = [(i, j) for i in range(12) for j in range(i)]
    expected = spearmanr(
        [np.linalg.norm(states[i] - states[j]) for i, j in pairs],
        [np.linalg.norm(rows[i] - rows[j]) for i, j in pairs],
    ).statistic
    interval = consistency(states, scores)
    assert interval is not None
    assert interval.mean == pytest.approx(expected)
    assert interval.low < interval.mean < interval.high
    assert interval == consistency(states, scores)


def test_random_explanations_are_not_consistent() -> None:
    states = GENERATOR.normal(size=(60, 3))
    interval = consistency(states, [tuple(GENERATOR.normal(size=8).tolist()) for _ in range(60)])
    assert interval is not None
    assert abs(interval.mean) < 0.15
    assert interval.low < 0 < interval.high


def test_the_number_of_units_alone_is_no_consistency() -> None:
    units = GENERATOR.integers(2, 30, 120)
    states = units[:, None].astype(float)  # as if the model represented nothing but the length
    interval = consistency(states, [tuple(GENERATOR.normal(size=n).tolist()) for n in units])
    assert interval is not None
    assert abs(interval.mean) < 0.06


def test_a_constant_explanation_has_no_cons() -> None:
    assert consistency(GENERATOR.normal(size=(5, 2)), [(3.0, 2.0, 1.0)] * 5) is None


def test_two_inputs_are_too_few() -> None:
    with pytest.raises(ValueError, match="at least 3"):
        consistency(np.zeros((2, 2)), [(1.0,), (2.0,)])


def test_equal_distances_have_no_cons() -> None:
    states = GENERATOR.normal(size=(3, 2))
    scores = [tuple(GENERATOR.normal(size=8).tolist()) for _ in range(3)]
    apart = [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)]
    assert consistency(states, scores) is not None
    assert consistency(np.ones((3, 2)), scores) is None
    assert consistency(np.array(apart), scores) is None  # of the states
    swapped = [[*range(at), at + 1, at, *range(at + 2, LENGTH)] for at in (0, 10, 20)]  # each pair differs alike
    assert consistency(states, swapped) is None


@pytest.mark.parametrize("spread", [1.0, 6.0])
def test_an_explanation_that_depends_on_the_class_alone_is_not_consistent_within_classes(spread: float) -> None:
    """Also where the states and the explanations of one class are farther apart than those of the other."""
    generator = np.random.default_rng(0)
    classes = np.arange(60) % 2
    scale = np.where(classes, spread, 1.0)[:, None]
    states = generator.normal(size=(60, 3)) * scale + 40 * classes[:, None]
    noise = generator.normal(size=(60, 8)) * scale
    scores = [
        tuple(row + 2 * np.arange(8) * (1 if class_name else -1))
        for row, class_name in zip(noise, classes, strict=True)
    ]
    everywhere, within = consistency(states, scores), consistency(states, scores, classes=classes.tolist())
    assert everywhere is not None
    assert within is not None
    assert everywhere.low > 0.3
    assert abs(within.mean) < 0.1


def test_within_classes_single_pairs_say_nothing() -> None:
    generator = np.random.default_rng(0)
    states, scores = generator.normal(size=(4, 3)), [tuple(row) for row in generator.normal(size=(4, 8)).tolist()]
    assert consistency(states, scores) is not None
    assert consistency(states, scores, classes=[0, 1, 2, 3]) is None
    assert consistency(states, scores, classes=[0, 0, 1, 1]) is None


def test_where_all_are_of_one_class_the_class_changes_nothing() -> None:
    generator = np.random.default_rng(0)
    states, scores = generator.normal(size=(20, 3)), [tuple(row) for row in generator.normal(size=(20, 8)).tolist()]
    assert consistency(states, scores, classes=[1] * 20) == consistency(states, scores)


def test_a_resample_is_the_correlation_over_the_pairs_of_its_different_inputs() -> None:
    """Also where distances are equal."""
    generator = np.random.default_rng(0)
    states = generator.integers(0, 3, (9, 1)).astype(float)
    scores = [tuple(row) for row in generator.normal(size=(9, 12)).tolist()]
    rows, expected = np.stack([aligned(row) for row in scores]), []
    for weights in item_weights(9)[1:]:
        inputs = np.repeat(np.arange(9), weights.astype(int))
        pairs = [(i, j) for place, i in enumerate(inputs) for j in inputs[:place] if i != j]
        apart = [[np.linalg.norm(vectors[i] - vectors[j]) for i, j in pairs] for vectors in (states, rows)]
        if all(len(set(distances)) > 1 for distances in apart):
            expected.append(spearmanr(*apart).statistic)
    interval = consistency(states, scores)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx(tuple(np.quantile(expected, (0.025, 0.975))), abs=2e-3)
