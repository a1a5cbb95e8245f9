"""A text that is longer than the model reads at once: several windows, whose answers are averaged."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from explainers.api import explain
from explainers.attribution.gradient import IntegratedGradients
from explainers.comparison.decision import decide
from explainers.comparison.measuring import attributions
from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.methods.registry import METHODS
from explainers.metrics.sensitivity import replace_units
from explainers.models.calls import Meter, PredictionCache
from explainers.models.frozen_model import FrozenModel
from explainers.models.in_memory import wrap
from explainers.models.inputs.encoding import ERASURES, MOST_WINDOWS, Encoding, Erasure, UnitKind
from explainers.models.inputs.padded_batch import pad_batch
from explainers.results.attribution import Attribution
from explainers.results.decision import Settings
from explainers.studies.architectures import tokenizer_of
from tests.models.test_decoder import KINDS, network_of

WORDS = ("good", "film", "but", "dull", "plot", "the", "bad", "very", "good", "film")


@pytest.fixture
def model(bert: FrozenModel) -> FrozenModel:
    """It reads six tokens at once, of which two are special."""
    bert.tokenizer.enable_truncation(6)
    return bert


@pytest.fixture
def long(model: FrozenModel) -> Encoding:
    """Windows of 4, 4 and 2 words."""
    return model.encode(" ".join(WORDS), windows=True)


def alone(model: FrozenModel, words: tuple[str, ...], erasure: Erasure, keep: tuple[int, ...]) -> np.ndarray:
    """The answer (C,) to these words as a text."""
    encoding = model.encode(" ".join(words))
    return model.probabilities(encoding, [keep], erasure)[0]


@pytest.mark.parametrize("erasure", ERASURES)
def test_the_answer_is_the_mean_of_the_windows_weighted_by_their_tokens(
    model: FrozenModel, long: Encoding, erasure: Erasure
) -> None:
    keep = (1, 0, 1, 1, 0, 0, 1, 1, 1, 0)
    parts = [(slice(0, 4), 0.4), (slice(4, 8), 0.4), (slice(8, 10), 0.2)]
    expected = sum(alone(model, WORDS[part], erasure, keep[part]) * share for part, share in parts)
    assert model.probabilities(long, [keep], erasure)[0] == pytest.approx(expected, abs=1e-6)
    assert not np.allclose(expected, alone(model, WORDS[:4], erasure, keep[:4]))


@pytest.mark.parametrize("erasure", ["mask", "zero"])
@pytest.mark.parametrize("multi_label", [False, True])
def test_soft_masks_of_zeros_and_ones_are_hard_masks(
    model: FrozenModel, long: Encoding, erasure: Erasure, multi_label: bool
) -> None:
    model.multi_label = multi_label
    keeps = np.random.default_rng(0).integers(0, 2, (5, 10))
    soft = model.soft_probabilities(long, torch.tensor(keeps).float(), erasure).detach().numpy()
    assert soft == pytest.approx(model.probabilities(long, keeps, erasure), abs=1e-5)


def test_gradients_reach_every_window(model: FrozenModel, long: Encoding) -> None:
    attribution = IntegratedGradients(steps=50).attribute(model, long, 0)
    assert attribution.gap is not None
    assert attribution.gap < 0.01
    assert np.count_nonzero(attribution.scores) == 10


def test_a_window_that_a_mask_leaves_alone_is_not_computed_again(model: FrozenModel, long: Encoding) -> None:
    meter = Meter()
    without_each = 1 - np.eye(10)
    model.metered(meter).probabilities(long, [np.ones(10), *without_each])
    assert meter.calls == 10 + 3  # every word is in one window, and each window is read whole once


@pytest.mark.parametrize("erasure", ERASURES)
def test_words_that_are_removed_for_good_are_those_that_a_mask_removes(
    model: FrozenModel, long: Encoding, erasure: Erasure
) -> None:
    removed = (1, 4, 8, 9)  # of the last window nothing is left
    keep = np.array([unit not in removed for unit in range(10)])
    left = model.without(long, removed, erasure)
    assert model.probabilities(left, np.ones((1, 6)), erasure) == pytest.approx(
        model.probabilities(long, [keep], erasure), abs=1e-6
    )


def test_windows_have_sentences(model: FrozenModel) -> None:
    text = "good film . but the plot . bad ."
    words = model.encode(text, windows=True)
    sentences = model.encode(text, "sentence", windows=True)
    assert [unit.text for unit in sentences.units] == ["good film .", "but the plot .", "bad ."]
    keep_words = np.array([unit.start < 11 or unit.start > 26 for unit in words.units])
    assert model.probabilities(sentences, [[1, 0, 1]]) == pytest.approx(model.probabilities(words, [keep_words]))


def test_attention_is_that_of_the_windows(model: FrozenModel, long: Encoding) -> None:
    model.module.set_attn_implementation("eager")
    received = model.attention_received(long, last_layer=False)
    last = model.attention_received(model.encode(" ".join(WORDS[8:])), last_layer=False)
    assert received[8:] == pytest.approx(0.2 * last)
    assert (received > 0).all()


def test_what_reads_the_states_of_the_whole_text_says_that_there_are_several(
    model: FrozenModel, long: Encoding
) -> None:
    for ask in (lambda: model.states(long), lambda: pad_batch([long], 0, model.device)):
        with pytest.raises(ExplanationError, match=r"the text is read in 3 windows\. Shorten the text"):
            ask()


def test_replaced_words_stay_in_their_window(model: FrozenModel, long: Encoding) -> None:
    other = model.encode("unwatchable")  # more tokens than one
    changed = replace_units(long, other, {1: 0, 5: 0})
    assert [len(part.units) for part in changed.window_inputs] == [4, 4, 2]
    assert [part.share for part in changed.window_inputs] == [part.share for part in long.window_inputs]


@pytest.mark.parametrize("unit", ["word", "sentence"])
def test_no_window_grows_where_what_is_replaced_lies_in_two(model: FrozenModel, unit: UnitKind) -> None:
    text = "the bad very unwatchable film . good plot but the dull film"  # the second window begins within a word
    encoding, other = model.encode(text, unit, windows=True), model.encode("unwatchable film dull plot good bad", unit)
    before = [len(part.encoding.ids) for part in encoding.window_inputs]
    changed = replace_units(encoding, other, dict.fromkeys(range(len(encoding.units)), 0))
    after = [len(part.encoding.ids) for part in changed.window_inputs]
    assert all(new <= old for new, old in zip(after, before, strict=True))
    assert changed.ids != encoding.ids
    assert any(owner == 0 for owner in changed.owners)


@pytest.mark.parametrize("erasure", ["delete", "mask"])
def test_what_is_removed_for_good_from_a_decoder_is_what_a_mask_removes(erasure: Erasure) -> None:
    decoder = wrap(network_of(KINDS["gpt2"]), tokenizer_of(KINDS["gpt2"]))
    decoder.tokenizer.enable_truncation(4)  # type: ignore[union-attr]
    encoding = decoder.encode("the film was very long but new and quite loud", windows=True)
    assert [len(part.units) for part in encoding.window_inputs] == [4, 4, 2]
    left = decoder.without(encoding, [8, 9], erasure)  # no token is left of the last window
    keep = np.arange(10) < 8
    expected = decoder.probabilities(encoding, [keep], erasure)
    assert decoder.probabilities(left, np.ones((1, 8)), erasure) == pytest.approx(expected, abs=1e-6)
    if erasure == "delete":  # then other operators read it, too
        assert decoder.probabilities(left, np.ones((1, 8)), "mask") == pytest.approx(expected, abs=1e-6)
        soft = decoder.soft_probabilities(left, torch.ones(1, 8)).detach().numpy()
        assert soft == pytest.approx(expected, abs=1e-5)


def test_a_class_that_is_certain_has_gradients(model: FrozenModel, long: Encoding) -> None:
    model.multi_label = True
    with torch.no_grad():
        model.module.classifier.bias[0] = 60.0
    mask = torch.ones(1, 10, requires_grad=True)
    for answer in (model.soft(long, mask), model.soft_probabilities(long, mask)):
        (gradient,) = torch.autograd.grad(answer[0, 0], mask)
        assert gradient.isfinite().all()


def test_a_decision_about_a_long_text_says_how_it_is_read(model: FrozenModel) -> None:
    encoding = decide(model, " ".join(WORDS)).decision.encoding
    assert len(encoding.units) == 10
    assert encoding.warning.startswith(
        "The text is longer than the 6 tokens that this model reads at once. It is read in 3 windows, one after the "
        "other; the answer is the mean of theirs, weighted by their tokens."
    )
    sentences = decide(model, " ".join(WORDS), settings=Settings(unit="sentence"))
    assert "It is read in 3 windows" in sentences.decision.encoding.warning


def test_a_text_of_too_many_windows_is_cut_and_a_pair_always(model: FrozenModel) -> None:
    fits = model.encode("good bad dull very " * MOST_WINDOWS, windows=True)
    assert "characters" not in fits.warning
    cut = model.encode("good bad dull very " * MOST_WINDOWS + "good", windows=True)
    assert len(cut.windows) == len(fits.windows) == MOST_WINDOWS
    assert "It is read in 16 windows" in cut.warning
    assert cut.warning.endswith("These are the most that there are: only 303 of 308 characters are read and explained.")
    pair = model.encode(Example("good film but", "dull plot the bad"), windows=True)
    assert not pair.windows
    assert pair.warning.startswith("The text is too long for this model: it reads")
    assert not model.encode("good film", windows=True).windows


class Improving:
    """Gives a unit its length, and then twice that."""

    def refine(self, _model: FrozenModel, encoding: Encoding, label: int) -> Iterator[Attribution]:
        for times in (1, 2):
            scores = tuple(float(times * len(unit.text)) for unit in encoding.units)
            yield Attribution("aml", encoding, label, scores, signed=False)


def test_a_learned_method_that_is_told_the_class_explains_each_window(model: FrozenModel, long: Encoding) -> None:
    first, last = attributions(METHODS.get("aml"), Improving(), model, long, 0)
    assert first.scores[:2] == pytest.approx((0.4 * 4, 0.4 * 4))
    assert last.scores[8:] == pytest.approx((0.2 * 8, 0.2 * 8))
    assert last.encoding is long
    (_, whole) = attributions(METHODS.get("lime"), Improving(), model, long, 0)
    assert whole.scores[8:] == (8.0, 8.0)


def test_a_learned_method_that_is_told_no_class_gives_a_reason(model: FrozenModel, long: Encoding) -> None:
    class Reading(Improving):
        def refine(self, model: FrozenModel, encoding: Encoding, label: int) -> Iterator[Attribution]:
            model.states(encoding)
            return super().refine(model, encoding, label)

    with pytest.raises(ExplanationError, match="windows"):
        list(attributions(METHODS.get("cimi"), Reading(), model, long, 0))


def test_whole_answers_are_counted_and_what_a_new_one_takes(model: FrozenModel, long: Encoding) -> None:
    meter, masks = Meter(), [np.ones(10), np.arange(10) > 0, np.arange(10) % 3 > 0]
    own = model.pooled(PredictionCache()).metered(meter)
    own.probabilities(long, masks)
    assert (meter.answers, meter.calls) == (3, 7)  # the second one leaves two windows as they are
    assert meter.passes_per_answer == pytest.approx(7 / 3)
    own.probabilities(long, masks)  # known: not what a new one takes
    assert (meter.answers, meter.calls, meter.passes_per_answer) == (6, 7, pytest.approx(7 / 3))
    own.soft_probabilities(long, torch.ones(2, 10))
    assert (meter.answers, meter.calls) == (8, 13)

    class Asking(Improving):
        def refine(self, model: FrozenModel, encoding: Encoding, label: int) -> Iterator[Attribution]:
            model.soft(encoding, torch.ones(5, len(encoding.units)))
            return super().refine(model, encoding, label)

    list(attributions(METHODS.get("aml"), Asking(), own, long, 0))
    assert (meter.answers, meter.calls) == (8 + 5, 13 + 15)


def test_what_cannot_read_windows_is_refused_before_anything_is_computed(model: FrozenModel) -> None:
    none = explain(model, " ".join(WORDS), methods=["alti", "decompx"])
    assert [failure.method for failure in none.failures] == ["decompx", "alti"]
    assert none.failures[1].reason.startswith("ALTI reads the model's inner states of the whole text")
    assert none.random_control is None
    some = explain(model, " ".join(WORDS), methods=["alti", "attention_mean"], budget=60)
    assert [failure.method for failure in some.failures] == ["alti"]
    assert some.postponed == ()
