from dataclasses import replace

import numpy as np
import pytest

from explainers.metrics.erasure import MaskedPredictor, erasure_curves, single_modality_curves, units_of_kind
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding


@pytest.fixture
def encoding(bert: FrozenModel) -> Encoding:
    """Five units, of which the second and the last count as patches."""
    words = bert.encode("the film was very good")
    units = tuple(
        replace(unit, box=(0, 0, 5, 5)) if number in (1, 4) else unit for number, unit in enumerate(words.units)
    )
    return replace(words, units=units)


def test_units_are_selected_by_their_kind(encoding: Encoding) -> None:
    assert units_of_kind(encoding, "word") == (0, 2, 3)
    assert units_of_kind(encoding, "patch") == (1, 4)


def test_alone_erases_units_of_one_kind_in_the_order_of_their_scores(bert: FrozenModel, encoding: Encoding) -> None:
    scores = (0.1, 0.9, 0.5, -0.2, 0.3)
    curves = single_modality_curves(MaskedPredictor(bert, encoding, "mask"), scores, 1, "word")  # the order is 2, 0, 3
    removed = [[1, 1, 1, 1, 1], [1, 1, 0, 1, 1], [0, 1, 0, 1, 1], [0, 1, 0, 0, 1]]
    kept = [[0, 1, 0, 0, 1], [0, 1, 1, 0, 1], [1, 1, 1, 0, 1], [1, 1, 1, 1, 1]]
    assert curves.counts == (0, 1, 2, 3)
    assert curves.removed == pytest.approx(bert.probabilities(encoding, removed), abs=1e-5)
    assert curves.kept == pytest.approx(bert.probabilities(encoding, kept), abs=1e-5)
    assert curves.label == 1
    patches = single_modality_curves(MaskedPredictor(bert, encoding, "mask"), scores, 1, "patch")
    assert patches.counts == (0, 1, 2)
    assert patches.removed[1] == pytest.approx(bert.probabilities(encoding, [[1, 0, 1, 1, 1]])[0], abs=1e-5)
    assert patches.removed[2] == pytest.approx(bert.probabilities(encoding, [[1, 0, 1, 1, 0]])[0], abs=1e-5)


def test_where_all_units_are_of_the_kind_the_curves_are_those_of_the_whole_input(bert: FrozenModel) -> None:
    encoding = bert.encode("the very good film")
    scores = tuple(np.random.default_rng(0).standard_normal(4).tolist())
    answers = MaskedPredictor(bert, encoding, "delete")
    one, other = single_modality_curves(answers, scores, 0, "word"), erasure_curves(answers, scores, 0)
    assert one.counts == other.counts
    assert one.removed == pytest.approx(other.removed, abs=1e-5)
    assert one.kept == pytest.approx(other.kept, abs=1e-5)


def test_where_there_is_no_unit_of_the_kind_nothing_is_erased(bert: FrozenModel) -> None:
    encoding = bert.encode("good film")
    curves = single_modality_curves(MaskedPredictor(bert, encoding, "mask"), (1.0, 2.0), 0, "patch")
    assert curves.counts == (0,)
    for side in (curves.removed, curves.kept):
        assert side == pytest.approx(bert.probabilities(encoding, [[1, 1]]), abs=1e-5)
