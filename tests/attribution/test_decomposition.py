"""What tokens contribute, taken apart layer by layer, against the published formulas and the model's own numbers."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import (
    AlbertConfig,
    AlbertForSequenceClassification,
    ConvBertConfig,
    ConvBertForSequenceClassification,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    ElectraConfig,
    ElectraForSequenceClassification,
    RobertaConfig,
    RobertaForSequenceClassification,
)

from explainers.attribution.alti import ALTI, Alti
from explainers.attribution.decomposition import taken_apart
from explainers.attribution.decompx import DECOMPX, DecompX, head_parts, through, with_bias
from explainers.attribution.globenc import GLOBENC, GlobEnc
from explainers.datasets.example import Example
from explainers.errors import Cancelled, ExplanationError
from explainers.methods.registry import IMMEDIATE, MethodSpec
from explainers.models.calls import Meter
from explainers.models.frozen_model import FrozenModel
from explainers.models.target import Target

TEXT = "the unwatchable film , but a good plot"
SMALL: dict[str, Any] = {
    "vocab_size": 64, "num_hidden_layers": 2, "hidden_size": 16, "num_attention_heads": 4, "intermediate_size": 32,
    "num_labels": 3, "attn_implementation": "eager", "initializer_range": 0.5,
}  # fmt: skip
DISTIL: dict[str, Any] = {
    "vocab_size": 64, "n_layers": 2, "dim": 16, "hidden_dim": 32, "n_heads": 4, "num_labels": 3,
    "attn_implementation": "eager", "initializer_range": 0.5,
}  # fmt: skip
NETWORKS: dict[str, Callable[[], nn.Module]] = {
    "roberta": lambda: RobertaForSequenceClassification(RobertaConfig(**SMALL, pad_token_id=0)),
    "electra": lambda: ElectraForSequenceClassification(ElectraConfig(**SMALL, embedding_size=8)),
    "distilbert": lambda: DistilBertForSequenceClassification(DistilBertConfig(**DISTIL)),
}


@pytest.fixture(params=["bert", *NETWORKS])
def model(request: pytest.FixtureRequest, bert: FrozenModel) -> FrozenModel:
    """Small models of random weights, which are large enough for the parts to matter."""
    if request.param == "bert":
        bert.module.set_attn_implementation("eager")
        with torch.no_grad():
            for weight in bert.module.parameters():
                weight.add_(torch.randn(weight.shape, generator=torch.Generator().manual_seed(1)) * 0.2)
        return bert
    return with_network(bert, NETWORKS[request.param])


def with_network(bert: FrozenModel, network: Callable[[], nn.Module]) -> FrozenModel:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        bert.module = network().requires_grad_(False).eval()
    bert.segmented = False
    return bert


def logits(model: FrozenModel, text: str) -> Tensor:
    encoding = model.encode(text)
    return model.soft(encoding, torch.ones(1, len(encoding.units)))[0].detach()


def test_the_words_and_the_special_tokens_have_the_whole_logit(model: FrozenModel) -> None:
    """By taking the model apart once more, with special tokens as words."""
    encoding = model.encode(TEXT)
    owners = tuple(range(len(encoding.ids)))
    tokens = model.encode(TEXT, "token")
    everything = type(tokens)(tokens.texts, tokens.units[:1] * len(owners), tokens.ids, tokens.segments, owners)
    for label in range(3):
        scores = DecompX().attribute(model, everything, label).scores
        assert sum(scores) == pytest.approx(float(logits(model, TEXT)[label]), abs=1e-3)
        assert sum(scores[1:-1]) == pytest.approx(sum(DecompX().attribute(model, encoding, label).scores), abs=1e-3)
        assert max(map(abs, scores)) > 0.01


def test_a_word_of_several_tokens_has_the_sum_of_them(model: FrozenModel) -> None:
    words, tokens = model.encode(TEXT), model.encode(TEXT, "token")
    assert len(tokens.units) > len(words.units)
    for method in (DecompX(), Alti(), GlobEnc()):
        by_word, by_token = (method.attribute(model, read, 1).scores for read in (words, tokens))
        inside = [
            score
            for score, unit in zip(by_token, tokens.units, strict=True)
            if words.units[1].start <= unit.start < words.units[1].end
        ]
        assert len(inside) > 1
        assert by_word[1] == pytest.approx(sum(inside), abs=1e-5)


def test_alti_is_its_formula(model: FrozenModel) -> None:
    expected = rolled_out(model, lambda parts, output: (l1(output) - l1(output[:, None] - parts)).clamp(min=0))
    scores = Alti().attribute(model, model.encode(TEXT, "token"), 0).scores
    assert scores == pytest.approx(expected[1:-1].tolist(), abs=1e-5)
    assert 0 < sum(scores) < 1


def l1(vectors: Tensor) -> Tensor:
    sizes = vectors.abs().sum(-1)
    return sizes[:, None] if vectors.ndim == 2 else sizes


def rolled_out(model: FrozenModel, share: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """The row of the first token of the product over layers, by loops; `share` of T (L, L, d) and y (L, d)."""
    apart = taken_apart(model, model.encode(TEXT))
    whole = torch.eye(len(apart.states[0]))
    for layer, attention, states in zip(apart.layers, apart.attentions, apart.states, strict=False):
        size = states.shape[1] // len(attention)
        parts = torch.zeros(len(states), len(states), states.shape[1])
        for i in range(len(states)):
            for j in range(len(states)):
                for head, weights in enumerate(attention):
                    mine = slice(head * size, (head + 1) * size)
                    value = layer.value.weight[mine] @ states[j] + layer.value.bias[mine]
                    parts[i, j] += weights[i, j] * (layer.output.weight[:, mine] @ value)
            parts[i, i] += states[i]
        sums = parts.sum(1) + layer.output.bias
        centred = parts - parts.mean(-1, keepdim=True)
        parts = centred / sums.std(-1, unbiased=False)[:, None, None] * layer.attention_norm.weight
        shares = share(parts, layer.attention_norm(sums))
        whole = shares / shares.sum(1, keepdim=True) @ whole
    return whole[0]


def test_globenc_takes_the_second_norm_too(model: FrozenModel) -> None:
    layers = iter(taken_apart(model, model.encode(TEXT)).layers)

    def norms(parts: Tensor, output: Tensor) -> Tensor:
        layer = next(layers)
        sums = output + layer.outer(layer.activation(layer.inner(output)))
        centred = parts - parts.mean(-1, keepdim=True)
        return (centred / sums.std(-1, unbiased=False)[:, None, None] * layer.norm.weight).pow(2).sum(-1).sqrt()

    scores = GlobEnc().attribute(model, model.encode(TEXT, "token"), 0).scores
    assert scores == pytest.approx(rolled_out(model, norms)[1:-1].tolist(), abs=1e-4)


def test_one_class_rather_than_another_is_the_difference_of_their_logits(model: FrozenModel) -> None:
    encoding = model.encode(TEXT)
    one, other = (DecompX().attribute(model, encoding, label).scores for label in (0, 2))
    both = DecompX().attribute(model.aimed(Target(0, 2)), encoding, 0).scores
    assert both == pytest.approx([a - b for a, b in zip(one, other, strict=True)], abs=1e-5)


def test_removed_words_are_not_there(model: FrozenModel) -> None:
    encoding = model.encode(TEXT)
    shorter = model.encode("the film , but a good plot")
    left = model.without(encoding, [1], "delete")
    for method in (DecompX(), Alti(), GlobEnc()):
        assert method.attribute(model, left, 1).scores == pytest.approx(
            method.attribute(model, shorter, 1).scores, abs=1e-5
        )


def test_a_bias_goes_where_it_has_an_effect() -> None:
    vectors = torch.tensor([[[1.0, 0.0], [0.0, 3.0], [0.0, 0.0]]])
    assert with_bias(vectors, torch.tensor([1.0, 1.0])).tolist() == [[[1.25, 0.25], [0.75, 3.75], [0.0, 0.0]]]
    assert torch.equal(with_bias(vectors, None), vectors)
    nothing = with_bias(torch.zeros(1, 4, 2), torch.tensor([1.0, 2.0]))  # behind a ReLU that is off
    assert nothing.sum(1).tolist() == [[1.0, 2.0]]


def test_an_activation_keeps_the_sum() -> None:
    vectors = torch.randn(4, 5, 6, generator=torch.Generator().manual_seed(0))
    for activation in (nn.GELU(), nn.ReLU(), torch.tanh):
        assert torch.allclose(through(activation, vectors).sum(1), activation(vectors.sum(1)), atol=1e-5)
    nothing = through(nn.GELU(), torch.zeros(1, 2, 3))
    assert nothing.isfinite().all()


def test_other_layers_and_heads_have_a_reason(bert: FrozenModel) -> None:
    bert.module.set_attn_implementation("eager")
    encoding = bert.encode(TEXT)
    bert.module.classifier = nn.Sequential(bert.module.classifier, nn.Softmax(-1))
    with pytest.raises(ExplanationError, match="small has a head that cannot be taken apart"):
        DecompX().attribute(bert, encoding, 0)
    others: tuple[Callable[[], nn.Module], ...] = (
        lambda: AlbertForSequenceClassification(AlbertConfig(**SMALL, embedding_size=8)),
        lambda: ConvBertForSequenceClassification(ConvBertConfig(**SMALL, embedding_size=16)),
    )
    for network in others:
        other = with_network(bert, network)
        for method in (DecompX(), Alti(), GlobEnc()):
            with pytest.raises(ExplanationError, match="The layers of small are not built like BERT's"):
                method.attribute(other, encoding, 0)


def test_layers_that_only_look_alike_are_found_out(bert: FrozenModel) -> None:
    bert.module.set_attn_implementation("eager")
    encoding = bert.encode(TEXT)
    layer = bert.module.bert.encoder.layer[1]
    handle = layer.register_forward_hook(lambda _module, _args, output: output * 1.5)
    with pytest.raises(ExplanationError, match="are not built like BERT's"):
        Alti().attribute(bert, encoding, 0)
    handle.remove()
    bert.module.bert.pooler.register_forward_hook(lambda _module, _args, output: output * 1.5)
    assert len(head_parts(bert)) == 3
    with pytest.raises(ExplanationError, match="The head of small cannot be taken apart"):
        DecompX().attribute(bert, encoding, 0)


def test_a_text_in_windows_has_a_reason(model: FrozenModel) -> None:
    model.tokenizer.enable_truncation(5)
    with pytest.raises(ExplanationError, match="windows"):
        DecompX().attribute(model, model.encode(TEXT, windows=True), 0)


def test_too_many_tokens_are_a_sentence(model: FrozenModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explainers.attribution.decompx.MOST_TOKENS", 5)
    with pytest.raises(ExplanationError, match=r"at most 5 tokens, .* the input has 12\. Shorten the text"):
        DecompX().attribute(model, model.encode(TEXT), 0)


def test_a_pair_has_scores_for_both_texts(pairs: FrozenModel) -> None:
    pairs.module.set_attn_implementation("eager")
    encoding = pairs.encode(Example("the film", "a plot"))
    for method in (DecompX(), Alti(), GlobEnc()):
        assert len(method.attribute(pairs, encoding, 0).scores) == 4


def test_others_have_their_turn_between_layers_and_a_stopped_run_ends(model: FrozenModel) -> None:
    turns: list[int] = []
    for method in (DecompX(), Alti(), GlobEnc()):
        meter = Meter(give_way=lambda: turns.append(1))
        method.attribute(model.metered(meter), model.encode(TEXT), 0)
        assert len(turns) >= 3  # the pass, and each of two layers
        turns.clear()
    meter = Meter()
    meter.give_way = meter.cancel.set
    with pytest.raises(Cancelled):
        DecompX().attribute(model.metered(meter), model.encode(TEXT), 0)


@pytest.mark.parametrize("spec", [ALTI, GLOBENC], ids=lambda spec: spec.id)
def test_what_is_the_same_for_every_class_explains_the_predicted_one_alone(spec: MethodSpec) -> None:
    assert spec.explains_predicted_only
    assert spec.can_explain(Target(1), 1)
    assert not spec.can_explain(Target(0), 1)
    assert not spec.can_explain(Target(1, 0), 1)
    assert DECOMPX.can_explain(Target(0, 1), 1)


def test_one_that_takes_a_pass_per_word_waits_for_the_random_orders() -> None:
    assert DECOMPX.kind not in IMMEDIATE
    assert ALTI.kind in IMMEDIATE
