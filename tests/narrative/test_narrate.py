import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

from explainers.datasets.example import Example
from explainers.errors import Cancelled, ExplanationError
from explainers.models.catalog import fingerprint
from explainers.models.classifier import FrozenModel
from explainers.models.inside import head, pooled
from explainers.models.padded import padded
from explainers.narrative.narrate import mentions, narrate
from explainers.narrative.saying import said
from explainers.narrative.texts import stated
from explainers.narrative.weights import fitted

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
    found = narrate(model, model.encode(PAIR), method)
    _, speaks = fitted(model, method)
    states, _ = pooled(model, padded([model.encode(PAIR)], model.padding, model.device))
    assert found.text == speaks.spoken.text(said(speaks, states)[0])
    assert found.stated == stated(found.text, model.labels)
    assert len(found.read) == (3 if method != "cause_phi" else 0)
    assert sum(found.read) == pytest.approx(1.0 if found.read else 0.0)


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

    batch = padded([model.encode(PAIR)], model.padding, model.device)
    monkeypatch.setattr(model.module.head[0], "forward", breaks)  # type: ignore[index, union-attr]
    with pytest.raises(RuntimeError, match="injected"):
        pooled(model, batch)
    assert hooks(model) == before


def test_pooled_is_what_the_head_reads_and_what_it_answers(model: FrozenModel) -> None:
    batch = padded([model.encode(PAIR), model.encode("film")], model.padding, model.device)
    states, logits = pooled(model, batch)
    assert states.shape == (2, 16)
    assert not states.requires_grad
    assert torch.equal(head(model)(states), logits)
    encoding = model.encode(PAIR)
    wanted = model.probabilities(encoding, [[1] * len(encoding.units)])[0]
    assert logits[0].softmax(-1).tolist() == pytest.approx(wanted.tolist(), abs=1e-5)


def test_a_model_without_a_head_of_layers_gets_a_sentence(bert: FrozenModel) -> None:
    with pytest.raises(ExplanationError, match="small has no head of several layers"):
        head(bert)
    with pytest.raises(ExplanationError, match="has no head"):
        pooled(bert, padded([bert.encode("film")], bert.padding, bert.device))
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
    wanted = [unit.text for unit in encoding.units]
    assert sorted(wanted[number] for number in mentions(text, encoding, model.labels)) == sorted(
        each for each in expected
    )


def test_a_card_says_what_was_written(written: Written) -> None:
    card = json.loads(written("cause").with_suffix(".json").read_text())
    assert card["recipe"]["losses"] == "cause"
