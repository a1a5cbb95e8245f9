"""Runs that are filled from assets/results, and what they still need a model for."""

import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.compare import stored_results
from app.compare.engine import Engine, log_line
from app.compare.follow_ups import duel_of, modality_curves
from app.compare.runs import Column, Request, Run
from app.model_info import ModelInfo
from app.model_pool import DRAWN, ModelPool
from explainers.comparison import stored_results as files
from explainers.comparison.answer import consensus_members
from explainers.datasets.curated_examples import CuratedExample, curated_examples, example_of
from explainers.datasets.example import Example
from explainers.methods.registry import default_methods, method_spec
from explainers.models import catalog
from explainers.models.bundle_cards import bundle_names
from explainers.results.answer import CONSENSUS
from explainers.results.decision import Settings
from explainers.training.artifacts import available_artifacts

ROOT = Path(__file__).parents[3]
TITLE, SHORT, PAIR, SCENE = "Negation", "One word", "Contradiction", "A covered box"
pytestmark = pytest.mark.skipif(
    not {"sst2", "nli", "scenes"} <= set(bundle_names()), reason="not all bundles are in assets/bundles"
)
Over = Callable[[Run], Run]


def curated(title: str) -> CuratedExample:
    return next(example for example in curated_examples() if example.title == title)


def asking(title: str = TITLE, **changes: object) -> Request:
    example = curated(title)
    known = example_of(example)
    given = Example(known.text, known.pair, image=known.image)
    request = Request(example.model, given, None, default_methods(), Settings())
    return replace(request, **changes)  # type: ignore[arg-type]


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """An engine that loads a model only when it is needed."""
    monkeypatch.setattr(ModelPool, "warm_up", lambda *_args, **_rest: None)
    engine = Engine(ModelPool())
    yield engine
    engine.close()


@pytest.fixture
def no_model(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """An engine whose model never loads."""

    def load(*_args: object, **_rest: object) -> None:
        raise AssertionError("a model was loaded")

    monkeypatch.setattr(catalog, "load", load)
    return engine


def test_the_model_of_a_stored_run_is_loaded_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    warmed: list[tuple[str, float]] = []
    monkeypatch.setattr(ModelPool, "warm_up", lambda _pool, name, after: warmed.append((name, after)))
    Engine(ModelPool()).submit(asking(SCENE))
    assert warmed == [("scenes", DRAWN)]


@pytest.mark.parametrize("title", [TITLE, PAIR, SCENE])
def test_a_curated_example_is_done_at_once_and_complete(no_model: Engine, title: str) -> None:
    run = no_model.submit(asking(title))
    assert run.status == "done"
    assert run.columns
    assert all(column.stored and not column.remembered for column in run.columns.values())
    assert run.settled_methods == tuple(run.columns)
    assert run.stored is not None
    comparison = run.comparison()
    assert comparison.methods == (CONSENSUS, *run.columns)
    assert comparison.random_control is not None
    assert comparison.answer is not None
    assert not comparison.answer.provisional
    assert {check.erasure for check in run.comparison().operator_checks} == set(run.stored.card.erasures) - {"mask"}
    fitted = [artifact.method for artifact in available_artifacts(run.request.model, "", "narrative")]
    assert [narrative.method for narrative in comparison.narratives] == fitted
    assert [check.method for check in comparison.narrative_checks] == fitted
    assert comparison.decision.encoding.image == run.request.example.image
    assert len(comparison.as_json()) > 1000
    assert comparison.manifest()["model"]["sha256"] == run.stored.card.sha256
    assert "aml:stored" in log_line(run)


def test_the_predicted_class_by_name_and_fewer_rows_beside_the_consensus_are_stored_too(no_model: Engine) -> None:
    stored = no_model.submit(asking()).comparison()
    members = tuple(member.method for member in consensus_members(stored))
    run = no_model.submit(asking(methods=members, label=stored.label))
    assert run.status == "done"
    assert set(run.columns) == set(members)
    assert all(set(check.metrics) == {CONSENSUS, *members} for check in run.comparison().operator_checks)
    answer = stored_results.stored_answer(asking(methods=("lime", "occlusion")))
    assert answer is not None
    assert not stored_results.fill(Run(asking(methods=("lime", "occlusion")), {}), answer)  # it has another consensus
    assert no_model.submit(asking(PAIR, narrators=("cause",))).comparison().narratives[0].method == "cause"


@pytest.mark.parametrize(
    "other",
    [
        {"removed": (0,)},
        {"label": "positive"},
        {"settings": Settings(seed=1)},
        {"settings": Settings(erasure="zero")},
        {"example": Example("It is not a bad film, but I would not watch it twice.")},
        {"example": Example(curated(TITLE).text, "Another text.")},
        {"model": "sst2-ivra-comp"},
    ],
)
def test_another_question_is_not_stored(other: dict[str, object]) -> None:
    assert stored_results.stored_answer(asking()) is not None
    assert stored_results.stored_answer(asking(**other)) is None


def test_another_version_of_the_model_is_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_results.model_info, "info_on_card", lambda _name: ModelInfo(version="other"))
    assert stored_results.stored_answer(asking()) is None


