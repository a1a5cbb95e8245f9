import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explainers.attribution.controls import random_scores
from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.evaluation import measurement
from explainers.evaluation.measurement import Plan, current_records, metrics_of_scores
from explainers.evaluation.names import AVGSEN, EVALUATED_ORDERS, POSITION, RANDOM
from explainers.evaluation.record_file import Record
from explainers.evaluation.table import flat_row, summary_rows
from explainers.methods.registry import MethodSpec, select
from explainers.metrics.erasure import MaskedPredictor
from explainers.models.calls import Meter
from explainers.models.frozen_model import FrozenModel
from explainers.report.evaluation_tables import evaluation_markdown
from explainers.results.attribution import Attribution
from explainers.results.decision import Decision, Settings
from explainers.studies.evaluation import run_evaluation

TEXTS = tuple(map(Example, ("the film was not good !", "a very dull plot", "", "unwatchable", "bad film , dull plot")))
CHEAP = ("occlusion", "attention_mean")


def plan(*methods: str, **fields: Any) -> Plan:
    return Plan(select(methods or CHEAP), **{"erasures": ("mask", "zero"), **fields})


def done(model: FrozenModel, evaluated: Plan, out: Path, texts: Sequence[Example] = TEXTS) -> list[Record]:
    list(run_evaluation(model, texts, evaluated, out))
    return current_records(out, [spec.id for spec in evaluated.specs], model)


def timeless(rows: Sequence[Record]) -> list[Any]:
    """Up to the last digits, which depend on what else was in a batch."""
    return [pytest.approx({**flat_row(row), "seconds": 0}, abs=1e-4) for row in rows]


def test_every_method_and_control_is_measured_on_every_text_under_every_operator(
    bert: FrozenModel, tmp_path: Path
) -> None:
    evaluated = plan()
    records = done(bert, evaluated, tmp_path)
    assert {(record["text"], record["method"]) for record in records} == {
        (text, method) for text in (0, 1, 3, 4) for method in (*CHEAP, RANDOM, POSITION)
    }  # text 2 has no words
    for record in records:
        encoding = bert.encode(TEXTS[record["text"]])
        label = int(bert.probabilities(encoding, [[1] * len(encoding.units)]).argmax())
        if record["method"] == POSITION:
            scores = tuple(float(-position) for position in range(len(encoding.units)))
        elif record["method"] in CHEAP:
            (spec,) = select([record["method"]])
            scores = spec.make(erasure="mask", seed=0, samples=500, steps=50).attribute(bert, encoding, label).scores
        else:
            continue
        for erasure in evaluated.erasures:
            expected = metrics_of_scores(MaskedPredictor(bert, encoding, erasure), scores, label)
            assert record["metrics"][erasure] == pytest.approx(expected, abs=1e-4)


def test_the_random_control_is_the_mean_of_its_orders(bert: FrozenModel, tmp_path: Path) -> None:
    records = done(bert, plan(settings=Settings(seed=3)), tmp_path)
    (control,) = (record["metrics"]["mask"] for record in records if (record["text"], record["method"]) == (0, RANDOM))
    encoding = bert.encode(TEXTS[0])
    label = int(bert.probabilities(encoding, [[1] * len(encoding.units)]).argmax())
    orders = [random_scores(len(encoding.units), 4000 + draw) for draw in range(EVALUATED_ORDERS)]
    by_order = [metrics_of_scores(MaskedPredictor(bert, encoding, "mask"), order, label) for order in orders]
    expected = {name: np.mean([one[name] for one in by_order]) for name in by_order[0]}
    assert control == pytest.approx(expected, abs=1e-4)


def test_explanations_are_made_with_the_settings_and_scored_with_every_operator(
    bert: FrozenModel, tmp_path: Path
) -> None:
    records = done(bert, plan("occlusion", settings=Settings(unit="token", erasure="zero")), tmp_path, TEXTS[3:4])
    encoding = bert.encode(TEXTS[3], "token")
    label = int(bert.probabilities(encoding, [[1, 1, 1]]).argmax())
    (spec,) = select(["occlusion"])
    scores = spec.make(erasure="zero", seed=0, samples=500, steps=50).attribute(bert, encoding, label).scores
    for erasure in ("mask", "zero"):
        expected = metrics_of_scores(MaskedPredictor(bert, encoding, erasure), scores, label)
        assert records[0]["metrics"][erasure] == pytest.approx(expected, abs=1e-4)


