import json
from dataclasses import replace
from pathlib import Path

import pytest

from app.store import Job
from app.train import outcome, view
from app.train.outcome import LOG, Epoch, Log, pace, read
from explainers.metrics.faithfulness import METRICS
from explainers.report.wording import duration
from explainers.training import loop

FIRST = {"method": "aml", "texts": 100, "steps": 6, "recipe": {"epochs": 3}}


def step(number: int, total: float) -> dict[str, object]:
    return {"step": number, "epoch": 0, "terms": {"L_p": total / 2, "total": total}}


def epoch(number: int, step: int, *warnings: str) -> dict[str, object]:
    metrics = {"aopc_c": 0.25, "aopc_s": 0.125}
    return {"epoch": number, "step": step, "seconds": 3.0 * number, "validation": metrics, "warnings": list(warnings)}


def write(folder: Path, *lines: dict[str, object], rest: str = "") -> Log:
    (folder / LOG).write_text("".join(json.dumps(line) + "\n" for line in lines) + rest)
    log = read(folder)
    assert log is not None
    return log


def test_it_is_the_file_that_a_training_writes() -> None:
    assert LOG == loop.LOG


def test_before_the_first_line_there_is_nothing(tmp_path: Path) -> None:
    assert read(tmp_path) is None


def test_losses_metrics_and_warnings_are_read(tmp_path: Path) -> None:
    log = write(tmp_path, FIRST, step(1, 4.0), step(2, 2.0), epoch(1, 2, "Constant."), step(3, 1.0), epoch(2, 4))
    assert (log.step, log.steps, log.texts, log.total_epochs) == (3, 6, 100, 3)
    assert log.terms == {"L_p": {1: 2.0, 2: 1.0, 3: 0.5}, "total": {1: 4.0, 2: 2.0, 3: 1.0}}
    assert log.epochs[0] == Epoch(1, 2, 3.0, {"aopc_c": 0.25, "aopc_s": 0.125}, ("Constant.",))
    assert log.warnings == ()  # of the last epoch only


def test_the_epoch_is_that_of_the_steps_however_often_metrics_are_measured(tmp_path: Path) -> None:
    assert write(tmp_path, FIRST).epoch == 1
    # 6 steps in 3 epochs, so step 1 is in the first; two parts of an epoch were measured
    assert write(tmp_path, FIRST, step(1, 4.0), epoch(1, 1)).epoch == 1
    assert write(tmp_path, FIRST, step(1, 4.0), epoch(1, 1), step(2, 2.0), epoch(1, 2), step(3, 1.0)).epoch == 2
    assert write(tmp_path, FIRST, step(6, 1.0)).epoch == 3


def test_a_line_that_is_being_written_is_left_for_later(tmp_path: Path) -> None:
    assert write(tmp_path, FIRST, step(1, 4.0), rest='{"step": 2, "ter').step == 1
    assert write(tmp_path, FIRST, step(1, 4.0), step(2, 3.0)).step == 2


def test_a_resumed_training_forgets_what_came_after_its_last_epoch(tmp_path: Path) -> None:
    before = (FIRST, step(1, 4.0), step(2, 2.0), epoch(1, 2), step(3, 9.0), step(4, 9.0))
    assert write(tmp_path, *before, FIRST).step == 2
    assert write(tmp_path, *before, FIRST, step(3, 1.0)).terms["total"] == {1: 4.0, 2: 2.0, 3: 1.0}


def test_after_a_resumption_the_pace_is_that_of_the_present_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view.st, "session_state", {})
    log = write(tmp_path, {**FIRST, "steps": 100}, step(40, 1.0), epoch(1, 40))
    job = Job(id=1, started=2000.0)
    log.moment = 1000.0  # before the job was started again
    assert view._progress(job, log)[1] == "Step 40 of 100, epoch 2 of 3, about 4 s left"
    log.moment = 2060.0
    assert view._progress(job, log)[1].endswith("about 4 s left")
    log = replace(log, terms={"total": {41: 1.0}}, moment=2063.0)
    assert view._progress(job, log)[1] == "Step 41 of 100, epoch 2 of 3, about 3 min left"


def test_the_pace_is_what_was_seen_or_else_that_of_the_epochs() -> None:
    log = Log(steps=10, terms={"total": {4: 1.0}}, moment=108.0)
    assert pace(log, None) is None
    assert pace(log, (4, 108.0)) is None
    assert pace(log, (2, 100.0)) == pytest.approx(4.0)  # 8 s for 2 steps
    log.epochs.append(Epoch(1, 3, 6.0, {}, ()))
    assert pace(log, None) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "1 s"), (89, "89 s"), (90, "2 min"), (5399, "90 min"), (5400, "1.5 h")]
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_chart_holds_steps_and_their_smoothed_course() -> None:
    figure = outcome.term("L_inv", {1: 4.0, 2: 2.0})
    raw, smoothed = figure.data
    assert list(raw.x) == list(smoothed.x) == [1, 2]
    assert list(raw.y) == [4.0, 2.0]
    assert figure.layout.title.text.startswith("L<sub>inv</sub>, now ")


def test_smoothing_keeps_what_is_constant_and_follows_what_is_short() -> None:
    assert outcome.smooth(outcome.np.full(500, 0.3)) == pytest.approx(0.3)
    assert outcome.smooth(outcome.np.array([1.0, 5.0])) == pytest.approx([1.0, 5.0])


def test_a_long_training_sends_few_points_with_its_first_and_last() -> None:
    raw, _ = outcome.term("total", {step: float(step) for step in range(1, 10_001)}).data
    assert len(raw.x) <= outcome.POINTS
    assert (raw.x[0], raw.x[-1]) == (1, 10_000)


def test_metrics_are_drawn_by_epoch() -> None:
    epochs = [
        Epoch(1, 2, 1.0, {"aopc_c": 0.1, "aopc_s": 0.3}, ()),
        Epoch(2, 4, 2.0, {"aopc_c": 0.4, "aopc_s": 0.2}, ()),
    ]
    figure = outcome.validation(epochs, {id: METRICS.get(id).name for id in ("aopc_c", "aopc_s")})
    assert [(line.name, list(line.x), list(line.y)) for line in figure.data] == [
        ("AOPC-C", [1, 2], [0.1, 0.4]),
        ("AOPC-S", [1, 2], [0.3, 0.2]),
    ]
    assert "0.400" in figure.layout.title.text


def test_the_total_comes_first() -> None:
    assert outcome.ordered({"L_p": {}, "total": {}, "L_a": {}}) == ["total", "L_p", "L_a"]
