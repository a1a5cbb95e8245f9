import json
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
from explainers.evaluation.explanation_store import FILE, ExplanationStore, explain_set, explanation_key
from explainers.evaluation.measurement import Plan, UnusableStore, current_records, final_attribution
from explainers.methods.registry import METHODS, MethodSpec, select
from explainers.models.calls import PredictionCache
from explainers.models.frozen_model import FrozenModel
from explainers.results.attribution import Attribution
from explainers.results.decision import Decision, Settings
from explainers.studies.criteria import consistency_rows, explained_inputs
from explainers.studies.evaluation import run_evaluation
from explainers.studies.published_metrics import published_rows
from tests.evaluation.test_runner import TEXTS

SETTINGS = Settings(samples=20)
THINGS = ("film", "plot", "end", "joke")
WORDS = ("good", "bad", "dull", "very good", "not bad")
EXPLAINED = ("occlusion", "lime", "kernel_shap", "integrated_gradients", "aml")


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


@pytest.mark.parametrize("method", EXPLAINED)
def test_what_is_stored_is_what_was_computed(
    bert: FrozenModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    (spec,), store, decision = select([method]), ExplanationStore(tmp_path / "new"), decision_of(bert)
    computed = counting(monkeypatch)
    first = store.attribution(spec, bert, decision)
    assert first.scores == final_attribution(spec, bert, decision).scores
    assert store.attribution(spec, bert, decision) == first  # with its seconds and passes
    assert (computed, len(store)) == ([method], 1)


def test_every_measurement_of_a_set_reads_the_same_explanations(
    bert: FrozenModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    specs, store = select(EXPLAINED), ExplanationStore(tmp_path / "explanations")
    texts = [Example(f"the {thing} was {word}") for thing in ("film", "plot") for word in WORDS]
    computed, plan = counting(monkeypatch), Plan(specs, SETTINGS, ("mask", "delete"))
    assert explain_set(bert, texts, specs, SETTINGS, store.attribution, print) == {}
    assert len(computed) == len(store) == 50
    computed.clear()
    list(run_evaluation(bert, texts, plan, tmp_path / "stored", explain=store.attribution))
    consistency = consistency_rows(bert, texts, specs, SETTINGS, print, store.attribution)
    published = published_rows(bert, texts, specs, SETTINGS, print, store.attribution)
    scores = explained_inputs(bert, [bert.encode(text) for text in texts], specs, SETTINGS, print, store.attribution)
    assert computed == []
    list(run_evaluation(bert, texts, plan, tmp_path / "anew"))
    stored, anew = (current_records(tmp_path / name, EXPLAINED, bert) for name in ("stored", "anew"))
    assert [record["metrics"] for record in stored] == [about(record["metrics"]) for record in anew]
    assert consistency == consistency_rows(bert, texts, specs, SETTINGS, print)
    anew_published = published_rows(bert, texts, specs, SETTINGS, print)
    assert [row["metrics"] for row in published] == [
        {id: pytest.approx(interval, abs=1e-6) for id, interval in row["metrics"].items()} for row in anew_published
    ]
    again = explained_inputs(bert, [bert.encode(text) for text in texts], specs, SETTINGS, print)
    assert {method: np.concatenate(rows) for method, rows in scores[0].items()} == {
        method: pytest.approx(np.concatenate(rows), abs=1e-6) for method, rows in again[0].items()
    }


def about(metrics: dict[str, dict[str, float]]) -> Any:
    """Up to the last digits, which depend on what else was in a batch."""
    return {erasure: pytest.approx(values, abs=1e-6) for erasure, values in metrics.items()}


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


def test_other_code_weights_methods_and_libraries_have_explanations_of_their_own(
    bert: FrozenModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    aml, cimi = select(["aml", "cimi"])
    decision = decision_of(bert)
    keys = {explanation_key(aml, bert, decision), explanation_key(cimi, bert, decision)}
    monkeypatch.setattr(explanation_store, "weights_checksum", lambda _model, _method: "fitted again")
    keys.add(explanation_key(aml, bert, decision))
    monkeypatch.setattr(explanation_store, "code_checksum", lambda: "other code")
    keys.add(explanation_key(aml, bert, decision))
    card = replace(card_of(bert), libraries={"captum": "0"})
    monkeypatch.setattr(explanation_store, "card_of", lambda _model: card)
    keys.add(explanation_key(aml, bert, decision))
    monkeypatch.setattr(explanation_store, "card_of", lambda _model: replace(card, device="cuda"))
    keys.add(explanation_key(aml, bert, decision))
    assert len(keys) == 6


def test_the_checksum_is_of_the_code_that_explains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "explainers"
    for name in (*explanation_store.EXPLAINING, "report"):
        (package / name).mkdir(parents=True)
    monkeypatch.setattr(explanation_store, "IMPORTED_FROM", tmp_path)
    checksum = explanation_store.code_checksum.__wrapped__
    (package / "report" / "table.py").write_text("one")
    before = checksum()
    (package / "report" / "table.py").write_text("another")
    assert checksum() == before
    (package / "metrics" / "erasure.py").write_text("one")
    assert checksum() != before


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
    with pytest.raises(UnusableStore, match=r"explanations.sqlite is a file\. Name a folder"):
        len(ExplanationStore(tmp_path / FILE))


def test_a_method_that_fails_is_named_and_the_others_are_kept(
    bert: FrozenModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(spec: MethodSpec, model: FrozenModel, decision: Decision) -> Attribution:
        if spec.id == "lime":
            raise RuntimeError
        return final_attribution(spec, model, decision)

    monkeypatch.setattr(explanation_store, "final_attribution", broken)
    store = ExplanationStore(tmp_path)
    reasons = explain_set(bert, TEXTS, select(["lime", "occlusion"]), SETTINGS, store.attribution, print)
    assert reasons == {"lime": "Internal error in Crosslight (RuntimeError)."}
    assert len(store) == 4  # one of the five texts has no words


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
    assert (result.exit_code, result.stdout.strip()) == (0, f"40 explanations in {folder}, of which 40 are new.")
    computed = counting(monkeypatch)
    for command in (["consistency"], ["published-metrics"], ["evaluation", "--sensitive", "0"]):
        out = str(tmp_path / command[0])
        result = runner.invoke(app, ["study", *command, *common, "--explanations", folder, "--out", out])
        assert result.exit_code == 0, result.output
        assert f"40 explanations in {folder}, of which 0 are new." in result.stderr
    assert computed == []
    rounded = ["--precision", "bf16", "--out", folder]
    result = runner.invoke(app, ["study", "explain-set", *common, *rounded])
    assert (result.exit_code, result.stdout.strip()) == (0, f"80 explanations in {folder}, of which 40 are new.")
    result = runner.invoke(app, ["study", "consistency", *common, "--explanations", folder, *rounded[:2], "--json"])
    assert "of which 0 are new" in result.stderr
    content = json.loads(result.stdout)
    assert "--precision bfloat16" in content["command"]
    assert sum(content["precisions"].values()) == 20


def test_a_pool_of_answers_does_not_change_what_is_stored(bert: FrozenModel, tmp_path: Path) -> None:
    (spec, *others), decision = select(["kernel_shap", "occlusion", "lime"]), decision_of(bert)
    pooled = bert.pooled(PredictionCache())
    for other in others:  # their answers are in the pool
        final_attribution(other, pooled, decision)
    first = ExplanationStore(tmp_path).attribution(spec, pooled, decision)
    assert first.new_calls is not None
    assert first.new_calls < first.model_calls
    np.testing.assert_allclose(first.scores, final_attribution(spec, bert, decision).scores, atol=1e-6)


def test_settings_of_the_method_itself_have_explanations_of_their_own(bert: FrozenModel) -> None:
    (faml,), decision = select(["faml"]), decision_of(bert)
    assert faml.in_brief.id == faml.id
    assert explanation_key(faml.in_brief, bert, decision) != explanation_key(faml, bert, decision)


def test_methods_of_other_packages_are_never_stored(bert: FrozenModel, tmp_path: Path) -> None:
    store, spec = ExplanationStore(tmp_path), replace(METHODS.get("occlusion"), id="of_another_package")
    assert (
        store.attribution(spec, bert, decision_of(bert)).scores
        == final_attribution(METHODS.get("occlusion"), bert, decision_of(bert)).scores
    )
    assert len(store) == 0


def test_a_store_that_cannot_be_used_ends_every_measurement(bert: FrozenModel, tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"no database, but more than a header of one" * 40)
    explain, specs = ExplanationStore(tmp_path).attribution, select(["occlusion"])
    texts = [Example(f"the film was {word}") for word in WORDS]
    for measure in (
        lambda: list(run_evaluation(bert, texts, Plan(specs, SETTINGS), tmp_path / "out", explain=explain)),
        lambda: consistency_rows(bert, texts, specs, SETTINGS, print, explain),
        lambda: published_rows(bert, texts, specs, SETTINGS, print, explain),
        lambda: explained_inputs(bert, [bert.encode(text) for text in texts], specs, SETTINGS, print, explain),
    ):
        with pytest.raises(UnusableStore, match="Choose another folder"):
            measure()
