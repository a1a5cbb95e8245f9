import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from app.compare.panels import agreement_chart
from app.compare.runs import Run
from explainers.metrics.agreement import AGREEMENTS
from explainers.results.comparison import Comparison

Ran = Callable[..., Run]
METHODS = ("integrated_gradients", "lime", "occlusion")


@pytest.fixture
def comparison(ran: Ran) -> Comparison:
    return ran(methods=METHODS).comparison()


@pytest.mark.parametrize("measure", AGREEMENTS, ids=[measure.id for measure in AGREEMENTS])
def test_every_method_agrees_with_itself_and_the_matrix_is_symmetric(comparison: Comparison, measure: Any) -> None:
    (drawn,) = agreement_chart(comparison, measure).data
    values = np.asarray(drawn.z, dtype=float)
    assert np.diag(values) == pytest.approx(1)
    assert values == pytest.approx(values.T)
    signed = ["Integrated gradients", "LIME", "Occlusion"]
    assert list(drawn.x) == list(drawn.y) == (signed if measure.signed_only else ["Consensus", *signed])
    assert all(re.fullmatch(r"-?\d\.\d\d", text) for row in drawn.text for text in row)


def test_a_persons_and_a_random_order_have_no_part(comparison: Comparison) -> None:
    renamed = zip(("guess", "random", "occlusion"), comparison.results[1:], strict=True)
    results = (replace(result, attribution=replace(result.attribution, method=name)) for name, result in renamed)
    assert list(agreement_chart(replace(comparison, results=tuple(results)), AGREEMENTS[0]).data[0].x) == ["Occlusion"]


def test_agreement_that_is_not_defined_is_not_a_number_on_the_page(ran: Ran) -> None:
    (drawn,) = agreement_chart(ran("good", methods=METHODS).comparison(), AGREEMENTS[0]).data
    assert {text for row in drawn.text for text in row} == {"–"}


def test_signs_are_compared_between_signed_methods_only(bert: Any, ran: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explainers.models.catalog.load", lambda name, **_rest: bert)
    comparison = ran("the film was good", methods=("occlusion", "attention_mean")).comparison()
    (measure,) = (agreement for agreement in AGREEMENTS if agreement.signed_only)
    assert list(agreement_chart(comparison, measure).data[0].x) == ["Occlusion"]


def test_signs_of_unsigned_methods_alone_make_an_empty_matrix(
    bert: Any, ran: Ran, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explainers.models.catalog.load", lambda name, **_rest: bert)
    comparison = ran("the film was good", methods=("attention_mean", "attention_last")).comparison()
    (measure,) = (agreement for agreement in AGREEMENTS if agreement.signed_only)
    assert len(agreement_chart(comparison, measure).data[0].x) == 0
