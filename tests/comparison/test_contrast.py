"""A word is planted that speaks for two of 28 classes alike, and one that speaks for the first of them alone.

z_A = 3 [both] + [only],   z_B = 3 [both],   z_C = [other] for class 2,   all other classes 0
p(A) = e⁴ / (e⁴ + e³ + 26) with both words,   p(A) / (p(A) + p(B)) = σ(z_A - z_B) = σ([only])
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from explainers.api import explain
from explainers.attribution.interactions import pair_interactions
from explainers.comparison.answer import NO_CONTRAST
from explainers.comparison.duel import duel
from explainers.comparison.stored_results import StoredResult, stored_result
from explainers.errors import ExplanationError
from explainers.learned.aml import target_logits
from explainers.metrics.erasure import MaskedPredictor
from explainers.models.calls import PredictionCache
from explainers.models.frozen_model import FrozenModel
from explainers.models.target import Target
from explainers.report.answer import abstaining_line
from explainers.report.document import document
from explainers.report.terminal import comparison_lines
from explainers.results.answer import CONSENSUS
from explainers.results.comparison import Comparison

LABELS = tuple(f"class {number}" for number in range(28))
A, B = LABELS[:2]
TEXT = "the film both was only plain"
METHODS = ("integrated_gradients", "lime", "kernel_shap", "occlusion", "gradient_x_input")
FULL = math.e**4 / (math.e**4 + math.e**3 + 26)
WITHOUT_BOTH, WITHOUT_ONLY = math.e / (math.e + 27), math.e**3 / (2 * math.e**3 + 26)
SHARE = 1 / (1 + math.exp(-1))  # σ(1)


class Table(nn.Module):
    """A token's embedding is what it adds to the logits, (B, L) → (B, L, C)."""

    def __init__(self, weights: Tensor) -> None:
        super().__init__()
        self.table = nn.Embedding.from_pretrained(weights)

    def forward(self, input_ids: Tensor | None = None, inputs_embeds: Tensor | None = None) -> Tensor:
        rows: Tensor = self.table(input_ids) if inputs_embeds is None else inputs_embeds
        return rows


class Base(nn.Module):
    def __init__(self, weights: Tensor) -> None:
        super().__init__()
        self.embeddings = Table(weights)

    def get_input_embeddings(self) -> nn.Module:
        return self.embeddings.table


class Planted(nn.Module):
    """The logits are the sum of the tokens' rows."""

    def __init__(self, weights: Tensor) -> None:
        super().__init__()
        self.base_model = Base(weights)

    def forward(
        self,
        input_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
    ) -> Tensor:
        present = 1.0 if attention_mask is None else attention_mask[:, :, None]
        logits: Tensor = (self.base_model.embeddings(input_ids, inputs_embeds) * present).sum(dim=1)
        return logits


@pytest.fixture
def planted(pieces_tokenizer: Callable[[tuple[str, ...]], Tokenizer]) -> FrozenModel:
    pieces, special = ("the", "film", "was", "plain", "both", "only", "other"), 5
    weights = torch.zeros(special + len(pieces), len(LABELS), dtype=torch.float64)
    weights[special + 4, :2] = 3.0
    weights[special + 5, 0] = 1.0
    weights[special + 6, 2] = 1.0
    return FrozenModel("planted", LABELS, Planted(weights), pieces_tokenizer(pieces), 4, 0, "1")


def word(comparison: Comparison, method: str, *, text: str) -> float:
    """The score of the word."""
    result = comparison.result(method)
    assert result is not None
    texts = [unit.text for unit in result.attribution.encoding.units]
    return result.attribution.scores[texts.index(text)]


def test_for_the_class_the_shared_word_counts_most_and_for_the_contrast_only_the_other(planted: FrozenModel) -> None:
    of_class = explain(planted, TEXT, methods=METHODS, label=A)
    contrast = explain(planted, TEXT, methods=METHODS, label=A, versus=B)
    for method in METHODS:
        assert word(of_class, method, text="both") > word(of_class, method, text="only") > 0
        assert word(contrast, method, text="only") > 0.1
        assert word(contrast, method, text="both") == pytest.approx(0, abs=0.03)  # of LIME, whose surrogate is linear
    assert of_class.answer is not None
    assert contrast.answer is not None
    words = TEXT.split()
    assert words[of_class.answer.words[0]] == "both"
    assert [words[unit] for unit in contrast.answer.words] == ["only"]


