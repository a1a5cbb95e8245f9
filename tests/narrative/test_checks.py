"""What is checked about a sentence, with a model whose answers can be worked out: p falls by 0.4 without "good"."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from explainers.datasets.example import Example
from explainers.metrics.erasure import MaskedPredictor
from explainers.models.calls import Meter, PredictionCache
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding, Unit
from explainers.narrative import checks
from explainers.narrative.checks import DRAWS, FEW, FEWEST, SHARED, check_narrative, other_sets
from explainers.narrative.content_words import reason_of
from explainers.results.events import NO_WORD, Narrative, NarrativeCheck

WORDS = ("a", "good", "film", "but", "a", "dull", "plot", "and", "long", *(f"w{number}" for number in range(13)))
GOOD, DULL = WORDS.index("good"), WORDS.index("dull")


class Weighted:
    """p(1) = 0.9 - 0.4 without "good" - 0.005 without "film"; patches weigh nothing."""

    name = "weighted"
    pool = PredictionCache()

    def probabilities(self, _encoding: Encoding, keeps: Any, _erasure: str) -> Any:
        keeps = np.asarray(keeps)
        p = 0.9 - 0.4 * ~keeps[:, GOOD] - 0.005 * ~keeps[:, 2]
        return np.stack([1 - p, p], axis=1)


def answers() -> MaskedPredictor:
    units = tuple(Unit(word, 0, 0) for word in WORDS) + (Unit("row 1, column 1", 0, 0, 1, (0, 0, 9, 9)),) * 4
    return MaskedPredictor(Weighted(), Encoding((" ".join(WORDS),), units, (), (), ()), "mask")  # type: ignore[arg-type]


def checked(text: str = "The answer is yes.", stated: int | None = 1, mentions: tuple[int, ...] = ()) -> NarrativeCheck:
    return check_narrative(Narrative("cause", text, stated, (), mentions, 0.1), answers(), Example(" ".join(WORDS)))


def checked_by(p: Callable[[Any], Any], number: int) -> NarrativeCheck:
    """The first of `number` words is mentioned; p(1) is `p` of the masks."""
    model = SimpleNamespace(
        name="by hand",
        pool=PredictionCache(),
        probabilities=lambda _, keeps, __: np.stack([1 - p(keeps), p(keeps)], axis=1),
    )
    encoding = Encoding(("words",), (Unit("w", 0, 0),) * number, (), (), ())
    narrative = Narrative("cause", "The answer is yes.", 1, (), (0,), 0.1)
    return check_narrative(narrative, MaskedPredictor(model, encoding, "mask"), Example("words"))  # type: ignore[arg-type]


def test_a_word_that_decides_is_used() -> None:
    check = checked(mentions=(GOOD,))
    assert (check.used, check.full, check.removed) == (True, pytest.approx(0.9), pytest.approx(0.5))
    assert len(check.random_removed) == len(WORDS) - 1  # every other word, and no patch
    assert min(check.random_removed) == pytest.approx(0.895)


def test_a_word_without_weight_is_not_used() -> None:
    assert checked(mentions=(DULL,)).used is False


def test_an_effect_that_nobody_would_notice_is_no_use() -> None:
    check = checked(mentions=(2, 3))  # "film", "but": falls by 0.005, although only sets with "good" fall further
    assert check.used is False
    assert len(check.random_removed) == DRAWS


def test_the_stated_class_is_asked_and_otherwise_the_predicted_one() -> None:
    assert checked(stated=0, mentions=(GOOD,)).full == pytest.approx(0.1)
    assert checked(stated=None, mentions=(GOOD,)).full == pytest.approx(0.9)


def test_without_words_of_the_input_nothing_is_erased() -> None:
    nothing = NarrativeCheck("cause", true_note="it gives no reason", use_note=NO_WORD)
    assert checked(mentions=()) == nothing
    assert checked(mentions=(len(WORDS),)) == nothing  # a patch


def test_too_few_other_words_are_no_comparison() -> None:
    check = checked(mentions=tuple(range(len(WORDS))))
    assert (check.used, check.random_removed) == (None, ())
    assert check.removed == pytest.approx(0.495)


@pytest.mark.parametrize(("number", "used"), [(FEWEST, None), (FEWEST + 1, True)])
def test_luck_must_have_less_than_one_chance_in_twenty(number: int, used: bool | None) -> None:
    check = checked_by(lambda keeps: 0.9 - 0.4 * ~keeps[:, 0], number)
    assert (check.used, len(check.random_removed)) == (used, number - 1)
    assert check.use_note == ("" if used else FEW.format(there=number - 1, needed=FEWEST))


def test_no_other_set_may_be_lower() -> None:
    """0.5 is left without the word, 0.49 without another one, and 0.9 without any of the 28 others."""
    assert checked_by(lambda keeps: 0.9 - 0.4 * ~keeps[:, 0] - 0.41 * ~keeps[:, 1], 30).used is False


def test_where_one_of_several_words_decides_it_is_not_denied() -> None:
    """Of "good" and "dull" only the first counts, and so does every other pair with it."""
    check = checked(mentions=(GOOD, DULL))
    assert check.used is None
    assert check.use_note == SHARED
    assert check.removed == pytest.approx(min(check.random_removed), abs=0.01)
    assert checked(mentions=(3, DULL)).used is False


def test_random_sets_are_as_large_never_the_mentioned_ones_and_the_same_for_a_seed() -> None:
    sets = other_sets(range(12), (0, 1, 2), seed=3)
    assert len(set(sets)) == DRAWS
    assert (0, 1, 2) not in sets
    assert {len(word_set) for word_set in sets} == {3}
    assert sets == other_sets(range(12), (0, 1, 2), seed=3) != other_sets(range(12), (0, 1, 2), seed=4)


def test_no_mask_is_asked_twice(bag: Callable[..., FrozenModel]) -> None:
    model, meter = bag(dict.fromkeys(WORDS, 0.1)), Meter()
    memory = MaskedPredictor(model.metered(meter), model.encode(" ".join(WORDS)), "mask")
    for method in ("cause_phi", "cause"):
        check_narrative(Narrative(method, "Yes.", 1, (), (GOOD, DULL), 0.1), memory, Example("x"))
    assert meter.calls == 2 + DRAWS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The answer is yes because it is good, because it is.", "it is good, because it is"),
        ("The answer is yes.", ""),
    ],
)
def test_the_reason_stands_after_because(text: str, expected: str) -> None:
    assert reason_of(text) == expected


def test_a_reason_is_judged_by_the_rules_of_the_models_task(monkeypatch: pytest.MonkeyPatch) -> None:
    check = checked("The answer is yes because it is good.")
    assert (check.true, check.true_note) == (None, "no rules are known that could check it")
    asked: list[tuple[str, str, Example]] = []

    def judge(model: str, reason: str, example: Example) -> object:
        asked.append((model, reason, example))
        return type("Truth", (), {"true": False, "note": "it is not"})

    monkeypatch.setattr(checks, "reason_truth", judge)
    check = checked("The answer is yes because it is good.")
    assert (check.true, check.true_note) == (False, "it is not")
    assert asked == [("weighted", "it is good", Example(" ".join(WORDS)))]
