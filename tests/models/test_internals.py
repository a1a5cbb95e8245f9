from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from transformers import (
    CONFIG_MAPPING,
    AutoModelForSequenceClassification,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    RobertaConfig,
    RobertaForSequenceClassification,
)

from explainers import wrap
from explainers.errors import Cancelled, ExplanationError
from explainers.models.calls import Meter
from explainers.models.catalog import fingerprint
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.padded_batch import PaddedBatch, pad_batch
from explainers.models.internals import (
    Internals,
    attention_head_count,
    forward_with_internals,
    forward_with_soft_mask,
    hidden_size,
    input_embeddings,
    shared_copy,
    transformer_layers,
    word_embedding_table,
)
from explainers.studies import architectures as architectures

VOCABULARY = len(architectures.SPECIAL) + len(architectures.WORDS) + 1
TEXTS = ("the film was not unwatchable !", "good", "a very dull plot")


def batch_of(model: FrozenModel, *texts: str) -> PaddedBatch:
    return pad_batch([model.encode(text) for text in texts], model.pad_token, model.device)


def whole(model: FrozenModel, text: str) -> np.ndarray:
    encoding = model.encode(text)
    result: np.ndarray = model.probabilities(encoding, [[1] * len(encoding.units)])[0]
    return result


def answers(model: FrozenModel, internals: Internals) -> np.ndarray:
    return internals.probabilities(model).detach().numpy()


def condition(model: FrozenModel) -> tuple[object, ...]:
    """Everything about a model that a pass could leave changed; transformers' own sleeping hooks do not count."""
    hooks = [
        hook
        for part in model.module.modules()
        for name, result in vars(part).items()
        if name.endswith("_hooks")
        for hook in result.values()
        if getattr(hook, "__module__", "") != "transformers.utils.output_capturing"
    ]
    weights = [(weight.requires_grad, weight.grad is None) for weight in model.module.parameters()]
    return fingerprint(model), hooks, weights, [part.training for part in model.module.modules()]


def roberta(bert: FrozenModel) -> FrozenModel:
    config = RobertaConfig(
        vocab_size=20,
        hidden_size=12,
        num_hidden_layers=3,
        num_attention_heads=3,
        intermediate_size=16,
        max_position_embeddings=30,
        type_vocab_size=1,
        pad_token_id=0,
        initializer_range=0.4,
        num_labels=3,
        attn_implementation="eager",
    )
    return of(bert, RobertaForSequenceClassification, config)


def distilbert(bert: FrozenModel) -> FrozenModel:
    config = DistilBertConfig(
        vocab_size=20,
        dim=12,
        n_layers=3,
        n_heads=3,
        hidden_dim=16,
        max_position_embeddings=30,
        initializer_range=0.4,
        num_labels=3,
        attn_implementation="eager",
    )
    return of(bert, DistilBertForSequenceClassification, config)


