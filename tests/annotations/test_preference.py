import pytest

from explainers.annotations.opinions import (
    FEW_METHODS,
    DifferentUnits,
    mean_preferences,
    preference_follows,
    preferences,
    right_for_other_reasons,
)
from explainers.annotations.records import Annotation, Ranked, Rated, Rating


def ranked(item: str, who: str, *methods: str, version: int = 1) -> Annotation:
    return Annotation("p", item, who, "rank", version, 1.0, 1.0, Ranked(methods))


RANKS = (
    ranked("1", "Ann", "aml", "lime", "random"),
    ranked("1", "Bob", "lime", "aml", "random"),
    ranked("2", "Ann", "aml", "random", "lime"),
)


def test_the_preferred_method_comes_first_and_an_item_counts_once() -> None:
    rows = preferences(RANKS, "rank")
    assert [row.method for row in rows] == ["aml", "lime", "random"]
    # AML is 1st and 2nd on the first item, 1st on the second
    assert rows[0].interval.mean == pytest.approx((1.5 + 1) / 2)
    assert (rows[0].interval.texts, rows[0].judgements) == (2, 3)
    assert rows[0].interval.low <= rows[0].interval.mean <= rows[0].interval.high


def test_a_newer_ranking_replaces_the_older() -> None:
    rows = preferences((*RANKS, ranked("2", "Ann", "lime", "aml", "random", version=2)), "rank")
    assert rows[0].method == "lime"


def test_higher_ratings_come_first() -> None:
    scores = (Rating("A", "gpt", 2, 5), Rating("B", "cause", 4, 3))
    rated = [Annotation("p", "1", "Ann", "rate", 1, 1.0, 1.0, Rated(scores))]
    assert [row.method for row in preferences(rated, "relatedness")] == ["cause", "gpt"]
    assert [row.method for row in preferences(rated, "fluency")] == ["gpt", "cause"]
    assert preferences(rated, "rank") == ()


def test_preference_follows_a_metric_that_ranks_the_same() -> None:
    preferred = mean_preferences(RANKS[1:], "rank")
    assert preferred["1"] == {"lime": -1.0, "aml": -2.0, "random": -3.0}
    same = {"1": {"lime": 0.9, "aml": 0.5, "random": 0.1}, "2": {"aml": 0.8, "random": 0.2, "lime": 0.1}}
    follows = preference_follows(preferred, same)
    assert follows.interval is not None
    assert (follows.interval.mean, follows.interval.texts) == (pytest.approx(1), 2)
    against = {item: {method: -value for method, value in own.items()} for item, own in same.items()}
    opposite = preference_follows(preferred, against).interval
    assert opposite is not None
    assert opposite.mean == pytest.approx(-1)


@pytest.mark.parametrize("metric", [{}, {"1": {"lime": 0.5}}, {"1": {"lime": 0.5, "aml": 0.5}}])
def test_without_two_methods_that_differ_there_is_no_correlation(metric: dict[str, dict[str, float]]) -> None:
    correlation = preference_follows(mean_preferences(RANKS, "rank"), metric)
    assert (correlation.interval, correlation.reason) == (None, FEW_METHODS)


def test_items_right_for_other_reasons() -> None:
    marks = {"same": {0, 1}, "other": {0, 1}, "wrong": {0}, "part": {0, 1}, "all": {0, 1, 2, 3}, "unscored": {0}}
    scores = {
        "same": (4.0, 3.0, 0.0, 0.0),
        "other": (0.0, 0.0, 3.0, 4.0),
        "wrong": (0.0, 1.0, 2.0, 3.0),
        "part": (4.0, 0.0, 3.0, 1.0),  # one of two, which is what chance reaches
        "all": (1.0, 2.0, 3.0, 4.0),
    }
    label = dict.fromkeys(marks, 1)
    items = right_for_other_reasons(marks, scores, {**label, "wrong": 0}, label)
    assert items == (DifferentUnits("other", 0.0, 0.5), DifferentUnits("part", 0.5, 0.5))
