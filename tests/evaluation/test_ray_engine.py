"""The rows of a set on a local Ray cluster: the same digits as in one process, also where a worker dies."""

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from explainers.datasets.labelled_rows import InputRow
from explainers.errors import ExplanationError
from explainers.evaluation.explain_batch import SetPlan, explain_batch
from explainers.evaluation.ray_engine import RowExplainer, explain_with_ray, plain
from explainers.evaluation.set_job import read_set, run_set
from explainers.evaluation.set_spec import SetSpec
from explainers.models.catalog import load
from explainers.models.frozen_model import FrozenModel
from explainers.models.ray_cluster import check_reachable

ROWS = 8
COSTS = ["seconds", "passes"]


def workers() -> list[int]:
    """The processes of Ray that have become the actor; their title says so."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            title = (folder / "cmdline").read_bytes()
        except OSError:  # it has ended
            continue
        if title.startswith(b"ray::") and RowExplainer.__name__.encode() in title:
            found.append(int(folder.name))
    return found


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Ray Data about its own settings
@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_a_worker_that_is_killed_changes_nothing(hub_folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray.data", reason="Ray is not installed")
    table = tmp_path / "many.csv"
    table.write_text("text\n" + "".join(f"the good film was {'very ' * n}dull\n" for n in range(1, ROWS + 1)))
    spec = SetSpec(str(hub_folder), str(table), methods=("occlusion", "lime"), samples=500, sanity=0, device="cpu")
    killed: list[int] = []

    def kill_one(sentence: str) -> None:
        """When the first record is there, and most rows are not."""
        if sentence.startswith("1 of "):
            killed.extend(workers()[:1])
            os.kill(killed[0], signal.SIGKILL)

    try:
        run_set(replace(spec, engine="ray", processes=2, out=str(tmp_path / "ray")), kill_one)
    except ExplanationError as error:
        if "does not answer" not in str(error):
            raise
        pytest.skip(f"Ray cannot start its processes here: {error}")
    assert killed
    run_set(replace(spec, out=str(tmp_path / "local")), lambda _sentence: None)
    (_, rows, methods), (_, rows_, methods_) = (read_set(tmp_path / name) for name in ("ray", "local"))
    assert len(rows) == ROWS
    for one, other in ((rows, rows_), (methods, methods_)):
        kept = [column for column in one.columns if column not in COSTS]
        pd.testing.assert_frame_equal(one[kept], other[kept], check_exact=True)
    lines = (tmp_path / "ray" / "part-1-of-1.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + ROWS  # no row is there twice


def test_a_worker_with_other_weights_says_so(hub_folder: Path) -> None:
    plan = SetPlan(("occlusion",))
    expected = plain(plan.as_dict(load(str(hub_folder), device="cpu")))
    row = '{"id": "a", "line": 1, "text": "good film", "pair": null, "label": null}'
    same = RowExplainer(str(hub_folder), plan, expected, "cpu", "float32")({"item": [row]})
    assert '"units": ["good", "film"]' in same["result"][0]
    strange: dict[str, Any] = {**expected, "crosslight": "0.0", "model": {}}
    other = RowExplainer(str(hub_folder), plan, strange, "cpu", "float32")({"item": [row]})
    (gone,) = RowExplainer("runs/missing", plan, expected, "cpu", "float32")({"item": [row]})["result"]
    assert gone.startswith('{"problem": "A worker of the cluster failed: ')
    assert "runs/missing" in gone
    (differing,) = other["result"]
    assert differing.startswith('{"problem": "A worker of the cluster has another crosslight, model. All need')


def test_sanity_checks_run_in_processes_of_this_machine(
    hub_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, processes = tmp_path / "few.csv", list[int]()
    table.write_text("text\n" + "".join(f"the good film was {'very ' * n}dull\n" for n in range(1, 4)))
    monkeypatch.setattr(
        "explainers.evaluation.set_job._ray_engine",
        lambda _spec, model, plan: lambda rows: ([record] for record in explain_batch(model, plan, rows)),
    )
    monkeypatch.setattr(
        "explainers.evaluation.sanity.run_checks", lambda *given: processes.append(given[-1]) or iter(())
    )
    monkeypatch.setattr("explainers.evaluation.record_file.read_records", lambda _path: [])
    spec = SetSpec(
        str(hub_folder), str(table), methods=("occlusion",), sanity=1, device="cpu", engine="ray", processes=2
    )
    for address in ("", "auto"):
        run_set(replace(spec, out=str(tmp_path / f"out{address}"), address=address), lambda _sentence: None)
    assert processes == [2, 1]


def test_a_cluster_is_needed_only_for_rows_that_are_missing(hub_folder: Path, tmp_path: Path) -> None:
    table, out = tmp_path / "few.csv", tmp_path / "out"
    table.write_text("text\nthe good film\n")
    spec = SetSpec(str(hub_folder), str(table), methods=("occlusion",), sanity=0, device="cpu", out=str(out))
    gone = replace(spec, engine="ray", address="127.0.0.1:1")
    with pytest.raises(ExplanationError, match="No Ray cluster answers"):
        run_set(gone, lambda _sentence: None)
    assert not out.exists() or not list(out.iterdir())
    run_set(spec, lambda _sentence: None)
    assert run_set(gone, lambda _sentence: None)["inputs"] == 1


def test_without_ray_it_is_named(bert: FrozenModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    rows = [InputRow("a", "good film")]
    with pytest.raises(ExplanationError, match=r"not installed\. Install it with: pip install 'crosslight\[ray\]'"):
        list(explain_with_ray("small", bert, SetPlan(("occlusion",)), rows, 1, ""))
    assert list(explain_with_ray("small", bert, SetPlan(("occlusion",)), [], 1, "")) == []


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nonsense", "ray://", "localhost:99999999"])
def test_a_cluster_that_is_not_there_is_a_sentence(address: str) -> None:
    with pytest.raises(ExplanationError, match="No Ray cluster answers at"):
        check_reachable(address)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"engine": "dask"}, r"Unknown engine 'dask'\. Choose one of: local, ray"),
        ({"address": "auto"}, r"--address names a Ray cluster\. Add --engine ray"),
        ({"engine": "ray", "processes": 0}, "at least 1 process, not 0"),
    ],
)
def test_a_wrong_engine_is_a_sentence(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ExplanationError, match=sentence):
        replace(SetSpec("sst2", "mine.csv", out="runs"), **changes).check()


def test_the_command_of_a_set_does_not_depend_on_the_engine() -> None:
    spec = SetSpec("sst2", "mine.csv", out="runs")
    assert replace(spec, engine="ray", address="auto").shell_command() == spec.shell_command()