def test_what_a_method_costs_is_kept(bert: FrozenModel, tmp_path: Path) -> None:
    records = done(bert, plan("occlusion"), tmp_path)
    costs = {record["text"]: record["calls"] for record in records if record["method"] == "occlusion"}
    assert costs == {0: 7, 1: 5, 3: 2, 4: 6}  # each word, and the whole text
    assert all("calls" not in record for record in records if record["method"] in (RANDOM, POSITION))


def test_sensitivity_is_measured_on_the_first_texts_and_not_for_what_is_too_slow(
    bert: FrozenModel, tmp_path: Path
) -> None:
    evaluated = plan("occlusion", "lime", sensitive=1, erasures=("mask",), settings=Settings(samples=10))
    records = done(bert, evaluated, tmp_path, TEXTS[:2])
    assert [(record["text"], record["method"]) for record in records if AVGSEN in record] == [(0, "occlusion")]
    assert all(0 <= record[AVGSEN] <= 1 for record in records if AVGSEN in record)
    (row,) = (row for row in summary_rows(records) if (row["method"], row["erasure"]) == ("occlusion", "mask"))
    assert (row["texts"], row[AVGSEN]["texts"]) == (2, 1)


@pytest.mark.parametrize("share", [0.02, 0.5, 0.77, 0.99])
def test_an_interrupted_evaluation_goes_on_to_the_same_table(bert: FrozenModel, tmp_path: Path, share: float) -> None:
    whole = done(bert, plan(), tmp_path)
    path = tmp_path / "texts.jsonl"
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    again = done(bert, plan(), tmp_path)
    assert [flat_row(row) | {"seconds": 0} for row in summary_rows(again)] == timeless(summary_rows(whole))
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == len({(line.get("text"), line.get("method")) for line in lines}) == 1 + 4 * 4


def test_what_is_done_is_not_computed_again(bert: FrozenModel, tmp_path: Path) -> None:
    done(bert, plan(), tmp_path)
    before, meter = (tmp_path / "texts.jsonl").read_text(encoding="utf-8"), Meter()
    assert list(run_evaluation(bert.metered(meter), TEXTS, plan(), tmp_path)) == [1, 2, 3, 4, 5]
    assert meter.calls == 0
    assert (tmp_path / "texts.jsonl").read_text(encoding="utf-8") == before


def test_two_processes_measure_the_same_as_one(bert: FrozenModel, tmp_path: Path) -> None:
    one = done(bert, plan(), tmp_path / "one")
    assert list(run_evaluation(bert, TEXTS, plan(), tmp_path / "two", processes=2)) == [1, 2, 3, 4, 5]
    both = current_records(tmp_path / "two", CHEAP, bert)
    assert timeless(summary_rows(both)) == [{**flat_row(row), "seconds": 0} for row in summary_rows(one)]
    assert len(both) == 4 * 4  # the empty text has nothing to explain


def test_another_method_is_added_to_what_is_there(bert: FrozenModel, tmp_path: Path) -> None:
    first = done(bert, plan("occlusion"), tmp_path)
    both = done(bert, plan("occlusion", "attention_mean"), tmp_path)
    assert [record for record in both if record["method"] != "attention_mean"] == first
    assert current_records(tmp_path, ["occlusion"], bert) == first


