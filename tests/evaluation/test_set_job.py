"""`evaluate` on the rows of a table, from the command line; the small BERT has random weights."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from PIL import Image
from typer.testing import CliRunner, Result

from explainers.__main__ import app
from explainers.datasets.labelled_rows import Columns
from explainers.errors import DataUnavailable, ExplanationError
from explainers.evaluation import set_job
from explainers.evaluation.names import SANITY_RECORDS
from explainers.evaluation.set_frames import without_lists
from explainers.evaluation.set_job import read_sanity, read_set
from explainers.evaluation.set_spec import FULL, QUICK, SetSpec, read_set_spec
from explainers.methods.registry import METHODS
from explainers.models import catalog
from explainers.models.precision import UsedPrecision
from explainers.report.set_tables import set_document
from explainers.report.tables import csv_text
from tests.pages.conftest import scene_model

TEXTS = (
    "the good film was very good",
    "a bad plot , not good",
    "the film was very dull",
    "not a bad film was the plot",
)
ROOT = Path(__file__).parents[2]
PATIENCE = 90  # seconds
PART = "part-1-of-1.jsonl"
OPTIONS = ("--methods", "occlusion,gradient_x_input,lime", "--samples", "50", "--device", "cpu", "--sanity", "0")


def ran(*arguments: str) -> Result:
    return CliRunner().invoke(app, ("evaluate", *arguments))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "mine.csv"
    rows = [f'{number},"{text}",positive' for number, text in enumerate(TEXTS)]
    path.write_text("\n".join(["key,review,stars", *rows, "9,,positive", "10,a film,best"]) + "\n")
    return path


@pytest.fixture
def arguments(hub_folder: Path, table: Path) -> tuple[str, ...]:
    columns = ("--column", "review", "--label-column", "stars", "--id-column", "key")
    return ("--model", str(hub_folder), "--data", str(table), *columns, *OPTIONS)


def without_costs(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.drop(columns=["seconds", "passes"])


def test_a_table_is_explained_and_read_back(arguments: tuple[str, ...], tmp_path: Path) -> None:
    result = ran(*arguments, "--out", str(tmp_path / "out"))
    assert result.exit_code == 0, result.stderr
    assert "Undecided: 4 inputs are too few to compare methods." in result.stdout
    assert "| Occlusion | 4 |" in result.stdout
    assert "2 rows are left out: Line 6 has no text. The row is left out. Line 7 has the label 'best'" in result.stdout
    assert "4 of 4 inputs" in result.stderr
    files = (tmp_path / "out" / name for name in ("inputs.parquet", "methods.parquet"))
    assert f"Results: {', '.join(map(str, files))}" in result.stderr
    manifest, rows, methods = read_set(tmp_path / "out")
    assert rows["id"].tolist() == ["0", "1", "2", "3"]
    assert rows["label"].tolist() == ["positive"] * 4
    assert set(methods["method"]) == {"occlusion", "gradient_x_input", "lime", "consensus", "random", "position"}
    assert len(methods[methods["id"] == "0"].iloc[0]["scores"]) == 6
    assert (manifest["data"]["name"], manifest["data"]["left_out"], manifest["inputs"]) == ("mine.csv", 2, 4)
    assert len(manifest["model"]["sha256"]) == 64
    command = "--data mine.csv --column review --label-column stars --id-column key --preset full"
    assert f"{command} --methods occlusion,gradient_x_input,lime --samples 50" in manifest["command"]


def test_the_manifest_says_where_and_in_which_precision(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = ran(*arguments, "--out", str(tmp_path / "plain"))
    assert result.exit_code == 0, result.stderr
    manifest, _, _ = read_set(tmp_path / "plain")
    assert (manifest["devices"], manifest["precisions"]) == (["cpu"], {"float32": 4})
    assert "--precision" not in manifest["command"]
    monkeypatch.setattr("explainers.models.frozen_model.check_bfloat16", lambda *_: UsedPrecision("bfloat16"))
    result = ran(*arguments, "--precision", "bf16", "--out", str(tmp_path / "rounded"))
    assert result.exit_code == 0, result.stderr
    assert "computed in float32" not in result.stderr
    manifest, _, _ = read_set(tmp_path / "rounded")
    assert (manifest["precision"], manifest["precisions"]) == ("bfloat16", {"bfloat16": 4})
    assert manifest["command"].endswith("--precision bfloat16")


def test_the_manifest_names_the_device_of_the_checks_too(arguments: tuple[str, ...], tmp_path: Path) -> None:
    line = *arguments, "--sanity", "3", "--out", str(tmp_path / "out")
    assert ran(*line).exit_code == 0
    file = tmp_path / "out" / SANITY_RECORDS
    head, first, *others = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    first["device"] = "cuda:0"  # as before the machine lost it
    file.write_text("".join(json.dumps(line) + "\n" for line in (head, first, *others)), encoding="utf-8")
    assert ran(*line).exit_code == 0
    assert read_set(tmp_path / "out")[0]["devices"] == ["cpu", "cuda:0"]


def test_sanity_checks_follow_the_rows_and_are_read_back(arguments: tuple[str, ...], tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = ran(*arguments, "--sanity", "3", "--out", str(out))
    assert result.exit_code == 0, result.stderr
    assert "| method | random weights (≤ 0.2) | other seed (≥ 0.8) |" in result.stdout
    few = "Occlusion – open: random weights, other seed, other class, planted word and reversed order."
    assert few in result.stdout  # three inputs are too few
    assert "sanity checks: 3 of 3 inputs" in result.stderr
    manifest, rows, methods = read_set(out)
    sanity = read_sanity(out)
    assert sanity["id"].nunique() == 3
    assert set(sanity["id"]) <= set(rows["id"])
    assert "--sanity 3" in manifest["command"]
    assert set(manifest["files"]) == {"inputs.parquet", "methods.parquet", "sanity.parquet"}
    page = set_document(manifest, rows, methods, sanity)
    assert "<h2>Sanity checks</h2>" in page
    assert "Does the explanation change when all weights of the model are random?" in page
    drawn = re.findall(r'<svg role="img" aria-label="(.*?)"', page)
    assert drawn == [
        "Evidence by method",
        "Evidence against passes per input",
        "First units removed (mask)",
        "Only the first units kept",
        "Agreement and evidence of every input",
        "Random weights, step by step",
    ]
    assert page.count("<table>") == page.count('<div class="wide" tabindex="0"><table>')  # each scrolls in its own box
    assert ran(*arguments, "--sanity", "3", "--out", str(out)).stdout == result.stdout  # everything is there already


def test_sanity_checks_are_added_to_a_finished_set(arguments: tuple[str, ...], tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert ran(*arguments, "--out", str(out)).exit_code == 0
    plain = (out / "part-1-of-1.jsonl").read_bytes()
    assert read_sanity(out).empty
    assert ran(*arguments, "--sanity", "2", "--out", str(out)).exit_code == 0
    assert read_sanity(out)["id"].nunique() == 2
    assert (out / "part-1-of-1.jsonl").read_bytes() == plain
    assert ran(*arguments, "--sanity", "3", "--out", str(out)).exit_code == 0  # two of them are there
    assert read_sanity(out)["id"].nunique() == 3
    assert ran(*arguments, "--out", str(out)).exit_code == 0
    assert read_sanity(out).empty


def test_labels_with_other_names_are_given_their_class(hub_folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "named.csv"
    path.write_text("text,label\nthe good film was very good,pos\na bad plot was not good,neg\n")
    named = ("--label-class", "pos=positive", "--label-class", "neg=negative")
    arguments = ("--model", str(hub_folder), "--data", str(path), "--label-column", "label", *OPTIONS)
    result = ran(*arguments, *named, "--out", str(tmp_path / "out"))
    assert result.exit_code == 0, result.stderr
    manifest, rows, _ = read_set(tmp_path / "out")
    assert rows["label"].tolist() == ["positive", "negative"]
    assert "--label-class pos=positive --label-class neg=negative" in manifest["command"]
    assert ran(*arguments, *named, "--out", str(tmp_path / "out")).exit_code == 0  # goes on, with nothing left to do
    wrong = ran(*arguments, "--label-class", "pos", "--out", str(tmp_path / "wrong"))
    assert "--label-class needs LABEL=CLASS, such as pos=positive, not 'pos'." in " ".join(wrong.stderr.split())


def test_people_s_marks_give_the_agreement_with_them(hub_folder: Path, tmp_path: Path) -> None:
    table, data = tmp_path / "mine.csv", tmp_path / "movies"
    table.write_text('text,marks\nthe good film was very good,"[[4, 8]]"\na bad plot,"[[0, 99]]"\nthe film,\n')
    (data / "docs").mkdir(parents=True)
    (data / "docs" / "1").write_text("the good film was very good")
    evidence = [[{"docid": "1", "start_token": 1, "end_token": 2}]]
    line = {"annotation_id": "1", "classification": "", "evidences": evidence}
    (data / "val.jsonl").write_text(f"[]\n{json.dumps(line)}\n")
    model = ("--model", str(hub_folder), *OPTIONS)
    frames = []
    for name, options, wrong, form in (
        (
            "csv",
            ("--data", str(table), "--rationale-column", "marks"),
            "Line 3: The span 0 to 99 is not within the text",
            {"columns": {"text": "text", "rationale": "marks"}, "format": None, "split": None},
        ),
        (
            "eraser",
            ("--data", str(data), "--format", "eraser"),
            "Line 1: It is not an object",
            {"columns": None, "format": "eraser", "split": "val"},
        ),
    ):
        result = ran(*model, *options, "--out", str(tmp_path / name))
        assert result.exit_code == 0, result.stderr
        assert "| AUPRC ↑ people | F1 ↑ people |" in result.stdout
        assert f"1 row is left out: {wrong}" in result.stdout
        manifest, _, methods = read_set(tmp_path / name)
        assert " ".join(options[2:]) in manifest["command"]
        assert {key: manifest["data"].get(key) for key in form} == form
        frames.append(methods[methods["plausibility_f1"].notna()].set_index("method")["plausibility_f1"])
    assert "Marks of people count in 1 of 1 inputs." in result.stdout
    assert "Part val of movies, inputs: 1" in result.stderr
    assert frames[0].to_dict() == frames[1].to_dict()
    assert frames[0]["random"] == pytest.approx(1 / 6)
    wrong = ran(*model, *options, "--column", "text", "--out", str(tmp_path / "other"))
    assert "--column does not go with --format eraser. Omit it." in " ".join(wrong.stderr.split())


def test_images_are_read_beside_their_table(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = scene_model()
    monkeypatch.setattr(set_job.catalog, "load", lambda *_given, **_options: model)
    monkeypatch.setattr(catalog, "load", lambda *_given, **_options: model)
    for name, colour in (("a.png", "red"), ("b.png", "blue")):
        Image.new("RGB", (400, 100), colour).save(tmp_path / name)
    table = tmp_path / "images.csv"
    table.write_text("text,image\nThere is a square.,a.png\nThere is a square.,b.png\nThere is a square.,c.png\n")
    options = ("--model", "scenes", "--data", str(table), "--methods", "occlusion", "--sanity", "1", "--device", "cpu")
    images = ("--image-column", "image", "--out", str(tmp_path / "out"))
    result = ran(*options, *images)
    assert result.exit_code == 0, result.stderr
    manifest, rows, methods = read_set(tmp_path / "out")
    assert rows["image"].tolist() == ["a.png", "b.png"]
    assert rows["status"].isin(["supported", "open"]).all()
    assert manifest["operators"][0] == "mask"
    assert len(manifest["data"]["images"]) == 64
    assert manifest["data"]["problems"] == [
        "Line 4, image 'c.png': It is missing in the folder of the table. The row is left out."
    ]
    assert "--image-column image" in manifest["command"]
    first, second = methods[methods["method"] == "occlusion"]["scores"]
    assert tuple(first) != tuple(second)
    assert ran(*options, *images).stdout == result.stdout  # goes on, with nothing left to do
    without = ran(*options, "--out", str(tmp_path / "none"))
    assert "reads images with texts. Name the column of the images" in " ".join(without.stderr.split())
    eraser = ran(*options, "--format", "eraser", "--out", str(tmp_path / "none"))
    sentence = "reads images with texts. Give a table with --data and the column of the images with --image-column."
    assert sentence in " ".join(eraser.stderr.split())
    monkeypatch.undo()
    text = ran(*arguments, "--image-column", "stars", "--out", str(tmp_path / "texts"))
    assert "reads no images. Omit their column or choose a multimodal model." in " ".join(text.stderr.split())


def test_sanity_checks_need_the_whole_set(arguments: tuple[str, ...], tmp_path: Path) -> None:
    result = ran(*arguments, "--sanity", "3", "--shard", "1/2", "--out", str(tmp_path / "out"))
    assert result.exit_code == 2
    assert "The sanity checks need the whole set. Omit --sanity for a part of it." in " ".join(result.stderr.split())
    too_smooth = ran(*arguments, "--smooth", "51", "--out", str(tmp_path / "out"))
    assert "--smooth must be 0 to 50, not 51." in " ".join(too_smooth.stderr.split())


def test_parts_put_together_are_the_whole_to_the_last_digit(arguments: tuple[str, ...], tmp_path: Path) -> None:
    assert ran(*arguments, "--out", str(tmp_path / "whole")).exit_code == 0
    for part in ("2/2", "1/2"):
        result = ran(*arguments, "--out", str(tmp_path / "parts"), "--shard", part)
        assert result.exit_code == 0, result.stderr
        assert f"Part {part} is in " in result.stdout
    result = ran("--merge", str(tmp_path / "parts"), "--json")
    assert json.loads(result.stdout)["inputs"] == 4
    (_, rows, methods), (_, rows_, methods_) = read_set(tmp_path / "whole"), read_set(tmp_path / "parts")
    pd.testing.assert_frame_equal(without_costs(rows), without_costs(rows_), check_exact=True)
    pd.testing.assert_frame_equal(without_costs(methods), without_costs(methods_), check_exact=True)


def test_a_part_that_is_missing_at_the_merge_is_a_sentence(arguments: tuple[str, ...], tmp_path: Path) -> None:
    assert ran(*arguments, "--out", str(tmp_path), "--shard", "2/2").exit_code == 0
    result = ran("--merge", str(tmp_path))
    assert result.exit_code == 2
    assert result.stderr.startswith("1/2 is missing in ")
    assert not (tmp_path / "manifest.json").exists()
    with pytest.raises(DataUnavailable, match="holds no finished evaluation"):
        read_set(tmp_path)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--n", "-1"), "--n must be 0 (all rows) or more, not -1."),
        (("--preset", "slow"), "Unknown preset 'slow'. Choose one of: quick, full."),
        (("--shard", "3/2"), "--shard needs i/n with i from 1 to n, such as 2/4, not '3/2'."),
        (
            ("--column", "words"),
            "mine.csv has no column 'words'. Its columns are: key, review, stars. Choose with --column.",
        ),
        (("--pair-column", "key"), ""),  # a hub model may read pairs
        (("--split", "test"), "A table has no parts. Omit --split, or add --format own or --format eraser."),
        (("--methods", "shap"), "Unknown method 'shap'."),
        (("--methods", "premise_only"), "premise_only needs a pair of texts."),
        (("--erasure", "blur"), "Unknown erasure operator 'blur'."),
        (("--processes", "0"), "There must be at least 1 process, not 0."),
    ],
)
def test_what_cannot_be_is_one_sentence(
    arguments: tuple[str, ...], tmp_path: Path, options: tuple[str, ...], sentence: str
) -> None:
    result = ran(*arguments, "--out", str(tmp_path / "out"), *options)
    if sentence:
        assert result.exit_code == 2
        assert result.stderr.splitlines()[-1].startswith(sentence)
    else:
        assert result.exit_code == 0


def test_a_spec_is_carried_out_and_a_second_time_nothing_is_explained_again(
    hub_folder: Path, table: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    spec = SetSpec(
        str(hub_folder), str(table), Columns("review"), name="given.csv", methods=("occlusion", "lime"), samples=50,
        n=2, device="cpu", out=str(out),
    )  # fmt: skip
    assert read_set_spec(spec.as_json()) == spec
    (tmp_path / "spec.json").write_text(spec.as_json())
    first = ran("--spec", str(tmp_path / "spec.json"))
    assert first.exit_code == 0, first.stderr
    manifest = json.loads(first.stdout)
    assert (manifest["inputs"], manifest["data"]["name"]) == (2, "given.csv")
    records = (out / "part-1-of-1.jsonl").read_text()
    assert json.loads(ran("--spec", str(tmp_path / "spec.json")).stdout) == manifest
    assert (out / "part-1-of-1.jsonl").read_text() == records
    assert ran("--spec", str(tmp_path / "none.json")).exit_code == 2
    with pytest.raises(ExplanationError, match=r"The evaluation's spec cannot be read. The field model is missing"):
        read_set_spec("{}")


def test_a_brief_evaluation_does_not_go_on_with_thorough_rows(arguments: tuple[str, ...], tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert ran(*arguments, "--thorough", "--out", str(out)).exit_code == 0
    assert "--thorough" in read_set(out)[0]["command"]
    brief = ran(*arguments, "--out", str(out))
    assert brief.exit_code == 2
    assert "belongs to another run" in brief.stderr


def test_sanity_checks_are_thorough(arguments: tuple[str, ...], tmp_path: Path) -> None:
    assert ran(*arguments, "--sanity", "1", "--out", str(tmp_path)).exit_code == 0
    plans = (json.loads((tmp_path / name).read_text().splitlines()[0])["plan"] for name in (PART, SANITY_RECORDS))
    brief, checked = plans
    assert (brief["thorough"], brief["settings"]["steps"]) == (False, 20)
    assert checked["settings"]["steps"] == 50
    assert checked["thorough"]


def test_the_quick_preset_omits_what_needs_hundreds_of_passes() -> None:
    quick, full = QUICK.methods(METHODS.declared), FULL.methods(METHODS.declared)
    assert {"lime", "occlusion", "integrated_gradients", "attention_mean"} <= set(quick)
    by_choice = {spec.id for spec in METHODS.declared if not spec.default}
    assert set(full) - set(quick) == {"kernel_shap", "faml"} | by_choice - {"solvex"}
    assert by_choice > {"decompx", "attention_last"}


def test_downloads_are_guarded_and_stand_alone(arguments: tuple[str, ...], table: Path, tmp_path: Path) -> None:
    table.write_text('key,review,stars\n"=1+1","=HYPERLINK(film) <b>good</b> film was dull",positive\n')
    assert ran(*arguments, "--out", str(tmp_path / "out")).exit_code == 0
    content: tuple[dict[str, Any], pd.DataFrame, pd.DataFrame] = read_set(tmp_path / "out")
    csv = csv_text(without_lists(content[1]))
    assert csv.splitlines()[1].startswith("'=1+1,2,'=HYPERLINK")
    page = set_document(*content, read_sanity(tmp_path / "out"))
    assert "Sanity checks" not in page
    assert "<script" not in page
    assert "<b>good" not in page
    assert "Undecided: 1 input is too few" in page


def test_a_job_that_was_killed_goes_on_and_nothing_is_lost_or_there_twice(hub_folder: Path, tmp_path: Path) -> None:
    table, out = tmp_path / "many.csv", tmp_path / "out"
    table.write_text("text\n" + "".join(f"the good film was {'very ' * n}dull\n" for n in range(1, 17)))
    spec = SetSpec(str(hub_folder), str(table), methods=("occlusion", "lime"), samples=500, device="cpu", sanity=0)
    (tmp_path / "spec.json").write_text(replace(spec, out=str(out), processes=2).as_json())
    command = [sys.executable, "-m", "explainers", "evaluate", "--spec", str(tmp_path / "spec.json")]
    part = out / PART
    job = subprocess.Popen(command, cwd=ROOT, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    end = time.monotonic() + PATIENCE
    while (not part.is_file() or part.read_bytes().count(b"\n") < 3) and time.monotonic() < end:
        time.sleep(0.01)
    os.killpg(job.pid, signal.SIGKILL)
    job.communicate()
    made = part.read_text().splitlines()[1:3]
    assert 3 <= part.read_bytes().count(b"\n") < 17
    (tmp_path / "spec.json").write_text(replace(spec, out=str(out)).as_json())
    assert ran("--spec", str(tmp_path / "spec.json")).exit_code == 0
    assert part.read_text().splitlines()[1:3] == made  # they were not computed again
    (tmp_path / "spec.json").write_text(replace(spec, out=str(tmp_path / "whole")).as_json())
    assert ran("--spec", str(tmp_path / "spec.json")).exit_code == 0
    (_, rows, methods), (_, rows_, methods_) = read_set(out), read_set(tmp_path / "whole")
    assert len(rows) == 16
    pd.testing.assert_frame_equal(without_costs(rows), without_costs(rows_), check_exact=True)
    pd.testing.assert_frame_equal(without_costs(methods), without_costs(methods_), check_exact=True)


@pytest.mark.parametrize("erasure", [None, "mask", "delete"])
def test_the_command_of_a_set_has_the_operator_that_was_asked_for(erasure: str | None) -> None:
    command = SetSpec("owner/decoder", "mine.csv", erasure=erasure).shell_command()
    assert (f"--erasure {erasure}" in command) is (erasure is not None)
    assert ("--erasure" in command) is (erasure is not None)
