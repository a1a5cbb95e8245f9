import multiprocessing
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from explainers.__main__ import app
from explainers.comparison.decision import card_of
from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.evaluation import explanation_store
from explainers.evaluation.data_set import run_evaluation
from explainers.evaluation.explanation_store import FILE, ExplanationStore, explain_set, explanation_key
from explainers.evaluation.measurement import Plan, current_records, final_attribution
from explainers.methods.registry import MethodSpec, select
from explainers.models.calls import Meter, PredictionCache
from explainers.models.frozen_model import FrozenModel
from explainers.results.attribution import Attribution
from explainers.results.decision import Decision, Settings
from explainers.studies.criteria import consistency_rows, explained_inputs
from explainers.studies.published_metrics import published_rows
from tests.evaluation.test_runner import TEXTS

SETTINGS = Settings(samples=20)
THINGS = ("film", "plot", "end", "joke")
WORDS = ("good", "bad", "dull", "very good", "not bad")
METHODS = ("occlusion", "lime", "kernel_shap", "integrated_gradients", "aml")


def decision_of(model: FrozenModel, text: str = "a very dull plot", **fields: Any) -> Decision:
    return Decision(card_of(model), model.encode(text), **{"label": 0, "settings": SETTINGS, **fields})


def counting(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The methods that are computed from now on, one by one."""
    computed: list[str] = []

    def counted(spec: MethodSpec, model: FrozenModel, decision: Decision) -> Attribution:
        computed.append(spec.id)
        return final_attribution(spec, model, decision)

    monkeypatch.setattr(explanation_store, "final_attribution", counted)
    return computed


@pytest.mark.parametrize("method", METHODS)
def test_what_is_stored_is_what_was_computed(bert: FrozenModel, tmp_path: Path, method: str) -> None:
    (spec,), store, decision = select([method]), ExplanationStore(tmp_path / "new"), decision_of(bert)
    first = store.attribution(spec, bert, decision)
    assert first.scores == final_attribution(spec, bert, decision).scores
    meter = Meter()
    assert store.attribution(spec, bert.metered(meter), decision) == first  # with its seconds and passes
    assert (meter.answers, len(store)) == (0, 1)


def test_every_measurement_of_a_set_reads_the_same_explanations(
    bert: FrozenModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    specs, store = select(METHODS), ExplanationStore(tmp_path / "explanations")
    texts = [Example(f"the {thing} was {word}") for thing in ("film", "plot") for word in WORDS]
    computed, plan = counting(monkeypatch), Plan(specs, SETTINGS, ("mask", "delete"))
    made, reasons = explain_set(bert, texts, specs, SETTINGS, store.attribution, print)
    assert (made, len(computed), len(store), reasons) == (50, 50, 50, {})
    computed.clear()
    list(run_evaluation(bert, texts, plan, tmp_path / "stored", explain=store.attribution))
    consistency = consistency_rows(bert, texts, specs, SETTINGS, print, store.attribution)
    published = published_rows(bert, texts, specs, SETTINGS, print, store.attribution)
    scores = explained_inputs(bert, [bert.encode(text) for text in texts], specs, SETTINGS, print, store.attribution)
    assert computed == []
    list(run_evaluation(bert, texts, plan, tmp_path / "anew"))
    stored, anew = (current_records(tmp_path / name, METHODS, bert) for name in ("stored", "anew"))
    assert [record["metrics"] for record in stored] == [timeless_metrics(record) for record in anew]
    assert consistency == consistency_rows(bert, texts, specs, SETTINGS, print)
    anew_published = published_rows(bert, texts, specs, SETTINGS, print)
    assert [row["metrics"] for row in published] == [
        {id: pytest.approx(interval, abs=1e-6) for id, interval in row["metrics"].items()} for row in anew_published
    ]
    again = explained_inputs(bert, [bert.encode(text) for text in texts], specs, SETTINGS, print)
    assert {method: np.concatenate(rows) for method, rows in scores[0].items()} == {
        method: pytest.approx(np.concatenate(rows), abs=1e-6) for method, rows in again[0].items()
    }


def timeless_metrics(record: dict[str, Any]) -> Any:
    """Up to the last digits, which depend on what else was in a batch."""
    return {erasure: pytest.approx(values, abs=1e-6) for erasure, values in record["metrics"].items()}


CHANGES: dict[str, Callable[[FrozenModel, Decision], tuple[FrozenModel, Decision]]] = {
    "text": lambda model, _decision: (model, decision_of(model, "a very good plot")),
    "class": lambda model, decision: (model, replace(decision, label=1)),
    "target": lambda model, decision: (model, replace(decision, versus=1)),
    "seed": lambda model, decision: (model, replace(decision, settings=replace(SETTINGS, seed=1))),
    "samples": lambda model, decision: (model, replace(decision, settings=replace(SETTINGS, samples=30))),
    "operator": lambda model, decision: (model, replace(decision, settings=replace(SETTINGS, erasure="zero"))),
    "units": lambda model, decision: (
        model,
        replace(decision, encoding=model.encode("a very dull plot", "sentence")),
    ),
    "version": lambda model, decision: (replace(model, version="other"), decision),
    "precision": lambda model, decision: (replace(model, precision="bfloat16"), decision),
}


@pytest.mark.parametrize("change", CHANGES)
def test_an_explanation_is_found_again_only_for_the_same_question(bert: FrozenModel, change: str) -> None:
    (spec,), decision = select(["occlusion"]), decision_of(bert)
    other_model, other = CHANGES[change](bert, decision)
    assert explanation_key(spec, bert, decision) == explanation_key(spec, bert, decision_of(bert))
    assert explanation_key(spec, other_model, other) != explanation_key(spec, bert, decision)


def test_other_code_weights_and_methods_have_explanations_of_their_own(
    bert: FrozenModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    aml, cimi = select(["aml", "cimi"])
    decision = decision_of(bert)
    keys = {explanation_key(aml, bert, decision), explanation_key(cimi, bert, decision)}
    monkeypatch.setattr(explanation_store, "weights_checksum", lambda _model, _method: "fitted again")
    keys.add(explanation_key(aml, bert, decision))
    monkeypatch.setattr(explanation_store, "code_checksum", lambda: "other code")
    keys.add(explanation_key(aml, bert, decision))
    assert len(keys) == 4


def explain(number: int, folder: Path, model: FrozenModel) -> None:
    (spec,), store = select(["occlusion"]), ExplanationStore(folder)
    for text in range(10):
        store.attribution(spec, model, decision_of(model, f"plot {number} {text}"))


def test_several_processes_write_at_once(bert: FrozenModel, tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=explain, args=(number, tmp_path, bert)) for number in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * 4
    assert len(ExplanationStore(tmp_path)) == 40


def test_a_damaged_file_is_said_and_left_alone(bert: FrozenModel, tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"no database, but more than a header of one" * 40)
    with pytest.raises(ExplanationError, match=r"cannot be used: file is not a database\. Choose another folder"):
        ExplanationStore(tmp_path).attribution(select(["occlusion"])[0], bert, decision_of(bert))
    with pytest.raises(ExplanationError, match="Choose another folder"):
        explain_set(bert, TEXTS, select(["occlusion"]), SETTINGS, ExplanationStore(tmp_path).attribution, print)
    assert (tmp_path / FILE).read_bytes().startswith(b"no database")


def test_a_method_that_fails_is_named_and_the_others_are_kept(
    bert: FrozenModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(spec: MethodSpec, model: FrozenModel, decision: Decision) -> Attribution:
        if spec.id == "lime":
            raise RuntimeError
        return final_attribution(spec, model, decision)

    monkeypatch.setattr(explanation_store, "final_attribution", broken)
    store = ExplanationStore(tmp_path)
    made, reasons = explain_set(bert, TEXTS, select(["lime", "occlusion"]), SETTINGS, store.attribution, print)
    assert (made, len(store)) == (4, 4)  # one of the five texts has no words
    assert reasons == {"lime": "Internal error in Crosslight (RuntimeError)."}


def test_the_file_holds_no_text(bert: FrozenModel, tmp_path: Path) -> None:
    ExplanationStore(tmp_path).attribution(select(["occlusion"])[0], bert, decision_of(bert))
    content = (tmp_path / FILE).read_bytes()
    assert b"occlusion" in content
    assert b"dull" not in content


def test_the_commands_share_a_folder(tmp_path: Path, hub_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("\n".join(f"the {thing} was {word}" for thing in THINGS for word in WORDS))
    common = ["--model", str(hub_folder), "--data", str(texts), "--methods", "occlusion,lime", "--samples", "20"]
    folder, runner = str(tmp_path / "explanations"), CliRunner()
    result = runner.invoke(app, ["study", "explain-set", *common, "--out", folder])
    assert (result.exit_code, result.stdout.strip()) == (0, f"40 explanations of 20 inputs in {folder}.")
    computed = counting(monkeypatch)
    for command in (["study", "consistency"], ["study", "published-metrics"], ["evaluate", "--sensitive", "0"]):
        out = str(tmp_path / command[-1])
        result = runner.invoke(app, [*command, *common, "--explanations", folder, "--out", out])
        assert result.exit_code == 0, result.output
    assert computed == []


def test_rows_of_a_table_are_stored_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("text\ngood\n")
    asked = ["evaluate", "--data", str(tmp_path / "rows.csv"), "--column", "text", "--explanations", str(tmp_path)]
    result = CliRunner().invoke(app, asked)
    assert result.exit_code == 2
    assert "--explanations does not go with the rows of a table. Omit it." in result.output


def test_a_pool_of_answers_does_not_change_what_is_stored(bert: FrozenModel, tmp_path: Path) -> None:
    (spec,), decision = select(["kernel_shap"]), decision_of(bert)
    first = ExplanationStore(tmp_path).attribution(spec, bert.pooled(PredictionCache()), decision)
    np.testing.assert_allclose(first.scores, final_attribution(spec, bert, decision).scores, atol=1e-6)
