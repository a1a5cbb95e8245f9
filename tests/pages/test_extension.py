"""One specification is enough: a method and a metric registered here appear everywhere, with no other file touched."""

import csv
import io
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from typer.testing import CliRunner

from explainers import explain
from explainers.commands.app import app
from explainers.evaluation import data_set
from explainers.methods.registry import METHODS
from explainers.methods.spec import MethodSpec
from explainers.metrics.faithfulness import METRICS
from explainers.metrics.spec import MetricSpec
from explainers.models import catalog
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding
from explainers.report.document import document
from explainers.report.terminal import comparison_lines
from explainers.results.attribution import Attribution
from explainers.results.erasure_curves import ErasureCurves

MODULE = "crosslight_test_method"


@dataclass(frozen=True)
class FirstWord:
    """Explains every decision by the first unit."""

    def attribute(self, model: FrozenModel, encoding: Encoding, label: int) -> Attribution:
        scores = tuple(float(number == 0) for number in range(len(encoding.units)))
        return Attribution("first_word", encoding, label, scores, signed=False)


def half_kept(curves: ErasureCurves) -> float:
    return curves.when_kept(50)


METHOD = MethodSpec(
    id="first_word",
    name="First word",
    group="Captum",
    kind="one pass",
    signed=False,
    idea="The first word counts, whatever it is.",
    caution="Do not believe it.",
    formula="s_1=1",
    source="a test",
    made_by=f"{MODULE}:FirstWord",
    colour="#123456",
)
METRIC = MetricSpec("half_kept", "Half kept", half_kept, higher_is_better=True, meaning="p with the top half alone.")


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    module = ModuleType(MODULE)
    module.FirstWord = FirstWord  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, MODULE, module)
    METHODS.register(METHOD)
    METRICS.register(METRIC)
    yield
    METHODS.unregister(METHOD.id)
    METRICS.unregister(METRIC.id)


@pytest.mark.usefixtures("small")
def test_both_appear_on_the_compare_page(opened: Callable[..., Any]) -> None:
    page = opened(learned=None, captum=None, controls=None).settle()
    cards = {card["id"]: card for card in page.sheet["rows"]}
    assert cards["first_word"]["name"] == "First word"
    assert cards["first_word"]["status"] == "done"
    assert "Half kept ↑" in page.html
    assert "First word" in page.html


@pytest.mark.usefixtures("small")
def test_both_appear_on_the_methods_page(opened: Callable[..., Any]) -> None:
    page = opened()
    page.at.switch_page("pages/methods.py")
    page.run()
    assert "First word" in [expander.label for expander in page.at.expander]
    texts = "\n".join(page.plain())
    assert METHOD.idea in texts
    assert f"Half kept (higher is better). {METRIC.meaning}" in texts


def test_both_appear_in_every_export(bert: FrozenModel) -> None:
    comparison = explain(bert, "the good film", methods=["first_word", "occlusion"])
    assert comparison.methods == ("occlusion", "first_word")
    assert "half_kept" in comparison.as_dict()["explanations"][1]["metrics"]
    from explainers.report.exports import csv_metrics, csv_scores

    rows = {row["method"]: row for row in csv.DictReader(io.StringIO(csv_metrics(comparison)))}
    assert float(rows["first_word"]["half_kept"]) == pytest.approx(comparison.results[1].curves.when_kept(50))
    assert set(rows) == {"occlusion", "first_word", "random"}
    assert "first_word" in csv_scores(comparison)
    assert set(comparison.to_frame("metrics")["method"]) == set(rows)
    page = document(comparison)
    assert "First word" in page
    assert "Half kept" in page
    assert any("Half kept" in line for line in comparison_lines(comparison))


def test_a_metric_that_nobody_knew_makes_no_false_leader(bert: FrozenModel) -> None:
    text = "the good film was not a very bad plot, the film was dull"
    comparison = explain(bert, text, methods=["first_word", "lime"], samples=20)
    sampled = next(result for result in comparison.results if result.attribution.method == "lime")
    assert sampled.noise["half_kept"] > 0


def test_both_appear_on_the_command_line(bert: FrozenModel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for module in (catalog, data_set):
        monkeypatch.setattr(module, "load", lambda name, **_rest: bert)
    run = CliRunner().invoke
    assert "first_word" in run(app, ["methods"]).stdout
    explained = json.loads(run(app, ["explain", "--text", "good film", "--samples", "20", "--json"]).stdout)
    assert "first_word" in [each["method"] for each in explained["explanations"]]
    texts = tmp_path / "texts.txt"
    texts.write_text("".join(f"the good film {number}\n" for number in range(20)), encoding="utf-8")
    options = ("--model", "small", "--data", str(texts), "--n", "3", "--methods", "first_word,occlusion")
    result = run(app, ["evaluate", *options, "--sensitive", "0", "--out", str(tmp_path / "out"), "--json"])
    assert result.exit_code == 0, result.output
    rows = [row for row in json.loads(result.stdout)["rows"] if row["method"] == "first_word"]
    assert rows
    assert all("half_kept" in row and "half_kept_gain" in row for row in rows)
