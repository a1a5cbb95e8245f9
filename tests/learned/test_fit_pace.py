"""How long a fit takes: the arithmetic, and that measuring it changes nothing."""

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Timer
from typing import Any

import pytest
import torch

from explainers.datasets.example import Example
from explainers.errors import DataUnavailable, ExplanationError
from explainers.learned import fit
from explainers.learned.fit import FitPace, measured_pace
from explainers.learned.recipes import RECIPES, recipe_of
from explainers.models.calls import Meter
from explainers.models.catalog import fingerprint
from explainers.models.frozen_model import FrozenModel

TEXTS = [Example(" ".join(["good", "dull", "film"] * (1 + number % 3))) for number in range(12)]


def test_a_fit_predicts_learns_and_judges() -> None:
    recipe = recipe_of("aml", {"epochs": 3, "validations": 2})
    pace = FitPace(predicting=0.1, learning=1.0, once=0.25, keeping=0.0, kept=0.0, judging=0.5)
    # learning, what the first steps take more, and judging all validations and random orders
    training = 100 * 3 + 100 * 0.25 + 10 * (3 * 2 + 1) * 0.5
    assert pace.seconds(recipe, 100, 10) == pytest.approx(110 * 0.1 + training)
    assert pace.seconds(recipe, 100, 10, seeds=2) == pytest.approx(110 * 0.1 + 2 * training)


def test_what_is_asked_once_is_not_counted_in_every_epoch(bert: FrozenModel, monkeypatch: pytest.MonkeyPatch) -> None:
    def passes(action: Callable[[], Any], meter: Meter) -> tuple[float, Any]:
        """A pass in place of a second."""
        before = meter.calls
        result = action()
        return float(meter.calls - before), result

    monkeypatch.setattr(fit, "_timed", passes)
    texts = [Example(f"the {word} film was very dull") for word in ("good", "bad", "dull", "not")]
    pace = measured_pace(recipe_of("cxplain", {"batch": 4}), bert, texts)
    assert (pace.once, pace.learning) == (7.0, 0.0)  # six words erased, and the whole text
    assert measured_pace(recipe_of("cimi", {"batch": 4}), bert, texts).once == 0


def test_no_more_validations_are_counted_than_there_are_batches() -> None:
    pace = FitPace(predicting=0.0, learning=0.0, once=0.0, keeping=0.0, kept=0.0, judging=1.0)
    recipe = recipe_of("cimi", {"epochs": 4, "validations": 2, "batch": 32})
    assert pace.validations(recipe, 20, 5) == 5 * (4 * 1 + 1)
    assert pace.validations(recipe, 40, 5) == 5 * (4 * 2 + 1)


def test_what_others_compute_meanwhile_does_not_count(bert: FrozenModel) -> None:
    meter, held, free = Meter(), Event(), Event()

    def hold() -> None:
        with bert.lock:
            held.set()
            free.wait(60)

    def action() -> str:
        Timer(0.2, free.set).start()
        with meter.locked_batch(bert.lock, 1):
            return "done"

    with ThreadPoolExecutor(1) as other:
        other.submit(hold)
        assert held.wait(60)
        seconds, result = fit._timed(action, meter)
    assert result == "done"
    assert meter.waited > 0.1
    assert seconds < meter.waited


def test_too_little_memory_is_a_sentence(bert: FrozenModel, monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(*_args: object) -> None:
        raise torch.OutOfMemoryError("out of memory")

    monkeypatch.setattr(fit.optimisation, "optimiser_step", exhausted)
    with pytest.raises(ExplanationError, match="memory"):
        measured_pace(recipe_of("aml", {}), bert, TEXTS)


def test_states_that_find_no_room_are_computed_in_every_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit, "ROOM", 60)
    recipe, pace = recipe_of("cimi", {"epochs": 4}), FitPace(0.0, 0.0, once=0.0, keeping=1.0, kept=1.0, judging=0.0)
    assert pace.seconds(recipe, 50, 0) == 50
    assert pace.seconds(recipe, 100, 0) == 60 + 40 * 4


@pytest.mark.parametrize("method", RECIPES)
def test_measuring_changes_neither_the_model_nor_chance(bert: FrozenModel, method: str) -> None:
    before, state, own = fingerprint(bert), torch.get_rng_state(), random.getstate()
    recipe = recipe_of(method, {})
    pace = measured_pace(recipe, bert, TEXTS)
    assert min(pace.predicting, pace.learning, pace.judging) > 0
    assert (pace.keeping > 0) == (pace.kept > 0) == (method != "aml")
    assert fingerprint(bert) == before
    assert torch.equal(torch.get_rng_state(), state)
    assert random.getstate() == own
    assert not any(weight.requires_grad and weight.grad is not None for weight in bert.module.parameters())


def test_texts_of_about_the_mean_length_are_timed(bert: FrozenModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit, "TIMED", 16)
    chosen, ratio = fit._typical(bert, TEXTS, 4)
    # 5, 8 and 11 tokens with [CLS] and [SEP], four texts each: 8 on average, as many as fit into 16
    assert [len(bert.encode(text).ids) for text in chosen] in ([5, 8], [8, 8])
    assert ratio == pytest.approx(1.0)


def test_texts_without_words_cannot_be_timed(bert: FrozenModel) -> None:
    with pytest.raises(DataUnavailable, match="two texts or more that have words"):
        measured_pace(recipe_of("aml", {}), bert, [Example(""), Example("good")])
