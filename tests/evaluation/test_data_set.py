import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from explainers.__main__ import app
from explainers.datasets.example import Example
from explainers.errors import DataUnavailable
from explainers.evaluation import data_set
from explainers.evaluation.data_set import evaluated_methods, split_inputs
from explainers.evaluation.names import POSITION, RANDOM
from explainers.learned.recipes import RECIPES
from explainers.methods.registry import GROUPS, METHODS
from explainers.metrics.faithfulness import METRICS
from explainers.metrics.spec import MetricSpec
from explainers.models import tasks
from explainers.models.frozen_model import FrozenModel
from explainers.models.precision import UsedPrecision
from explainers.results.decision import Settings
from explainers.training.artifacts import available_artifacts


def test_by_default_every_method_is_evaluated_with_every_variant(bert: FrozenModel) -> None:
    ids = [spec.id for spec in evaluated_methods(bert)]
    assert set(ids) == {*RECIPES, "faml", *(spec.id for spec in METHODS if not spec.learns)} - {RANDOM, "self_ranking"}
    assert len(ids) == len(set(ids))
    bert.version = "2"  # for which nothing was fitted
    assert {spec.group for spec in evaluated_methods(bert)} == {*GROUPS} - {
        "Consensus",
        "Learned",
        "Self-report",
        "Yours",
    }


def test_weights_that_are_not_the_first_choice_are_named(bert: FrozenModel, monkeypatch: pytest.MonkeyPatch) -> None:
    (first,) = (artifact for artifact in available_artifacts("small", "1") if artifact.method == "aml")
    both = (replace(first, variant="comp"), first)
    monkeypatch.setattr(data_set, "available_artifacts", lambda *_args: both)
    learned = [spec.id for spec in evaluated_methods(bert) if spec.learns]
    assert learned == ["aml", "aml:comp", "faml", "faml:comp"]


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "texts.txt"
    words = ("good", "bad", "dull", "very good", "not bad")
    path.write_text("\n".join(f"the {thing} was {word}" for thing in ("film", "plot", "a", "!") for word in words))
    return path


def taken(input_names: tuple[str, ...] = (), seed: int = 0, **fields: Any) -> tuple[Example, ...]:
    asked = {"model": "small", "data": None, "split": "test", "n": 3, **fields}
    return split_inputs(**asked, input_names=input_names, seed=seed)


def test_texts_are_taken_by_the_seed(texts: Path) -> None:
    first, again, other = (taken((), seed, data=texts) for seed in (0, 0, 1))
    assert first == again != other
    assert len(first) == 3
    assert set(taken((), 0, data=texts, n=0)) == set(map(Example, texts.read_text().splitlines()))
    assert taken((), 0, data=texts, n=5)[:3] == first


def test_of_a_models_own_data_a_split_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    class Splits:
        test = tuple(Example(f"test {number}", label=1) for number in range(5))
        validation = tuple(Example(f"other {number}", label=1) for number in range(5))

    class Task:
        read = staticmethod(lambda _folder: Splits)

    monkeypatch.setitem(tasks.TASKS, "small", Task)
    assert {example.text.split()[0] for example in taken((), 0)} == {"test"}
    assert {example.text.split()[0] for example in taken((), 0, split="validation")} == {"other"}
    with pytest.raises(DataUnavailable, match=r"Unknown split 'train'. Choose one of: test, validation"):
        taken((), 0, split="train")


def ran(*arguments: str) -> Result:
    return CliRunner().invoke(app, ("study", "evaluation", *arguments))


