import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from explainers.__main__ import app
from explainers.annotations.formats.attributions_file import (
    ForeignAttribution,
    people_spec,
    read_attributions,
    read_eraser_results,
    read_scores,
)
from explainers.annotations.records import Marked, Span
from explainers.api import compare
from explainers.attribution.given import FROM_FILE, PEOPLE, GivenScores, unit_scores
from explainers.datasets.example import Example
from explainers.errors import DataUnavailable, ExplanationError
from explainers.methods.registry import METHODS, check_applicable, method_spec, select
from explainers.models.frozen_model import FrozenModel
from explainers.models.target import Target
from explainers.results.decision import Settings

TEXT = "the film was not good"  # words at 0-3, 4-8, 9-12, 13-16 and 17-21
TOKENS = [[0, 3], [4, 8], [9, 12], [13, 16], [17, 21]]
ROW = {"text": TEXT, "method": "my shap", "tokens": TOKENS, "scores": [0.0, 0.5, -0.25, 2, 1.5]}


def line(**fields: object) -> str:
    return json.dumps({**ROW, **fields})


def only(content: str) -> ForeignAttribution:
    file = read_attributions(content)
    assert file.problems() == ()
    (attribution,) = file.attributions
    return attribution


def test_a_file_becomes_a_row_that_is_judged_like_all_others(bert: FrozenModel) -> None:
    comparison = compare(bert, TEXT, ["occlusion"], label=None, settings=Settings(), given=[only(line()).spec])
    assert comparison.failures == ()
    assert comparison.methods == ("consensus", "given:my shap", "occlusion")
    _, result, occlusion = comparison.results
    assert result.attribution.scores == (0.0, 0.5, -0.25, 2.0, 1.5)
    assert set(result.metrics) == set(occlusion.metrics)
    assert "given:my shap" in comparison.operator_checks[0].metrics


def test_the_spec_is_known_by_its_id_and_may_lead_but_cannot_be_chosen() -> None:
    spec = method_spec("given:my shap")
    assert spec.name == only(line()).spec.name == "my shap (from a file)"
    assert spec.comparable
    assert spec.explains
    assert not spec.is_given
    assert [method.id for method in select(["lime", "given:b", "people"])] == ["people", "given:b", "lime"]
    assert not {FROM_FILE.id, PEOPLE.id} & set(METHODS.ids)
    with pytest.raises(ExplanationError, match="needs a file with scores"):
        check_applicable(["given"], Example(TEXT))
    with pytest.raises(ExplanationError, match="needs people's marks"):
        check_applicable(["people"], Example(TEXT))


def test_signed_scores_are_shared_out_and_keep_their_sum(bert: FrozenModel) -> None:
    encoding = bert.encode(TEXT)
    # "film was" has 7 letters, of which the words have 4 and 3; "go" and "od" add up; a special token gives nothing
    spans = ((0, 4, 12), (0, 17, 19), (0, 19, 21), (0, 0, 0))
    scores = unit_scores(encoding, spans, (0.7, 1.0, -3.0, 9.0), signed=True)
    assert scores == pytest.approx((0.0, 0.4, 0.3, 0.0, -2.0))


def test_of_unsigned_scores_a_unit_gets_the_highest(bert: FrozenModel) -> None:
    spans = ((0, 4, 12), (0, 9, 12), (0, 17, 18))
    assert unit_scores(bert.encode(TEXT), spans, (0.7, 0.2, 0.9), signed=False) == (0.0, 0.7, 0.7, 0.0, 0.9)


def test_scores_without_a_negative_one_are_masks_unless_the_file_says_otherwise() -> None:
    assert only(line()).signed
    assert not only(line(scores=[0, 1, 0, 0, 1])).signed
    assert only(line(scores=[0, 1, 0, 0, 1], signed=True)).signed


def test_a_pair_has_the_number_of_the_text_in_each_token() -> None:
    attribution = only(line(text_pair="it is bad", tokens=[[4, 8], [6, 9, 1]], scores=[1, 2]))
    assert attribution.example == Example(TEXT, "it is bad")
    assert attribution.spans == ((0, 4, 8), (1, 6, 9))


