"""The stored results of the curated examples against the code, the models and the weights of today."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from typer.testing import CliRunner

from app import model_info
from explainers.__main__ import app
from explainers.comparison import stored_results as files
from explainers.comparison.answer import answer, consensus_members
from explainers.comparison.stored_results import (
    StoredResult,
    read_stored,
    storable,
    stored_path,
    stored_result,
    weights,
)
from explainers.datasets.curated_examples import CuratedExample, curated_examples, example_of
from explainers.errors import ExplanationError
from explainers.methods.narrator_specs import NARRATORS
from explainers.methods.registry import applicable, default_methods, select
from explainers.models.bundle_cards import bundle_names
from explainers.models.catalog import fingerprint, load
from explainers.results.answer import CONSENSUS
from explainers.results.decision import Settings
from explainers.studies import stored_results as command
from explainers.studies.stored_results import computed, differences, with_narrator
from explainers.training.artifacts import not_fitted, runnable_narrators
from tests.fitted_version import fitted_version

MODELS = ("sst2", "nli", "scenes")
QUICK = ("aml", "integrated_gradients", "occlusion")
HINT = "Write them again with `python -m explainers study stored-results`."
EXAMPLES = pytest.mark.parametrize(
    "curated", curated_examples(), ids=lambda example: f"{example.model}, {example.title}"
)
pytestmark = pytest.mark.skipif(not set(MODELS) <= set(bundle_names()), reason="not all bundles are in assets/bundles")


@cache
def stored(curated: CuratedExample) -> StoredResult:
    result = read_stored(curated)
    assert result is not None, HINT
    return result


def only(result: StoredResult, methods: tuple[str, ...], narrators: tuple[str, ...]) -> StoredResult:
    """Of these methods and narrators, without the consensus and the duel, which depend on the others."""
    comparison = result.comparison
    checks = (
        replace(check, metrics={name: values for name, values in check.metrics.items() if name in methods})
        for check in comparison.operator_checks
    )
    return replace(
        result,
        weights={name: weight for name, weight in result.weights.items() if name in (*methods, *narrators)},
        comparison=replace(
            comparison,
            results=tuple(result for result in comparison.results if result.attribution.method in methods),
            operator_checks=tuple(checks),
            narratives=tuple(one for one in comparison.narratives if one.method in narrators),
            narrative_checks=tuple(one for one in comparison.narrative_checks if one.method in narrators),
            duels=(),
        ),
    )


@EXAMPLES
def test_what_is_stored_fits_the_example_the_model_and_the_methods(
    curated: CuratedExample, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_info.smollm2, "version_on_card", fitted_version)
    result, given = stored(curated), example_of(curated)
    comparison, model = result.comparison, result.card
    decision, expected = comparison.decision, model_info.info_on_card(curated.model)
    absent = {spec.id for spec in not_fitted(curated.model, expected.version)}
    specs = [spec for spec in applicable(select(default_methods()), given) if spec.id not in absent]
    narrators = [narrative.method for narrative in comparison.narratives]
    assert (model.name, model.version, model.labels) == (curated.model, expected.version, expected.labels), HINT
    joint = (CONSENSUS,) if len(consensus_members(comparison)) > 1 else ()
    assert comparison.methods == (*joint, *(spec.id for spec in specs)), HINT
    assert result.weights == weights(model.name, model.version, specs, NARRATORS.ids), HINT
    assert set(narrators) == set(result.weights) & set(NARRATORS.ids)
    assert [check.method for check in comparison.narrative_checks] == narrators
    assert decision.encoding.texts == ((given.text,) if given.pair is None else (given.text, given.pair))
    assert decision.encoding.image == given.image
    assert decision.settings == Settings(erasure=expected.default_erasure)
    assert (decision.label, comparison.removed) == (comparison.predicted, ())
    assert {failure.method for failure in comparison.failures} == absent.intersection(default_methods())
    assert {check.erasure for check in comparison.operator_checks} == set(model.erasures) - {expected.default_erasure}
    said = answer(comparison, finished=True)
    for duel in comparison.duels:
        assert {side.method for side in duel.sides} <= set(said.better_than_chance), HINT


@EXAMPLES
def test_a_file_is_what_the_program_writes(curated: CuratedExample) -> None:
    content = json.loads(stored_path(curated).read_text(encoding="utf-8"))
    assert stored(curated).as_dict() == content, HINT


def test_there_is_a_file_per_example_and_no_other() -> None:
    assert {stored_path(example) for example in curated_examples()} == set(files.STORED.glob("*/*"))
    assert sum(path.stat().st_size for path in files.STORED.glob("*/*")) < 4e6  # bytes


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_what_is_stored_is_computed_again(model: str) -> None:
    examples = [example for example in curated_examples() if example.model == model]
    quickest = min(examples, key=lambda example: len(stored(example).comparison.decision.encoding.units))
    narrators = runnable_narrators(model, "")
    again = computed(quickest, (*QUICK, *narrators))
    assert list(differences(*(only(result, QUICK, narrators) for result in (stored(quickest), again)))) == [], HINT
    assert stored(quickest).card.sha256 == fingerprint(load(model, device="cpu"))


def test_a_result_survives_but_for_what_is_left_out() -> None:
    result = stored(curated_examples()[0])
    comparison = result.comparison
    results = (replace(one, attribution=replace(one.attribution, draws=((0.5,),))) for one in comparison.results)
    whole = replace(comparison, results=tuple(results), answer=answer(comparison, finished=True), order=("lime",))
    again = stored_result(json.loads(json.dumps(replace(result, comparison=whole).as_dict())))
    assert again.comparison.decision == comparison.decision
    assert (again.comparison.answer, again.comparison.order) == (None, ())
    for one, other in zip(comparison.results, again.comparison.results, strict=True):
        assert one.attribution == other.attribution
        assert other.attribution.encoding is again.comparison.decision.encoding
        assert np.array_equal(one.curves.removed, other.curves.removed)


def test_numbers_are_short_and_those_without_a_value_are_words() -> None:
    result = stored(curated_examples()[0])
    first = result.comparison.results[0]
    noise = {"a": 1 / 3, "b": 1.0, "c": float("nan"), "d": float("-inf")}
    curves = replace(first.curves, kept=np.array([[float("nan"), float("inf")]]))
    method = replace(first, noise=noise, curves=curves)
    data = replace(result, comparison=replace(result.comparison, results=(method,))).as_dict()
    (written,) = data["comparison"]["results"]
    assert written["noise"] == {"a": 0.333333, "b": 1, "c": "NaN", "d": "-Infinity"}
    (read,) = stored_result(data).comparison.results
    assert read.noise == pytest.approx({**noise, "a": 0.333333}, nan_ok=True)
    assert np.array_equal(read.curves.kept, curves.kept, equal_nan=True)


@pytest.mark.parametrize(
    "data",
    [
        {"title": 1},
        {"title": "x", "weights": {}, "comparison": {"decision": {}}},
        {"title": "x", "weights": {}, "comparison": {}, "novel": 1},
    ],
)
def test_other_data_are_refused(data: dict[str, object]) -> None:
    with pytest.raises((ValueError, KeyError, TypeError)):
        stored_result(data)


@pytest.mark.parametrize("kept", [None, "1", [1.0]])
def test_curves_of_another_form_are_refused(kept: object) -> None:
    data = stored(curated_examples()[0]).as_dict()
    data["comparison"]["results"][0]["curves"]["kept"] = kept
    with pytest.raises(ValueError, match="row of probabilities per count"):
        stored_result(data)


def test_a_method_that_explains_other_units_is_not_stored() -> None:
    comparison = stored(curated_examples()[0]).comparison
    decision = replace(comparison.decision, encoding=stored(curated_examples()[1]).comparison.decision.encoding)
    with pytest.raises(ValueError, match="explains other units"):
        storable(curated_examples()[0], replace(comparison, decision=decision))


def test_the_command_writes_checks_and_names_what_differs(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    curated = curated_examples()[0]
    result = stored(curated)
    monkeypatch.setattr(files, "STORED", tmp_path)
    monkeypatch.setattr(command, "computed", lambda _curated: result)
    line = ("study", "stored-results", "--model", curated.model, "--example", curated.title)
    missing = CliRunner().invoke(app, [*line, "--check"])
    assert (missing.exit_code, missing.stdout) == (1, "  nothing is stored\n")
    assert CliRunner().invoke(app, line).exit_code == 0
    assert CliRunner().invoke(app, [*line, "--check"]).exit_code == 0
    p = replace(
        result.comparison, probabilities=tuple(probability + 0.01 for probability in result.comparison.probabilities)
    )
    monkeypatch.setattr(command, "computed", lambda _curated: replace(result, comparison=p))
    differing = CliRunner().invoke(app, [*line, "--check"])
    assert differing.exit_code == 1
    assert "/comparison/probabilities/0: " in differing.stdout
    unknown = CliRunner().invoke(app, ["study", "stored-results", "--example", "No such title"])
    assert unknown.exit_code == 2
    assert "There is no such example. Choose one of: 'Mixed feelings'" in unknown.stderr


def test_one_narrator_is_added_to_what_is_stored_and_replaces_its_old_sentence() -> None:
    curated = next(example for example in curated_examples() if example.model == "nli")
    before, again = stored(curated), with_narrator(curated, "cause_phi_tokens")
    assert [one.method for one in again.comparison.narratives] == [one.method for one in before.comparison.narratives]
    old, new = before.comparison, again.comparison
    assert again.as_dict()["comparison"]["results"] == before.as_dict()["comparison"]["results"]
    assert sorted(one.method for one in new.narratives) == sorted(one.method for one in old.narratives)
    said = {one.method: one.text for one in new.narratives}
    assert said == {one.method: one.text for one in old.narratives}
    assert {one.method for one in new.narrative_checks} == {one.method for one in old.narrative_checks}
    assert again.weights == before.weights
    sst2 = next(example for example in curated_examples() if example.model == "sst2")
    with pytest.raises(ExplanationError, match="cause_phi_tokens has no sentence for"):
        with_narrator(sst2, "cause_phi_tokens")