def test_the_values_are_those_of_pencil_and_paper(planted: FrozenModel) -> None:
    of_class = explain(planted, TEXT, methods=["occlusion"], label=A)
    contrast = explain(planted, TEXT, methods=["occlusion"], label=A, versus=B)
    assert (of_class.probability, contrast.probability) == pytest.approx((FULL, SHARE))
    assert word(of_class, "occlusion", text="both") == pytest.approx(FULL - WITHOUT_BOTH)
    assert word(of_class, "occlusion", text="only") == pytest.approx(FULL - WITHOUT_ONLY)
    assert word(contrast, "occlusion", text="both") == pytest.approx(0, abs=1e-9)
    assert word(contrast, "occlusion", text="only") == pytest.approx(SHARE - 0.5)
    assert contrast.probabilities == pytest.approx(of_class.probabilities)  # the prediction is the model's own
    (result,) = (result for result in contrast.results if result.method == "occlusion")
    assert result.curves.full == pytest.approx(SHARE)
    assert result.curves.removed_at(1) == pytest.approx(0.5)  # "only" goes first
    assert result.metrics["aopc_c"] == pytest.approx(SHARE - 0.5)


def test_the_opposite_contrast_has_the_opposite_scores(planted: FrozenModel) -> None:
    one, other = (
        explain(planted, TEXT, methods=["occlusion", "integrated_gradients"], label=label, versus=versus)
        for label, versus in ((A, B), (B, A))
    )
    for method in ("occlusion", "integrated_gradients"):
        assert word(one, method, text="only") == pytest.approx(-word(other, method, text="only"), abs=1e-6)


def test_the_decision_flips_where_the_other_class_becomes_likelier(planted: FrozenModel) -> None:
    versus_c = explain(planted, "the film only other other", methods=["occlusion"], label=LABELS[2], versus=A)
    (result,) = (result for result in versus_c.results if result.method == "occlusion")
    # z_C = 2 and z_A = 1: without one "other" both are equal, without two A is likelier
    assert result.metrics["dffot"] in (pytest.approx(1 / 5), pytest.approx(2 / 5))
    unlikely = explain(planted, "the film only other other", methods=["occlusion"], label=A, versus=LABELS[2])
    assert math.isnan(unlikely.results[0].metrics["dffot"])


def test_another_target_asks_no_mask_again(planted: FrozenModel) -> None:
    model = planted.pooled(PredictionCache())
    explain(model, TEXT, methods=["occlusion"], label=A)
    again = explain(model, TEXT, methods=["occlusion"], label=A, versus=B).result("occlusion")
    assert again is not None
    assert (again.attribution.model_calls, again.attribution.new_calls) == (7, 0)


def test_the_predicted_class_is_explained_rather_than_the_other_without_a_name(planted: FrozenModel) -> None:
    assert explain(planted, TEXT, methods=["occlusion"], versus=B).explained == "class 0 rather than class 1"
    with pytest.raises(ExplanationError, match="The predicted class is class 0, and it cannot be compared with itself"):
        explain(planted, TEXT, methods=["occlusion"], versus=A)


def test_interactions_and_duels_are_about_the_target(planted: FrozenModel) -> None:
    contrast = explain(planted, TEXT, methods=["occlusion"], label=A, versus=B)
    decision = contrast.decision
    aimed = planted.aimed(decision.target)
    result = pair_interactions(aimed, decision.encoding, decision.label, samples=64)
    assert result.singles[4] == pytest.approx(SHARE - 0.5)
    assert list(result.pairs.values()) == pytest.approx([0.0] * 15, abs=1e-6)
    marked = explain(planted, TEXT, methods=["occlusion"], label=A, versus=B, guess=(2,))
    fought = duel(marked, ("guess", "occlusion"), MaskedPredictor(aimed, decision.encoding, "mask"))
    assert fought is not None
    by_method = {side.method: side.removed for side in fought.sides}
    assert fought.full == pytest.approx(SHARE)
    assert by_method == pytest.approx({"guess": SHARE, "occlusion": 0.5})


