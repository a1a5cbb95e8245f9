from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from transformers import (
    DistilBertConfig,
    DistilBertForSequenceClassification,
    RobertaConfig,
    RobertaForSequenceClassification,
)

from explainers.errors import Cancelled, ExplanationError
from explainers.models.catalog import fingerprint
from explainers.models.classifier import FrozenModel
from explainers.models.inside import Inside, blended, heads, layers, run, table, twin, width, words
from explainers.models.meter import Meter
from explainers.models.padded import Padded, padded

TEXTS = ("the film was not unwatchable !", "good", "a very dull plot")


def batch_of(model: FrozenModel, *texts: str) -> Padded:
    return padded([model.encode(text) for text in texts], model.padding, model.device)


def whole(model: FrozenModel, text: str) -> np.ndarray:
    encoding = model.encode(text)
    found: np.ndarray = model.probabilities(encoding, [[1] * len(encoding.units)])[0]
    return found


def answers(model: FrozenModel, inside: Inside) -> np.ndarray:
    return inside.probabilities(model).detach().numpy()


def condition(model: FrozenModel) -> tuple[object, ...]:
    """Everything about a model that a pass could leave changed; transformers' own sleeping hooks do not count."""
    hooks = [
        hook
        for part in model.module.modules()
        for name, found in vars(part).items()
        if name.endswith("_hooks")
        for hook in found.values()
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
    return FrozenModel("other", bert.labels, module, bert.tokenizer, bert.filler, bert.padding, "1", segmented=False)


FAMILIES = pytest.mark.parametrize(
    "family", [lambda bert: bert, roberta, distilbert], ids=["bert", "roberta", "distilbert"]
)
Family = Callable[[FrozenModel], FrozenModel]


@FAMILIES
def test_every_row_has_the_answer_that_its_text_has_alone(bert: FrozenModel, family: Family) -> None:
    model = family(bert)
    found = answers(model, run(model, batch_of(model, *TEXTS)))
    assert found == pytest.approx(np.stack([whole(model, text) for text in TEXTS]), abs=1e-5)


@FAMILIES
def test_the_hidden_states_are_transformers_own(bert: FrozenModel, family: Family) -> None:
    model = family(bert)
    found = run(model, batch_of(model, *TEXTS))
    assert len(found.hidden) == len(layers(model)) + 1
    for row, text in enumerate(TEXTS):
        expected = model.states(model.encode(text)).hidden
        for mine, its in zip(found.hidden, expected, strict=True):
            assert mine[row, : len(its)].numpy() == pytest.approx(its.numpy(), abs=1e-5)


@FAMILIES
def test_queries_and_keys_are_the_projections_of_the_states_below(bert: FrozenModel, family: Family) -> None:
    model = family(bert)
    found = run(model, batch_of(model, "good film"))
    expected = {"bert": (2, 2, 16), "roberta": (3, 3, 12), "distilbert": (3, 3, 12)}
    kind = model.base.config.model_type  # type: ignore[union-attr]
    assert (len(layers(model)), heads(model), width(model)) == expected[str(kind)]
    for number, layer in enumerate(layers(model)):
        projections: Any = getattr(layer.attention, "self", layer.attention)
        query = projections.q_lin if hasattr(projections, "q_lin") else projections.query
        key = projections.k_lin if hasattr(projections, "k_lin") else projections.key
        below = found.hidden[number]
        assert found.queries[number].numpy() == pytest.approx(query(below).numpy(), abs=1e-5)
        assert found.keys[number].numpy() == pytest.approx(key(below).numpy(), abs=1e-5)
    assert len(found.queries) == len(found.keys) == len(layers(model))


def test_without_anything_replaced_there_is_no_gradient(bert: FrozenModel) -> None:
    found = run(bert, batch_of(bert, *TEXTS))
    assert not any(part.requires_grad for part in (found.logits, *found.hidden, *found.queries, *found.keys))


@FAMILIES
def test_the_models_own_word_embeddings_change_nothing(bert: FrozenModel, family: Family) -> None:
    model = family(bert)
    batch = batch_of(model, *TEXTS)
    found = run(model, batch, embeds=words(model, batch)[0])
    assert answers(model, found) == pytest.approx(answers(model, run(model, batch)), abs=1e-5)


def test_embeds_take_the_place_of_the_words(bert: FrozenModel) -> None:
    batch, other = batch_of(bert, "good film"), batch_of(bert, "dull plot")
    found = run(bert, batch, embeds=words(bert, other)[0])
    assert answers(bert, found)[0] == pytest.approx(whole(bert, "dull plot"), abs=1e-5)


@FAMILIES
def test_states_put_back_where_they_came_from_change_nothing(bert: FrozenModel, family: Family) -> None:
    model = family(bert)
    batch = batch_of(model, *TEXTS)
    plain = run(model, batch)
    expected = pytest.approx(plain.logits.numpy(), abs=1e-5)
    assert run(model, batch, embedded=plain.hidden[0]).logits.numpy() == expected
    for number in range(1, len(layers(model)) + 1):
        assert run(model, batch, instead=(number, plain.hidden[number])).logits.numpy() == expected


@FAMILIES
def test_states_of_another_text_bring_its_answer(bert: FrozenModel, family: Family) -> None:
    model = family(bert)
    batch, other = batch_of(model, "good film"), run(model, batch_of(model, "dull plot"))
    expected = pytest.approx(whole(model, "dull plot"), abs=1e-5)
    assert answers(model, run(model, batch, embedded=other.hidden[0]))[0] == expected
    for number in range(1, len(layers(model)) + 1):
        found = run(model, batch, instead=(number, other.hidden[number]))
        assert answers(model, found)[0] == expected
        assert found.hidden[number] is other.hidden[number]


def test_states_below_the_replaced_layer_stay(bert: FrozenModel) -> None:
    batch = batch_of(bert, "good film")
    plain = run(bert, batch)
    found = run(bert, batch, instead=(2, torch.zeros_like(plain.hidden[2])))
    assert torch.equal(found.hidden[1], plain.hidden[1])
    assert not found.hidden[2].any()


@FAMILIES
def test_a_scale_of_one_changes_nothing_and_of_zero_erases_by_zero(bert: FrozenModel, family: Family) -> None:
    model = family(bert)
    batch = batch_of(model, *TEXTS)
    ones = run(model, batch, scale=torch.ones(batch.ids.shape))
    assert answers(model, ones) == pytest.approx(answers(model, run(model, batch)), abs=1e-6)
    keeps = torch.tensor([[1.0, 0, 1, 0, 0, 1], [0, 0, 0, 0, 0, 0], [0, 1, 1, 0, 0, 0]])
    found = answers(model, run(model, batch, scale=batch.spread(keeps)))
    for row, text in enumerate(TEXTS):
        encoding = model.encode(text)
        mask = keeps[row, : len(encoding.units)].bool().numpy()
        assert found[row] == pytest.approx(model.probabilities(encoding, mask, "zero")[0], abs=1e-5)


def test_scale_multiplies_what_was_embedded(bert: FrozenModel) -> None:
    batch = batch_of(bert, "good film")
    given = run(bert, batch).hidden[0]
    found = run(bert, batch, embedded=2 * given, scale=torch.full(batch.ids.shape, 0.25))
    assert found.hidden[0].numpy() == pytest.approx(0.5 * given.numpy())


@FAMILIES
def test_a_blend_with_hard_masks_is_erasure_by_the_mask_token(bert: FrozenModel, family: Family) -> None:
    model = family(bert)
    batch = batch_of(model, *TEXTS)
    keeps = torch.tensor([[1.0, 0, 1, 0, 0, 1], [0, 0, 0, 0, 0, 0], [0, 1, 1, 0, 0, 0]])
    found = answers(model, blended(model, batch, keeps))
    for row, text in enumerate(TEXTS):
        encoding = model.encode(text)
        mask = keeps[row, : len(encoding.units)].bool().numpy()
        assert found[row] == pytest.approx(model.probabilities(encoding, mask, "mask")[0], abs=1e-5)


def test_a_soft_blend_is_the_classifiers_own(bert: FrozenModel) -> None:
    mask = torch.tensor([[0.3, 0.9]])
    found = blended(bert, batch_of(bert, "unwatchable film"), mask)
    expected = bert.soft(bert.encode("unwatchable film"), mask)
    assert found.logits.numpy() == pytest.approx(expected.numpy(), abs=1e-5)


def test_a_blend_can_be_filled_with_something_else(bert: FrozenModel) -> None:
    batch, other = batch_of(bert, "good film"), batch_of(bert, "dull plot")
    nothing = torch.zeros(1, 2)
    by_place = blended(bert, batch, nothing, words(bert, other)[0])  # (B, L, d)
    assert answers(bert, by_place)[0] == pytest.approx(whole(bert, "dull plot"), abs=1e-5)
    dull = words(bert, batch_of(bert, "dull"))[0][0, 1]  # (d,)
    assert answers(bert, blended(bert, batch, nothing, dull))[0] == pytest.approx(whole(bert, "dull dull"), abs=1e-5)


def test_words_that_a_person_zeroed_stay_zero_in_every_pass(bert: FrozenModel) -> None:
    encoding = bert.encode("the good film").without([1], "zero", bert.filler)
    batch = padded([encoding, bert.encode("a very dull plot")], bert.padding, bert.device)
    expected = pytest.approx(bert.probabilities(encoding, [[1, 1]])[0], abs=1e-5)
    states = run(bert, batch)
    for found in (
        states,
        run(bert, batch, embeds=words(bert, batch)[0]),
        run(bert, batch, scale=torch.ones(batch.ids.shape)),
        run(bert, batch, embedded=states.hidden[0]),
        blended(bert, batch, torch.ones(2, 4)),
    ):
        assert not found.hidden[0][0, 2].any()
        assert answers(bert, found)[0] == expected


@pytest.mark.parametrize("place", ["embeds", "embedded", "scale", "instead"])
def test_the_gradient_reaches_what_is_given_and_nothing_of_the_model(bert: FrozenModel, place: str) -> None:
    batch = batch_of(bert, *TEXTS)
    given: Tensor = torch.ones(batch.ids.shape) if place == "scale" else words(bert, batch)[0].clone()
    given.requires_grad_(True)
    replaced = {place: (1, given) if place == "instead" else given}
    found = run(bert, batch, **replaced)  # type: ignore[arg-type]
    (gradient,) = torch.autograd.grad(found.logits[:, 0].sum(), given)
    real = gradient[batch.attention]
    assert real.reshape(len(real), -1).abs().sum(1).min() > 0  # of every token
    assert not gradient[~batch.attention].any()  # padding says nothing
    assert all(weight.grad is None for weight in bert.module.parameters())


def test_multi_label_probabilities_do_not_sum_to_one(bert: FrozenModel) -> None:
    bert.multi_label = True
    found = run(bert, batch_of(bert, "good film"))
    assert answers(bert, found) == pytest.approx(1 / (1 + np.exp(-found.logits.numpy())), abs=1e-6)
    assert answers(bert, found)[0] == pytest.approx(whole(bert, "good film"), abs=1e-5)


@FAMILIES
def test_the_model_is_unchanged_afterwards(bert: FrozenModel, family: Family) -> None:
    model = family(bert)
    batch, before = batch_of(model, *TEXTS), condition(model)
    plain = run(model, batch)
    run(model, batch, scale=torch.zeros(batch.ids.shape), instead=(1, plain.hidden[1]))
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
        patch.setattr(layers(bert)[number], "forward", broken)
        with pytest.raises(RuntimeError, match="injected"):
            run(bert, batch, scale=torch.ones(batch.ids.shape))
    assert condition(bert) == before
    assert torch.is_grad_enabled()
    assert answers(bert, run(bert, batch))[1] == pytest.approx(whole(bert, "good"), abs=1e-5)


def test_rows_are_counted(bert: FrozenModel) -> None:
    meter = Meter()
    model = bert.metered(meter)
    run(model, batch_of(model, *TEXTS))
    run(model, batch_of(model, *TEXTS).twice())
    assert meter.calls == 3 + 6


def test_a_stopped_meter_lets_no_pass_begin(bert: FrozenModel) -> None:
    meter = Meter()
    meter.cancel.set()
    before = condition(bert)
    with pytest.raises(Cancelled):
        run(bert.metered(meter), batch_of(bert, "good"))
    assert meter.calls == 0
    assert condition(bert) == before


def test_a_twin_shares_every_weight_but_no_module(bert: FrozenModel) -> None:
    copied = twin(bert.base)
    for kind in ("named_parameters", "named_buffers"):
        mine, its = (dict(getattr(module, kind)()) for module in (bert.base, copied))
        assert list(mine) == list(its)
        assert all(mine[name] is its[name] for name in mine)
    assert {id(part) for part in bert.base.modules()}.isdisjoint(id(part) for part in copied.modules())


def test_a_twin_taken_apart_leaves_the_model_whole(bert: FrozenModel) -> None:
    before = fingerprint(bert)
    copied = twin(bert.base)
    copied.encoder.layer = nn.ModuleList()  # type: ignore[union-attr]
    assert len(layers(bert)) == 2
    assert fingerprint(bert) == before


def test_a_twin_made_during_a_pass_has_none_of_its_hooks(bert: FrozenModel) -> None:
    calls: list[str] = []
    handle = layers(bert)[0].register_forward_hook(lambda *_args: calls.append("seen"))
    try:
        copied = twin(bert.base)
    finally:
        handle.remove()
    copied(input_ids=batch_of(bert, "good").ids)
    assert calls == []


def test_the_table_holds_the_words(bert: FrozenModel) -> None:
    weight = bert.base.embeddings.word_embeddings.weight  # type: ignore[union-attr]
    assert table(bert)(torch.tensor([5])).tolist() == [weight[5].tolist()]  # type: ignore[index]
    batch = batch_of(bert, "good")  # [CLS] good [SEP]
    found, filler = words(bert, batch)
    assert torch.equal(found[0], weight[[2, 5, 3]])  # type: ignore[index]
    assert torch.equal(filler, weight[4])  # type: ignore[index]
    assert not found.requires_grad


def test_a_model_without_layers_is_a_sentence(bag: Callable[..., FrozenModel]) -> None:
    model = bag({"good": 1.0})
    with pytest.raises(ExplanationError, match="bag has no list of layers"):
        run(model, batch_of(model, "good"))
