"""Self-ranking: the reply's probabilities against the library's network, what is refused, where it is offered."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from explainers import ExplanationError, explain, load
from explainers.attribution import self_ranking
from explainers.evaluation.data_set import evaluated_methods
from explainers.evaluation.set_spec import offered_methods
from explainers.installation import STORE_VARIABLE
from explainers.methods.registry import method_spec
from explainers.models.frozen_model import FrozenModel
from explainers.models.prompt import Prompt
from explainers.models.prompted import answering
from tests.models.prompted.conftest import write_byte_level

PROMPT = Prompt("Review: {text}\n Sentiment:", {"no": "old", "yes": "new"})
QUESTION = "the word of {answer} was:"
TEXT = "long film2 was film23 quite long"


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FrozenModel:
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "store"))
    return load(write_byte_level(tmp_path / "llama"), prompt=PROMPT, device="cpu")


@pytest.fixture
def straight(tmp_path: Path) -> Callable[[str, str], float]:
    """The mean log-probability of a word's tokens behind a text, by the library, without kept keys and values."""

    def mean(before: str, word: str) -> float:
        network = AutoModelForCausalLM.from_pretrained(tmp_path / "llama").eval()
        tokenizer = AutoTokenizer.from_pretrained(tmp_path / "llama")
        first, whole = (tokenizer(text, return_tensors="pt").input_ids for text in (before, f"{before} {word}"))
        with torch.inference_mode():
            steps = network(whole).logits[0, first.shape[1] - 1 : -1].log_softmax(-1)
        return float(steps.gather(1, whole[0, first.shape[1] :, None]).mean())

    return mean


@pytest.mark.parametrize("memory", [2**29, 1])
def test_the_reply_is_as_likely_as_by_the_library(
    model: FrozenModel, straight: Callable[[str, str], float], monkeypatch: pytest.MonkeyPatch, memory: int
) -> None:
    monkeypatch.setattr(answering, "MOST_BYTES", memory)  # of the words that are read at once
    encoding = model.encode(TEXT)
    words = tuple(dict.fromkeys(unit.text for unit in encoding.units))
    assert words == ("long", "film2", "was", "film23", "quite")
    own, bare = answering.word_likelihoods(model, encoding, 1, QUESTION, words, method="It")
    asked = "new\n\nthe word of new was:"
    assert own == pytest.approx([straight(f"Review: {TEXT}\n Sentiment: {asked}", word) for word in words], abs=1e-4)
    assert bare == pytest.approx([straight(f"Review: \n Sentiment: {asked}", word) for word in words], abs=1e-4)
    assert np.ptp(own) > 0.1


def test_scores_are_the_sigmoid_of_what_the_text_adds_and_equal_words_are_level(
    model: FrozenModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoding = model.encode(TEXT)
    given = {
        "long": (-1.0, -4.0),
        "film2": (-2.0, -2.0),
        "was": (-3.0, -1.0),
        "film23": (-2.0, -3.0),
        "quite": (0.0, 0.0),
    }
    monkeypatch.setattr(
        answering,
        "word_likelihoods",
        lambda _model, _encoding, _label, _question, words, method: tuple(
            [given[word][side] for word in words] for side in (0, 1)
        ),
    )
    attribution = self_ranking.SelfRanking().attribute(model, encoding, 1)
    assert attribution.scores == pytest.approx(
        [1 / (1 + math.exp(bare - own)) for own, bare in (given[unit.text] for unit in encoding.units)]
    )
    assert attribution.scores[0] == attribution.scores[5] == max(attribution.scores)
    assert not attribution.signed


def test_the_class_is_named_in_the_question(model: FrozenModel) -> None:
    encoding = model.encode(TEXT)
    scores = [self_ranking.SelfRanking().attribute(model, encoding, label).scores for label in (0, 1)]
    assert scores[0] != scores[1]


def test_a_model_without_a_prompt_is_refused_and_the_others_stay(bert: FrozenModel) -> None:
    comparison = explain(bert, "a good film and a bad plot", methods=["self_ranking", "occlusion"])
    assert comparison.failure("self_ranking") == (
        "Self-ranking asks a language model that has a prompt, such as smollm2:sst2-examples. Omit it."
    )
    assert comparison.result("occlusion") is not None


def test_examples_of_the_prompt_and_too_long_texts_are_refused(tmp_path: Path, model: FrozenModel) -> None:
    template = "Review: long film\n Sentiment: old\n\nReview: was film\n Sentiment: new\n\nReview: {text}\n Sentiment:"
    shots = load(str(tmp_path / "llama"), prompt=Prompt(template, PROMPT.classes), device="cpu")
    with pytest.raises(ExplanationError, match="Choose words as units"):
        self_ranking.SelfRanking().attribute(shots, shots.encode("long film", "example"), 0)
    encoding = model.encode(TEXT)
    short = replace(model, tokenizer=replace(model.tokenizer, longest=20))  # type: ignore[type-var]
    with pytest.raises(ExplanationError, match=r"too long for .* to be asked about its words"):
        self_ranking.SelfRanking().attribute(short, encoding, 0)


def test_it_is_measured_and_offered_where_the_model_has_a_prompt(model: FrozenModel, bert: FrozenModel) -> None:
    spec = method_spec("self_ranking")
    assert [spec.suits(name) for name in ("sst2", "smollm2:sst2", "owner/model")] == [False, True, False]
    assert method_spec("lime").suits("sst2")
    assert "self_ranking" in {one.id for one in evaluated_methods(model)}
    assert "self_ranking" not in {one.id for one in evaluated_methods(bert)}
    assert "self_ranking" in {one.id for one in offered_methods("smollm2:sst2", "")}
    assert "self_ranking" not in {one.id for one in offered_methods("sst2", "")}
