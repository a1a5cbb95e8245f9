from collections.abc import Callable
from threading import Event, Thread, Timer

import numpy as np
import pytest

from explainers.errors import Cancelled
from explainers.models.calls import ANSWER_BYTES, AskedInput, Meter, PredictionCache
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.canvas import Canvas
from explainers.models.inputs.encoding import Encoding, Erasure, Unit


def test_rows_that_went_through_are_counted() -> None:
    meter = Meter()
    for rows in (3, 5):
        with meter.batch(rows):
            pass
    assert meter.calls == 8
    assert meter.seconds > 0


def test_a_batch_that_broke_is_not_counted() -> None:
    meter = Meter()
    with pytest.raises(RuntimeError, match="injected"), meter.batch(3):
        raise RuntimeError("injected")
    assert meter.calls == 0


def test_a_stopped_meter_lets_no_batch_begin() -> None:
    meter, entered = Meter(), []
    meter.cancel.set()
    with pytest.raises(Cancelled), meter.batch(3):
        entered.append(True)
    assert (entered, meter.calls) == ([], 0)


Build = Callable[..., FrozenModel]
Masks = np.ndarray
WORDS = {"great": 0.3, "dull": -0.2, "the": 0.0}
ONE = AskedInput("model", "1", "cpu", b"one", "mask")
TWO = ONE._replace(content=b"two")
EACH = ANSWER_BYTES + 8  # bytes of an answer with one class


def masks(*rows: str) -> Masks:
    """From "101" the first and the third of three units are kept."""
    return np.array([[letter == "1" for letter in row] for row in rows])


def by_size(keeps: Masks) -> Masks:
    """As the model's answer, the number of units that are kept."""
    return keeps.sum(axis=1, keepdims=True).astype(float)


def asked(pool: PredictionCache, keeps: Masks, about: AskedInput = ONE) -> int:
    """How many of the masks had to be computed."""
    meter, computed = Meter(), []

    def compute(new: Masks) -> Masks:
        computed.extend(new)
        return by_size(new)

    assert (pool.answers(about, keeps, compute, meter) == by_size(keeps)).all()
    assert meter.pooled == len(keeps) - len(computed)
    return len(computed)


def test_a_mask_is_computed_once() -> None:
    pool = PredictionCache()
    assert asked(pool, masks("111", "110")) == 2
    assert asked(pool, masks("110", "000", "111")) == 1
    assert asked(pool, masks("000")) == 0


@pytest.mark.parametrize("field", AskedInput._fields)
def test_another_model_input_or_operator_has_answers_of_its_own(field: str) -> None:
    pool, other = PredictionCache(), b"two" if field == "content" else "other"
    asked(pool, masks("111"))
    assert asked(pool, masks("111"), ONE._replace(**{field: other})) == 1


def test_the_input_that_was_asked_longest_ago_is_forgotten_first() -> None:
    pool = PredictionCache(4 * EACH)
    asked(pool, masks("111", "110"))
    asked(pool, masks("111", "110"), TWO)
    asked(pool, masks("111"))
    asked(pool, masks("011"))  # one too many
    assert len(pool) == 3
    assert asked(pool, masks("111", "110", "011")) == 0
    assert asked(pool, masks("111"), TWO) == 1


def test_more_masks_than_fit_are_answered_all_the_same() -> None:
    pool = PredictionCache(2 * EACH)
    assert asked(pool, masks("111", "110", "101", "000")) == 4
    assert len(pool) == 2
    assert asked(pool, masks("101", "000")) == 0  # the last ones


def test_answers_with_many_classes_take_more_room() -> None:
    pool = PredictionCache(4 * EACH)
    pool.answers(ONE, masks("111", "110", "101"), lambda keeps: np.zeros((len(keeps), 100)), Meter())
    assert len(pool) == 4 * EACH // (ANSWER_BYTES + 800) == 1


def test_a_computation_that_breaks_leaves_nothing_behind() -> None:
    pool = PredictionCache()

    def broken(_keeps: Masks) -> Masks:
        raise RuntimeError("injected")

    with pytest.raises(RuntimeError, match="injected"):
        pool.answers(ONE, masks("111"), broken, Meter())
    assert asked(pool, masks("111")) == 1


class Slow:
    """A thread that computes a mask until it is told to go on."""

    def __init__(self, pool: PredictionCache) -> None:
        self.began, self.go = Event(), Event()
        self.thread = Thread(target=lambda: pool.answers(ONE, masks("111"), self.compute, Meter()))
        self.thread.start()
        assert self.began.wait(10)

    def compute(self, keeps: Masks) -> Masks:
        self.began.set()
        assert self.go.wait(10)
        return by_size(keeps)

    def end(self) -> None:
        self.go.set()
        self.thread.join(10)


