from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from torch import Tensor, nn
from torch.distributions import Normal, kl_divergence

from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.learned.batches import Batch, batch, encode_for_learning
from explainers.learned.ciem import Autoencoder, Ciem, Gaussian, column_sums, min_max
from explainers.learned.fitting_loop import fit
from explainers.models.calls import Meter
from explainers.models.catalog import fingerprint
from explainers.models.frozen_model import FrozenModel
from explainers.models.internals import forward_with_internals, forward_with_soft_mask

TEXTS = ("the film was not unwatchable !", "good", "a very dull plot", "bad bad bad")
TERMS = ["total", "ELBO", "recon", "KL", "Dis", "CE", "sigma"]
SMALL = Ciem(r=4, hidden=16)

RECIPES = {
    "default": SMALL,
    "zero": replace(SMALL, erasure="zero"),
    "middle": replace(SMALL, layer=1),
    "unconditional": replace(SMALL, conditional=False),
    "concat": replace(SMALL, decoder_input="concat"),
    "without CE": replace(SMALL, cross_entropy=False),
}
every_recipe = pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)


def texts(model: FrozenModel, *given: str) -> Batch:
    return batch(model, encode_for_learning(model, [Example(text) for text in given]))


def one(model: FrozenModel, text: str) -> Batch:
    return batch(model, encode_for_learning(model, [Example(text), Example("the")])[:1])


