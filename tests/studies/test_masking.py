from itertools import pairwise

import numpy as np
import pytest

from explainers.metrics.bootstrap import Interval
from explainers.results.answer import CONSENSUS
from explainers.studies.masking import (
    EMBEDDED,
    RATES,
    UNIFORM,
    conclusion,
    lines,
    masked_keeps,
    masking_document,
    without_weights,
)


def test_every_mask_has_the_share_of_its_rate_and_holds_the_smaller_ones() -> None:
    keeps = masked_keeps(20, seed=3)
    assert (~keeps).sum(1).tolist() == [0, 3, 10, 16, 18, 20]
    assert all((later <= earlier).all() for earlier, later in pairwise(keeps))
    assert not np.array_equal(keeps, masked_keeps(20, seed=4))


def test_no_method_that_is_fitted_to_the_embedded_model_is_compared() -> None:
    names = {spec.id for spec in without_weights()}
    assert {"integrated_gradients", "lime", "kernel_shap", "occlusion"} <= names
    assert not names & {"aml", "cimi", "ciem", "ivra", "random"}


def row(right: list[int], status: str, *, delete: bool) -> dict[str, object]:
    answer = {
        "status": status,
        "refused": False,
        "operators": {"delete": delete},
        "evidence": {CONSENSUS: 0.5},
        "operators_evidence": {"delete": {"lime": 0.2, "occlusion": 0.4}},
    }
    return {"right": right, "largest": [0.9] * len(RATES), "luck": [0, 3], "seeds": [answer]}


def test_measures_of_a_row() -> None:
    values = {name: measure(row([1, 1, 0, 1, 0, 0], "supported", delete=False)) for name, measure in lines().items()}
    assert [values[f"accuracy, {100 * rate:.0f} % masked"] for rate in RATES] == [1, 1, 0, 1, 0, 0]
    assert values["the consensus is better than chance"] == 1
    assert values["holds under all other operators"] == 0
    assert values["luck: any of ten random orders is named"] == 0.5
    assert values["mean of all methods under delete"] == pytest.approx(0.3)
    assert values["mean of all methods under zero"] is None


def test_operators_count_only_where_both_models_are_supported() -> None:
    one = [row([1] * 6, "supported", delete=True), row([1] * 6, "open", delete=False)]
    other = [row([1] * 6, "supported", delete=False), row([0] * 6, "supported", delete=True)]
    results = {"sst2": {"command": "c", "training": "t", "rows": {EMBEDDED: one, UNIFORM: other}}}
    written = {line.split(" | ")[0].strip("| "): line for line in masking_document(results).splitlines() if "|" in line}
    assert written["holds under all other operators"].rstrip(" |").endswith("| 1")
    assert written["accuracy, 0 % masked"].split(" | ")[1:3] == ["1.000 [1.000, 1.000]", "0.500 [0.000, 1.000]"]


def test_the_conclusion_names_differences_whose_interval_excludes_0() -> None:
    level, apart = Interval(0.1, -0.1, 0.3, 9), Interval(-0.2, -0.3, -0.1, 9)
    values = {"accuracy": (apart, apart, level), "luck": (level, level, apart), "missing": (None, None, None)}
    assert conclusion(values) == "Differences whose interval excludes 0: luck (-0.200)."
    assert conclusion({"accuracy": (apart, apart, level)}) == "Differences whose interval excludes 0: none."
