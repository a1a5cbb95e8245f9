import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

from explainers.datasets.example import Example
from explainers.errors import Cancelled, ExplanationError
from explainers.models.catalog import fingerprint
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.padded_batch import pad_batch
from explainers.models.internals import batch_head_inputs, classifier_head
from explainers.narrative.generation import generate
from explainers.narrative.narrate import load_narrator, mentions, narrate
from explainers.narrative.narrator_input import NarratorInput
from explainers.narrative.sentences import stated_class

Written = Callable[..., Path]
PAIR = Example("the film was good", "a dull plot")


def hooks(model: FrozenModel) -> int:
    """Those on the head and around it; transformers' own sleeping ones do not count."""
    return sum(len(part._forward_hooks) + len(part._forward_pre_hooks) for part in model.module.head.modules())  # type: ignore[union-attr, operator]


def condition(model: FrozenModel) -> tuple[object, ...]:
    grads = [(weight.requires_grad, weight.grad is None) for weight in model.module.parameters()]
    return fingerprint(model), hooks(model), grads, [part.training for part in model.module.modules()]


@pytest.mark.parametrize("method", ["cause_phi", "cause_phi_ts", "cause"])
def test_the_likeliest_sentence_of_the_models_state_is_told(model: FrozenModel, written: Written, method: str) -> None:
    written(method)
    narrative = narrate(model, model.encode(PAIR), method)
    _, network = load_narrator(model, method)
    states, _ = batch_head_inputs(model, pad_batch([model.encode(PAIR)], model.pad_token, model.device))
    assert narrative.text == network.language.text(generate(network, NarratorInput(states))[0])
    assert narrative.stated == stated_class(narrative.text, model.labels)
    assert len(narrative.read) == (3 if method != "cause_phi" else 0)
    assert sum(narrative.read) == pytest.approx(1.0 if narrative.read else 0.0)


def test_two_calls_say_the_same(model: FrozenModel, written: Written) -> None:
    written("cause")
    first, second = (narrate(model, model.encode(PAIR), "cause") for _ in range(2))
    assert (first.text, first.read, first.mentions) == (second.text, second.read, second.mentions)


def test_the_model_is_the_same_after_a_sentence(model: FrozenModel, written: Written) -> None:
    written("cause")
    before = condition(model)
    narrate(model, model.encode(PAIR), "cause")
    assert condition(model) == before


def test_the_model_is_the_same_after_an_exception(model: FrozenModel, written: Written, stopping) -> None:
    written("cause")
    before = condition(model)
    stopped = model.metered(stopping)
    narrate(stopped, model.encode(PAIR), "cause")  # the person stops while it runs
    with pytest.raises(Cancelled):
        narrate(stopped, model.encode(PAIR), "cause")
    assert condition(model) == before


def test_a_head_that_breaks_down_keeps_no_hook(model: FrozenModel, monkeypatch: pytest.MonkeyPatch) -> None:
    before = hooks(model)

    def breaks(_given: object) -> object:
        raise RuntimeError("injected")

    batch = pad_batch([model.encode(PAIR)], model.pad_token, model.device)
    monkeypatch.setattr(model.module.head[0], "forward", breaks)  # type: ignore[index, union-attr]
    with pytest.raises(RuntimeError, match="injected"):
        batch_head_inputs(model, batch)
    assert hooks(model) == before


def test_pooled_is_what_the_head_reads_and_what_it_answers(model: FrozenModel) -> None:
    batch = pad_batch([model.encode(PAIR), model.encode("film")], model.pad_token, model.device)
    states, logits = batch_head_inputs(model, batch)
    assert states.shape == (2, 16)
    assert not states.requires_grad
    assert torch.equal(classifier_head(model)(states), logits)
    encoding = model.encode(PAIR)
    expected = model.probabilities(encoding, [[1] * len(encoding.units)])[0]
    assert logits[0].softmax(-1).tolist() == pytest.approx(expected.tolist(), abs=1e-5)


def test_a_model_without_a_head_of_layers_gets_a_sentence(bert: FrozenModel) -> None:
    with pytest.raises(ExplanationError, match="small has no head of several layers"):
        classifier_head(bert)
    with pytest.raises(ExplanationError, match="has no head"):
        batch_head_inputs(bert, pad_batch([bert.encode("film")], bert.pad_token, bert.device))
    assert not isinstance(getattr(bert.module, "head", None), nn.Sequential)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The answer is neutral because films are dull.", ("film", "dull")),  # another form of the word
        ("The answer is neutral because it was not the.", ()),  # words without content
        ("The answer is neutral.", ()),  # neither the class nor the opening
        ("Good, good PLOT", ("good", "plot", "plot")),
    ],
)
def test_words_of_the_input_in_the_sentence_are_marked(
    model: FrozenModel, text: str, expected: tuple[str, ...]
) -> None:
    encoding = model.encode(Example("the film was good answer neutral", "a dull plot, a plot"))
    words = [unit.text for unit in encoding.units]
    assert sorted(words[number] for number in mentions(text, encoding, model.labels)) == sorted(
        word for word in expected
    )


def test_a_card_says_what_was_written(written: Written) -> None:
    card = json.loads(written("cause").with_suffix(".json").read_text())
    assert card["recipe"]["losses"] == "cause"
