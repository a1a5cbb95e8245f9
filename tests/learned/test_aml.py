import dataclasses
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from explainers.datasets.example import Example
from explainers.errors import Cancelled
from explainers.learned.aml import Aml, AttributionModel, FineTunedAml, Replacement, log_of_others, shares
from explainers.learned.batches import Batch, batch, encode_for_learning
from explainers.learned.fitting_loop import fit
from explainers.learned.recipe import trained_parameters
from explainers.learned.recipes import LearnedAttribution, load_trained
from explainers.metrics.erasure import MaskedPredictor, erasure_curves
from explainers.metrics.faithfulness import aopc_comprehensiveness, aopc_sufficiency
from explainers.models.calls import Meter
from explainers.models.catalog import fingerprint
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.padded_batch import pad_batch
from explainers.models.internals import word_embedding_table
from explainers.results.attribution import Attribution
from explainers.training.artifacts import find_artifact

TEXTS = ("the film was not unwatchable !", "good", "a very dull plot")
REPLACEMENTS: tuple[Replacement, Replacement] = ("mask", "learned")
TEXT = "the film was not unwatchable , but a very dull plot !"


class Fixed(nn.Module):
    """An attribution model that gives every word the logit that it is told, row by row."""

    def __init__(self, logits: list[list[float]], d: int = 16) -> None:
        super().__init__()
        self.logits = nn.Parameter(torch.tensor(logits))
        self.replacement = nn.Parameter(torch.zeros(d))

    def forward(self, _model: FrozenModel, batch: Batch) -> Tensor:
        return batch.inputs.spread(self.logits, -99.0)


def texts(model: FrozenModel, *given: str) -> Batch:
    return batch(model, encode_for_learning(model, [Example(text) for text in given]))


