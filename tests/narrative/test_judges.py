import pytest
import torch

from explainers.datasets import entailment
from explainers.datasets.example import Example
from explainers.models.tasks import generated_example
from explainers.narrative.fit import judge_of
from explainers.narrative.sentences import NarratorItem, sentence


def item(label: int, *reasons: str, right: bool = True) -> NarratorItem:
    sentences = tuple(sentence(entailment.LABELS[label], reason) for reason in reasons)
    return NarratorItem(
        torch.zeros(2), torch.zeros(3), label, right, sentences or (sentence(entailment.LABELS[label]),)
    )


def test_without_rules_the_given_reasons_are_what_is_compared_with() -> None:
    examples = [Example("a red film", "a good plot"), Example("blue music", "bad actors")]
    reasons = ("a man is a person who walks", "the dog can not run and sleep")
    items = [item(0, *reasons), item(1, right=False)]
    judge = judge_of("nli", examples, items)
    own = sentence("entailment", reasons[1])
    assert judge([own, "anything"]) == {"BLEU-4 of the reason": pytest.approx(1.0)}
    other_class = sentence("neutral", reasons[1])  # the opening does not count
    assert judge([other_class, "anything"]) == {"BLEU-4 of the reason": pytest.approx(1.0)}
    copied = sentence("entailment", "a red film, a good plot")  # of the input
    assert judge([copied, own])["BLEU-4 of the reason"] < 0.5


@pytest.mark.parametrize("seed", [3, 8])
def test_where_rules_tell_it_a_reason_is_right_if_it_is_true_and_on_topic(seed: int) -> None:
    example = generated_example(f"scene {seed}")
    label, reason = example.label or 0, example.explanations[0]
    judge = judge_of("scenes", [example, example], [item(label, reason), item(label, right=False)])
    true, other = sentence("neutral", reason), sentence("neutral", "the picture does not show what is sharp")
    assert judge([true, other]) == {"right": 1.0}
    assert judge([other, true]) == {"right": 0.0}
