"""What the benchmark measures; no test depends on how fast this machine is."""

import pytest

from explainers.models import batching
from explainers.models.frozen_model import FrozenModel
from explainers.models.text.tasks import PAIR, SENTENCE
from explainers.studies.speed import measure
from explainers.studies.speed.command import benchmark_lines
from explainers.studies.speed.measure import benchmark, example_for


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "SAMPLES": 20,
        "STEPS": 2,
        "REPEATS": 1,
        "default_methods": lambda: ("occlusion", "lime"),
    }.items():
        monkeypatch.setattr(measure, name, value)
    monkeypatch.setitem(batching.TOKENS_PER_BATCH, "cpu", 256)


def test_a_model_gets_an_example_of_its_kind(bert: FrozenModel, pairs: FrozenModel) -> None:
    assert example_for(bert) is SENTENCE
    assert example_for(pairs) is PAIR


def test_of_text_everything_is_measured(bert: FrozenModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure.catalog, "load", lambda _name: bert)
    bert.tokenizer.enable_truncation(64)
    results = benchmark("small", 0, browser=False)
    assert results["units"] == results["words"] + 1  # the comma is a unit
    assert set(results["ours"]) == set(results["captum as documented"]) == {"integrated_gradients", *measure.PERTURBING}
    assert set(results["times faster"]) == {"perturbing methods together", *results["ours"]}
    assert results["arithmetic"]["rows in a batch"] > 0
    assert results["whole comparison"]["model calls"] > 0
    assert "Occlusion" not in benchmark_lines(results)  # methods are named by their ids
    assert "captum as documented" in benchmark_lines(results).splitlines()
