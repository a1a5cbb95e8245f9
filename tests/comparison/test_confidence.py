"""Confidence from coefficients that are known."""

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from explainers.comparison import confidence as module
from explainers.comparison.answer import NOT_KNOWN, UNLIKE_TRAINING, answer
from explainers.comparison.confidence import (
    AGREE_LESS,
    OTHER_INPUTS,
    OTHER_LENGTH,
    OTHER_METHODS,
    confidence,
    measured,
)
from explainers.results.answer import Confidence
from explainers.results.comparison import Comparison

CONTENT = {
    "rule": "regression",
    "top": "top 2",
    "inputs": 140,
    "inputs with learned methods": 90,
    "coefficients": [-2.0, 4.0, 0.1, -1.0, 2.0],
    "covariance": [[0.25, 0, 0, 0, 0], *[[0] * 5] * 4],
    "methods": {"unfitted": ["lime", "occlusion"], "learned": ["aml"]},
    "bands of units": [1, 16, 31],
    "cells": {
        "text, unfitted": [
            {"agreement": [0.2, 0.9], "units": [5, 15], "right": [0.9, 0.8, 0.95, 40]},
            {"agreement": [0.1, 0.9], "units": [16, 28], "right": [0.7, 0.6, 0.8, 50]},
            None,
        ],
        "pair, unfitted": [{"agreement": [0.3, 0.8], "units": [10, 15], "right": [0.85, 0.8, 0.9, 25]}, None, None],
        "text, learned": [{"agreement": [0.4, 0.9], "units": [5, 15], "right": [1.0, 0.97, 1.0, 30]}, None, None],
    },
}
PLAIN, ALL = ("occlusion", "lime"), ("aml", "lime", "occlusion")


@pytest.fixture(autouse=True)
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    path = tmp_path / "confidence.json"
    path.write_text(json.dumps(CONTENT), encoding="utf-8")
    monkeypatch.setattr(module, "CONFIDENCE", path)
    measured.cache_clear()
    yield
    measured.cache_clear()


def logistic(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))


def test_the_probability_is_that_of_the_regression() -> None:
    of_text, of_pair = confidence(0.5, 10, texts=1, methods=PLAIN), confidence(0.5, 10, texts=2, methods=PLAIN)
    assert isinstance(of_text, Confidence)
    assert isinstance(of_pair, Confidence)
    assert of_text.share == pytest.approx(logistic(1.0))  # -2 + 2 + 1
    assert of_pair.share == pytest.approx(logistic(0.0))


def test_the_interval_is_1_96_deviations_of_the_logit_wide() -> None:
    value = confidence(0.5, 10, texts=1, methods=PLAIN)
    assert isinstance(value, Confidence)
    assert (value.low, value.high) == pytest.approx((logistic(1 - 0.98), logistic(1 + 0.98)))


@pytest.mark.parametrize(
    ("agreement", "units", "texts", "image", "why"),
    [
        (0.1, 10, 1, False, AGREE_LESS),
        (0.05, 20, 1, False, AGREE_LESS),
        (0.5, 29, 1, False, OTHER_LENGTH.format("texts", 5, 28, 29)),
        (0.5, 20, 2, False, OTHER_LENGTH.format("pairs", 10, 15, 20)),
        (0.5, 4, 1, False, OTHER_LENGTH.format("texts", 5, 28, 4)),
        (0.5, 41, 1, False, OTHER_LENGTH.format("texts", 5, 28, 41)),
        (0.5, 9, 2, False, OTHER_LENGTH.format("pairs", 10, 15, 9)),
        (0.5, 10, 1, True, OTHER_INPUTS),
        (0.5, 10, 3, False, OTHER_INPUTS),
    ],
)
def test_there_is_none_outside_the_measured_range(
    agreement: float, units: int, texts: int, image: bool, why: str
) -> None:
    assert confidence(agreement, units, texts=texts, methods=PLAIN, image=image) == why


