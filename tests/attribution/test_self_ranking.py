"""Self-ranking: the reply's probabilities against the library's network, what is refused, where it is offered."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import torch
from transformers import CONFIG_MAPPING, AutoModelForCausalLM, AutoTokenizer

from explainers import ExplanationError, explain, load
from explainers.attribution import self_ranking
from explainers.attribution.self_ranking import SELF_RANKING
from explainers.errors import Cancelled
from explainers.evaluation.data_set import evaluated_methods
from explainers.evaluation.set_spec import offered_methods
from explainers.installation import STORE_VARIABLE
from explainers.methods.registry import method_spec
from explainers.models.calls import Meter
from explainers.models.catalog import fingerprint
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Erasure, UnitKind
from explainers.models.prompt import Prompt
from explainers.models.prompted import answering
from explainers.models.prompted import model as prompted_model
from explainers.report.metric_rows import metric_rows
from tests.models.prompted.conftest import byte_level, write_byte_level

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


ASKED = "new\n\nthe word of new was:"


@pytest.mark.parametrize("memory", [2**29, 1])
def test_the_reply_is_as_likely_as_by_the_library(
    model: FrozenModel, straight: Callable[[str, str], float], monkeypatch: pytest.MonkeyPatch, memory: int
) -> None:
    monkeypatch.setattr(prompted_model, "MOST_BYTES", memory)  # of the words that are read at once
    encoding = model.encode(TEXT)
    words = tuple(dict.fromkeys(unit.text for unit in encoding.units))
    assert words == ("long", "film2", "was", "film23", "quite")
    own, bare = answering.word_likelihoods(model, encoding, 1, QUESTION, words, method="It")
    assert own == pytest.approx([straight(f"Review: {TEXT}\n Sentiment: {ASKED}", word) for word in words], abs=1e-4)
    assert bare == pytest.approx([straight(f"Review: \n Sentiment: {ASKED}", word) for word in words], abs=1e-4)
    assert np.ptp(own) > 0.1


@pytest.mark.parametrize("erasure", get_args(Erasure)[:3])
def test_what_was_erased_is_not_read(
    model: FrozenModel, straight: Callable[[str, str], float], erasure: Erasure
) -> None:
    whole = model.encode(TEXT)
    erased = model.without(whole, [0, 5], erasure)
    words = tuple(unit.text for unit in erased.units)
    own, _ = answering.word_likelihoods(model, erased, 1, QUESTION, words, method="It")
    before, _ = answering.word_likelihoods(model, whole, 1, QUESTION, words, method="It")
    assert np.abs(np.subtract(own, before)).max() > 0.01
    if erasure == "delete":
        rest = "Review: film2 was film23 quite\n Sentiment:"
        assert own == pytest.approx([straight(f"{rest} {ASKED}", word) for word in words], abs=1e-4)


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


@pytest.mark.parametrize("unit", ["example", "sentence", "token"])
def test_other_units_than_words_are_refused(tmp_path: Path, model: FrozenModel, unit: UnitKind) -> None:
    template = "Review: long film\n Sentiment: old\n\nReview: was film\n Sentiment: new\n\nReview: {text}\n Sentiment:"
    shots = load(str(tmp_path / "llama"), prompt=Prompt(template, PROMPT.classes), device="cpu")
    with pytest.raises(ExplanationError, match="Choose words as the unit"):
        self_ranking.SelfRanking().attribute(shots, shots.encode("long film2. was film.", unit), 0)


def test_a_text_behind_which_the_question_does_not_fit_is_refused(model: FrozenModel) -> None:
    short = replace(model, tokenizer=replace(model.tokenizer, longest=20))  # type: ignore[type-var]
    with pytest.raises(ExplanationError, match="its question does not fit behind it"):
        self_ranking.SelfRanking().attribute(short, model.encode(TEXT), 0)


def test_a_memory_of_another_kind_is_no_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "store"))
    torch.manual_seed(0)
    tokenizer = byte_level()
    settings = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = CONFIG_MAPPING["lfm2"](
        vocab_size=len(tokenizer), num_key_value_heads=2, layer_types=["conv", "full_attention"], **settings
    )
    AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path / "lfm2")
    tokenizer.save_pretrained(tmp_path / "lfm2")
    model = load(str(tmp_path / "lfm2"), prompt=PROMPT, device="cpu")
    scores = self_ranking.SelfRanking().attribute(model, model.encode(TEXT), 1).scores
    assert len(set(scores)) == 5


@pytest.mark.parametrize("text", ["good", "!", "👍🏽 long", "long long long", "فيلم long", f"{TEXT} {TEXT}"])
def test_the_model_is_unchanged_and_costs_no_more_than_is_announced(model: FrozenModel, text: str) -> None:
    encoding, meter, before = model.encode(text), Meter(), fingerprint(model)
    method = SELF_RANKING.make(erasure="delete", seed=0, samples=100, steps=10)
    attribution = method.attribute(model.metered(meter), encoding, 0)
    assert 0 < min(attribution.scores) <= max(attribution.scores) < 1
    assert 0 < meter.calls <= SELF_RANKING.passes(len(encoding.units), 100, 10)
    assert fingerprint(model) == before
    assert not model.module.training


def test_a_run_that_was_stopped_asks_nothing_more(model: FrozenModel) -> None:
    meter = Meter()
    meter.cancel.set()
    with pytest.raises(Cancelled):
        self_ranking.SelfRanking().attribute(model.metered(meter), model.encode(TEXT), 0)
    assert meter.calls == 0


def test_what_a_model_says_of_itself_takes_no_part_in_the_answer(model: FrozenModel) -> None:
    methods = ["self_ranking", "occlusion", "integrated_gradients"]
    comparison = explain(model, TEXT, methods=methods, steps=5)
    assert comparison.result("self_ranking") is not None
    assert set(comparison.answer.members) == {"occlusion", "integrated_gradients"}
    assert {row.method: row.title for row in metric_rows(comparison)}[
        "self_ranking"
    ] == "asked in words, so not compared"
    contrast = explain(model, TEXT, methods=methods, steps=5, label="yes", versus="no")
    assert contrast.answer.abstaining == ("self_ranking",)


def test_it_is_measured_and_offered_where_the_model_has_a_prompt(model: FrozenModel, bert: FrozenModel) -> None:
    spec = method_spec("self_ranking")
    assert [spec.suits(name) for name in ("sst2", "smollm2:sst2", "owner/model")] == [False, True, False]
    assert method_spec("lime").suits("sst2")
    assert "self_ranking" in {one.id for one in evaluated_methods(model)}
    assert "self_ranking" not in {one.id for one in evaluated_methods(bert)}
    assert "self_ranking" in {one.id for one in offered_methods("smollm2:sst2", "")}
    assert "self_ranking" not in {one.id for one in offered_methods("sst2", "")}
