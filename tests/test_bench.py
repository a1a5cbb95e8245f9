"""What is measured; how long it takes is this machine's affair."""

import pytest

from explainers import bench
from explainers.bench import PAIR, SENTENCE, example_for, measure, report
from explainers.datasets.example import Example
from explainers.models import batching
from explainers.models.classifier import FrozenModel


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"SAMPLES": 20, "STEPS": 2, "REPEATS": 1, "DEFAULT": ("occlusion", "lime")}.items():
        monkeypatch.setattr(bench, name, value)
    monkeypatch.setitem(batching.TOKENS_PER_BATCH, "cpu", 256)


def test_a_model_gets_what_it_asks_for(bert: FrozenModel, pairs: FrozenModel) -> None:
    assert example_for(bert) == Example(SENTENCE)
    assert example_for(pairs) is PAIR


def test_of_text_everything_is_measured(bert: FrozenModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "load", lambda _name: bert)
    bert.tokenizer.enable_truncation(64)
    found = measure("small", 0, browser=False)
    assert found["units"] == found["words"] + 1  # a comma is a unit of its own
    assert set(found["ours"]) == set(found["captum as documented"]) == {"integrated_gradients", *bench.PERTURBING}
    assert set(found["times faster"]) == {"perturbing methods together", *found["ours"]}
    assert found["arithmetic"]["rows in a batch"] > 0
    assert found["whole comparison"]["model calls"] > 0
    assert "Occlusion" not in report(found)  # methods are named by their ids
    assert "captum as documented" in report(found).splitlines()