def test_the_precision_of_every_input_is_counted_and_told(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter((UsedPrecision("bfloat16"), UsedPrecision(note="For a test."), UsedPrecision("bfloat16")))
    monkeypatch.setattr("explainers.models.frozen_model.check_bfloat16", lambda *_: next(answers))
    result = ran(*arguments, "--sensitive", "0", "--precision", "bf16")
    assert result.exit_code == 0, result.stderr
    assert "1 of 3 inputs were computed in float32: in bfloat16 other units lead" in result.stderr
    content = json.loads((tmp_path / "out" / "table.json").read_text(encoding="utf-8"))
    assert (content["model"]["devices"], content["model"]["precisions"]) == ({"cpu": 3}, {"bfloat16": 2, "float32": 1})
    assert "--precision bfloat16" in content["command"]
    other = ran(*arguments, "--sensitive", "0")  # records in one precision are not continued in another
    assert other.exit_code == 2


def test_every_device_of_a_resumed_evaluation_is_named(arguments: tuple[str, ...], tmp_path: Path) -> None:
    assert ran(*arguments).exit_code == 0
    file = tmp_path / "out" / "texts.jsonl"
    head, *records = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    for record in records:
        if record["text"] == 0:
            record["device"] = "cuda:0"  # as before the machine lost it
        elif record["text"] == 1:
            del record["device"]  # as it was written before
    kept = [record for record in records if record["text"] < 2]
    file.write_text("".join(json.dumps(line) + "\n" for line in (head, *kept)), encoding="utf-8")
    assert ran(*arguments).exit_code == 0
    content = json.loads((tmp_path / "out" / "table.json").read_text(encoding="utf-8"))
    assert content["model"]["devices"] == {"cpu": 1, "cuda:0": 1, "unknown": 1}
    assert "device" not in content["model"]


@pytest.fixture
def arguments(hub_folder: Path, texts: Path, tmp_path: Path) -> tuple[str, ...]:
    return (
        *("--model", str(hub_folder), "--data", str(texts), "--methods", "occlusion", "--device", "cpu"),
        *("--n", "3", "--sensitive", "1", "--out", str(tmp_path / "out")),
    )


def test_from_the_command_line_tables_are_printed_and_files_written(arguments: tuple[str, ...], tmp_path: Path) -> None:
    result = ran(*arguments, "--erasures", "mask,zero", "--seed", "2")
    assert result.exit_code == 0, result.stderr
    assert "Scored by `mask` on 3 texts:" in result.stdout
    assert result.stdout.count("| Occlusion |") == 2
    assert "3 of 3 texts" in result.stderr
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        *("table.csv", "table.json", "table.parquet", "texts.jsonl")
    ]
    content = json.loads((tmp_path / "out" / "table.json").read_text(encoding="utf-8"))
    assert content["data"] == {"split": "test", "texts": 3, "seed": 2}
    assert content["settings"] == Settings(samples=500, seed=2, sampling="captum").as_dict()
    assert {(row["method"], row["erasure"]) for row in content["rows"]} == {
        (method, erasure) for method in ("occlusion", RANDOM, POSITION) for erasure in ("mask", "zero")
    }
    assert content["command"].endswith("--methods occlusion --erasures mask,zero --seed 2 --data DIR")
    again = ran(*arguments, "--erasures", "mask,zero", "--seed", "2", "--json")
    assert json.loads(again.stdout) == content


def test_from_the_command_line_processes_share_the_texts(arguments: tuple[str, ...], tmp_path: Path) -> None:
    result = ran(*arguments, "--erasures", "mask", "--processes", "2")
    assert result.exit_code == 0, result.stderr
    content = json.loads((tmp_path / "out" / "table.json").read_text(encoding="utf-8"))
    assert "--erasures mask --processes 2" in content["command"]
    assert "--seed" not in content["command"]
    result = ran(*arguments, "--processes", "0")
    assert result.exit_code == 2
    assert "There must be at least 1 process, not 0." in result.stderr


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--erasures", "mask,blur"), "Unknown erasure operator 'blur'. Choose one of: mask, delete, zero."),
        (("--methods", "shap"), "Unknown method 'shap'. Choose from: "),
        (("--unit", "letter"), "Unknown unit 'letter'."),
        (("--model", "no such model"), "The model 'no such model' is not available."),
        (("--data", "no-such-file.txt"), "The file or folder no-such-file.txt does not exist."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_user_errors_are_one_sentence_and_exit_code_2(
    arguments: tuple[str, ...], tmp_path: Path, options: tuple[str, ...], sentence: str
) -> None:
    result = ran(*arguments, *options)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.splitlines()[-1].startswith(sentence)
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "out").exists()