def drawn(model: FrozenModel, recipe: Ciem = SMALL, seed: int = 0) -> Autoencoder:
    """With weights that are not near zero, as after a training."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed)
        module = recipe.module(model)
        for weight in module.parameters():
            weight.normal_(std=0.3)
    return module


def terms(recipe: Ciem, module: nn.Module, model: FrozenModel, items: Batch, seed: int = 0) -> dict[str, Tensor]:
    return recipe.terms(module, model, items, torch.Generator().manual_seed(seed))


@every_recipe
def test_scores_reach_from_0_to_1_in_every_text(bert: FrozenModel, recipe: Ciem) -> None:
    items = texts(bert, *TEXTS)
    scores = recipe.scores(drawn(bert, recipe), bert, items)
    assert scores.shape == items.inputs.units.shape
    for row, present in zip(scores, items.inputs.units, strict=True):
        if present.sum() > 1:
            assert row[present].min() == 0
            assert row[present].max() == 1
        assert not row[~present].any()


def test_a_word_alone_and_words_that_are_all_the_same_get_a_half(bert: FrozenModel) -> None:
    items = texts(bert, "good", "bad film")
    raw = torch.tensor([[7.0, 0.0], [3.0, 3.0]])
    assert min_max(items.inputs, raw).tolist() == [[0.5, 0.0], [0.5, 0.5]]


def test_the_scaling_knows_negative_sums(bert: FrozenModel) -> None:
    items = texts(bert, "the good film", "dull plot")
    raw = torch.tensor([[-4.0, -2.0, -3.0], [-1.0, 3.0, 9.0]])  # 9 is padding
    assert min_max(items.inputs, raw).tolist() == [[0.0, 1.0, 0.5], [0.0, 1.0, 0.0]]


@every_recipe
def test_a_text_has_the_same_scores_in_every_batch(bert: FrozenModel, recipe: Ciem) -> None:
    module = drawn(bert, recipe)
    together = recipe.scores(module, bert, texts(bert, *TEXTS))
    for row, text in zip(together, TEXTS, strict=True):
        (alone,) = recipe.scores(module, bert, one(bert, text))
        assert row[: len(alone)].tolist() == pytest.approx(alone.tolist(), abs=1e-4)


def test_the_column_sums_are_those_of_the_whole_matrix(bert: FrozenModel) -> None:
    items = texts(bert, *TEXTS)
    latents = torch.randn(*items.inputs.ids.shape, 2 * 4 + 16, generator=torch.Generator().manual_seed(0))
    result = column_sums(items.inputs, latents, 4)
    for row, sums, n in zip(latents, result, items.inputs.lengths.tolist(), strict=True):
        z_w = row[:n, 4:8] @ row[:n, :4].T / n  # Z_wb Z_waᵀ, (n, n)
        assert sums[:n].tolist() == pytest.approx(z_w.sum(0).tolist(), abs=1e-5)


def test_the_composite_is_the_matrix_times_the_values(bert: FrozenModel) -> None:
    items = texts(bert, *TEXTS)
    latents = torch.randn(*items.inputs.ids.shape, 2 * 4 + 16, generator=torch.Generator().manual_seed(0))
    result = SMALL._composite(items.inputs, latents)
    for row, z, n in zip(latents, result, items.inputs.lengths.tolist(), strict=True):
        z_w = row[:n, 4:8] @ row[:n, :4].T / n
        assert z[:n].flatten().tolist() == pytest.approx((z_w @ row[:n, 8:]).flatten().tolist(), abs=1e-5)


def test_the_other_sign_gives_the_same_composite_and_the_scores_the_other_way_round(bert: FrozenModel) -> None:
    items = texts(bert, *TEXTS)
    latents = torch.randn(*items.inputs.ids.shape, 2 * 4 + 16, generator=torch.Generator().manual_seed(0))
    signs = torch.tensor([-1.0] * 4 + [1.0] * 4 + [-1.0] * 16)
    assert torch.allclose(SMALL._composite(items.inputs, latents), SMALL._composite(items.inputs, latents * signs))
    units = items.inputs.units & (items.inputs.units.sum(1, keepdim=True) > 1)
    raw, turned = (column_sums(items.inputs, drawn_latents, 4) for drawn_latents in (latents, latents * signs))
    plain = min_max(items.inputs, items.inputs.reduce_to_units(raw, "sum"))
    assert torch.allclose(
        plain[units], 1 - min_max(items.inputs, items.inputs.reduce_to_units(turned, "sum"))[units], atol=1e-5
    )


def test_the_divergence_is_that_of_torch() -> None:
    generator = torch.Generator().manual_seed(0)
    means, logs = torch.randn(2, 3, 5, 7, generator=generator), torch.randn(2, 3, 5, 7, generator=generator)
    ours = Gaussian(means[0], logs[0]).divergence(Gaussian(means[1], logs[1]))
    theirs = kl_divergence(*(Normal(mean, log.exp().sqrt()) for mean, log in zip(means, logs, strict=True)))
    assert torch.allclose(ours, theirs, atol=1e-5)
    # N(1, 1) from N(0, 1): (0 + 1 + 1 - 1) / 2
    apart = Gaussian(torch.ones(1), torch.zeros(1)).divergence(Gaussian(torch.zeros(1), torch.zeros(1)))
    assert apart.item() == 0.5


@every_recipe
def test_the_total_is_eq_12(bert: FrozenModel, recipe: Ciem) -> None:
    recipe = replace(recipe, alpha=0.7, tau=0.4)
    losses = terms(recipe, drawn(bert, recipe), bert, texts(bert, *TEXTS))
    assert list(losses) == TERMS
    named = {name: term.item() for name, term in losses.items()}
    assert named["ELBO"] == pytest.approx(named["recon"] - named["KL"], abs=1e-5)
    assert named["total"] == pytest.approx(named["CE"] - 0.7 * named["ELBO"] - 0.4 * named["Dis"], abs=1e-5)
    assert (named["CE"] > 0) == recipe.cross_entropy
    assert named["KL"] > 0
    assert -1 <= named["Dis"] <= 1


@pytest.mark.parametrize("erasure", ["zero", "mask"])
def test_dis_is_the_mean_cosine_of_the_states_of_the_weighted_text(bert: FrozenModel, erasure: str) -> None:
    recipe = replace(SMALL, layer=1, erasure=erasure)  # type: ignore[arg-type]
    module, items = drawn(bert), one(bert, TEXTS[0])
    losses = terms(recipe, module, bert, items)["Dis"].item()
    (row,) = recipe._importance(items.inputs, recipe._posterior(module, bert, items).sample(generator()))
    scale = items.inputs.spread(row[None])
    assert scale[0, [0, -1]].tolist() == [1, 1]  # [CLS] and [SEP] stay whole
    masked = (
        forward_with_internals(bert, items.inputs, scale=scale)
        if erasure == "zero"
        else forward_with_soft_mask(bert, items.inputs, row[None])
    )
    cosines = torch.cosine_similarity(masked.hidden[1], items.internals_of(bert).hidden[1], dim=-1)
    assert losses == pytest.approx(cosines.mean().item(), abs=1e-5)


def test_dis_of_a_decoder_is_the_cosine_where_the_class_is_read(decoder: FrozenModel) -> None:
    module, items = drawn(decoder), texts(decoder, "the film was bad", "very new but long")
    losses = terms(SMALL, module, decoder, items)["Dis"].item()
    rows = SMALL._importance(items.inputs, SMALL._posterior(module, decoder, items).sample(generator()))
    masked, whole = (
        forward_with_soft_mask(decoder, items.inputs, rows).hidden[-1],
        items.internals_of(decoder).hidden[-1],
    )
    cosines = [
        torch.corrcoef(torch.stack([masked[row, length - 1], whole[row, length - 1]]))[0, 1].item()
        for row, length in enumerate(items.inputs.lengths.tolist())
    ]
    assert losses == pytest.approx(np.mean(cosines), abs=1e-5)


def test_the_networks_read_a_decoders_states_standardised(decoder: FrozenModel) -> None:
    """Nothing before the head normalises them; an entry of a state may be a thousand times as large as others."""
    items = texts(decoder, "the film was bad", "very new but long")
    large = items.internals_of(decoder)
    hidden = tuple(1000 * states + 5 for states in large.hidden)
    x, a, _ = SMALL._observed(decoder, replace(items, internals=replace(large, hidden=hidden)))
    for states in (x, a):
        real = states[items.inputs.attention]
        assert real.mean(-1).abs().max() < 1e-4
        assert real.var(-1, correction=0) == pytest.approx(1, abs=0.01)


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def test_what_a_text_contributes_does_not_depend_on_its_neighbours(bert: FrozenModel) -> None:
    recipe, module = SMALL, drawn(bert)
    with torch.no_grad():  # no variance to speak of, so that the draws of chance play no part
        for network in (module.encoder, module.prior):
            network[-1].bias[24:] = -1e4
            network[-1].weight[24:] = 0
    together = terms(recipe, module, bert, texts(bert, *TEXTS))
    alone = [terms(recipe, module, bert, one(bert, text)) for text in TEXTS]
    for name in ("recon", "KL", "Dis", "CE"):
        expected = float(np.mean([text_terms[name].item() for text_terms in alone]))
        assert together[name].item() == pytest.approx(expected, rel=0.05), name


@every_recipe
def test_the_gradient_of_dis_reaches_the_encoder_and_nothing_of_the_model(bert: FrozenModel, recipe: Ciem) -> None:
    module = drawn(bert, recipe)
    weights = list(module.encoder.parameters())
    losses = torch.autograd.grad(terms(recipe, module, bert, texts(bert, *TEXTS))["Dis"], weights, allow_unused=True)
    assert all(gradient is not None and gradient.abs().sum() > 0 for gradient in losses)
    assert all(weight.grad is None for weight in bert.module.parameters())


def test_without_tau_dis_is_watched_and_not_minimised(bert: FrozenModel) -> None:
    recipe = replace(SMALL, tau=0.0, cross_entropy=False, alpha=0.0)
    module = drawn(bert)
    losses = terms(recipe, module, bert, texts(bert, *TEXTS))
    assert losses["Dis"].item() != 0
    gradients = torch.autograd.grad(losses["total"], list(module.parameters()))
    assert not any(gradient.any() for gradient in gradients)


def test_z_in_place_of_the_states_themselves_gives_the_models_own_answer(bert: FrozenModel) -> None:
    for layer in (1, 2):
        recipe, items = replace(SMALL, layer=layer), texts(bert, *TEXTS)
        states = items.internals_of(bert).hidden[layer]
        share = torch.rand(items.inputs.units.shape, generator=generator())
        _, answer = recipe._passes(bert, items.inputs, share, states)
        own = recipe._error(bert, items, answer).item()
        entropy = -(items.probabilities * items.probabilities.log()).sum(1).mean().item()
        assert own == pytest.approx(entropy, abs=1e-5)


@pytest.mark.parametrize("erasure", ["zero", "mask"])
def test_one_pass_over_both_gives_what_two_passes_give(bert: FrozenModel, erasure: str) -> None:
    recipe, items = replace(SMALL, layer=2, erasure=erasure), texts(bert, *TEXTS)  # type: ignore[arg-type]
    share = torch.rand(items.inputs.units.shape, generator=generator())
    z = items.internals_of(bert).hidden[1]
    meter = Meter()
    masked, answer = recipe._passes(bert.metered(meter), items.inputs, share, z)
    assert meter.calls == len(TEXTS)
    assert torch.equal(masked, recipe._masked(bert, items.inputs, share).hidden[2])
    assert torch.equal(answer, forward_with_internals(bert, items.inputs, layer_output=(2, z)).logits)


def test_the_last_layer_is_layer_0_and_the_one_above_it_is_missing(bert: FrozenModel) -> None:
    module, items = drawn(bert), texts(bert, *TEXTS)
    last, named = (replace(SMALL, layer=layer).scores(module, bert, items) for layer in (0, 2))
    assert torch.equal(last, named)
    assert not torch.equal(last, replace(SMALL, layer=1).scores(module, bert, items))
    with pytest.raises(ExplanationError, match="Choose 1 to 2"):
        replace(SMALL, layer=3).scores(module, bert, items)


def test_the_unconditional_schema_does_not_read_the_answer(bert: FrozenModel) -> None:
    items = texts(bert, *TEXTS)
    other = Batch(items.inputs, items.probabilities.roll(1, 1))
    for conditional in (True, False):
        recipe = replace(SMALL, conditional=conditional)
        module = drawn(bert, recipe)
        same = torch.equal(recipe.scores(module, bert, items), recipe.scores(module, bert, other))
        assert same is not conditional


def test_the_draws_are_twenty_and_the_same_every_time(bert: FrozenModel) -> None:
    module, items = drawn(bert), one(bert, TEXTS[0])
    draws = SMALL.draws(module, bert, items)
    assert draws.shape == (20, 5 + 1)
    assert torch.equal(draws, SMALL.draws(module, bert, items))
    assert not torch.equal(draws[0], draws[1])
    assert not torch.equal(draws, replace(SMALL, seed=1).draws(module, bert, items))
    assert draws.min(1).values.tolist() == [0.0] * 20
    assert draws.max(1).values.tolist() == [1.0] * 20


def test_stability_is_the_mean_rank_correlation_with_the_draws(bert: FrozenModel) -> None:
    module, items = drawn(bert), one(bert, TEXTS[0])
    with torch.no_grad():
        (mean,), draws = SMALL.scores(module, bert, items), SMALL.draws(module, bert, items)
    expected = np.mean([spearmanr(mean, row).statistic for row in draws])
    assert SMALL.stability(module, bert, items) == pytest.approx(float(expected), abs=1e-5)
    with torch.no_grad():
        module.encoder[-1].weight[24:] = 0
        module.encoder[-1].bias[24:] = -1e4  # clamped to σ = e⁻³
    assert SMALL.stability(module, bert, items) > float(expected)
    assert SMALL.stability(module, bert, one(bert, "good")) == 1.0


@every_recipe
def test_a_training_lowers_the_loss_and_leaves_the_model_as_it_was(
    bert: FrozenModel, tmp_path: Path, recipe: Ciem
) -> None:
    recipe, before = replace(recipe, epochs=12, batch=4, learning_rate=1e-2), fingerprint(bert)
    items = encode_for_learning(bert, [Example(text) for text in (*TEXTS, "not good !", "the plot was a dull film")])
    training = fit(recipe, bert, items, items, tmp_path)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.seed)
        start = recipe.module(bert)
    losses = [
        np.mean([terms(recipe, module, bert, batch(bert, items), seed)["total"].item() for seed in range(5)])
        for module in (start, training.module)
    ]
    assert losses[1] < losses[0] - 0.01
    assert fingerprint(bert) == before


def test_the_same_seed_gives_the_same_weights_and_another_seed_others(bert: FrozenModel, tmp_path: Path) -> None:
    items = encode_for_learning(bert, [Example(text) for text in TEXTS])
    first, again, other = (
        fit(replace(SMALL, epochs=2, batch=2, seed=seed), bert, items, items, tmp_path / str(number)).best
        for number, seed in enumerate((0, 0, 1))
    )
    assert all(torch.equal(weight, again[name]) for name, weight in first.items())
    assert not all(torch.equal(weight, other[name]) for name, weight in first.items())