def drawn(model: FrozenModel, seed: int = 0) -> AttributionModel:
    """With a head and adapters that are not near zero, as after a training."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed)
        module = Aml(rank=2).module(model).eval()
        for weight in module.parameters():
            if weight.requires_grad:
                weight.normal_(std=0.3)
    return module


def terms(recipe: Aml, module: nn.Module, model: FrozenModel, items: Batch) -> dict[str, Tensor]:
    return recipe.terms(module, model, items, torch.Generator().manual_seed(0))


@pytest.mark.parametrize(("predicted", "others"), [(0, 0.3), (1, 0.8), (2, 0.9)])
def test_the_logarithm_of_the_other_classes(predicted: int, others: float) -> None:
    logits = torch.tensor([[0.7, 0.2, 0.1]]).log() + 5  # a constant changes no probability
    assert log_of_others(logits, torch.tensor([predicted])).item() == pytest.approx(math.log(others), abs=1e-5)


def test_rows_are_asked_about_their_own_class() -> None:
    logits = torch.tensor([[0.7, 0.3], [0.7, 0.3]]).log()
    result = log_of_others(logits, torch.tensor([0, 1]))
    assert result.tolist() == pytest.approx([math.log(0.3), math.log(0.7)])


def test_it_is_exact_where_the_probability_rounds_to_one() -> None:
    logits = torch.tensor([[200.0, 0.0]], requires_grad=True)
    assert logits.softmax(1)[0, 0] == 1
    result = log_of_others(logits, torch.tensor([0]))
    assert result.item() == -200  # log(e⁰ / (e²⁰⁰ + e⁰))
    (gradient,) = torch.autograd.grad(result.sum(), logits)
    assert gradient.tolist() == [[-1, 1]]


def test_what_was_kept_and_what_was_left_out_are_asked_apart(bert: FrozenModel) -> None:
    items = texts(bert, "the good film", "a very dull plot")
    keeps: list[list[float]] = [[1, 0, 1, 0], [0, 1, 1, 0]]
    logits = [[50.0 if keep else -50.0 for keep in row] for row in keeps]
    losses = terms(Aml(), Fixed(logits), bert, items)
    l_p, l_inv = 0.0, 0.0
    for given, text in zip(keeps, ("the good film", "a very dull plot"), strict=True):
        encoding = bert.encode(text)
        mask = np.array(given[: len(encoding.units)])
        whole, kept, rest = bert.probabilities(encoding, [np.ones_like(mask), mask, 1 - mask])
        l_p -= (whole * np.log(kept)).sum() / 2
        l_inv -= math.log(1 - rest[whole.argmax()]) / 2
    assert losses["L_p"].item() == pytest.approx(l_p, abs=1e-5)
    assert losses["L_inv"].item() == pytest.approx(l_inv, abs=1e-5)


def test_the_sparsity_is_a_mean_over_the_words_of_each_text(bert: FrozenModel) -> None:
    items = texts(bert, "the good film", "dull")
    losses = terms(Aml(), Fixed([[0.0, math.log(3), 0.0], [-math.log(3), 7.0, 7.0]]), bert, items)
    # shares 1/2, 3/4, 1/2 and 1/4; -log(1 - share) is log 2, log 4, log 2 and log 4/3
    first, second = 4 * math.log(2) / 3, math.log(4 / 3)
    assert losses["L_a"].item() == pytest.approx((first + second) / 2, abs=1e-5)
    assert losses["mean mask"].item() == pytest.approx((1.75 / 3 + 0.25) / 2, abs=1e-5)


def test_padding_changes_no_term(bert: FrozenModel) -> None:
    alone = terms(Aml(), Fixed([[0.3, -0.4]]), bert, texts_of_one(bert, "good film"))
    both = texts(bert, "good film", TEXT)
    beside = Batch(both.inputs, both.probabilities)
    wide = terms(Aml(), Fixed([[0.3, -0.4] + [0.0] * 10, [0.0] * 12]), bert, beside)
    other = terms(Aml(), Fixed([[0.0] * 12]), bert, texts_of_one(bert, TEXT))
    for name in ("L_p", "L_inv", "L_a", "total"):
        assert wide[name].item() == pytest.approx((alone[name].item() + other[name].item()) / 2, abs=1e-5), name


def texts_of_one(model: FrozenModel, text: str) -> Batch:
    result = texts(model, text, "bad")
    return Batch(
        batch(model, encode_for_learning(model, [Example(text), Example("bad")])[:1]).inputs, result.probabilities[:1]
    )


def test_keeping_everything_loses_nothing_of_the_answer(bert: FrozenModel) -> None:
    items = texts(bert, *TEXTS)
    everything = terms(Aml(), Fixed([[50.0] * 6] * 3), bert, items)
    entropy = -(items.probabilities * items.probabilities.log()).sum(1).mean()
    assert everything["L_p"].item() == pytest.approx(entropy.item(), abs=1e-5)  # cross entropy at its smallest
    for row in ([0.0] * 6, [-50.0] * 6, [50.0, -50.0] * 3):
        assert terms(Aml(), Fixed([row] * 3), bert, items)["L_p"] > everything["L_p"]


def test_the_total_weighs_the_terms(bert: FrozenModel) -> None:
    items, module = texts(bert, *TEXTS), Fixed([[0.3] * 6] * 3)
    recipe = Aml(lambda_p=0.5, lambda_inv=2.0, lambda_a=10.0)
    losses = {name: term.item() for name, term in terms(recipe, module, bert, items).items()}
    assert losses["total"] == pytest.approx(0.5 * losses["L_p"] + 2 * losses["L_inv"] + 10 * losses["L_a"], abs=1e-5)


@pytest.mark.parametrize(
    ("switched_off", "left"),
    [("lambda_p", ("L_inv", "L_a")), ("lambda_inv", ("L_p", "L_a")), ("lambda_a", ("L_p", "L_inv"))],
)
def test_a_weight_of_zero_switches_a_term_off(bert: FrozenModel, switched_off: str, left: tuple[str, str]) -> None:
    recipe = dataclasses.replace(Aml(lambda_p=1, lambda_inv=1, lambda_a=1), **{switched_off: 0.0})  # type: ignore[arg-type]
    losses = terms(recipe, Fixed([[0.3] * 6] * 3), bert, texts(bert, *TEXTS))
    assert losses["total"].item() == pytest.approx(sum(losses[name].item() for name in left), abs=1e-5)


def test_a_words_share_is_its_highest_tokens(bert: FrozenModel) -> None:
    module, items = drawn(bert), texts(bert, "unwatchable film", "good")
    tokens = module(bert, items)  # [CLS] un ##watch ##able film [SEP]
    result = shares(module, bert, items)
    assert result[0].tolist() == [tokens[0, 1:4].max().item(), tokens[0, 4].item()]
    assert Aml().scores(module, bert, items)[0].tolist() == result[0].sigmoid().tolist()


def test_a_text_has_the_same_shares_alone_and_beside_longer_ones(bert: FrozenModel) -> None:
    module = drawn(bert)
    together = texts(bert, *TEXTS, TEXT)
    scores = Aml().scores(module, bert, together)
    for row, text in enumerate((*TEXTS, TEXT)):
        mine = Aml().scores(module, bert, texts_of_one(bert, text))[0].tolist()
        assert scores[row, : len(mine)].tolist() == pytest.approx(mine, abs=1e-5)
        assert np.ptp(mine) > 1e-3 or len(mine) == 1  # so that a word in another's place would be seen


def test_the_shares_depend_on_what_the_model_said(bert: FrozenModel) -> None:
    module, items = drawn(bert), texts(bert, *TEXTS)
    other = Batch(items.inputs, items.probabilities.roll(1, 1))
    scores, changed = Aml().scores(module, bert, items), Aml().scores(module, bert, other)
    assert ((scores - changed).abs().max(dim=1).values > 1e-4).all()


def test_the_prediction_token_is_a_mixture_by_probability(bert: FrozenModel) -> None:
    module, items = drawn(bert), texts(bert, *TEXTS)
    given: list[dict[str, Tensor]] = []
    encoder = module.encoder
    handle = encoder.register_forward_pre_hook(lambda _module, _args, kwargs: given.append(kwargs), with_kwargs=True)
    module(bert, Batch(items.inputs, torch.tensor([[0.5, 0.25, 0.25], [1.0, 0, 0], [0, 0, 1.0]])))
    handle.remove()
    embeds, attention = given[0]["inputs_embeds"], given[0]["attention_mask"]
    z = module.prediction  # one for each class, and last z_0
    expected = torch.stack([0.5 * z[0] + 0.25 * z[1] + 0.25 * z[2] + z[3], z[0] + z[3], z[2] + z[3]])
    lengths = items.inputs.lengths.tolist()
    for row, length in enumerate(lengths):
        assert embeds[row, length].tolist() == pytest.approx(expected[row].tolist(), abs=1e-5)
        words = word_embedding_table(bert)(items.inputs.ids[row, :length])
        assert torch.equal(embeds[row, :length], words)  # no word of the text is overwritten
        assert attention[row].tolist() == [1] * (length + 1) + [0] * (max(lengths) - length)


def test_every_class_learns_its_embedding(bert: FrozenModel) -> None:
    module = drawn(bert)
    loss = terms(Aml(), module, bert, texts(bert, *TEXTS))["total"]
    (gradient,) = torch.autograd.grad(loss, module.prediction)
    assert gradient.shape == (3 + 1, 16)
    assert (gradient.abs().sum(1) > 0).all()


def test_only_what_learns_is_kept(bert: FrozenModel) -> None:
    names = {name.partition(".")[0] for name in trained_parameters(Aml().module(bert))}
    assert names == {"encoder", "prediction", "hidden", "share", "replacement"}
    kinds = {name.rpartition(".")[2] for name in trained_parameters(Aml().module(bert)) if name.startswith("encoder")}
    assert kinds == {"down", "up"}


def test_a_learned_replacement_begins_at_the_mask_token_and_learns(bert: FrozenModel) -> None:
    items, module = texts(bert, *TEXTS), Fixed([[0.3] * 6] * 3)
    by_mask, by_learned = (terms(Aml(replacement=name), module, bert, items)["total"] for name in REPLACEMENTS)
    assert by_learned.item() == pytest.approx(by_mask.item(), abs=1e-5)
    (gradient,) = torch.autograd.grad(by_learned, module.replacement)
    assert gradient.abs().min() > 0
    with pytest.raises(RuntimeError, match="not have been used"):
        torch.autograd.grad(by_mask, module.replacement)


def test_a_random_replacement_is_drawn_from_the_given_chance(bert: FrozenModel) -> None:
    items, module = texts(bert, *TEXTS), Fixed([[-50.0] * 6] * 3)

    def with_seed(seed: int) -> float:
        losses = Aml(replacement="random").terms(module, bert, items, torch.Generator().manual_seed(seed))
        return losses["L_p"].item()

    assert with_seed(0) == with_seed(0)
    assert len({with_seed(seed) for seed in range(4)}) == 4
    assert with_seed(0) != pytest.approx(terms(Aml(), module, bert, items)["L_p"].item(), abs=1e-4)


def test_the_learning_rate_falls_to_nothing() -> None:
    assert [Aml().rate(done) for done in (0, 0.25, 1)] == [1, 0.75, 0]


def refined(model: FrozenModel, steps: int = 6, text: str = TEXT, **fields: object) -> list[Attribution]:
    method = dataclasses.replace(FineTunedAml(steps=steps), **fields)  # type: ignore[arg-type]
    encoding = model.encode(text)
    label = int(model.probabilities(encoding, [[1] * len(encoding.units)])[0].argmax())
    return list(method.refine(model, encoding, label))


def figure(model: FrozenModel, result: Attribution) -> float:
    """AOPC-C - AOPC-S, by which the default variant was selected."""
    path = erasure_curves(MaskedPredictor(model, result.encoding, "mask"), result.scores, result.label)
    return aopc_comprehensiveness(path) - aopc_sufficiency(path)


def test_fine_tuning_begins_with_the_map_of_one_pass(bert: FrozenModel) -> None:
    first, *_ = refined(bert)
    one_pass = LearnedAttribution("aml").attribute(bert, first.encoding, first.label)
    assert first.scores == pytest.approx(one_pass.scores, abs=1e-5)


def test_it_is_never_worse_than_one_pass_on_the_figure_it_keeps_by(bert: FrozenModel) -> None:
    better = 0
    for text in (TEXT, *TEXTS, "very good film , not a dull plot"):
        gains = [figure(bert, result) for result in refined(bert, 8, text)]
        assert gains == sorted(gains)
        better += gains[-1] > gains[0]
    assert better  # it is not the first map that is always kept


@pytest.mark.parametrize(
    ("select", "sign"), [("comp", (1, 0)), ("suff", (0, -1)), ("last", (1, -1)), ("cons", (1, -1))]
)
def test_it_keeps_by_the_figure_that_selected_the_weights(
    bert: FrozenModel, monkeypatch: pytest.MonkeyPatch, select: str, sign: tuple[int, int]
) -> None:
    recipe, module = load_trained(bert, "aml", "")
    changed = dataclasses.replace(recipe, select=select)  # type: ignore[type-var]
    monkeypatch.setattr("explainers.learned.recipe.load_learned", lambda *_args: (changed, module))
    gains = []
    for result in refined(bert, 8):
        path = erasure_curves(MaskedPredictor(bert, result.encoding, "mask"), result.scores, result.label)
        gains.append(sign[0] * aopc_comprehensiveness(path) + sign[1] * aopc_sufficiency(path))
    assert gains == sorted(gains)


def test_the_weights_that_it_starts_from_stay(bert: FrozenModel) -> None:
    _, module = load_trained(bert, "aml", "")
    before = {name: weight.clone() for name, weight in module.named_parameters()}
    frozen = fingerprint(bert)
    first, *_ = refined(bert)
    assert all(torch.equal(weight, before[name]) for name, weight in module.named_parameters())
    assert not any(weight.requires_grad or weight.grad is not None for weight in module.parameters())
    assert fingerprint(bert) == frozen
    again, *_ = refined(bert)
    assert again.scores == first.scores


def test_there_is_an_estimate_before_every_step_and_one_after_the_last(bert: FrozenModel) -> None:
    result = refined(bert, 4)
    assert [estimate.samples for estimate in result] == [0, 1, 2, 3, 4]
    assert [estimate.stage for estimate in result] == ["estimate"] * 4 + ["final"]
    assert {estimate.method for estimate in result} == {"faml"}


def test_the_last_estimate_is_the_answer(bert: FrozenModel) -> None:
    last = refined(bert, 4)[-1]
    assert FineTunedAml(steps=4).attribute(bert, last.encoding, last.label) == last


def test_scores_are_shares_of_words(bert: FrozenModel) -> None:
    for result in refined(bert, 2, "unwatchable film"):
        assert len(result.scores) == 2
        assert all(0 <= score <= 1 for score in result.scores)
        assert not result.signed


def test_a_variant_is_named(bert: FrozenModel) -> None:
    assert refined(bert, 1, variant="difference")[-1].method == "faml:difference"
    assert find_artifact("small", "1", "aml", "difference").variant == "difference"


def test_a_stop_ends_it_between_two_steps(bert: FrozenModel) -> None:
    meter = Meter()
    model = bert.metered(meter)
    steps = FineTunedAml(steps=50).refine(model, model.encode(TEXT), 0)
    next(steps)
    next(steps)
    so_far = meter.calls
    meter.cancel.set()
    with pytest.raises(Cancelled):
        next(steps)
    assert meter.calls == so_far


def test_the_time_can_be_looked_at_after_every_step(bert: FrozenModel) -> None:
    model = bert.metered(Meter())
    steps = FineTunedAml(steps=50).refine(model, model.encode(TEXT), 0)
    next(steps)
    for _ in range(6):
        before = model.meter.calls
        next(steps)
        assert model.meter.calls - before == 3  # the kept words, the rest, and G for the next map


def test_without_any_step_it_is_the_map_of_one_pass(bert: FrozenModel) -> None:
    (only,) = refined(bert, 0)
    assert only.stage == "final"
    assert only.scores == pytest.approx(
        LearnedAttribution("aml").attribute(bert, only.encoding, only.label).scores, abs=1e-5
    )


def test_what_one_text_trains_are_the_adapters_and_the_head(bert: FrozenModel) -> None:
    module = Aml().module(bert)
    assert {name for name in trained_parameters(module) if not module.is_fine_tuned(name)} == {
        "prediction",
        "replacement",
    }


def test_rank_0_trains_the_layers_themselves(bert: FrozenModel, tmp_path: Path) -> None:
    module = Aml(rank=0).module(bert)
    layers = {f"encoder.{name}" for name, _ in bert.base.named_parameters() if not name.startswith("embeddings.")}
    assert {name for name in trained_parameters(module) if name.startswith("encoder.")} == layers
    assert all(module.is_fine_tuned(name) for name in layers)
    items = encode_for_learning(bert, [Example(text) for text in ("good film", "a bad film", "a dull plot")])
    before = fingerprint(bert)
    training = fit(Aml(rank=0, epochs=1, batch=2, learning_rate=1e-2, select="last"), bert, items, (), tmp_path)
    frozen, after = dict(bert.base.named_parameters()), dict(training.module.named_parameters())
    read = [name for name in layers if ".layer." in name and "key.bias" not in name]  # the pooler is not read
    assert all(not torch.equal(after[name], frozen[name.removeprefix("encoder.")]) for name in read)
    assert fingerprint(bert) == before


def test_the_trained_copy_is_another_one_for_every_text(bert: FrozenModel) -> None:
    alone = refined(bert, 4, "good film")
    refined(bert, 4, TEXT)
    assert [estimate.scores for estimate in refined(bert, 4, "good film")] == [estimate.scores for estimate in alone]


def test_the_longest_text_that_the_model_reads_is_explained(
    bert: FrozenModel, roberta: Callable[[int], FrozenModel]
) -> None:
    for model, longest in ((bert, 61), (roberta(32), 29)):  # as hub models are cut: three places are left
        module = drawn(model)
        items = texts(model, " ".join(["good"] * (longest - 2)), "bad")
        assert items.inputs.ids.shape == (2, longest)
        assert Aml().scores(module, model, items).shape == (2, longest - 2)


@pytest.fixture
def roberta(bert: FrozenModel) -> Callable[[int], FrozenModel]:
    """Small, with so many positions, of which two are never used."""
    from transformers import RobertaConfig, RobertaForSequenceClassification

    def made(positions: int) -> FrozenModel:
        config = RobertaConfig(
            vocab_size=20,
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=16,
            max_position_embeddings=positions,
            type_vocab_size=1,
            pad_token_id=1,
            num_labels=3,
            attn_implementation="eager",
        )
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            module = RobertaForSequenceClassification(config)
        return FrozenModel("other", bert.labels, module, bert.tokenizer, bert.mask_token, 1, "1", segmented=False)

    return made


def test_a_class_that_is_not_predicted_is_given_to_the_network_as_certain(bert: FrozenModel) -> None:
    encoding = bert.encode(TEXT)
    (probabilities,) = bert.probabilities(encoding, [[1] * len(encoding.units)])
    predicted = int(probabilities.argmax())
    recipe, module = load_trained(bert, "aml", "")
    inputs = pad_batch([encoding], bert.pad_token, bert.device)
    method = LearnedAttribution("aml", reads_class=True)
    for label in range(len(bert.labels)):
        told = torch.eye(len(bert.labels))[[label]] if label != predicted else torch.tensor(probabilities)[None].float()
        with torch.no_grad():
            (expected,) = recipe.scores(module, bert, Batch(inputs, told))
        assert method.attribute(bert, encoding, label).scores == pytest.approx(expected.tolist(), abs=1e-5)
    other = method.attribute(bert, encoding, (predicted + 1) % len(bert.labels)).scores
    assert other != pytest.approx(method.attribute(bert, encoding, predicted).scores, abs=1e-6)


def test_fine_tuning_keeps_the_best_map_for_the_class_that_is_asked_for(bert: FrozenModel) -> None:
    encoding = bert.encode(TEXT)
    predicted = int(bert.probabilities(encoding, [[1] * len(encoding.units)])[0].argmax())
    asked = (predicted + 1) % len(bert.labels)
    results = list(FineTunedAml(steps=8).refine(bert, encoding, asked))
    gains = [figure(bert, result) for result in results]
    assert {result.label for result in results} == {asked}
    assert gains == sorted(gains)
    assert gains[-1] > gains[0]


@pytest.mark.parametrize("words", [61, 62])
def test_a_text_that_takes_all_positions_is_explained(bert: FrozenModel, words: int) -> None:
    """The small model has 64; of a text with as many tokens the prediction takes the last one's place."""
    inputs = pad_batch([bert.encode(" ".join(["good"] * words))], bert.pad_token, bert.device)
    tokens = int(inputs.lengths.max())
    assert tokens == words + 2
    torch.manual_seed(0)
    module = AttributionModel(bert, rank=2).eval()
    logits = module(bert, Batch(inputs, torch.tensor([[0.1, 0.2, 0.7]])))
    other = module(bert, Batch(inputs, torch.tensor([[0.7, 0.2, 0.1]])))
    assert logits.shape == (1, tokens)
    assert torch.isfinite(logits).all()
    assert not torch.equal(logits, other)  # it reads the prediction
