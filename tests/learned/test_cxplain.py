import math

import numpy as np
import pytest
import torch
from torch import Tensor

from explainers.datasets.example import Example
from explainers.learned.batches import Batch, batch, encode_for_learning
from explainers.learned.cxplain import CxPlain, EffectReader, Erased
from explainers.learned.recipe import Memory
from explainers.models.calls import Meter
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Erasure

TEXTS = ("the film was not unwatchable !", "good", "a very dull plot")


class FixedReader(EffectReader):
    """G with the logits (B, L) that it is given."""

    def __init__(self, model: FrozenModel, logits: Tensor | None = None) -> None:
        super().__init__(model)
        self.logits = logits

    def forward(self, _model: FrozenModel, batch: Batch) -> Tensor:
        return torch.zeros(batch.inputs.ids.shape) if self.logits is None else self.logits


def texts(model: FrozenModel, *given: str) -> Batch:
    return batch(model, encode_for_learning(model, [Example(text) for text in given]))


def loss(recipe: CxPlain, module: EffectReader, model: FrozenModel, items: Batch) -> dict[str, float]:
    terms = recipe.terms(module, model, items, torch.Generator())
    return {name: term.item() for name, term in terms.items()}


def shares_by_hand(model: FrozenModel, text: str, erasure: Erasure) -> list[float]:
    encoding = model.encode(text)
    whole = model.probabilities(encoding, [[True] * len(encoding.units)])[0]
    errors = []
    for unit in range(len(encoding.units)):
        kept = [[number != unit for number in range(len(encoding.units))]]
        errors.append(
            max(0.0, -math.log(model.probabilities(encoding, kept, erasure)[0][whole.argmax()] / whole.max()))
        )
    return [error / sum(errors) for error in errors]


@pytest.mark.parametrize(
    ("erasure", "operator"), [("default", "mask"), ("mask", "mask"), ("delete", "delete"), ("zero", "zero")]
)
def test_the_loss_is_the_divergence_from_the_shares_of_what_each_word_does(
    bert: FrozenModel, erasure: Erased, operator: Erasure
) -> None:
    items = texts(bert, TEXTS[0], TEXTS[2])
    shares = [shares_by_hand(bert, text, operator) for text in (TEXTS[0], TEXTS[2])]
    expected = [sum(share * math.log(share * len(row)) for share in row if share) for row in shares]
    terms = loss(CxPlain(erasure=erasure), FixedReader(bert), bert, items)  # G says that all words do the same
    assert terms["total"] == pytest.approx(np.mean(expected), abs=1e-4)
    assert terms["total"] == pytest.approx(terms["cross-entropy"] - terms["entropy"], abs=1e-6)
    right = items.inputs.spread(
        torch.nn.utils.rnn.pad_sequence(
            [torch.tensor(row).clamp(min=1e-30).log() for row in shares], batch_first=True, padding_value=-100.0
        ),
        -100.0,
    )
    assert loss(CxPlain(erasure=erasure), FixedReader(bert, right), bert, items)["total"] == pytest.approx(0, abs=1e-5)


def test_a_text_of_which_no_word_matters_teaches_nothing(bert: FrozenModel) -> None:
    items, module = texts(bert, TEXTS[0], TEXTS[2]), FixedReader(bert)
    first, second = items.encodings
    module.effects |= {first.content_key: torch.zeros(len(first.units)), second.content_key: torch.ones(4)}
    assert loss(CxPlain(), module, bert, items)["total"] == pytest.approx(0, abs=1e-6)  # as G says
    module.effects[second.content_key] = torch.tensor([1.0, 0, 0, 0])
    assert loss(CxPlain(), module, bert, items)["total"] == pytest.approx(math.log(4), abs=1e-6)
    module.effects[second.content_key] = torch.zeros(4)
    assert loss(CxPlain(), module, bert, items)["total"] == 0


def test_every_word_is_erased_once_however_long_it_learns(bert: FrozenModel) -> None:
    meter, module = Meter(), EffectReader(bert)
    model, passes = bert.metered(meter), []
    for _ in range(3):
        items = texts(bert, *TEXTS)
        meter.calls = 0
        loss(CxPlain(), module, model, items)
        passes.append(meter.calls)
    words = 6 + 1 + 4
    assert passes == [words + 2 * len(TEXTS), len(TEXTS), len(TEXTS)]  # the words, the whole texts, and their states


def test_scores_are_shares_of_the_words_alone(bert: FrozenModel) -> None:
    items = texts(bert, *TEXTS)
    with torch.no_grad():
        scores = CxPlain().scores(CxPlain().module(bert).eval(), bert, items)
    units = items.inputs.units
    assert scores.sum(1).tolist() == pytest.approx([1, 1, 1])
    assert (scores[units] > 0).all()
    assert (scores[~units] == 0).all()


def test_gradients_reach_every_weight(bert: FrozenModel) -> None:
    module = CxPlain().module(bert)
    CxPlain().terms(module, bert, texts(bert, *TEXTS), torch.Generator())["total"].backward()
    assert all(weight.grad is not None and weight.grad.isfinite().all() for weight in module.parameters())
    assert not any(weight.grad is not None for weight in bert.module.parameters())


def test_words_of_a_decoder_are_deleted(decoder: FrozenModel) -> None:
    text = "the film was good"
    module = FixedReader(decoder)
    loss(CxPlain(), module, decoder, texts(decoder, text, "a dull plot"))
    effects = module.effects[decoder.encode(text).content_key]
    assert (effects / effects.sum()).tolist() == pytest.approx(shares_by_hand(decoder, text, "delete"), abs=1e-5)


def test_a_checkpoint_keeps_what_was_asked(bert: FrozenModel) -> None:
    module, again, items = EffectReader(bert), EffectReader(bert), texts(bert, *TEXTS)
    loss(CxPlain(), module, bert, items)
    assert isinstance(module, Memory)
    again.restore(module.kept())
    meter = Meter()
    loss(CxPlain(), again, bert.metered(meter), items)
    assert meter.calls == len(TEXTS)  # of the states alone
