import shutil
from pathlib import Path

import pytest

from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.installation import STORE_VARIABLE
from explainers.metrics.bootstrap import Interval
from explainers.models.frozen_model import FrozenModel
from explainers.studies import equal_calls as module
from explainers.studies.equal_calls import EqualCalls, equal_calls, equal_calls_document, write_equal_calls

LONG = "the film was not good but the plot was fine"
METHODS = ["faml", "faml:comp", "lime", "kernel_shap"]


@pytest.fixture(autouse=True)
def quick(small_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few steps, and the weights of AML as the variant `comp` too."""
    monkeypatch.setattr(module, "STEPS", (2, 4))
    folder = shutil.copytree(small_store, tmp_path / "store") / "learned" / "small-1"
    for suffix in (".json", ".safetensors"):
        shutil.copy(folder / f"aml-difference{suffix}", folder / f"aml-comp{suffix}")
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "store"))


def test_the_samplers_ask_as_often_as_faml(bert: FrozenModel) -> None:
    lines: list[str] = []
    rows = equal_calls(bert, [Example("good film"), Example(LONG), Example(LONG + " !")], 2, lines.append)
    assert lines == ["text 1 of at most 2", "text 2 of at most 2"]  # the short one is left out
    assert [(row.steps, row.method) for row in rows] == [(steps, name) for steps in (2, 4) for name in METHODS]
    for steps in (2, 4):
        faml, _, lime, shap = (row for row in rows if row.steps == steps)
        assert faml.minus_faml is None
        assert faml.aopc_c.texts == 2
        for sampler in (lime, shap):
            assert sampler.minus_faml is not None
            assert sampler.minus_faml[0].mean == pytest.approx(sampler.aopc_c.mean - faml.aopc_c.mean)
            assert abs(sampler.calls - faml.calls) <= 3  # the two ends, and the whole text
    assert rows[4].calls > rows[0].calls


def test_texts_that_are_too_short_are_a_sentence(bert: FrozenModel) -> None:
    with pytest.raises(ExplanationError, match="None of the texts has 9 words or more"):
        equal_calls(bert, [Example("good film")], 2, print)


def test_the_document_has_a_table_for_every_number_of_steps() -> None:
    level = Interval(0.5, 0.25, 0.75, 7)
    rows = [
        EqualCalls(20, "faml", 110.4, level, level, None),
        EqualCalls(20, "lime", 110, level, level, (level, level)),
    ]
    document = equal_calls_document(rows, "sst2", "texts of its test split", "bench --calls x.md")
    assert "for `sst2`, on 7 texts of its test split with 9 words or more" in document.replace("\n", " ")
    assert "## 20 steps of fAML" in document
    assert "| 110 | 0.500 [0.250, 0.750] | 0.500 [0.250, 0.750] | +0.500 [+0.250, +0.750] |" in document


def test_the_command_writes_the_document_with_its_command(
    bert: FrozenModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "load", lambda _name: bert)
    path, data = tmp_path / "calls.md", tmp_path / "texts.txt"
    data.write_text("\n".join(f"{LONG} {end}" for end in range(20)), encoding="utf-8")
    document = write_equal_calls(path, "small", 1, data)
    assert path.read_text(encoding="utf-8") == document
    assert f"study equal-calls --model small --out {path} --texts 1 --data DATA" in document
