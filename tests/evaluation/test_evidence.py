"""Evaluations of texts whose evidence is known, with a bag of words that reads it or does not."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from explainers.datasets.example import Evidence, Example, InputImage
from explainers.errors import ExplanationError
from explainers.evaluation.measurement import Plan, current_records
from explainers.evaluation.names import POSITION, RANDOM
from explainers.evaluation.record_file import Record
from explainers.evaluation.table import flat_row, summary_rows
from explainers.methods.registry import select
from explainers.metrics.faithfulness import METRICS
from explainers.models.frozen_model import FrozenModel
from explainers.report.evaluation_tables import EVIDENCE, evidence_cells, evidence_markdown, row_name
from explainers.results.decision import Settings
from explainers.studies import evaluation as evaluations
from explainers.studies.commands.evaluation import EVIDENCE_TITLE, write_evaluation
from explainers.studies.evaluation import EvaluationSpec, evaluate_data_set, run_evaluation

LAST = Evidence(words=((8, 14),))
TEXTS = (
    Example("the bad superb", label=1, evidence=LAST),  # 3 - 1 > 0
    Example("bad the superb", label=0, evidence=LAST),  # the model is wrong
    Example("the bad superb", label=1),
    Example("the the superb", label=1, evidence=Evidence(words=((0, 14),))),
    Example("the superb bad", label=1, evidence=Evidence(words=((0, 3), (4, 10)))),
)


@pytest.fixture
def model(bag: Callable[..., FrozenModel]) -> FrozenModel:
    return bag({"superb": 3.0, "bad": -1.0, "the": 0.0})


def done(model: FrozenModel, out: Path, texts: Sequence[Example] = TEXTS) -> list[Record]:
    list(run_evaluation(model, texts, Plan(select(["occlusion"]), erasures=("mask", "zero")), out))
    return current_records(out, ["occlusion"], model)


def test_evidence_is_compared_where_it_is_known_and_the_model_is_right(model: FrozenModel, tmp_path: Path) -> None:
    metrics = {(entry["text"], entry["method"]): entry["evidence"] for entry in done(model, tmp_path)}
    assert {text for (text, _), metric in metrics.items() if metric} == {0, 4}
    right = {"word_auc": 1.0, "word_pointing": 1.0, "word_iou": 1.0}
    assert metrics[0, "occlusion"] == right
    assert metrics[4, "occlusion"] == right  # "superb" and then "the", because "bad" is evidence against the class
    assert metrics[0, POSITION] == {"word_auc": 0.0, "word_pointing": 0.0, "word_iou": 0.0}
    assert metrics[4, POSITION] == right


def test_the_random_row_is_exact_chance(model: FrozenModel, tmp_path: Path) -> None:
    metrics = {entry["text"]: entry["evidence"] for entry in done(model, tmp_path) if entry["method"] == RANDOM}
    assert metrics[0] == pytest.approx({"word_auc": 1 / 2, "word_pointing": 1 / 3, "word_iou": 1 / 3})
    # one or both of two are right, in 2 and 1 of 3 draws
    assert metrics[4] == pytest.approx({"word_auc": 1 / 2, "word_pointing": 2 / 3, "word_iou": (2 / 3 + 1) / 3})


def test_evidence_counts_only_where_the_explained_class_is_the_true_one(model: FrozenModel, tmp_path: Path) -> None:
    texts = [replace(TEXTS[0], label=label) for label in (0, None)]
    assert [entry["evidence"] for entry in done(model, tmp_path, texts)] == [{}] * 6


def test_the_row_has_means_over_the_texts_that_have_a_value(model: FrozenModel, tmp_path: Path) -> None:
    rows = {(row["method"], row["erasure"]): row for row in summary_rows(done(model, tmp_path))}
    for erasure in ("mask", "zero"):  # the same for every operator
        row, control = rows["occlusion", erasure], rows[POSITION, erasure]
        assert row["texts"] == 5
        assert (row["word_auc"]["texts"], row["word_auc"]["mean"]) == (2, 1)
        assert (control["word_pointing"]["mean"], control["word_iou"]["mean"]) == (0.5, 0.5)
        assert row["word_auc_gain"]["mean"] == pytest.approx(0.5)
        assert row["word_pointing_gain"]["mean"] == pytest.approx((2 / 3 + 1 / 3) / 2)
        assert control["word_pointing_gain"]["mean"] == pytest.approx((-1 / 3 + 1 / 3) / 2)
        assert not any(name.startswith("patch") for name in row)  # there are no images
        assert rows[RANDOM, erasure]["word_pointing"]["mean"] == pytest.approx(1 / 2)
        assert "word_auc_gain" not in rows[RANDOM, erasure]
    assert flat_row(rows["occlusion", "mask"])["word_iou"] == 1


def record(text: int, method: str, **evidence: float) -> Record:
    zeros = {metric.id: 0.0 for metric in METRICS}
    return {"text": text, "method": method, "weights": "", "metrics": {"mask": zeros}, "evidence": evidence}


def test_gains_are_paired_by_text() -> None:
    records = [
        *(record(text, "occlusion", word_iou=0.1 * text + 0.2) for text in (3, 0, 1)),
        *(record(text, RANDOM, word_iou=0.1 * text) for text in (0, 1, 2, 3)),
    ]
    (row,) = (row for row in summary_rows(records) if row["method"] == "occlusion")
    gain = row["word_iou_gain"]
    assert (gain["mean"], gain["low"], gain["high"], gain["texts"]) == pytest.approx((0.2, 0.2, 0.2, 3))


def test_records_of_an_earlier_version_have_no_evidence() -> None:
    old = {name: value for name, value in record(0, "occlusion").items() if name != "evidence"}
    (row,) = summary_rows([old])
    assert not set(EVIDENCE) & set(row)
    assert evidence_cells([row], "mask") == []


def test_the_table_has_a_row_per_method_and_a_dash_where_no_value_is_known() -> None:
    records = [
        *(record(text, "occlusion", patch_auc=0.75, patch_pointing=1.0, patch_iou=0.5) for text in range(3)),
        *(record(text, RANDOM, patch_auc=0.5, patch_pointing=0.25, patch_iou=0.5) for text in range(3)),
    ]
    first, last = evidence_cells(summary_rows(records), "mask")
    assert first == {
        "method": "Occlusion",
        "patches: AUC ↑": "0.750 ± 0.000",
        "pointing ↑": "1.000 ± 0.000",
        "IOU ↑": "0.500 ± 0.000°",  # no better than chance
        "words: AUC ↑": "–",
        "pointing (words) ↑": "–",
        "IOU (words) ↑": "–",
    }
    assert last["patches: AUC ↑"] == "0.500 ± 0.000"
    assert evidence_markdown(summary_rows(records), "mask").split("\n")[0] == f"| {' | '.join(first)} |"
    assert evidence_cells(summary_rows(records), "zero") == []


@pytest.fixture
def measured(model: FrozenModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """What `study evaluation` prints about some texts."""

    def run(texts: Sequence[Example] = TEXTS, *, erasures: tuple[str, ...] = ("mask",), explained: str = "mask") -> str:
        monkeypatch.setattr(evaluations.catalog, "load", lambda _name, device, precision: model)
        monkeypatch.setattr(evaluations, "split_inputs", lambda *_args: tuple(texts))
        spec, settings = EvaluationSpec("bag", None, "test", 0, ("occlusion",), erasures), Settings(erasure=explained)  # type: ignore[arg-type]
        evaluation = evaluate_data_set(spec, settings, 0, tmp_path / "out", "cpu", lambda _line: None)
        return write_evaluation(evaluation, erasures, "", tmp_path / "out")

    return run


def test_the_command_prints_the_agreement_with_the_evidence(measured: Callable[..., str]) -> None:
    lines = measured().partition(f"{EVIDENCE_TITLE}\n\n")[2].split("\n")
    assert [line.split(" | ")[0].lstrip("| ") for line in lines[2:]] == [
        "Occlusion",
        *map(row_name, (RANDOM, POSITION)),
    ]
    assert lines[2].split(" | ")[4].startswith("1.000 ± 0.000")


def test_texts_without_evidence_have_no_table_of_it(measured: Callable[..., str]) -> None:
    assert "evidence" not in measured([replace(text, evidence=None) for text in TEXTS])


@pytest.mark.parametrize(
    ("erasures", "explained"), [(("mask", "blur"), "mask"), (("mask",), "blur"), (("smear",), "mask")]
)
def test_an_operator_that_the_model_does_not_have_is_reported_before_anything_is_written(
    measured: Callable[..., str], tmp_path: Path, erasures: tuple[str, ...], explained: str
) -> None:
    with pytest.raises(ExplanationError, match=r"Unknown erasure operator '(blur|smear)'\. Choose one of: mask"):
        measured(erasures=erasures, explained=explained)
    assert not (tmp_path / "out").exists()


def test_the_same_words_about_another_image_are_another_evaluation(model: FrozenModel, tmp_path: Path) -> None:
    def of(image: InputImage | None) -> list[Example]:
        return [Example("the bad superb", image=image)]

    images = (
        None,
        InputImage(b"one"),
        InputImage(b"two"),
        InputImage(path=Path("a/1.png")),
        InputImage(path=Path("a/2.png")),
    )
    for number, image in enumerate(images):
        done(model, tmp_path / str(number), of(image))
        for other in images[:number] + images[number + 1 :]:
            with pytest.raises(ExplanationError, match="belongs to another run"):
                done(model, tmp_path / str(number), of(other))
    done(model, tmp_path / "3", of(InputImage(path=Path("b/1.png"))))  # the folder may have moved