def test_more_agreement_than_was_measured_counts_as_the_most() -> None:
    most, more = (confidence(agreement, 10, texts=1, methods=PLAIN) for agreement in (0.9, 0.95))
    assert more == most != confidence(0.8, 10, texts=1, methods=PLAIN)


def test_the_ends_of_the_range_belong_to_it() -> None:
    assert isinstance(confidence(0.2, 5, texts=1, methods=PLAIN), Confidence)
    assert isinstance(confidence(0.1, 28, texts=1, methods=PLAIN), Confidence)
    assert isinstance(confidence(0.8, 15, texts=2, methods=PLAIN), Confidence)


def test_learned_methods_have_a_coefficient_and_a_range_of_their_own() -> None:
    value = confidence(0.5, 10, texts=1, methods=ALL)
    assert isinstance(value, Confidence)
    assert value.share == pytest.approx(logistic(3.0))
    assert confidence(0.3, 10, texts=1, methods=ALL) == AGREE_LESS
    assert confidence(0.5, 10, texts=2, methods=ALL) == OTHER_METHODS.format("pairs")


@pytest.mark.parametrize("methods", [(), ("lime",), ("aml",), ("aml", "lime"), (*ALL, "cimi")])
def test_there_is_none_for_a_set_of_methods_that_was_not_measured(methods: tuple[str, ...]) -> None:
    assert confidence(0.5, 10, texts=1, methods=methods) == OTHER_METHODS.format("texts")


def test_an_input_unlike_those_that_were_measured_has_none(compared: Callable[..., Comparison]) -> None:
    weights = (0.4, 0.3, 0.2, 0.1, *(0.0,) * 6)
    other = (0.4, 0.2, 0.3, 0.1, *(0.0,) * 6)  # one of the first two in common
    comparison = compared(lambda kept: kept @ np.asarray(weights), dict(zip(PLAIN, (weights, other), strict=True)))
    encoding = replace(comparison.decision.encoding, unlike_training=True)
    unlike = replace(comparison, decision=replace(comparison.decision, encoding=encoding))
    given = [answer(each, finished=True) for each in (comparison, unlike)]
    assert [one.status for one in given] == ["supported", "supported"]
    assert [one.confidence is None for one in given] == [False, True]
    assert [one.no_confidence for one in given] == ["", NOT_KNOWN.format(UNLIKE_TRAINING)]


def test_the_share_itself_is_the_confidence_where_the_regression_is_no_better(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other.json").write_text(json.dumps({**CONTENT, "rule": "base rate"}), encoding="utf-8")
    monkeypatch.setattr(module, "CONFIDENCE", tmp_path / "other.json")
    assert confidence(0.5, 10, texts=1, methods=PLAIN) == Confidence(0.9, 0.8, 0.95, 40)
    assert confidence(0.5, 10, texts=2, methods=PLAIN) == Confidence(0.85, 0.8, 0.9, 25)
    assert confidence(0.5, 10, texts=1, methods=ALL) == Confidence(1.0, 0.97, 1.0, 30)
    assert confidence(0.95, 10, texts=1, methods=ALL) == Confidence(1.0, 0.97, 1.0, 30)


@pytest.mark.parametrize(
    ("units", "share"),
    [
        (15, Confidence(0.9, 0.8, 0.95, 40)),
        (16, Confidence(0.7, 0.6, 0.8, 50)),
        (31, OTHER_LENGTH.format("texts", 5, 28, 31)),
    ],
)
def test_the_share_is_that_of_inputs_about_as_long(
    units: int, share: Confidence | str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other.json").write_text(json.dumps({**CONTENT, "rule": "base rate"}), encoding="utf-8")
    monkeypatch.setattr(module, "CONFIDENCE", tmp_path / "other.json")
    assert confidence(0.5, units, texts=1, methods=PLAIN) == share


def test_the_regression_is_from_the_inputs_of_all_lengths() -> None:
    values = [confidence(0.5, 10, texts=1, methods=methods) for methods in (PLAIN, ALL)]
    assert [isinstance(value, Confidence) and value.inputs for value in values] == [140, 90]
