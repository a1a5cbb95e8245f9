"""Decoders with a classification head, built on the spot, as models that can be explained."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from transformers import CONFIG_MAPPING, AutoModelForSequenceClassification

from explainers import explain, load, wrap
from explainers.errors import ExplanationError, ModelUnavailable
from explainers.learned.aml import AttributionModel
from explainers.learned.batches import Batch
from explainers.learned.ivra_readout import by_head, pooled_products
from explainers.models.decoder import DecoderClassifier, decoder_classifier
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.padded_batch import pad_batch
from explainers.models.internals import forward_with_internals
from explainers.studies.architectures import END, FAMILIES, PAD, PLANTED, SPECIAL, WORDS, Family, tokenizer_of

TEXT = f"the film was {PLANTED} and very long but new"
DECODERS = tuple(family for family in FAMILIES if family.decoder)
KINDS = {family.kind: family for family in FAMILIES}


def network_of(family: Family) -> Any:
    torch.manual_seed(0)
    config = CONFIG_MAPPING[family.kind](
        **family.settings, vocab_size=len(SPECIAL) + len(WORDS) + 1, num_labels=2, id2label={0: "no", 1: "yes"}
    )
    return AutoModelForSequenceClassification.from_config(config)


def decoder(kind: str) -> FrozenModel:
    return wrap(network_of(KINDS[kind]), tokenizer_of(KINDS[kind]))


@pytest.fixture(params=DECODERS, ids=[family.kind for family in DECODERS])
def family(request: pytest.FixtureRequest) -> Family:
    chosen: Family = request.param
    return chosen


def test_a_batch_of_different_lengths_answers_as_one_by_one(family: Family) -> None:
    model = decoder(family.kind)
    encoding = model.encode(TEXT)
    keeps = np.random.default_rng(0).random((6, len(encoding.units))) > 0.4
    for erasure in model.erasures:
        together = model.probabilities(encoding, keeps, erasure)
        alone = np.vstack([model.probabilities(encoding, keep[None], erasure) for keep in keeps])
        assert together == pytest.approx(alone, abs=1e-5)
        assert np.ptp(together[:, 0]) > 0


def test_it_answers_as_the_library(family: Family) -> None:
    network = network_of(family).eval()
    model = wrap(network, tokenizer_of(family))
    encoding = model.encode(TEXT)
    with torch.inference_mode():
        theirs = network(input_ids=torch.tensor([encoding.ids])).logits.softmax(-1).numpy()
    assert model.probabilities(encoding, np.ones((1, len(encoding.units)))) == pytest.approx(theirs, abs=1e-5)


def test_words_are_deleted_unless_another_operator_is_asked_for_and_others_come_with_a_warning() -> None:
    model = decoder("gpt2")
    by_default = explain(model, TEXT, methods="occlusion")
    assert by_default.decision.settings.erasure == "delete"
    assert by_default.decision.encoding.warning == ""
    masked = explain(model, TEXT, methods="occlusion", erasure="mask")
    assert "becomes the end-of-text token" in masked.decision.encoding.warning
    assert "embedding of zeros" in explain(model, TEXT, methods="occlusion", erasure="zero").decision.encoding.warning


def test_an_erased_last_word_is_not_taken_for_padding() -> None:
    """The library looks for the last id that is not the padding token, which here is also what erases words."""
    network = network_of(KINDS["llama"])
    network.config.pad_token_id = END
    tokenizer = tokenizer_of(KINDS["llama"])
    tokenizer.pad_token = SPECIAL[END]
    model = wrap(network, tokenizer)
    encoding = model.encode(TEXT)
    keep = np.ones((1, len(encoding.units)), dtype=bool)
    keep[0, -1] = False
    ids = torch.tensor([[*encoding.ids[:-1], END]])
    with torch.inference_mode():
        states = network.eval().base_model(input_ids=ids).last_hidden_state
        expected = network.score(states[:, -1]).softmax(-1).numpy()
    assert model.probabilities(encoding, keep, "mask") == pytest.approx(expected, abs=1e-5)


def test_a_model_in_memory_stays_as_it_was() -> None:
    network = network_of(KINDS["qwen3"]).train()
    weights = {name: weight.clone() for name, weight in network.state_dict().items()}
    explain(wrap(network, tokenizer_of(KINDS["qwen3"])), TEXT, methods=("occlusion", "integrated_gradients"), steps=5)
    assert network.training
    assert all(torch.equal(weights[name], weight) for name, weight in network.state_dict().items())
    assert all(parameter.grad is None for parameter in network.parameters())


def test_a_folder_is_opened_and_explained(tmp_path: Path) -> None:
    network_of(KINDS["gpt2"]).save_pretrained(tmp_path)
    tokenizer_of(KINDS["gpt2"]).save_pretrained(tmp_path)
    model = load(str(tmp_path))
    assert (model.labels, model.last_token, model.default_erasure) == (("no", "yes"), True, "delete")
    comparison = explain(model, TEXT, methods=("integrated_gradients", "attention_mean", "ivra"), steps=5)
    assert [failure.method for failure in comparison.failures] == ["ivra"]  # nothing was fitted
    assert comparison.result("integrated_gradients") is not None


def test_a_head_that_reads_another_token_is_refused() -> None:
    class First(nn.Module):
        def __init__(self, network: Any) -> None:
            super().__init__()
            self.model, self.score, self.config = network.base_model, network.score, network.config

        @property
        def base_model(self) -> nn.Module:
            return self.model  # type: ignore[return-value]

        def forward(self, input_ids: torch.Tensor) -> Any:
            first = self.model(input_ids=input_ids).last_hidden_state[:, 0]  # type: ignore[operator]
            return type("Output", (), {"logits": self.score(first)})  # type: ignore[operator]

    with pytest.raises(ModelUnavailable, match="reads its class in a way that is not known here"):
        decoder_classifier("mine", First(network_of(KINDS["llama"])))


def test_attention_to_the_last_layer_is_that_of_the_last_token() -> None:
    model = decoder("llama")
    encoding = model.encode(TEXT)
    received = model.attention_received(encoding, last_layer=True)
    last = model.states(encoding).attentions[-1].mean(dim=0)[-1].numpy()
    assert received == pytest.approx(last, abs=1e-6)


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_aml_sees_the_prediction_before_the_first_token(kind: str) -> None:
    model = decoder(kind)
    batch = pad_batch([model.encode(TEXT), model.encode("the film")], model.pad_token, model.device)
    explainer = AttributionModel(model, rank=4).eval()
    with torch.no_grad():
        no, yes = (explainer(model, Batch(batch, torch.tensor([p, p]))) for p in ([0.99, 0.01], [0.01, 0.99]))
    assert (no - yes).abs()[batch.attention.bool()].min() > 0


def test_ivra_averages_over_the_tokens_that_see_a_token() -> None:
    model = decoder("llama")
    batch = pad_batch([model.encode(TEXT), model.encode("the film")], model.pad_token, model.device)
    internals = forward_with_internals(model, batch)
    shape = torch.Size((2, 4, 8))
    queries, keys = by_head(internals.queries, shape), by_head(internals.keys, shape, 2)
    products = pooled_products(queries, keys, batch, causal=True)  # (layers, B, heads, L)
    expected = torch.stack(
        [queries[1, 0, place:, 3].mean(0) @ keys[1, 0, place, 3] for place in range(batch.ids.shape[1])]
    )
    assert products[1, 0, 3] == pytest.approx(expected, abs=1e-5)
    assert torch.equal(keys[:, :, :, 0], keys[:, :, :, 1])  # two heads share a group's keys
    short = queries[0, 1, :2, 0].mean(0) @ keys[0, 1, 0, 0]  # padding looks at nothing
    assert float(products[0, 1, 0, 0]) == pytest.approx(float(short), abs=1e-5)


def test_queries_and_keys_of_a_fused_projection_give_the_attention() -> None:
    """No rotation comes between them and the scores."""
    model = decoder("gpt2")
    encoding = model.encode(TEXT)
    internals = forward_with_internals(model, pad_batch([encoding], model.pad_token, model.device))
    queries, keys = (by_head(part, torch.Size((2, 4, 8)))[0, 0] for part in (internals.queries, internals.keys))
    scores = torch.einsum("ihd,jhd->hij", queries, keys) / 8**0.5
    scores = scores.masked_fill(~torch.ones(scores.shape[1:]).tril().bool(), -torch.inf)
    assert scores.softmax(-1) == pytest.approx(model.states(encoding).attentions[0], abs=1e-5)


def test_the_wrapper_keeps_padding_out() -> None:
    llama = network_of(KINDS["llama"])
    network = DecoderClassifier(llama.base_model, llama.score).eval()
    ids = torch.tensor([[8, 9, 10, PAD, PAD]])
    with torch.inference_mode():
        padded = network(input_ids=ids, attention_mask=torch.tensor([[1, 1, 1, 0, 0]])).logits
        plain = network(input_ids=ids[:, :3]).logits
    assert padded == pytest.approx(plain, abs=1e-5)


@pytest.mark.parametrize(
    ("kind", "name"), [("gpt_neox", "query_key_value"), ("bloom", "query_key_value"), ("phi3", "qkv_proj")]
)
def test_a_fused_projection_is_divided_as_the_library_divides_it(kind: str, name: str) -> None:
    """Head by head in GPT-NeoX and Bloom; in Phi-3 all queries, then the keys and values of two groups of heads."""
    model = decoder(kind)
    (layer, *_) = [part for path, part in model.base.named_modules() if path.endswith(name)]
    weight, seen = layer.weight, []  # (outputs, 32)
    handle = layer.register_forward_hook(lambda _module, args, _output: seen.append(args[0]))
    internals = forward_with_internals(model, pad_batch([model.encode(TEXT)], model.pad_token, model.device))
    handle.remove()
    bias = layer.bias if layer.bias is not None else torch.zeros(len(weight))
    if kind == "phi3":
        parts = [(weight[:32], bias[:32]), (weight[32:48], bias[32:48])]
    else:
        by_heads, biases = weight.view(4, 3, 8, 32), bias.view(4, 3, 8)
        parts = [(by_heads[:, place].reshape(32, 32), biases[:, place].reshape(32)) for place in (0, 1)]
    (queries, keys) = ((seen[0] @ rows.T + constant) for rows, constant in parts)
    assert internals.queries[0] == pytest.approx(queries, abs=1e-5)
    assert internals.keys[0] == pytest.approx(keys, abs=1e-5)


def test_heads_that_share_values_in_one_projection_are_a_sentence_of_ivra_alone() -> None:
    config = CONFIG_MAPPING["falcon"](
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, multi_query=True, new_decoder_architecture=False,
        vocab_size=len(SPECIAL) + len(WORDS) + 1, num_labels=2, pad_token_id=PAD,
    )  # fmt: skip
    model = wrap(AutoModelForSequenceClassification.from_config(config), tokenizer_of(KINDS["llama"]))
    internals = forward_with_internals(model, pad_batch([model.encode(TEXT)], model.pad_token, model.device))
    assert len(internals.hidden) == 3
    with pytest.raises(ExplanationError, match="IvRA reads 4 heads of 8 numbers"):
        by_head(internals.queries, torch.Size((2, 4, 8)))


def test_states_of_another_size_than_the_layers_are_a_sentence() -> None:
    settings = {**KINDS["opt"].settings, "word_embed_proj_dim": 16}
    model = wrap(network_of(replace(KINDS["opt"], settings=settings)), tokenizer_of(KINDS["opt"]))
    assert explain(model, TEXT, methods="occlusion").result("occlusion") is not None
    with pytest.raises(ExplanationError, match="reads its class from smaller states"):
        AttributionModel(model, rank=4)


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_weights_of_their_own_do_not_copy_the_vocabulary(kind: str) -> None:
    model = decoder(kind)
    twin = AttributionModel(model, rank=0)
    ours, theirs = twin.encoder.get_input_embeddings().weight, model.base.get_input_embeddings().weight  # type: ignore[operator,union-attr]
    assert ours.data_ptr() == theirs.data_ptr()
    tuned = [name for name, _ in twin.named_parameters() if twin.is_fine_tuned(name)]
    assert not [name for name in tuned if "wte" in name or "wpe" in name or "embed_tokens" in name]
    assert any(name.startswith("encoder.") for name in tuned)