def test_methods_that_explain_a_class_abstain_from_a_contrast_and_say_so(bert: FrozenModel) -> None:
    label, versus = ("negative", "neutral", "positive")[:2]
    comparison = explain(bert, "the film was not good", methods=["aml", "cimi", "lime"], label=label, versus=versus)
    answer = comparison.answer
    assert answer is not None
    assert answer.abstaining == ("aml", "cimi")
    predicted = comparison.decision.card.labels[comparison.predicted]
    assert abstaining_line(answer, comparison) == (
        f"AML explains negative, not negative rather than neutral; CIMI explains the predicted class only, which is "
        f"{predicted}"
    )
    alone = explain(bert, "the film was not good", methods=["aml", "cimi"], label=label, versus=versus)
    assert alone.answer is not None
    assert alone.answer.refusal == NO_CONTRAST


@pytest.mark.parametrize("multi_label", [False, True])
def test_the_logits_of_a_target_give_its_probabilities(bert: FrozenModel, *, multi_label: bool) -> None:
    bert.multi_label = multi_label
    logits, model = torch.tensor([[0.3, -1.2, 2.0]]), bert.aimed(Target(0, 2))
    given = logits.sigmoid() if multi_label else logits.softmax(-1)
    only = target_logits(model, logits)
    found = only.sigmoid() if multi_label else only.softmax(-1)
    assert found[0].tolist() == pytest.approx(Target(0, 2).rows(given)[0].tolist(), abs=1e-6)
    assert target_logits(bert, logits) is logits


def test_faml_explains_a_contrast(bert: FrozenModel) -> None:
    text, (label, versus) = "the film was not good", ("negative", "positive")
    one, other = (
        explain(bert, text, methods=["faml"], label=label, versus=given).result("faml") for given in (None, versus)
    )
    assert one is not None
    assert other is not None
    assert other.attribution.scores != pytest.approx(one.attribution.scores, abs=1e-6)


def test_every_download_names_both_classes(planted: FrozenModel) -> None:
    contrast = explain(planted, TEXT, methods=["occlusion"], label=A, versus=B)
    plain = explain(planted, TEXT, methods=["occlusion"], label=A)
    data: dict[str, Any] = contrast.as_dict()
    assert (data["label"], data["versus"]) == (A, B)
    assert {(explanation["label"], explanation["versus"]) for explanation in data["explanations"]} == {(A, B)}
    assert data["manifest"]["target"] == contrast.manifest()["target"] == {"label": A, "versus": B}
    for table in ("scores", "metrics", "curves"):
        frame = contrast.to_frame(table)
        assert set(frame["label"]) == {A}
        assert set(frame["versus"]) == {B}
        assert "versus" not in plain.to_frame(table)
    assert "versus" not in plain.as_dict()
    assert "target" not in plain.manifest()
    page, lines = document(contrast), "\n".join(comparison_lines(contrast))
    assert "what supports <bdi>class 0 rather than class 1</bdi>" in page
    assert "explained: class 0 rather than class 1" in lines
    assert "the explanations are for class 0 rather than class 1 (0.73)" in lines


def test_a_stored_decision_without_versus_is_about_its_class(planted: FrozenModel) -> None:
    asked = (explain(planted, TEXT, methods=["occlusion"], label=A, versus=versus) for versus in (None, B))
    plain, contrast = (StoredResult("", {}, comparison).as_dict() for comparison in asked)
    assert "versus" not in plain["comparison"]["decision"]
    assert stored_result(plain).comparison.decision.target == Target(0)
    assert stored_result(contrast).comparison.decision.target == Target(0, 1)


def test_random_orders_are_measured_on_the_target(planted: FrozenModel) -> None:
    contrast = explain(planted, TEXT, methods=METHODS, label=A, versus=B)
    control = contrast.random_control
    assert control is not None
    assert {round(curve.full, 6) for curve in control.curves} == {round(SHARE, 6)}
    assert contrast.result(CONSENSUS) is not None
    ends = [float(np.round(curve.removed[-1, 0], 6)) for curve in control.curves]
    assert set(ends) == {0.5}  # of a text of mask tokens
    for check in contrast.operator_checks:
        # one unit of six is the top 1, 5 and 10 %, two are the top 20 %, three the top 50 %: "only" is among them
        assert check.metrics["occlusion"]["aopc_c"] == pytest.approx(SHARE - 0.5, abs=1e-6)
