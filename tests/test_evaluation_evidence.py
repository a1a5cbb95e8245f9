"""Evaluations of texts whose evidence is known, with a bag of words that reads it or does not."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from explainers import evaluate_command
from explainers.datasets.example import Evidence, Example
from explainers.datasets.picture import Picture
from explainers.errors import ExplanationError
from explainers.evaluate_command import Wanted, measure
from explainers.evaluation import POSITION, RANDOM, Plan, Record, evaluate, read, table
from explainers.methods import chosen
from explainers.metrics.faithfulness import METRICS
from explainers.models.classifier import FrozenModel
from explainers.report.evaluation import EVIDENCE, evidence_cells, evidence_markdown, flat, name_of
from explainers.settings import Settings

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
    list(evaluate(model, texts, Plan(chosen(["occlusion"]), erasures=("mask", "zero")), out))
    return read(out, ["occlusion"], model)


def test_evidence_is_looked_for_where_it_is_known_and_the_model_is_right(model: FrozenModel, tmp_path: Path) -> None:
    figures = {(each["text"], each["method"]): each["evidence"] for each in done(model, tmp_path)}
    assert {text for (text, _), each in figures.items() if each} == {0, 4}
    right = {"word_auc": 1.0, "word_pointing": 1.0, "word_iou": 1.0}
    assert figures[0, "occlusion"] == right
    assert figures[4, "occlusion"] == right  # "superb" and then "the", for "bad" speaks against the class
    assert figures[0, POSITION] == {"word_auc": 0.0, "word_pointing": 0.0, "word_iou": 0.0}
    assert figures[4, POSITION] == right


def test_the_random_row_is_exact_chance(model: FrozenModel, tmp_path: Path) -> None:
    figures = {each["text"]: each["evidence"] for each in done(model, tmp_path) if each["method"] == RANDOM}
    assert figures[0] == pytest.approx({"word_auc": 1 / 2, "word_pointing": 1 / 3, "word_iou": 1 / 3})
    # one or both of two are right, in 2 and 1 of 3 draws
    assert figures[4] == pytest.approx({"word_auc": 1 / 2, "word_pointing": 2 / 3, "word_iou": (2 / 3 + 1) / 3})


def test_the_class_that_is_explained_counts_and_not_the_others(model: FrozenModel, tmp_path: Path) -> None:
    texts = [replace(TEXTS[0], label=label) for label in (0, None)]
    assert [each["evidence"] for each in done(model, tmp_path, texts)] == [{}] * 6


def test_the_row_has_means_over_the_texts_that_have_a_figure(model: FrozenModel, tmp_path: Path) -> None:
    rows = {(row["method"], row["erasure"]): row for row in table(done(model, tmp_path))}
    for erasure in ("mask", "zero"):  # the same, whatever the scores were tested with
        row, control = rows["occlusion", erasure], rows[POSITION, erasure]
        assert row["texts"] == 5
        assert (row["word_auc"]["texts"], row["word_auc"]["mean"]) == (2, 1)
        assert (control["word_pointing"]["mean"], control["word_iou"]["mean"]) == (0.5, 0.5)
        assert row["word_auc_gain"]["mean"] == pytest.approx(0.5)
        assert row["word_pointing_gain"]["mean"] == pytest.approx((2 / 3 + 1 / 3) / 2)
        assert control["word_pointing_gain"]["mean"] == pytest.approx((-1 / 3 + 1 / 3) / 2)
        assert not any(name.startswith("patch") for name in row)  # there are no pictures
        assert rows[RANDOM, erasure]["word_pointing"]["mean"] == pytest.approx(1 / 2)
        assert "word_auc_gain" not in rows[RANDOM, erasure]
    assert flat(rows["occlusion", "mask"])["word_iou"] == 1


def record(text: int, method: str, **figures: float) -> Record:
    zeros = {metric.id: 0.0 for metric in METRICS}
    return {"text": text, "method": method, "weights": "", "figures": {"mask": zeros}, "evidence": figures}


def test_gains_are_paired_by_text() -> None:
    records = [
        *(record(text, "occlusion", word_iou=0.1 * text + 0.2) for text in (3, 0, 1)),
        *(record(text, RANDOM, word_iou=0.1 * text) for text in (0, 1, 2, 3)),
    ]
    (row,) = (row for row in table(records) if row["method"] == "occlusion")
    gain = row["word_iou_gain"]
    assert (gain["mean"], gain["low"], gain["high"], gain["texts"]) == pytest.approx((0.2, 0.2, 0.2, 3))


def test_records_of_an_earlier_version_have_no_evidence() -> None:
    old = {name: value for name, value in record(0, "occlusion").items() if name != "evidence"}
    (row,) = table([old])
    assert not set(EVIDENCE) & set(row)
    assert evidence_cells([row], "mask") == []


def test_the_table_is_one_of_methods_with_a_dash_where_nothing_is_known() -> None:
    records = [
        *(record(text, "occlusion", patch_auc=0.75, patch_pointing=1.0, patch_iou=0.5) for text in range(3)),
        *(record(text, RANDOM, patch_auc=0.5, patch_pointing=0.25, patch_iou=0.5) for text in range(3)),
    ]
    first, last = evidence_cells(table(records), "mask")
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
    assert evidence_markdown(table(records), "mask").split("\n")[0] == f"| {' | '.join(first)} |"
    assert evidence_cells(table(records), "zero") == []


@pytest.fixture
def measured(model: FrozenModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """What `evaluate` prints about some texts."""

    def run(texts: Sequence[Example] = TEXTS, *, erasures: tuple[str, ...] = ("mask",), made: str = "mask") -> str:
        monkeypatch.setattr(evaluate_command, "load", lambda _name, device: model)
        monkeypatch.setattr(evaluate_command, "of_split", lambda *_args: tuple(texts))
        wanted = Wanted("bag", None, "test", 0, ("occlusion",), erasures)
        return measure(wanted, Settings(erasure=made), 0, tmp_path / "out", "cpu", lambda _line: None)  # type: ignore[arg-type]

    return run


def test_the_command_tells_whether_the_evidence_was_found(measured: Callable[..., str]) -> None:
    _, _, found = measured().partition("Did it find the evidence, where the model is right (random: exact chance):\n\n")
    lines = found.split("\n")
    assert [line.split(" | ")[0].lstrip("| ") for line in lines[2:]] == ["Occlusion", *map(name_of, (RANDOM, POSITION))]
    assert lines[2].split(" | ")[4].startswith("1.000 ± 0.000")


def test_of_texts_without_evidence_nothing_is_said_about_it(measured: Callable[..., str]) -> None:
    assert "evidence" not in measured([replace(each, evidence=None) for each in TEXTS])


@pytest.mark.parametrize(("erasures", "made"), [(("mask", "blur"), "mask"), (("mask",), "blur"), (("smear",), "mask")])
def test_an_operator_that_the_model_does_not_have_is_a_sentence_before_anything_is_written(
    measured: Callable[..., str], tmp_path: Path, erasures: tuple[str, ...], made: str
) -> None:
    with pytest.raises(ExplanationError, match=r"There is no erasure '(blur|smear)'\. Choose from: mask, delete, zero"):
        measured(erasures=erasures, made=made)
    assert not (tmp_path / "out").exists()


def test_the_same_words_about_another_picture_are_another_evaluation(model: FrozenModel, tmp_path: Path) -> None:
    def of(picture: Picture | None) -> list[Example]:
        return [Example("the bad superb", picture=picture)]

    given = (None, Picture(b"one"), Picture(b"two"), Picture(path=Path("a/1.png")), Picture(path=Path("a/2.png")))
    for number, each in enumerate(given):
        done(model, tmp_path / str(number), of(each))
        for other in given[:number] + given[number + 1 :]:
            with pytest.raises(ExplanationError, match="belongs to another evaluation"):
                done(model, tmp_path / str(number), of(other))
    done(model, tmp_path / "3", of(Picture(path=Path("b/1.png"))))  # the folder may have moved
