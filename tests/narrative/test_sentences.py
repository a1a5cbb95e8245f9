from collections.abc import Sequence

import pytest
import torch

from explainers.datasets import entailment
from explainers.datasets.example import Example
from explainers.models.catalog import fingerprint
from explainers.models.frozen_model import FrozenModel
from explainers.narrative import sentences
from explainers.narrative.sentences import (
    NarratorItem,
    narrator_items,
    sentence,
    shortened,
    stack_items,
    stated_class,
    without_label,
)

LABELS = entailment.LABELS


def predicted(model: FrozenModel, example: Example) -> int:
    encoding = model.encode(example)
    return int(model.probabilities(encoding, [[1] * len(encoding.units)]).argmax())


def test_a_sentence_says_the_class_first() -> None:
    assert sentence("neutral", " they may. ") == "The answer is neutral because they may."
    assert sentence("neutral") == sentence("neutral", " . ") == "The answer is neutral."


def test_only_where_the_model_is_right_peoples_reasons_are_its_own(model: FrozenModel, pairs: list[Example]) -> None:
    items = narrator_items(model, pairs)
    classes = [predicted(model, pair) for pair in pairs]
    assert len(set(classes)) > 1
    assert {item.right for item in items} == {True, False}
    for item, pair, chosen in zip(items, pairs, classes, strict=True):
        name = LABELS[chosen]
        reasons = tuple(f"The answer is {name} because {explanation.rstrip('.')}." for explanation in pair.explanations)
        assert item.label == chosen
        assert item.right == (chosen == pair.label)
        assert item.sentences == (reasons if item.right else (f"The answer is {name}.",))


def test_the_data_sets_class_is_never_said_of_a_model_that_chose_another(
    model: FrozenModel, pairs: list[Example]
) -> None:
    for item in narrator_items(model, pairs):
        assert all(stated_class(sentence, LABELS) == item.label for sentence in item.sentences)


def test_items_are_in_the_order_given_whatever_the_batches(model: FrozenModel, monkeypatch: pytest.MonkeyPatch) -> None:
    examples = [Example("the film " * length + "was good", "bad", 0) for length in (5, 1, 9, 3, 7, 2)]
    at_once = narrator_items(model, examples)
    monkeypatch.setattr(sentences, "AT_ONCE", 2)
    in_twos = narrator_items(model, examples)
    alone = [narrator_items(model, [example])[0] for example in examples]
    for one, two, three in zip(at_once, in_twos, alone, strict=True):
        assert torch.allclose(one.state, two.state, atol=1e-5)
        assert torch.allclose(one.state, three.state, atol=1e-5)
    assert not torch.allclose(at_once[0].state, at_once[1].state, atol=1e-3)


def test_the_label_and_the_reasons_are_not_read_by_the_model(model: FrozenModel) -> None:
    one, other = narrator_items(
        model, [Example("good film", "dull", 0, ("Because.",)), Example("good film", "dull", 2)]
    )
    assert torch.allclose(one.state, other.state, atol=1e-5)


def test_the_model_is_the_same_afterwards(model: FrozenModel, pairs: list[Example]) -> None:
    before = fingerprint(model)
    narrator_items(model, pairs[:4])
    assert fingerprint(model) == before


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("One two. Three four. Five.", "One two. Three four."),
        ("One two three four five.", ""),  # none fits whole
        ("One two three four", "One two three four"),
        ("One! Two? Three.", "One! Two? Three."),
        ("", ""),
    ],
)
def test_only_whole_sentences_that_fit_are_kept(reason: str, expected: str) -> None:
    assert shortened(reason, longest=4) == expected


def test_a_right_model_whose_reasons_are_all_too_long_says_the_class(model: FrozenModel) -> None:
    example = Example("good film", "dull")
    right = Example("good film", "dull", predicted(model, example), ("word " * 50,))
    (item,) = narrator_items(model, [right])
    assert item.right
    assert item.sentences == (f"The answer is {LABELS[item.label]}.",)


@pytest.mark.parametrize(
    ("text", "labels", "expected"),
    [
        ("The answer is neutral.", LABELS, 1),
        ("The answer is Contradiction because it is not neutral.", LABELS, 2),  # the first of several
        ("(entailment)", LABELS, 0),
        ("The answer is neutrality, and it contradicts.", LABELS, None),  # no whole word
        ("A dog runs.", LABELS, None),  # no default
        ("", LABELS, None),
        ("not offensive because it is kind", ("offensive", "not offensive"), 1),
        ("not offensive", ("not", "not offensive"), 1),  # the longer of two that begin together
        ("c++ it is", ("c", "c++"), 1),
    ],
)
def test_a_class_is_stated_only_by_its_whole_name(text: str, labels: Sequence[str], expected: int | None) -> None:
    assert stated_class(text, labels) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The answer is Neutral because it is neutral.", "The answer is because it is ."),
        ("Neutrality goes, it contradicts.", "goes, it ."),
    ],
)
def test_class_names_can_be_taken_out(text: str, expected: str) -> None:
    assert without_label(text, LABELS) == expected


def test_of_two_names_the_longer_one_is_taken_out_whole() -> None:
    assert without_label("it is not offensive", ("offensive", "not offensive")) == "it is"


def test_items_stand_side_by_side() -> None:
    rows = [NarratorItem(torch.tensor([1.0, 2.0]), torch.tensor([3.0]), 0, True, ("",)) for _ in range(3)]
    states, logits = stack_items(rows)
    assert (states.shape, logits.shape) == ((3, 2), (3, 1))