def test_offsets_in_utf16_are_converted() -> None:
    attribution = only(line(text="🙂 good", tokens=[[3, 7], [0, 0]], scores=[1, 0], offsets="UTF-16 code units"))
    assert attribution.spans == ((0, 2, 6), (0, 0, 0))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (line(scores=[1.0]), "There are 1 scores for 5 tokens"),
        (line(scores=[1, 2, 3, 4, float("nan")]), "A score is not a finite number"),
        (line(scores=[1, 2, 3, 4, 1e999]), "A score is not a finite number"),
        (line(scores=[1, 2, 3, 4, "5"]), "The field scores is a number, not text"),
        (line(scores=[1, 2, 3, 4, None]), "The field scores is a number, not nothing"),
        (line(tokens=[[0, 22]], scores=[1]), "The token 0 to 22 is not within the text of 21 characters"),
        (line(tokens=[[5, 3]], scores=[1]), "The token 5 to 3 is not within"),
        (line(tokens=[[0]], scores=[1]), "A token is a list of start and end"),
        (line(tokens=[[0, 1, 1]], scores=[1]), "is in text 1, of 1 counted from 0"),
        (line(scores=[-1, 0, 0, 0, 0], signed=False), "although the scores are said to be unsigned"),
        (line(method="<b>shap</b>"), "The name of a method has up to 40 letters"),
        (line(method=""), "The name of a method has up to 40 letters"),
        (line(text=3), "The field text is text, not a whole number"),
        ("{", "It is not JSON"),
        (f"{line()}\n{line()}", "The method my shap is there twice for this text"),
    ],
)
def test_a_bad_row_has_a_sentence_and_good_ones_stay(content: str, reason: str) -> None:
    file = read_attributions(f"{content}\n{line(method='good')}\n")
    assert file.attributions[-1].method == "good"
    assert reason in " ".join(file.problems())


def test_scores_of_another_text_or_class_are_refused(bert: FrozenModel) -> None:
    encoding = bert.encode(TEXT)
    with pytest.raises(ExplanationError, match="made for another text"):
        GivenScores(texts=("the film",), spans=((0, 0, 3),), scores=(1.0,)).attribute(bert, encoding, 0)
    with pytest.raises(ExplanationError, match="about the class other, not"):
        GivenScores(texts=(TEXT,), spans=((0, 0, 3),), scores=(1.0,), label="other").attribute(bert, encoding, 0)
    with pytest.raises(ExplanationError, match="No unit that the model reads has a score"):
        GivenScores(texts=(TEXT,), spans=((0, 3, 4),), scores=(1.0,)).attribute(bert, encoding, 0)
    with pytest.raises(DataUnavailable, match="no scores of this text, and of 1 others"):
        read_attributions(line()).of(Example("the film"))


def test_peoples_marks_score_the_share_of_people(bert: FrozenModel) -> None:
    marks = [Marked((Span(13, 21),)), Marked((Span(17, 21), Span(4, 8))), Marked()]
    spec = people_spec(Example(TEXT), marks)
    assert spec is not None
    attribution = spec.made_with(Settings()).attribute(bert, bert.encode(TEXT), 1)
    assert attribution.scores == pytest.approx((0, 1 / 3, 0, 1 / 3, 2 / 3))
    assert (attribution.method, attribution.signed) == ("people", False)
    assert people_spec(Example(TEXT), [Marked()]) is None
    assert not spec.comparable


def test_marks_on_different_halves_of_a_word_add_up(bert: FrozenModel) -> None:
    marks = [Marked((Span(17, 19),)), Marked((Span(19, 21),)), Marked((Span(4, 6),))]  # "go", "od" and "fi"
    spec = people_spec(Example(TEXT), marks)
    assert spec is not None
    attribution = spec.made_with(Settings()).attribute(bert, bert.encode(TEXT), 1)
    assert attribution.scores == pytest.approx((0, 1 / 3, 0, 0, 2 / 3))


