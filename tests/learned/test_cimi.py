import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from explainers.datasets.example import Example
from explainers.learned.batches import Batch, batch, encode_for_learning
from explainers.learned.cimi import Cimi, Decoder, Discrete
from explainers.models.calls import Meter
from explainers.models.frozen_model import FrozenModel
from explainers.models.internals import forward_with_internals

TEXTS = ("the film was not unwatchable !", "good", "a very dull plot")
TEXT = "the film was not unwatchable , but a very dull plot !"


class Fixed(nn.Module):
    """A decoder whose answers are told, call by call: for each token of each row the logit of being a cause."""

    def __init__(self, *answers: Tensor) -> None:
        super().__init__()
        self.answers = nn.ParameterList(answers)
        self.calls = 0

    def forward(self, _embedded: Tensor, _states: Tensor) -> Tensor:
        self.calls += 1
        logits = self.answers[min(self.calls, len(self.answers)) - 1]  # (B, L)
        return torch.stack([torch.zeros_like(logits), logits], dim=-1)


class Reading(nn.Module):
    """A decoder that keeps what it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[tuple[Tensor, Tensor]] = []

    def forward(self, embedded: Tensor, states: Tensor) -> Tensor:
        self.given.append((embedded, states))
        return torch.stack([torch.zeros_like(embedded[:, :, 0]), embedded.sum(-1) + states.sum(-1)], dim=-1)


def texts(model: FrozenModel, *given: str) -> Batch:
    return batch(model, encode_for_learning(model, [Example(text) for text in given]))


def one(model: FrozenModel, text: str) -> Batch:
    return batch(model, encode_for_learning(model, [Example(text), Example("bad")])[:1])


def logit(mask: float) -> float:
    return math.log(mask / (1 - mask))


def logits_of(items: Batch, masks: list[list[float]]) -> Tensor:
    """The logits with which every word has the mask that is told."""
    units = torch.tensor(masks, dtype=torch.float)
    return items.inputs.spread(units.logit(eps=1e-20) if (units % 1).any() else 200 * units - 100, -100.0)


def drawn(model: FrozenModel, recipe: Cimi = Cimi()) -> Decoder:  # noqa: B008
    """With weights that are not near zero, as after a training."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(0)
        module = recipe.module(model)
        for weight in module.parameters():
            weight.normal_(std=0.4)
    return module


