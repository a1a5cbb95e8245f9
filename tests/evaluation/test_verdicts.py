import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from explainers.api import explain
from explainers.commands.app import app
from explainers.commands.verdicts import split_note
from explainers.comparison.verdict import verdict
from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.evaluation import verdict_runs
from explainers.evaluation.data_set import EvaluationSpec
from explainers.evaluation.plan import Plan
from explainers.evaluation.verdict_records import comparison_of, verdict_record
from explainers.evaluation.verdict_runs import FILE, judged_methods, recorded_pairs
from explainers.evaluation.verdicts import kind, verdict_rates
from explainers.methods.registry import method_spec, select
from explainers.models import catalog
from explainers.models.frozen_model import FrozenModel
from explainers.report.luck import RATES
from explainers.report.verdict_tables import verdict_document
from explainers.results.settings import Settings
from explainers.results.verdict import Verdict

DOCS = RATES.parent / "docs"
METHODS = ("integrated_gradients", "lime", "occlusion")
SETTINGS = Settings(samples=20, steps=3)
INPUTS = (Example("the film was not good , but a very dull plot"), Example("a good film"), Example("good"))


@pytest.fixture
def plan() -> Plan:
    return Plan(select(METHODS), SETTINGS)


def quiet(_line: str) -> None: ...


def test_the_verdict_on_a_record_is_the_verdict_on_the_comparison(bert: FrozenModel) -> None:
    record = verdict_record(bert, INPUTS[0], 0, select(METHODS), SETTINGS, operators=True)
    again = comparison_of(json.loads(json.dumps(record)), bert, INPUTS[0], SETTINGS)
    whole = explain(bert, INPUTS[0], methods=METHODS, samples=20, steps=3)
    assert verdict(again, finished=True) == verdict(whole, finished=True) or (
        # the curves of a record are rounded
        verdict(again, finished=True).best == verdict(whole, finished=True).best
    )
    assert [check.erasure for check in again.operator_checks] == ["delete", "zero"]


def test_only_what_samples_is_explained_with_another_seed(bert: FrozenModel, plan: Plan, tmp_path: Path) -> None:
    pairs = recorded_pairs(bert, INPUTS[:1], plan, tmp_path, quiet)
    ((one, other),) = pairs
    assert [a.attribution.scores == b.attribution.scores for a, b in zip(one.results, other.results, strict=True)] == [
        True,
        False,
        True,
    ]
    assert one.random_control is not None
    assert other.random_control is not None
    assert one.random_control.scores != other.random_control.scores


def test_an_interrupted_run_goes_on(
    bert: FrozenModel, plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded_pairs(bert, INPUTS, plan, tmp_path, quiet)
    lines = (tmp_path / FILE).read_text().splitlines()
    assert len(lines) == 1 + 2 * len(INPUTS)
    (tmp_path / FILE).write_text("\n".join(lines[:4]) + "\n" + lines[4][:100])
    computed = []
    original = verdict_runs.verdict_record

    def counted(model: FrozenModel, example: Example, number: int, *rest: object, **options: bool) -> object:
        computed.append(number)
        return original(model, example, number, *rest, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(verdict_runs, "verdict_record", counted)
    recorded_pairs(bert, INPUTS, plan, tmp_path, quiet)
    assert computed == [1, 2, 2]
    with pytest.raises(ExplanationError, match="belongs to another run"):
        recorded_pairs(bert, INPUTS[:2], plan, tmp_path, quiet)


def test_rates_add_up_and_the_document_has_them(bert: FrozenModel, plan: Plan, tmp_path: Path) -> None:
    rates = verdict_rates(recorded_pairs(bert, INPUTS, plan, tmp_path, quiet))
    assert sum(rates["kinds"].values()) == rates["inputs"] == 3
    assert rates["kinds"]["refused"] >= 1  # a single word
    about = {"command": "the command", "model": "small", "samples": 20, "limit": 0.02, "split": "Which part."}
    document = verdict_document(rates, about)
    assert "over inputs. Which part.\n" in document
    assert "| cannot be judged |" in document
    assert "The input has … word; a verdict needs at least …." in document


def test_the_stored_document_is_made_of_the_stored_rates_and_names_the_part_of_the_data() -> None:
    rates = json.loads(RATES.read_text(encoding="utf-8"))
    assert (DOCS / "verdicts.md").read_text(encoding="utf-8") == verdict_document(rates, rates["about"])
    spec = EvaluationSpec("sst2", None, "test", rates["inputs"], (), ())
    assert rates["about"]["split"] == split_note(spec) != ""
    assert split_note(replace(spec, data=Path(__file__))) == split_note(replace(spec, split="validation")) == ""


@pytest.mark.parametrize(
    ("judged", "name"),
    [
        (Verdict("clear", best=("lime",)), "one"),
        (Verdict("clear", best=("lime", "aml")), "several"),
        (Verdict("tied", best=("lime", "aml"), leading=(("removing", ("lime",)), ("keeping", ("aml",)))), "divided"),
        (Verdict("tied", best=("lime",), leading=(("removing", ("lime",)),)), "divided"),
        (Verdict("tied", best=("lime",), leading=(("removing", ("lime",)), ("keeping", ("lime",)))), "tied"),
        (Verdict("refused", refusal="no"), "refused"),
    ],
)
def test_kinds_of_verdicts(judged: Verdict, name: str) -> None:
    assert kind(judged) == name


def test_the_methods_are_those_that_may_decide() -> None:
    specs = [method_spec(id) for id in judged_methods()]
    assert {"aml", "lime", "attention_mean"} <= {spec.id for spec in specs}
    assert not [spec.id for spec in specs if spec.optimised or spec.is_random]


def test_the_command_writes_numbers_and_document(
    bert: FrozenModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "load", lambda name, **_rest: bert)
    (tmp_path / "texts.txt").write_text("".join(f"the film {number} was not good\n" for number in range(20)))
    options = ("--data", str(tmp_path / "texts.txt"), "--n", "2", "--samples", "20", "--steps", "3")
    result = CliRunner().invoke(
        app, ["verdicts", *options, "--methods", "lime,occlusion", "--out", str(tmp_path / "out")]
    )
    assert result.exit_code == 0, result.output
    assert json.loads((tmp_path / "out" / "verdicts.json").read_text())["inputs"] == 2
    assert (tmp_path / "out" / "verdicts.md").read_text().startswith("# How far verdicts can be relied on")