def test_other_weights_of_a_method_are_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    changed = {**files.read_stored(curated(PAIR)).weights, "aml": "0", "cause": "0"}  # type: ignore[union-attr]
    monkeypatch.setattr(stored_results, "weights", lambda *_args: changed)
    answer = stored_results.stored_answer(asking(PAIR))
    assert answer is not None
    assert {"aml", "cause"}.isdisjoint(answer.valid)
    assert {"cimi", "lime", "cause_phi"} <= answer.valid
    assert all("aml" not in check.metrics for check in answer.operator_checks)
    columns = {
        member.method: Column(method_spec(member.method)) for member in consensus_members(answer.result.comparison)
    }
    assert not stored_results.fill(Run(asking(PAIR, narrators=()), columns), answer)  # AML is missing
    every = replace(answer, valid=answer.valid | {"aml"})
    assert stored_results.fill(Run(asking(PAIR, narrators=()), columns), every)
    assert not stored_results.fill(Run(asking(PAIR), columns), every)  # one narrator is missing


def test_a_damaged_file_is_logged_and_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "sst2" / "negation.json"
    path.parent.mkdir()
    monkeypatch.setattr(files, "STORED", tmp_path)
    stored_results._read.cache_clear()
    assert stored_results.stored_answer(asking()) is None  # no file
    for content in ("", "{}", '{"title": "Negation", "weights": {}, "comparison": {"novel": 1}}'):
        path.write_text(content)
        stored_results._read.cache_clear()
        with caplog.at_level(logging.WARNING):
            assert stored_results.stored_answer(asking()) is None
        assert "negation.json cannot be read" in caplog.messages[-1]
    stored_results._read.cache_clear()


def test_what_is_not_stored_is_computed_beside_what_is(engine: Engine, over: Over) -> None:
    run = over(engine.submit(asking(SHORT, methods=("occlusion", "attention_last"))))
    assert run.status == "done", run.error
    assert run.columns["occlusion"].stored
    assert not run.columns["attention_last"].stored
    assert run.result("attention_last") is not None
    assert run.stored is None
    assert run.comparison().random_control is not None
    assert all(set(check.metrics) == {"occlusion", "attention_last"} for check in run.comparison().operator_checks)
    again = over(engine.submit(asking(SHORT, methods=("occlusion",)), fresh=True))
    assert not again.columns["occlusion"].stored
    computed, stored = again.columns["occlusion"].attribution, run.columns["occlusion"].attribution
    assert computed is not None
    assert stored is not None
    assert computed.scores == pytest.approx(stored.scores, abs=5e-4)


def test_curves_and_duels_of_a_stored_run_ask_the_model(engine: Engine, over: Over) -> None:
    run = engine.submit(asking(SCENE, narrators=()))
    assert run.stored is not None
    curves = modality_curves(engine, run, "word")  # of 9, the patches are 48
    duel = duel_of(engine, run, ("attention_mean", "occlusion"))
    for thread in list(engine.threads):
        thread.join()
    assert (curves.error, duel.error) == ("", "")
    assert curves.result is not None
    assert {CONSENSUS, "occlusion", "attention_mean"} <= set(curves.result.curves)
    assert curves.result.random_control is not None


def test_a_stored_duel_is_shown_without_a_model(no_model: Engine) -> None:
    runs = [no_model.submit(asking(example.title)) for example in curated_examples() if example.model == "sst2"]
    run, stored = next((run, run.stored) for run in runs if run.stored is not None and run.stored.comparison.duels)
    first, second = stored.comparison.duels[0].sides
    assert run.comparison().duels == ()
    state = duel_of(no_model, run, (second.method, first.method))
    assert not state.active
    assert state.result is not None
    assert state.result.sides == (second, first)
    assert run.comparison().duels == (state.result,)


def test_the_first_page_needs_no_torch() -> None:
    code = """
import sys
from pathlib import Path
import app.compare.views
from app.compare import narratives, score_sheet, answer_head
from app.compare.engine import Engine
from app.compare.runs import Request
from app.model_pool import ModelPool
from explainers.datasets.curated_examples import curated_examples, example_of
from explainers.datasets.example import Example
from explainers.methods.registry import default_methods, method_spec
from explainers.results.decision import Settings

ModelPool.warm_up = lambda *_args, **_rest: None
engine = Engine(ModelPool())
for model in ("sst2", "nli", "scenes"):
    curated = example_of(next(candidate for candidate in curated_examples() if candidate.model == model))
    example = Example(curated.text, curated.pair, image=curated.image)
    run = engine.submit(Request(model, example, None, default_methods(), Settings()))
    assert run.status == "done"
    narratives.payload(run)
    answer_head.markup(run, run, run.comparison().answer)
sys.exit(3 if "torch" in sys.modules else 0)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