def terms(recipe: Cimi, module: nn.Module, model: FrozenModel, items: Batch, seed: int = 0) -> dict[str, Tensor]:
    return recipe.terms(module, model, items, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("erasure", ["zero", "mask"])
def test_sufficiency_is_the_causes_error_less_that_of_the_rest(bert: FrozenModel, erasure: str) -> None:
    items = texts(bert, "the good film", "a very dull plot")
    keeps: list[list[float]] = [[1, 0, 1, 0], [0, 1, 1, 0]]
    recipe = Cimi(erasure=erasure, intervention_weight=0.0)  # type: ignore[arg-type]
    losses = terms(recipe, Fixed(logits_of(items, keeps)), bert, items)["L_s"].item()
    expected = 0.0
    for given, text in zip(keeps, ("the good film", "a very dull plot"), strict=True):
        encoding = bert.encode(text)
        mask = np.array(given[: len(encoding.units)])
        everything = np.ones_like(mask)
        (whole,) = bert.probabilities(encoding, everything)
        cause, rest = bert.probabilities(encoding, [mask, everything - mask], erasure)  # type: ignore[arg-type]
        expected += (((cause - whole) ** 2).mean() - ((rest - whole) ** 2).mean()) / 2
    assert losses == pytest.approx(expected, abs=1e-5)
    assert abs(losses) > 1e-4


def test_causes_that_are_everything_have_no_error(bert: FrozenModel) -> None:
    items = texts(bert, *TEXTS)
    everything = terms(Cimi(), Fixed(logits_of(items, [[1.0] * 6] * 3)), bert, items)["L_s"].item()
    nothing = terms(Cimi(), Fixed(logits_of(items, [[0.0] * 6] * 3)), bert, items)["L_s"].item()
    assert everything < 0  # only the error of the rest is left, and it counts against
    assert nothing == pytest.approx(-everything, abs=1e-5)


@pytest.mark.parametrize(
    ("mask", "other"), [(0.75, 0.25), (0.5, 0.5), (0.25, 0.75)], ids=["higher", "the same", "lower"]
)
def test_the_weak_supervision_compares_with_another_texts_mask(bert: FrozenModel, mask: float, other: float) -> None:
    items = texts(bert, "good film", "dull plot")
    decoder = Fixed(*(logits_of(items, [[value] * 2] * 2) for value in (mask, other)))
    losses = terms(Cimi(intervention_weight=0), decoder, bert, items)["L_p"].item()
    assert losses == pytest.approx(math.log(1 + math.exp(other - mask)), abs=1e-5)  # -log σ(M - M⁻)


def test_it_is_log_2_for_a_decoder_that_does_not_read_the_words(bert: FrozenModel) -> None:
    items = texts(bert, *TEXTS)
    decoder = Fixed(logits_of(items, [[0.3, 0.6, 0.9, 0.4, 0.2, 0.1]] * 3))
    assert terms(Cimi(), decoder, bert, items)["L_p"].item() == pytest.approx(math.log(2), abs=1e-5)


def test_the_loss_falls_when_the_own_mask_exceeds_the_other_texts(bert: FrozenModel) -> None:
    items = texts(bert, "good film", "dull plot")
    losses = [
        terms(
            Cimi(sufficiency=0, intervention_weight=0),
            Fixed(logits_of(items, [[mask] * 2] * 2), logits_of(items, [[0.5] * 2] * 2)),
            bert,
            items,
        )["total"].item()
        for mask in (0.1, 0.5, 0.9)
    ]
    assert losses == sorted(losses, reverse=True)


def test_the_other_text_is_always_another_one(bert: FrozenModel) -> None:
    items = texts(bert, *TEXTS)
    own = forward_with_internals(bert, items.inputs).hidden[0]
    for seed in range(6):
        decoder = Reading()
        terms(Cimi(), decoder, bert, items, seed)
        (first, states), (other, still), *_ = decoder.given
        assert torch.equal(first, own)
        assert not any(torch.equal(mine, weights) for mine, weights in zip(first, other, strict=True))
        assert sorted(other.sum((1, 2)).tolist()) == pytest.approx(sorted(own.sum((1, 2)).tolist()))
        assert torch.equal(states, still)  # the model's states are those of this text


def test_a_text_alone_has_no_other_one(bert: FrozenModel) -> None:
    items = one(bert, TEXTS[0])
    assert terms(Cimi(), drawn(bert), bert, items)["L_p"].item() == pytest.approx(math.log(2), abs=1e-5)


def test_an_intervention_with_nothing_moves_nothing(bert: FrozenModel) -> None:
    items, decoder = texts(bert, *TEXTS), drawn(bert)
    assert terms(Cimi(epsilon=0.0), decoder, bert, items)["L_i"].item() == pytest.approx(0, abs=1e-9)
    assert terms(Cimi(epsilon=0.5), decoder, bert, items)["L_i"].item() > 1e-6


def test_the_intervention_is_a_squared_difference_of_masks(bert: FrozenModel) -> None:
    items = texts(bert, "good film", "dull")
    before, other = logits_of(items, [[0.75, 0.5], [0.25, 0.5]]), logits_of(items, [[0.5, 0.5], [0.5, 0.5]])
    after = logits_of(items, [[0.25, 0.75], [0.75, 0.9]])
    losses = terms(Cimi(), Fixed(before, other, after), bert, items)["L_i"].item()
    # (0.5² + 0.25²) / 2 in the first text, 0.5² in the second, which has one word
    assert losses == pytest.approx(((0.25 + 0.0625) / 2 + 0.25) / 2, abs=1e-5)


def test_the_intervention_changes_only_what_the_mask_leaves_out(bert: FrozenModel) -> None:
    items = texts(bert, "good film", "dull plot")
    embedded = forward_with_internals(bert, items.inputs).hidden[0]
    given: list[Tensor] = []

    class Half(Fixed):
        """Keeps the first word of each text."""

        def forward(self, embedded: Tensor, states: Tensor) -> Tensor:
            given.append(embedded)
            return super().forward(embedded, states)

    terms(Cimi(epsilon=1.0), Half(logits_of(items, [[1.0, 0.0]] * 2)), bert, items)
    mixed = given[-1]
    kept = [0, 1, 3]  # [CLS], the first word, [SEP]
    assert torch.allclose(mixed[:, kept], embedded[:, kept], atol=1e-5)
    moved, whole = mixed[:, 2] - embedded[:, 2], embedded.roll(1, 0)[:, 2] - embedded[:, 2]
    share = (moved / whole).mean(1)  # λ of each text, the same in every dimension
    assert torch.allclose(moved, share[:, None] * whole, atol=1e-5)
    assert ((share > 0) & (share < 1)).all()
    assert share[0] != share[1]


def test_by_cosine_the_same_masks_are_at_the_lowest(bert: FrozenModel) -> None:
    items, decoder = texts(bert, "good film", "dull plot"), drawn(bert)
    recipe = Cimi(intervention="cosine", epsilon=0.0)
    assert terms(recipe, decoder, bert, items)["L_i"].item() == pytest.approx(-1, abs=1e-5)


def test_the_cosine_runs_over_the_texts_of_the_batch(bert: FrozenModel) -> None:
    items = texts(bert, "good", "dull")
    before, after = logits_of(items, [[0.8], [0.6]]), logits_of(items, [[0.6], [0.8]])
    losses = terms(Cimi(intervention="cosine"), Fixed(before, before, after), bert, items)["L_i"].item()
    assert losses == pytest.approx(-0.96, abs=1e-5)  # (0.8, 0.6) · (0.6, 0.8), both of length 1


def test_the_total_weighs_the_terms(bert: FrozenModel) -> None:
    items = texts(bert, *TEXTS)
    recipe = Cimi(sparsity=0.0, sufficiency=0.5, intervention_weight=10.0, weak_supervision=2.0)
    losses = {name: term.item() for name, term in terms(recipe, drawn(bert), bert, items).items()}
    expected = 0.5 * losses["L_s"] + 10 * losses["L_i"] + 2 * losses["L_p"]
    assert losses["total"] == pytest.approx(expected, abs=1e-5)
    sparse = terms(replace(recipe, sparsity=0.5), drawn(bert), bert, items)["total"].item()
    assert sparse == pytest.approx(expected + 0.5 * losses["mean mask"], abs=1e-5)


@pytest.mark.parametrize(
    ("switched_off", "left"),
    [
        ("sufficiency", ("L_i", "L_p")),
        ("intervention_weight", ("L_s", "L_p")),
        ("weak_supervision", ("L_s", "L_i")),
    ],
    ids=["-s", "-i", "-p"],
)
def test_a_weight_of_zero_switches_a_term_off(bert: FrozenModel, switched_off: str, left: tuple[str, str]) -> None:
    recipe = replace(Cimi(sparsity=0.0), **{switched_off: 0.0})  # type: ignore[arg-type]
    losses = terms(recipe, drawn(bert), bert, texts(bert, *TEXTS))
    assert losses["total"].item() == pytest.approx(sum(losses[name].item() for name in left), abs=1e-5)


def test_without_the_intervention_there_is_one_pass_less(bert: FrozenModel) -> None:
    items, costs = texts(bert, *TEXTS), []
    for weight in (1.0, 0.0):
        meter = Meter()
        terms(Cimi(intervention_weight=weight), drawn(bert), bert.metered(meter), items)
        costs.append(meter.calls)
    assert costs == [3 + 2 * 3 + 3, 3 + 2 * 3]  # the whole texts, causes and rest, and the mixture


def test_without_states_the_decoder_sees_zeros_in_their_place(bert: FrozenModel) -> None:
    items = texts(bert, *TEXTS)
    for states in (True, False):
        decoder = Reading()
        terms(Cimi(states=states), decoder, bert, items)
        Cimi(states=states).scores(decoder, bert, items)
        assert [bool(given.any()) for _, given in decoder.given] == [states] * 4


@pytest.mark.parametrize("discrete", ["gumbel", "hash"])
def test_a_discrete_mask_is_0_or_1_and_has_a_gradient(bert: FrozenModel, discrete: Discrete) -> None:
    items = texts(bert, *TEXTS)
    logits = logits_of(items, [[0.3, 0.6, 0.9, 0.4, 0.2, 0.45]] * 3)
    both = torch.stack([torch.zeros_like(logits), logits], dim=-1).requires_grad_(True)
    recipe = Cimi(discrete=discrete)
    mask = recipe._units(items.inputs, both)
    result = recipe._discretised(items.inputs, both, mask, torch.Generator().manual_seed(0))
    real = result[items.inputs.units]
    assert set(real.tolist()) == {0.0, 1.0}
    (gradient,) = torch.autograd.grad(result.sum(), both)
    assert torch.equal(items.inputs.reduce_to_units(gradient.abs().amax(-1), "sum") > 0, items.inputs.units)


def test_hashing_cuts_at_one_half(bert: FrozenModel) -> None:
    items = texts(bert, "the good film", "bad")
    decoder = Fixed(logits_of(items, [[0.51, 0.49, 0.9], [0.1, 0.5, 0.5]]))
    hard = Fixed(logits_of(items, [[1.0, 0.0, 1.0], [0.0, 0.0, 0.0]]))
    hashed = terms(Cimi(discrete="hash"), decoder, bert, items)["L_s"].item()
    assert hashed == pytest.approx(terms(Cimi(), hard, bert, items)["L_s"].item(), abs=1e-5)


def test_gumbel_keeps_a_word_as_often_as_its_mask_says(bert: FrozenModel) -> None:
    items, generator = texts(bert, "good film", "dull plot"), torch.Generator().manual_seed(0)
    masks = [[0.9, 0.5], [0.2, 0.7]]
    logits = logits_of(items, masks)
    both = torch.stack([torch.zeros_like(logits), logits], dim=-1)
    recipe = Cimi(discrete="gumbel")
    draws = [recipe._discretised(items.inputs, both, recipe._units(items.inputs, both), generator) for _ in range(1500)]
    # the standard deviation of a mean of 1500 is at most 0.013
    assert torch.stack(draws).mean(0).flatten().tolist() == pytest.approx([0.9, 0.5, 0.2, 0.7], abs=0.05)


def test_chance_is_the_given_one(bert: FrozenModel) -> None:
    items, decoder, recipe = texts(bert, *TEXTS), drawn(bert), Cimi(discrete="gumbel")
    first, again, other = (terms(recipe, decoder, bert, items, seed)["total"].item() for seed in (0, 0, 1))
    assert first == again != other


@pytest.mark.parametrize("states", [True, False])
def test_a_text_has_the_same_scores_alone_and_beside_longer_ones(bert: FrozenModel, states: bool) -> None:
    recipe = Cimi(states=states)
    decoder = drawn(bert)
    scores = recipe.scores(decoder, bert, texts(bert, *TEXTS, TEXT))
    for row, text in enumerate((*TEXTS, TEXT)):
        mine = recipe.scores(decoder, bert, one(bert, text))[0].tolist()
        assert scores[row, : len(mine)].tolist() == pytest.approx(mine, abs=1e-5)
        assert np.ptp(mine) > 1e-3 or len(mine) == 1


def test_a_words_mask_is_its_highest_tokens(bert: FrozenModel) -> None:
    items, decoder = texts(bert, "unwatchable film", "good"), drawn(bert)
    internals = forward_with_internals(bert, items.inputs)
    tokens = decoder(internals.hidden[0], internals.hidden[-1]).softmax(-1)[0, :, 1]
    expected = [tokens[1:4].max().item(), tokens[4].item()]
    assert Cimi().scores(decoder, bert, items)[0].tolist() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("discrete", ["no", "gumbel", "hash"])
def test_every_weight_of_the_decoder_learns(bert: FrozenModel, discrete: Discrete) -> None:
    decoder = drawn(bert)
    loss = terms(Cimi(discrete=discrete), decoder, bert, texts(bert, *TEXTS))["total"]
    for gradient in torch.autograd.grad(loss, list(decoder.parameters())):
        assert gradient.abs().sum() > 0
    assert all(weight.grad is None for weight in bert.module.parameters())