def of(bert: FrozenModel, architecture: Callable[..., nn.Module], config: object) -> FrozenModel:
    """Another architecture with the small BERT's vocabulary."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        module = architecture(config)
    return FrozenModel(
        "other", bert.labels, module, bert.tokenizer, bert.mask_token, bert.pad_token, "1", segmented=False
    )


FAMILIES = pytest.mark.parametrize(
    "family", [lambda bert: bert, roberta, distilbert], ids=["bert", "roberta", "distilbert"]
)
Family = Callable[[FrozenModel], FrozenModel]


@FAMILIES
def test_every_row_has_the_answer_that_its_text_has_alone(bert: FrozenModel, family: Family) -> None:
    model = family(bert)
    result = answers(model, forward_with_internals(model, batch_of(model, *TEXTS)))
    assert result == pytest.approx(np.stack([whole(model, text) for text in TEXTS]), abs=1e-5)


@FAMILIES
def test_the_hidden_states_are_transformers_own(bert: FrozenModel, family: Family) -> None:
    model = family(bert)
    result = forward_with_internals(model, batch_of(model, *TEXTS))
    assert len(result.hidden) == len(transformer_layers(model)) + 1
    for row, text in enumerate(TEXTS):
        expected = model.states(model.encode(text)).hidden
        for ours, theirs in zip(result.hidden, expected, strict=True):
            assert ours[row, : len(theirs)].numpy() == pytest.approx(theirs.numpy(), abs=5e-5)


@FAMILIES
def test_queries_and_keys_are_the_projections_of_the_states_below(bert: FrozenModel, family: Family) -> None:
    model = family(bert)
    result = forward_with_internals(model, batch_of(model, "good film"))
    expected = {"bert": (2, 2, 16), "roberta": (3, 3, 12), "distilbert": (3, 3, 12)}
    kind = model.base.config.model_type  # type: ignore[union-attr]
    assert (len(transformer_layers(model)), attention_head_count(model), hidden_size(model)) == expected[str(kind)]
    for number, layer in enumerate(transformer_layers(model)):
        projections: Any = getattr(layer.attention, "self", layer.attention)
        query = projections.q_lin if hasattr(projections, "q_lin") else projections.query
        key = projections.k_lin if hasattr(projections, "k_lin") else projections.key
        below = result.hidden[number]
        assert result.queries[number].numpy() == pytest.approx(query(below).numpy(), abs=5e-5)
        assert result.keys[number].numpy() == pytest.approx(key(below).numpy(), abs=5e-5)
    assert len(result.queries) == len(result.keys) == len(transformer_layers(model))


def test_without_anything_replaced_there_is_no_gradient(bert: FrozenModel) -> None:
    result = forward_with_internals(bert, batch_of(bert, *TEXTS))
    assert not any(part.requires_grad for part in (result.logits, *result.hidden, *result.queries, *result.keys))


@FAMILIES
def test_the_models_own_word_embeddings_change_nothing(bert: FrozenModel, family: Family) -> None:
    model = family(bert)
    batch = batch_of(model, *TEXTS)
    result = forward_with_internals(model, batch, embeds=input_embeddings(model, batch)[0])
    assert answers(model, result) == pytest.approx(answers(model, forward_with_internals(model, batch)), abs=1e-5)


def test_embeds_take_the_place_of_the_words(bert: FrozenModel) -> None:
    batch, other = batch_of(bert, "good film"), batch_of(bert, "dull plot")
    result = forward_with_internals(bert, batch, embeds=input_embeddings(bert, other)[0])
    assert answers(bert, result)[0] == pytest.approx(whole(bert, "dull plot"), abs=1e-5)


@FAMILIES
def test_states_put_back_where_they_came_from_change_nothing(bert: FrozenModel, family: Family) -> None:
    model = family(bert)
    batch = batch_of(model, *TEXTS)
    plain = forward_with_internals(model, batch)
    expected = pytest.approx(plain.logits.numpy(), abs=1e-5)
    assert forward_with_internals(model, batch, embedding_output=plain.hidden[0]).logits.numpy() == expected
    for number in range(1, len(transformer_layers(model)) + 1):
        assert (
            forward_with_internals(model, batch, layer_output=(number, plain.hidden[number])).logits.numpy() == expected
        )


@FAMILIES
def test_states_of_another_text_bring_its_answer(bert: FrozenModel, family: Family) -> None:
    model = family(bert)
    batch, other = batch_of(model, "good film"), forward_with_internals(model, batch_of(model, "dull plot"))
    expected = pytest.approx(whole(model, "dull plot"), abs=1e-5)
    assert answers(model, forward_with_internals(model, batch, embedding_output=other.hidden[0]))[0] == expected
    for number in range(1, len(transformer_layers(model)) + 1):
        result = forward_with_internals(model, batch, layer_output=(number, other.hidden[number]))
        assert answers(model, result)[0] == expected
        assert result.hidden[number] is other.hidden[number]


def test_states_below_the_replaced_layer_stay(bert: FrozenModel) -> None:
    batch = batch_of(bert, "good film")
    plain = forward_with_internals(bert, batch)
    result = forward_with_internals(bert, batch, layer_output=(2, torch.zeros_like(plain.hidden[2])))
    assert torch.equal(result.hidden[1], plain.hidden[1])
    assert not result.hidden[2].any()
    kept = forward_with_internals(bert, batch, layer_output=(2, torch.zeros_like(plain.hidden[2])), keep_replaced=True)
    assert torch.equal(kept.hidden[2], plain.hidden[2])
    assert torch.equal(kept.logits, result.logits)


@FAMILIES
def test_a_scale_of_one_changes_nothing_and_of_zero_erases_by_zero(bert: FrozenModel, family: Family) -> None:
    model = family(bert)
    batch = batch_of(model, *TEXTS)
    ones = forward_with_internals(model, batch, scale=torch.ones(batch.ids.shape))
    assert answers(model, ones) == pytest.approx(answers(model, forward_with_internals(model, batch)), abs=1e-5)
    keeps = torch.tensor([[1.0, 0, 1, 0, 0, 1], [0, 0, 0, 0, 0, 0], [0, 1, 1, 0, 0, 0]])
    result = answers(model, forward_with_internals(model, batch, scale=batch.spread(keeps)))
    for row, text in enumerate(TEXTS):
        encoding = model.encode(text)
        mask = keeps[row, : len(encoding.units)].bool().numpy()
        assert result[row] == pytest.approx(model.probabilities(encoding, mask, "zero")[0], abs=1e-5)


def test_scale_multiplies_what_was_embedded(bert: FrozenModel) -> None:
    batch = batch_of(bert, "good film")
    tensor = forward_with_internals(bert, batch).hidden[0]
    result = forward_with_internals(bert, batch, embedding_output=2 * tensor, scale=torch.full(batch.ids.shape, 0.25))
    assert result.hidden[0].numpy() == pytest.approx(0.5 * tensor.numpy())


@FAMILIES
def test_a_blend_with_hard_masks_is_erasure_by_the_mask_token(bert: FrozenModel, family: Family) -> None:
    model = family(bert)
    batch = batch_of(model, *TEXTS)
    keeps = torch.tensor([[1.0, 0, 1, 0, 0, 1], [0, 0, 0, 0, 0, 0], [0, 1, 1, 0, 0, 0]])
    result = answers(model, forward_with_soft_mask(model, batch, keeps))
    for row, text in enumerate(TEXTS):
        encoding = model.encode(text)
        mask = keeps[row, : len(encoding.units)].bool().numpy()
        assert result[row] == pytest.approx(model.probabilities(encoding, mask, "mask")[0], abs=1e-5)


def test_a_soft_blend_is_the_classifiers_own(bert: FrozenModel) -> None:
    mask = torch.tensor([[0.3, 0.9]])
    result = forward_with_soft_mask(bert, batch_of(bert, "unwatchable film"), mask)
    expected = bert.soft(bert.encode("unwatchable film"), mask)
    assert result.logits.numpy() == pytest.approx(expected.numpy(), abs=1e-5)


def test_a_blend_can_be_filled_with_something_else(bert: FrozenModel) -> None:
    batch, other = batch_of(bert, "good film"), batch_of(bert, "dull plot")
    nothing = torch.zeros(1, 2)
    by_place = forward_with_soft_mask(bert, batch, nothing, input_embeddings(bert, other)[0])  # (B, L, d)
    assert answers(bert, by_place)[0] == pytest.approx(whole(bert, "dull plot"), abs=1e-5)
    dull = input_embeddings(bert, batch_of(bert, "dull"))[0][0, 1]  # (d,)
    assert answers(bert, forward_with_soft_mask(bert, batch, nothing, dull))[0] == pytest.approx(
        whole(bert, "dull dull"), abs=1e-5
    )


def test_words_that_a_person_zeroed_stay_zero_in_every_pass(bert: FrozenModel) -> None:
    encoding = bert.encode("the good film").without([1], "zero", bert.mask_token)
    batch = pad_batch([encoding, bert.encode("a very dull plot")], bert.pad_token, bert.device)
    expected = pytest.approx(bert.probabilities(encoding, [[1, 1]])[0], abs=1e-5)
    states = forward_with_internals(bert, batch)
    for result in (
        states,
        forward_with_internals(bert, batch, embeds=input_embeddings(bert, batch)[0]),
        forward_with_internals(bert, batch, scale=torch.ones(batch.ids.shape)),
        forward_with_internals(bert, batch, embedding_output=states.hidden[0]),
        forward_with_soft_mask(bert, batch, torch.ones(2, 4)),
    ):
        assert not result.hidden[0][0, 2].any()
        assert answers(bert, result)[0] == expected


@pytest.mark.parametrize("place", ["embeds", "embedding_output", "scale", "layer_output"])
def test_the_gradient_reaches_what_is_given_and_nothing_of_the_model(bert: FrozenModel, place: str) -> None:
    batch = batch_of(bert, *TEXTS)
    tensor: Tensor = torch.ones(batch.ids.shape) if place == "scale" else input_embeddings(bert, batch)[0].clone()
    tensor.requires_grad_(True)
    replaced = {place: (1, tensor) if place == "layer_output" else tensor}
    result = forward_with_internals(bert, batch, **replaced)  # type: ignore[arg-type]
    (gradient,) = torch.autograd.grad(result.logits[:, 0].sum(), tensor)
    real = gradient[batch.attention]
    assert real.reshape(len(real), -1).abs().sum(1).min() > 0  # of every token
    assert not gradient[~batch.attention].any()  # padding says nothing
    assert all(weight.grad is None for weight in bert.module.parameters())


def test_multi_label_probabilities_do_not_sum_to_one(bert: FrozenModel) -> None:
    bert.multi_label = True
    result = forward_with_internals(bert, batch_of(bert, "good film"))
    assert answers(bert, result) == pytest.approx(1 / (1 + np.exp(-result.logits.numpy())), abs=1e-5)
    assert answers(bert, result)[0] == pytest.approx(whole(bert, "good film"), abs=1e-5)


@FAMILIES
def test_the_model_is_unchanged_afterwards(bert: FrozenModel, family: Family) -> None:
    model = family(bert)
    batch, before = batch_of(model, *TEXTS), condition(model)
    plain = forward_with_internals(model, batch)
    forward_with_internals(model, batch, scale=torch.zeros(batch.ids.shape), layer_output=(1, plain.hidden[1]))
    assert condition(model) == before
    assert before[1] == []


@pytest.mark.parametrize("number", [0, 1])
def test_no_hook_stays_after_an_exception_in_a_layer(
    bert: FrozenModel, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    batch, before = batch_of(bert, *TEXTS), condition(bert)

    def broken(*_args: object, **_named: object) -> object:
        raise RuntimeError("injected")

    with monkeypatch.context() as patch:
        patch.setattr(transformer_layers(bert)[number], "forward", broken)
        with pytest.raises(RuntimeError, match="injected"):
            forward_with_internals(bert, batch, scale=torch.ones(batch.ids.shape))
    assert condition(bert) == before
    assert torch.is_grad_enabled()
    assert answers(bert, forward_with_internals(bert, batch))[1] == pytest.approx(whole(bert, "good"), abs=1e-5)


def test_rows_are_counted(bert: FrozenModel) -> None:
    meter = Meter()
    model = bert.metered(meter)
    forward_with_internals(model, batch_of(model, *TEXTS))
    forward_with_internals(model, batch_of(model, *TEXTS).doubled())
    assert meter.calls == 3 + 6


def test_a_stopped_meter_lets_no_pass_begin(bert: FrozenModel) -> None:
    meter = Meter()
    meter.cancel.set()
    before = condition(bert)
    with pytest.raises(Cancelled):
        forward_with_internals(bert.metered(meter), batch_of(bert, "good"))
    assert meter.calls == 0
    assert condition(bert) == before


def test_a_twin_shares_every_weight_but_no_module(bert: FrozenModel) -> None:
    copied = shared_copy(bert.base)
    for kind in ("named_parameters", "named_buffers"):
        mine, expected = (dict(getattr(module, kind)()) for module in (bert.base, copied))
        assert list(mine) == list(expected)
        assert all(mine[name] is expected[name] for name in mine)
    assert {id(part) for part in bert.base.modules()}.isdisjoint(id(part) for part in copied.modules())


def test_a_twin_taken_apart_leaves_the_model_whole(bert: FrozenModel) -> None:
    before = fingerprint(bert)
    copied = shared_copy(bert.base)
    copied.encoder.layer = nn.ModuleList()  # type: ignore[union-attr]
    assert len(transformer_layers(bert)) == 2
    assert fingerprint(bert) == before


def test_a_twin_made_during_a_pass_has_none_of_its_hooks(bert: FrozenModel) -> None:
    calls: list[str] = []
    handle = transformer_layers(bert)[0].register_forward_hook(lambda *_args: calls.append("called"))
    try:
        copied = shared_copy(bert.base)
    finally:
        handle.remove()
    copied(input_ids=batch_of(bert, "good").ids)
    assert calls == []


def test_the_table_holds_the_words(bert: FrozenModel) -> None:
    weight = bert.base.embeddings.word_embeddings.weight  # type: ignore[union-attr]
    assert word_embedding_table(bert)(torch.tensor([5])).tolist() == [weight[5].tolist()]  # type: ignore[index]
    batch = batch_of(bert, "good")  # [CLS] good [SEP]
    result, replacement = input_embeddings(bert, batch)
    assert torch.equal(result[0], weight[[2, 5, 3]])  # type: ignore[index]
    assert torch.equal(replacement, weight[4])  # type: ignore[index]
    assert not result.requires_grad


def test_a_model_without_layers_is_a_sentence(bag: Callable[..., FrozenModel]) -> None:
    model = bag({"good": 1.0})
    with pytest.raises(ExplanationError, match="bag has no list of layers"):
        forward_with_internals(model, batch_of(model, "good"))


@pytest.mark.parametrize("kind", ["albert", "electra", "mobilebert", "deberta-v2"])
def test_states_are_those_of_the_library_also_where_layers_are_shared_or_embeddings_are_smaller(kind: str) -> None:
    model = small_family(kind)
    batch = pad_batch([model.encode("the film was long"), model.encode("a plot")], model.pad_token, model.device)
    hidden = forward_with_internals(model, batch).hidden
    with torch.inference_mode():
        theirs = model.base(input_ids=batch.ids, attention_mask=batch.attention.long(), output_hidden_states=True)
    assert len(hidden) == len(transformer_layers(model)) + 1 == 3
    for ours, expected in zip(hidden, theirs.hidden_states, strict=True):
        real = batch.attention.bool()
        assert ours[real] == pytest.approx(expected[real], abs=1e-5)


@pytest.mark.parametrize("kind", ["albert", "electra"])
@pytest.mark.parametrize("layer", [1, 2])
def test_a_replaced_layer_of_several_passes_is_that_one_alone(kind: str, layer: int) -> None:
    model = small_family(kind)
    batch = pad_batch([model.encode("the film was long")], model.pad_token, model.device)
    plain = forward_with_internals(model, batch)
    same = forward_with_internals(model, batch, layer_output=(layer, plain.hidden[layer]))
    other = forward_with_internals(model, batch, layer_output=(layer, torch.zeros_like(plain.hidden[layer])))
    assert same.logits == pytest.approx(plain.logits, abs=1e-5)
    assert other.hidden[layer].abs().max() == 0
    assert torch.equal(other.hidden[layer - 1], plain.hidden[layer - 1])
    assert other.logits != pytest.approx(plain.logits, abs=1e-5)


def small_family(kind: str) -> FrozenModel:
    family = next(family for family in architectures.FAMILIES if family.kind == kind)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        config = CONFIG_MAPPING[kind](**family.settings, vocab_size=VOCABULARY, num_labels=2)
        network = AutoModelForSequenceClassification.from_config(config)
    return wrap(network, architectures.tokenizer_of(family), labels=["no", "yes"])


def test_a_copy_of_a_model_that_was_asked_for_its_attention_returns_its_own(bert: FrozenModel) -> None:
    encoding = bert.encode("a good film")
    own = bert.states(encoding).attentions
    copied = bert.with_module(shared_copy(bert.module))
    assert all(torch.equal(one, other) for one, other in zip(own, copied.states(encoding).attentions, strict=True))
    assert len(own) == 2
