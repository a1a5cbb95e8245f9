import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from app.compare import views
from app.compare.engine import Engine
from app.compare.file_rows import NOTHING, opened, read_rows
from app.compare.runs import Request, Run
from explainers.datasets.example import Example
from explainers.errors import DataUnavailable
from explainers.metrics.plausibility import plausibility, plausibility_by_chance

TEXT = "a good film but dull"
SCORES = {"text": TEXT, "method": "my shap", "tokens": [[2, 6], [16, 20]], "scores": [1.5, -1.0]}
MARKS = {"text": TEXT, "label": [[2, 6, "evidence"]]}


def lines(*rows: object) -> bytes:
    return "\n".join(map(json.dumps, rows)).encode()


def test_a_file_of_scores_gives_a_row_per_method() -> None:
    read = read_rows("a.jsonl", lines(SCORES, {**SCORES, "method": "other"}, {**SCORES, "scores": [1]}))
    (specs,) = read.rows.values()
    assert [spec.id for spec in specs] == ["given:my shap", "given:other"]
    assert list(read.rows) == [(TEXT, "")]
    assert "Row 3: There are 1 scores for 2 tokens" in read.problems[0]


def test_a_file_of_marks_gives_the_row_of_people() -> None:
    (specs,) = read_rows("a.jsonl", lines(MARKS, {"text": "unmarked", "label": []})).rows.values()
    assert [spec.id for spec in specs] == ["people"]


def test_an_archive_opens_with_its_test_part() -> None:
    archive = io.BytesIO()
    row = {"annotation_id": "d", "classification": "POS", "evidences": [[{"start_token": 1, "end_token": 3}]]}
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("docs/d", TEXT)
        for part in ("train", "test", "val"):
            file.writestr(f"{part}.jsonl", json.dumps(row))
    read = opened("set.zip", archive.getvalue())
    assert (read.parts, read.part, read.problem) == (("test", "train", "val"), "test", "")
    assert opened("set.zip", archive.getvalue(), "val").part == "val"
    assert read.read is not None
    assert list(read.read.rows) == [(TEXT, "")]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.jsonl", lines({"text": "without marks"}), NOTHING),
        ("a.jsonl", b"", NOTHING),
        ("a.jsonl", lines({**SCORES, "scores": [1]}), "Row 1: There are 1 scores for 2 tokens"),
        ("a.zip", b"nonsense", "not a readable archive"),
        ("a.csv", b"a\n1\n", "needs a column named text"),
    ],
)
def test_a_file_that_cannot_be_used_is_a_sentence(name: str, content: bytes, sentence: str) -> None:
    assert sentence in opened(name, content).problem
    with pytest.raises(DataUnavailable):
        read_rows(name, content)


@pytest.fixture
def given(engine: Engine, request_for: Callable[..., Request], over: Callable[[Run], Run]) -> Run:
    """Occlusion beside the rows of both files."""
    specs = [read_rows("a.jsonl", lines(row)).rows[TEXT, ""][0] for row in (SCORES, MARKS)]
    return over(engine.submit(replace(request_for(methods=("occlusion",)), given=tuple(specs))))


def test_the_rows_are_computed_beside_the_methods_and_remembered_by_their_scores(
    engine: Engine, given: Run, over: Callable[[Run], Run]
) -> None:
    assert given.error == ""
    assert set(given.columns) == {"given:my shap", "people", "occlusion"}
    assert given.comparison().methods == ("consensus", *given.columns)
    own = given.columns["given:my shap"].attribution
    assert own is not None
    assert own.scores == (0, 1.5, 0, 0, -1.0)
    (changed,) = read_rows("a.jsonl", lines({**SCORES, "scores": [-9, 3]})).rows[TEXT, ""]
    again = over(engine.submit(replace(given.request, given=(changed,))))
    attribution = again.columns["given:my shap"].attribution
    assert attribution is not None
    assert attribution.scores == (0, -9.0, 0, 0, 3.0)
    assert again.columns["occlusion"].remembered


def test_agreement_with_people_stands_beside_chance(given: Run) -> None:
    rows = {row["method"]: row for row in views.table(given)}
    truth = np.array([False, True, False, False, False])
    assert set(rows) == {"Consensus", "my shap (from a file)", "Occlusion", views.CHANCE}
    assert rows["my shap (from a file)"]["ROC-AUC"] == plausibility(truth, (0, 1.5, 0, 0, -1.0))["auc"] == 1
    assert rows[views.CHANCE]["F1"] == plausibility_by_chance(truth)["f1"] == pytest.approx(1 / 5)


def test_without_peoples_marks_there_is_no_table(ran: Callable[..., Run]) -> None:
    assert views.table(ran(methods=("occlusion",))) == []


def test_scores_of_another_text_fail_alone(engine: Engine, given: Run, over: Callable[[Run], Run]) -> None:
    other = over(engine.submit(replace(given.request, example=Example("a dull film"))))
    assert other.failure("given:my shap") == "These scores were made for another text."
    assert other.result("occlusion") is not None


def test_the_results_of_eraser_become_a_row() -> None:
    packed = io.BytesIO()
    scores = {"annotation_id": "r1", "rationales": [{"docid": "r1", "soft_rationale_predictions": [0, 1, 0, 0, 0.5]}]}
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr("docs/r1", TEXT)
        file.writestr("lei.jsonl", json.dumps(scores))
    (spec,) = opened("results.zip", packed.getvalue()).read.rows[TEXT, ""]  # type: ignore[union-attr]
    assert spec.id == "given:lei"
