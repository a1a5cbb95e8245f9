from dataclasses import replace

import numpy as np
import pytest

from explainers.explanation import Attribution
from explainers.metrics.masking import Asked, masking_path
from explainers.metrics.modalities import alone, of_kind, picture_share
from explainers.models.classifier import FrozenModel
from explainers.models.encoding import Encoding


@pytest.fixture
def encoding(bert: FrozenModel) -> Encoding:
    """Five units, of which the second and the last are said to be patches."""
    found = bert.encode("the film was very good")
    units = tuple(
        replace(unit, box=(0, 0, 5, 5)) if place in (1, 4) else unit for place, unit in enumerate(found.units)
    )
    return replace(found, units=units)


def attributed(encoding: Encoding, *scores: float) -> Attribution:
    return Attribution("lime", encoding, 1, scores, signed=True)


def test_units_are_told_apart_by_their_kind(encoding: Encoding) -> None:
    assert of_kind(encoding, "word") == (0, 2, 3)
    assert of_kind(encoding, "patch") == (1, 4)


@pytest.mark.parametrize(
    ("scores", "share"),
    [
        ((1.0, 2.0, -3.0, 0.0, -2.0), 0.5),  # (2 + 2) of (1 + 2 + 3 + 2)
        ((0.0, 0.5, 0.0, 0.0, 0.0), 1.0),
        ((0.1, 0.0, -0.1, 0.3, 0.0), 0.0),
        ((1.0, 1.0, 1.0, 1.0, 1.0), 0.4),
        ((0.0, 0.0, 0.0, 0.0, 0.0), None),
    ],
)
def test_the_share_of_the_picture_is_that_of_its_absolute_scores(
    encoding: Encoding, scores: tuple[float, ...], share: float | None
) -> None:
    assert picture_share(attributed(encoding, *scores)) == (share if share is None else pytest.approx(share))


def test_a_text_alone_has_no_share_of_a_picture(bert: FrozenModel) -> None:
    encoding = bert.encode("good film")
    assert picture_share(attributed(encoding, 1.0, 2.0)) == 0


def test_alone_erases_units_of_one_kind_in_the_order_of_their_scores(bert: FrozenModel, encoding: Encoding) -> None:
    scores = (0.1, 0.9, 0.5, -0.2, 0.3)
    path = alone(Asked(bert, encoding, "mask"), scores, 1, "word")  # the order is 2, 0, 3
    removed = [[1, 1, 1, 1, 1], [1, 1, 0, 1, 1], [0, 1, 0, 1, 1], [0, 1, 0, 0, 1]]
    kept = [[0, 1, 0, 0, 1], [0, 1, 1, 0, 1], [1, 1, 1, 0, 1], [1, 1, 1, 1, 1]]
    assert path.counts == (0, 1, 2, 3)
    assert path.removed == pytest.approx(bert.probabilities(encoding, removed))
    assert path.kept == pytest.approx(bert.probabilities(encoding, kept))
    assert path.label == 1
    patches = alone(Asked(bert, encoding, "mask"), scores, 1, "patch")
    assert patches.counts == (0, 1, 2)
    assert patches.removed[1] == pytest.approx(bert.probabilities(encoding, [[1, 0, 1, 1, 1]])[0])
    assert patches.removed[2] == pytest.approx(bert.probabilities(encoding, [[1, 0, 1, 1, 0]])[0])


def test_where_all_units_are_of_the_kind_it_is_the_whole_path(bert: FrozenModel) -> None:
    encoding = bert.encode("the very good film")
    scores = tuple(np.random.default_rng(0).standard_normal(4).tolist())
    asked = Asked(bert, encoding, "delete")
    one, other = alone(asked, scores, 0, "word"), masking_path(asked, scores, 0)
    assert one.counts == other.counts
    assert np.array_equal(one.removed, other.removed)
    assert np.array_equal(one.kept, other.kept)


def test_where_there_is_no_unit_of_the_kind_nothing_is_erased(bert: FrozenModel) -> None:
    encoding = bert.encode("good film")
    path = alone(Asked(bert, encoding, "mask"), (1.0, 2.0), 0, "patch")
    assert path.counts == (0,)
    for found in (path.removed, path.kept):
        assert found == pytest.approx(bert.probabilities(encoding, [[1, 1]]))