def test_a_method_that_was_fitted_again_is_measured_again(
    bert: FrozenModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checksums = {"cimi": "old"}
    monkeypatch.setattr(measurement, "weights_checksum", lambda _model, method: checksums.get(method, ""))
    done(bert, plan("cimi"), tmp_path, TEXTS[:2])
    checksums["cimi"] = "new"
    records = done(bert, plan("cimi"), tmp_path, TEXTS[:2])
    assert [(record["text"], record["weights"]) for record in records if record["method"] == "cimi"] == [
        (0, "new"),
        (1, "new"),
    ]
    lines = (tmp_path / "texts.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + 2 * 3 + 2  # the old ones stay, the controls are not computed again


@pytest.mark.parametrize(
    ("texts", "changed"),
    [
        (TEXTS[:-1], {}),
        ((*TEXTS[:-1], Example("another text")), {}),
        ((*TEXTS[:-1], Example(TEXTS[-1].text, "with a pair")), {}),
        (TEXTS, {"erasures": ("mask",)}),
        (TEXTS, {"settings": Settings(seed=1)}),
        (TEXTS, {"settings": Settings(erasure="delete")}),
        (TEXTS, {"settings": Settings(unit="token")}),
        (TEXTS, {"sensitive": 1}),
    ],
    ids=["fewer texts", "another text", "a pair", "operators", "seed", "operator", "unit", "sensitivity"],
)
def test_another_evaluation_needs_another_folder(
    bert: FrozenModel, tmp_path: Path, texts: Sequence[Example], changed: dict[str, Any]
) -> None:
    done(bert, plan("attention_mean"), tmp_path)
    before = (tmp_path / "texts.jsonl").read_text(encoding="utf-8")
    with pytest.raises(ExplanationError, match=r"another run, with another value of: .*\. Choose another place"):
        next(run_evaluation(bert, texts, plan("attention_mean", **changed), tmp_path))
    assert (tmp_path / "texts.jsonl").read_text(encoding="utf-8") == before


def test_another_version_of_the_model_needs_another_folder(bert: FrozenModel, tmp_path: Path) -> None:
    done(bert, plan("attention_mean"), tmp_path, TEXTS[:1])
    bert.version = "2"
    with pytest.raises(ExplanationError, match="belongs to another run"):
        next(run_evaluation(bert, TEXTS[:1], plan("attention_mean"), tmp_path))


def test_a_method_that_fails_on_a_text_stops_neither_itself_nor_others(bert: FrozenModel, tmp_path: Path) -> None:
    def broken(spec: MethodSpec, model: FrozenModel, decision: Decision) -> Attribution:
        if spec.id == "occlusion" and "dull" in decision.encoding.texts[0]:
            raise ExplanationError("Too long.")
        return measurement.final_attribution(spec, model, decision)

    list(run_evaluation(bert, TEXTS, plan(), tmp_path, explain=broken))
    records = current_records(tmp_path, CHEAP, bert)
    failed = [record for record in records if "failed" in record]
    assert [(record["text"], record["method"]) for record in failed] == [(1, "occlusion"), (4, "occlusion")]
    counts = {(row["method"], row["erasure"]): row["texts"] for row in summary_rows(records)}
    assert counts[("occlusion", "mask")] == 2
    assert counts[("attention_mean", "zero")] == counts[(RANDOM, "zero")] == 4


def test_a_method_that_fails_on_a_changed_text_keeps_its_metrics(
    bert: FrozenModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_args: object, **_named: object) -> float:
        raise ExplanationError("Too long.")

    monkeypatch.setattr(measurement, "sensitivity", broken)
    records = done(bert, plan("occlusion", sensitive=5), tmp_path)
    assert sum("metrics" in record for record in records if record["method"] == "occlusion") == 4


def test_pairs_are_evaluated_with_their_own_controls_and_sensitivity(pairs: FrozenModel, tmp_path: Path) -> None:
    texts = [Example("the film was not good", "a dull plot !"), Example("good film", "very bad , not good")]
    rows = done(pairs, plan("occlusion", "premise_only", "hypothesis_only", sensitive=2), tmp_path, texts)
    assert {row["method"] for row in rows} == {"occlusion", "premise_only", "hypothesis_only", RANDOM, POSITION}
    assert all("metrics" in row for row in rows)
    assert [0 <= row[AVGSEN] <= 1 for row in rows if row["method"] == "occlusion"] == [True, True]
    assert "| Hypothesis only |" in evaluation_markdown(summary_rows(rows), "mask")


def test_controls_for_pairs_are_left_out_of_single_texts(bert: FrozenModel, tmp_path: Path) -> None:
    rows = done(bert, plan("occlusion", "premise_only"), tmp_path)
    assert {row["method"] for row in rows} == {"occlusion", RANDOM, POSITION}