def results(**rationale: object) -> str:
    return json.dumps({"annotation_id": "1", "rationales": [{"docid": "d", **rationale}], "classification": "POS"})


def test_results_of_eraser_are_read_with_soft_and_with_hard_scores() -> None:
    documents = {"d": TEXT}
    (soft,) = read_eraser_results(
        results(soft_rationale_predictions=[0, 0.1, 0.2, 0.3, 0.4]), documents, "lei"
    ).attributions
    assert (soft.scores, soft.spans[1]) == ((0.0, 0.1, 0.2, 0.3, 0.4), (0, 4, 8))
    spans = [{"start_token": 3, "end_token": 5}]
    (hard,) = read_eraser_results(results(hard_rationale_predictions=spans), documents, "lei").attributions
    assert hard.scores == (0.0, 0.0, 0.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (results(soft_rationale_predictions=[1]), "for 5 tokens"),
        (results(hard_rationale_predictions=[{"start_token": 0, "end_token": 9}]), "not within the 5 tokens"),
        (results(docid="x", hard_rationale_predictions=[]), "are not there"),
        (results(), "The field hard_rationale_predictions is missing"),
        ('{"rationales": []}', "There is no rationale"),
    ],
)
def test_broken_results_of_eraser_have_a_sentence(content: str, reason: str) -> None:
    assert reason in read_eraser_results(content, {"d": TEXT}, "lei").problems()[0]


def test_the_command_names_the_file_that_has_no_scores_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    path.write_text(f"{line()}\n{{", encoding="utf-8")
    arguments = ["explain", "--text", "another text", "--methods", "occlusion", "--attributions", str(path)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert "no scores of this text, and of 1 others" in result.output
    assert "Row 2: It is not JSON" in result.output


def archive(**files: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for name, content in files.items():
            file.writestr(name.replace("__", "/"), content)
    return packed.getvalue()


def test_results_in_an_archive_are_methods_of_their_files_names() -> None:
    scores = results(soft_rationale_predictions=[0, 0.1, 0.2, 0.3, 0.4])
    broken = f"{results(soft_rationale_predictions=[1])}\n{scores}"
    items = json.dumps({"annotation_id": "d", "evidences": []})
    content = archive(**{"docs__d": TEXT, "lei.jsonl": scores, "bert.jsonl": broken, "test.jsonl": items})
    file = read_scores(content, "results.zip")
    assert file is not None
    assert sorted(attribution.method for attribution in file.attributions) == ["bert", "lei"]
    assert len(file.problems()) == 1
    one = read_scores(content, "results.zip", "lei")
    assert one is not None
    assert [attribution.scores for attribution in one.of(Example(TEXT))] == [(0.0, 0.1, 0.2, 0.3, 0.4)]


def test_a_file_of_items_has_no_scores() -> None:
    items = json.dumps({"annotation_id": "d", "evidences": []})
    assert read_scores(archive(**{"docs__d": TEXT, "test.jsonl": items}), "data.zip") is None
    assert read_scores(b'{"text": "a film"}', "a.jsonl") is None
    assert read_scores(b"text\na film", "a.csv") is None


def test_scores_about_a_contrast_are_taken_for_that_contrast_alone(bert: FrozenModel) -> None:
    encoding, contrast = bert.encode(TEXT), bert.aimed(Target(0, 2))
    given = GivenScores(texts=(TEXT,), spans=((0, 0, 3),), scores=(1.0,), label="negative rather than positive")
    assert given.attribute(contrast, encoding, 0).scores[0] == 1.0
    with pytest.raises(ExplanationError, match="about the class negative rather than positive, not negative"):
        given.attribute(bert, encoding, 0)
    of_class = replace(given, label="negative")
    with pytest.raises(ExplanationError, match="about the class negative, not negative rather than positive"):
        of_class.attribute(contrast, encoding, 0)
