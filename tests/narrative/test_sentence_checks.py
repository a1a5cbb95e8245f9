"""The effect of named words, with a model whose answers can be worked out, and what narrators are compared with."""

from math import isnan
from typing import Any

import numpy as np
import pytest
import torch

from explainers.datasets.example import Example
from explainers.evaluation.narrator_runs import with_word_effects, word_effect
from explainers.evaluation.narrators import CounterfactualItems, NarratorRun, given_reasons, random_sentences
from explainers.metrics.erasure import MaskedPredictor
from explainers.models.calls import PredictionCache
from explainers.models.inputs.encoding import Encoding, Unit
from explainers.narrative.checks import named_word_effect
from explainers.narrative.counterfactual import Counterfactual

WORDS = ("the", "good", "film", "is", "dull")
LABELS = ("no", "yes")


class Weighted:
    """p(yes) = 0.9 - 0.4 without "good" - 0.1 without "film"."""

    name, labels, pool = "weighted", LABELS, PredictionCache()

    def encode(self, example: Example) -> Encoding:
        units = (*(Unit(word, 0, 0) for word in WORDS), Unit("row 1, column 1", 0, 0, 1, (0, 0, 9, 9)))
        return Encoding((example.text,), units, (), (), ())

    def probabilities(self, _encoding: Encoding, keeps: Any, _erasure: str) -> Any:
        p = 0.9 - 0.4 * ~keeps[:, 1] - 0.1 * ~keeps[:, 2]
        return np.stack([1 - p, p], axis=1)


def answers() -> MaskedPredictor:
    model: Any = Weighted()
    return MaskedPredictor(model, model.encode(Example(" ".join(WORDS))), "mask")


def test_the_effect_is_the_fall_without_the_named_words_minus_the_mean_fall_without_others() -> None:
    words = range(5)
    assert named_word_effect(answers(), [1], words, 1) == pytest.approx(0.4 - 0.1 / 4)  # one of four others is "film"
    assert named_word_effect(answers(), [4], words, 1) == pytest.approx(0 - 0.5 / 4)
    assert named_word_effect(answers(), [1], words, 0) == pytest.approx(-0.4 + 0.1 / 4)
    assert named_word_effect(answers(), [1, 5], [1, 2, 4], 1) == pytest.approx(0.4 - 0.1 / 2)  # a patch is no word


def test_without_named_or_other_words_there_is_no_effect() -> None:
    assert isnan(named_word_effect(answers(), [], range(5), 1))
    assert isnan(named_word_effect(answers(), [5], range(5), 1))
    assert isnan(named_word_effect(answers(), range(5), range(5), 1))


def test_the_stated_class_is_asked_and_content_words_are_a_stricter_control() -> None:
    effect = word_effect(answers(), "The answer is yes because it is good.", 0, seed=0)
    assert effect.names_words
    assert effect.against_words == pytest.approx(0.375)  # of "the", "film", "is", "dull" one weighs 0.1
    assert effect.against_content == pytest.approx(0.35)  # of "film" and "dull"
    assert word_effect(answers(), "It is good.", 0, seed=0).against_words == pytest.approx(-0.375)
    assert not word_effect(answers(), "The answer is yes.", 0, seed=0).names_words


def test_every_run_gets_an_effect_for_every_input() -> None:
    model: Any = Weighted()
    texts = ("The answer is yes because it is good.", "The answer is yes because of the film.")
    runs = {"cause": [NarratorRun(texts, (), (), (), ()), NarratorRun(texts[::-1], (), (), (), ())]}
    first, second = with_word_effects(model, [Example("x"), Example("y")], [1, 1], runs)["cause"]
    assert [effect.against_words for effect in first.word_effects] == pytest.approx([0.375, 0.1 - 0.4 / 4])
    assert second.word_effects == first.word_effects[::-1]


def test_random_sentences_state_the_predicted_class_with_a_training_reason_of_that_class() -> None:
    training = [Example("a", None, number % 2, (f"reason {number}",)) for number in range(20)]
    runs = random_sentences(training, [0, 1] * 20, LABELS)
    assert len({run.sentences for run in runs}) == 3
    for run in runs:
        for number, text in enumerate(run.sentences):
            stated, _, reason = text.removeprefix("The answer is ").rstrip(".").partition(" because reason ")
            assert (stated, int(reason) % 2) == (LABELS[number % 2], number % 2)
    assert random_sentences([], [1], LABELS)[0].sentences == ("The answer is yes.",)


def test_given_reasons_are_compared_with_the_others_of_their_input() -> None:
    nothing = Counterfactual(torch.zeros(2, 2), torch.zeros(2), torch.ones(2) > 0, torch.zeros(2))
    data = CounterfactualItems((), ("a", "b"), (), nothing, LABELS)
    inputs = [Example("a", None, 1, ("it is.", "it seems so")), Example("b", None, 0, ("not so",))]
    given_data, (run,) = given_reasons(data, inputs)
    assert run.sentences == ("The answer is yes because it is.", "The answer is no because not so.")
    assert given_data.references == (("The answer is yes because it seems so.",), ())
    assert given_reasons(data, [Example("a", None, 1)]) == (data, [])