def test_the_default_variants_are_among_the_weights_of_the_small_store() -> None:
    available = {(artifact.method, artifact.variant) for artifact in available_artifacts("small", "1")}
    assert available == {(method, METHODS.get(method).default_variant) for method in RECIPES}


def test_own_texts_must_be_pairs_where_the_model_reads_pairs(texts: Path, tmp_path: Path) -> None:
    with pytest.raises(DataUnavailable, match="reads pairs, premise and hypothesis, and these are single texts"):
        taken(("premise", "hypothesis"), 0, data=texts)
    file = tmp_path / "pairs.csv"
    file.write_text("premise,hypothesis\n" + "".join(f"text {n},other\n" for n in range(20)))
    assert taken(("premise", "hypothesis"), 0, data=file)[0].pair == "other"


@pytest.fixture
def registered() -> Iterator[None]:
    """A method and a metric that are not part of the program: occlusion, and p after the removal of half the units."""
    METHODS.register(replace(METHODS.get("occlusion"), id="erasing", name="Erasing"))
    METRICS.register(
        MetricSpec("half", "Half", lambda curves: curves.when_removed(50), higher_is_better=False, meaning="p at 50 %")
    )
    METRICS.register(
        MetricSpec(
            "lowest",
            "Lowest",
            lambda curves: float(curves.removed[:, curves.label].min()),
            higher_is_better=False,
            meaning="the lowest p on the curve",
            every_count=True,
        )
    )
    yield
    METHODS.unregister("erasing")
    METRICS.unregister("half")
    METRICS.unregister("lowest")


@pytest.mark.usefixtures("registered")
def test_methods_and_metrics_registered_at_run_time_are_in_tables_and_files(
    hub_folder: Path, texts: Path, tmp_path: Path
) -> None:
    result = ran(
        "--model",
        str(hub_folder),
        "--data",
        str(texts),
        "--methods",
        "erasing,occlusion",
        "--n",
        "3",
        "--erasures",
        "mask",
        "--sensitive",
        "0",
        "--device",
        "cpu",
        "--out",
        str(tmp_path / "out"),
    )
    assert result.exit_code == 0, result.stderr
    head, _, *rows = result.stdout.splitlines()[2:]
    assert head.startswith("| method | AOPC-C ↑ | AOPC-S ↓ | Log-odds ↓ | DFFOT ↓ | Half ↓ | Lowest ↓ |")
    cells = {row.split(" | ")[0].lstrip("| "): row.split(" | ")[1:7] for row in rows}
    assert cells["Erasing"] == cells["Occlusion"]
    records = [json.loads(line) for line in (tmp_path / "out" / "texts.jsonl").read_text().splitlines()[1:]]
    assert all(0 <= record["metrics"]["mask"]["lowest"] <= record["metrics"]["mask"]["half"] for record in records)
    table = pd.read_csv(tmp_path / "out" / "table.csv")
    assert table.set_index("method")["half_gain"].notna().tolist() == [True, True, False, True]  # random has no gain


def test_records_without_a_metric_are_computed_again(hub_folder: Path, texts: Path, tmp_path: Path) -> None:
    options = ("--model", str(hub_folder), "--data", str(texts), "--methods", "occlusion", "--n", "2",
               "--erasures", "mask", "--sensitive", "0", "--device", "cpu", "--out", str(tmp_path / "out"))  # fmt: skip
    assert ran(*options).exit_code == 0
    path = tmp_path / "out" / "texts.jsonl"
    whole = path.read_text(encoding="utf-8")
    lines = [json.loads(line) for line in whole.splitlines()]
    del lines[-1]["metrics"]["mask"]["dffot"]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert ran(*options).exit_code == 0
    again, before = ([json.loads(line) for line in text.splitlines()] for text in (path.read_text("utf-8"), whole))
    assert again[-1].pop("metrics")["mask"] == pytest.approx(before[-1].pop("metrics")["mask"], abs=1e-4)
    assert again == before
