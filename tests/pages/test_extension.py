"""A package of somebody else adds a method and a metric by entry points: both appear everywhere, no file is touched."""

import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from explainers import explain
from explainers.__main__ import app
from explainers.methods.registry import METHODS
from explainers.metrics.faithfulness import METRICS
from explainers.models import catalog
from explainers.models.frozen_model import FrozenModel
from explainers.report.document import document
from explainers.report.terminal import comparison_lines
from explainers.results import registry
from tests.pages.conftest import DEFAULT

ROOT = Path(__file__).parents[2]
PACKAGE = """
from dataclasses import dataclass

from explainers.methods.registry import MethodSpec
from explainers.metrics.spec import MetricSpec
from explainers.results.events import Attribution

FIRST_WORD = MethodSpec(
    id="first_word",
    name="First word",
    group="Perturbation",
    kind="one pass",
    signed=False,
    idea="The first word counts, whatever it is.",
    caution="Do not believe it.",
    formula="s_1=1",
    source="a test",
    implementation="crosslight_scratch:FirstWord",
    colour="#123456",
)


@dataclass(frozen=True)
class FirstWord:
    def attribute(self, model, encoding, label):
        scores = tuple(float(number == 0) for number in range(len(encoding.units)))
        return Attribution(FIRST_WORD.id, encoding, label, scores, signed=FIRST_WORD.signed)


def half_kept():
    return MetricSpec(
        id="half_kept",
        name="Half kept",
        score=lambda curves: curves.when_kept(50),
        higher_is_better=True,
        meaning="p with the top half alone.",
    )
"""
ENTRY_POINTS = """[crosslight.methods]
first_word = crosslight_scratch:FIRST_WORD
absent = crosslight_nowhere:SPEC

[crosslight.metrics]
half_kept = crosslight_scratch:half_kept
"""
READ = """
import sys
from explainers.methods.registry import METHODS
from explainers.metrics.faithfulness import METRICS
assert {"first_word", "half_kept"} <= {*METHODS.ids, *METRICS.ids}
sys.exit("torch" in sys.modules)
"""
LEFT_OUT = (
    "The method 'absent' of crosslight-scratch (crosslight_nowhere:SPEC) is left out: ModuleNotFoundError: No module "
    "named 'crosslight_nowhere'"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for `sys.path` with a package as pip installs it, one of whose entry points names what is not there."""
    path = tmp_path_factory.mktemp("site")
    metadata = path / "crosslight_scratch-0.0.1.dist-info"
    metadata.mkdir()
    (path / "crosslight_scratch.py").write_text(PACKAGE, encoding="utf-8")
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: crosslight-scratch\nVersion: 0.0.1\n")
    (metadata / "entry_points.txt").write_text(ENTRY_POINTS)
    return path


@pytest.fixture
def _installed(folder: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        patch.setattr(registry, "entry_points", entry_points)  # which the other tests do without
        METHODS.reload()
        METRICS.reload()
        yield
    sys.modules.pop("crosslight_scratch", None)
    METHODS.reload()
    METRICS.reload()


pytestmark = pytest.mark.usefixtures("_installed")


def ran(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Python in a process of its own that sees the package."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)


def test_what_cannot_be_imported_is_a_sentence_of_the_command(folder: Path) -> None:
    result = ran(folder, "-m", "explainers", "methods")
    assert result.returncode == 0
    assert "first_word             First word               The first word counts, whatever it is." in result.stdout
    assert LEFT_OUT in result.stderr.splitlines()


def test_reading_the_registries_does_not_load_torch(folder: Path) -> None:
    result = ran(folder, "-c", READ)
    assert result.returncode == 0, result.stderr


@pytest.mark.usefixtures("small")
def test_both_appear_on_the_compare_page(opened: Callable[..., Any]) -> None:
    page = opened(**DEFAULT).settle()
    cards = {card["id"]: card for card in page.sheet["rows"]}
    assert cards["first_word"]["name"] == "First word"
    assert cards["first_word"]["status"] == "done"
    assert "Half kept ↑" in page.html
    assert "First word" in page.html


@pytest.mark.usefixtures("small")
def test_both_appear_on_the_methods_page(opened: Callable[..., Any]) -> None:
    page = opened()
    page.at.switch_page("pages/methods.py")
    page.at.session_state["about first_word"] = True
    page.run()
    assert "First word" in [expander.label for expander in page.at.expander]
    texts = "\n".join(page.plain())
    assert "The first word counts, whatever it is." in texts
    assert "Half kept (higher is better). p with the top half alone." in texts
    assert LEFT_OUT in texts


def test_both_appear_in_every_export(bert: FrozenModel) -> None:
    comparison = explain(bert, "the good film", methods=["first_word", "occlusion"])
    assert comparison.methods == ("consensus", "occlusion", "first_word")
    assert "half_kept" in comparison.as_dict()["explanations"][2]["metrics"]
    from explainers.report.tables import csv_metrics, csv_scores

    rows = {row["method"]: row for row in csv.DictReader(io.StringIO(csv_metrics(comparison)))}
    assert float(rows["first_word"]["half_kept"]) == pytest.approx(comparison.results[2].curves.when_kept(50))
    assert set(rows) == {"consensus", "occlusion", "first_word", "random"}
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
    monkeypatch.setattr(catalog, "load", lambda name, **_rest: bert)
    run = CliRunner().invoke
    assert "first_word" in run(app, ["methods"]).stdout
    explained = json.loads(run(app, ["explain", "--text", "good film", "--samples", "20", "--json"]).stdout)
    assert "first_word" in [explanation["method"] for explanation in explained["explanations"]]
    texts = tmp_path / "texts.txt"
    texts.write_text("".join(f"the good film {number}\n" for number in range(20)), encoding="utf-8")
    options = ("--model", "small", "--data", str(texts), "--n", "3", "--methods", "first_word,occlusion")
    result = run(app, ["study", "evaluation", *options, "--sensitive", "0", "--out", str(tmp_path / "out"), "--json"])
    assert result.exit_code == 0, result.output
    rows = [row for row in json.loads(result.stdout)["rows"] if row["method"] == "first_word"]
    assert rows
    assert all("half_kept" in row and "half_kept_gain" in row for row in rows)