def test_what_another_thread_computes_is_waited_for() -> None:
    pool, computed = PredictionCache(), []

    def compute(keeps: Masks) -> Masks:
        computed.append(len(keeps))
        first.go.set()
        return by_size(keeps)

    first = Slow(pool)
    meter = Meter()
    assert pool.answers(ONE, masks("111", "000"), compute, meter).tolist() == [[3], [0]]
    first.end()
    assert (computed, meter.pooled) == ([1], 1)


def test_nobody_waits_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explainers.models.calls.PATIENCE", 0.05)
    pool = PredictionCache()
    first = Slow(pool)
    assert asked(pool, masks("111")) == 1
    first.end()
    assert len(pool) == 1


def test_who_waits_can_be_stopped() -> None:
    pool, meter = PredictionCache(), Meter()
    first = Slow(pool)
    Timer(0.05, meter.cancel.set).start()
    with pytest.raises(Cancelled):
        pool.answers(ONE, masks("111"), by_size, meter)
    first.end()
    assert meter.waited > 0


def test_a_stopped_run_gets_no_answer_even_if_it_is_known() -> None:
    pool, meter = PredictionCache(), Meter()
    asked(pool, masks("111"))
    meter.cancel.set()
    with pytest.raises(Cancelled):
        pool.answers(ONE, masks("111"), by_size, meter)


def test_many_threads_get_the_same_answers_and_compute_each_mask_once() -> None:
    pool, computed = PredictionCache(), []
    every = np.array([[bool(number >> bit & 1) for bit in range(8)] for number in range(256)])
    results: list[bool] = []

    def compute(keeps: Masks) -> Masks:
        computed.extend(map(bytes, keeps))
        return by_size(keeps)

    def work(seed: int) -> None:
        rng, right = np.random.default_rng(seed), True
        for _ in range(20):
            keeps = every[rng.choice(256, 40, replace=False)]
            right &= bool((pool.answers(ONE, keeps, compute, Meter()) == by_size(keeps)).all())
        results.append(right)

    threads = [Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert results == [True] * 8
    assert len(computed) == len(set(computed)) == len(pool)


@pytest.mark.parametrize("erasure", ["mask", "delete", "zero"])
def test_a_pooled_model_answers_as_the_model_does_and_books_what_it_computed(bag: Build, erasure: Erasure) -> None:
    model, meter, pool = bag(WORDS), Meter(), PredictionCache()
    encoding, keeps = model.encode("great dull the"), masks("111", "011", "011", "000")
    expected = model.probabilities(encoding, keeps, erasure)
    for calls, pooled in ((3, 0), (3, 3)):
        assert (model.metered(meter).pooled(pool).probabilities(encoding, keeps, erasure) == expected).all()
        assert (meter.calls, meter.pooled, meter.used) == (calls, pooled, calls + pooled)


def test_the_same_text_read_again_is_the_same_input_and_without_a_unit_another_one(bag: Build) -> None:
    model = bag(WORDS)
    once, again = model.encode("great dull the"), model.encode("great dull the")
    assert once.content_key == again.content_key
    others = [
        model.encode("great the dull"),
        model.encode("great dull the", "token"),
        *(model.without(once, [1], erasure) for erasure in ("mask", "delete", "zero")),
    ]
    assert len({other.content_key for other in others} - {once.content_key}) == 4  # here every word is one token


def test_an_image_is_the_same_input_only_as_long_as_the_model_sees_the_same_pixels() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    owners = np.repeat(np.array([[0, 1]], dtype=np.int16), 4, axis=1).repeat(8, axis=0)  # two halves
    units = tuple(Unit(name, 0, 0, 1, (left, 0, left + 4, 8)) for name, left in (("left", 0), ("right", 4)))

    def encoding(seen: np.ndarray) -> Encoding:
        return Encoding(("a text",), units, (1, 2), (0, 0), (-1, -1), canvas=Canvas(seen, owners))

    whole = encoding(pixels)
    assert whole.content_key == encoding(pixels.copy()).content_key
    others = [whole.without([0], erasure, 0) for erasure in ("mask", "delete", "zero", "blur")]
    assert len({whole.content_key, encoding(pixels // 2).content_key, *(other.content_key for other in others)}) == 6
