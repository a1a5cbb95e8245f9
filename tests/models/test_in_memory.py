from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from transformers import PreTrainedTokenizerFast, pipeline

from explainers import explain, wrap
from explainers.api import methods_for
from explainers.errors import ModelUnavailable
from explainers.methods import registry
from explainers.models.catalog import fingerprint
from explainers.models.frozen_model import FrozenModel
from explainers.models.function_model import FunctionModel

TEXT = "the film was not good"
LABELS = ("negative", "neutral", "positive")
METHODS = ("occlusion", "integrated_gradients", "attention_mean")
Snapshot = dict[str, Any]


@pytest.fixture
def tokenizer(bert: FrozenModel) -> PreTrainedTokenizerFast:
    special = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    inputs = ["input_ids", "token_type_ids", "attention_mask"]
    return PreTrainedTokenizerFast(tokenizer_object=bert.tokenizer, model_input_names=inputs, **special)


@pytest.fixture
def trained(bert: FrozenModel) -> Iterator[Any]:
    """The network of the small BERT as somebody holds it in the middle of a training."""
    module = bert.module.train().requires_grad_(True)
    seen: list[object] = []
    module.register_forward_hook(lambda *_: seen.append(1))
    for weight in module.parameters():
        weight.grad = torch.ones_like(weight)
    yield module
    assert not seen  # nobody has asked the object itself


def state(module: nn.Module) -> Snapshot:
    return {
        "modes": [part.training for part in module.modules()],
        "gradients": [(parameter.requires_grad, parameter.grad is not None) for parameter in module.parameters()],
        "hooks": [len(part._forward_hooks) + len(part._forward_pre_hooks) for part in module.modules()],
        "weights": [parameter.detach().clone().tolist() for parameter in module.parameters()],
        "types": [parameter.dtype for parameter in module.parameters()],
        "attention": module.config._attn_implementation,  # type: ignore[union-attr]
    }


def test_a_model_in_memory_is_explained_as_a_loaded_one_and_stays_as_it_was(
    bert: FrozenModel, trained: Any, tokenizer: PreTrainedTokenizerFast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before, serialised = state(trained), tokenizer.backend_tokenizer.to_str()
    comparison = explain(wrap(trained, tokenizer, labels=LABELS), TEXT, methods=METHODS, steps=5)
    assert state(trained) == before
    assert tokenizer.backend_tokenizer.to_str() == serialised
    assert list(tmp_path.iterdir()) == []
    assert comparison.decision.card.labels == LABELS
    trained._forward_hooks.clear()
    loaded = explain(FrozenModel("small", LABELS, trained, bert.tokenizer, 4, 0, "1"), TEXT, methods=METHODS, steps=5)
    for method in METHODS:
        one, other = comparison.result(method), loaded.result(method)
        assert one is not None
        assert other is not None
        assert one.attribution.scores == pytest.approx(other.attribution.scores, abs=1e-5)


def test_a_pipeline_has_its_model_and_tokenizer(trained: Any, tokenizer: PreTrainedTokenizerFast) -> None:
    given = pipeline("text-classification", model=trained, tokenizer=tokenizer)
    piped, apart = wrap(given), wrap(trained, tokenizer)
    assert (piped.labels, piped.version) == (apart.labels, apart.version)
    zero_shot = pipeline("zero-shot-classification", model=trained, tokenizer=tokenizer)
    with pytest.raises(ModelUnavailable, match="'mine' is a pipeline for zero-shot-classification"):
        wrap(zero_shot, name="mine")


def test_an_object_with_a_model_of_its_own_is_asked_as_the_function_that_it_is(trained: Any, tokenizer: Any) -> None:
    class Mine:
        def __init__(self) -> None:
            self.model, self.tokenizer = trained, tokenizer

        def __call__(self, texts: list[str]) -> list[list[float]]:
            return [[0.25, 0.75] for _ in texts]

    assert isinstance(wrap(Mine(), labels=["no", "yes"]), FunctionModel)


def test_by_default_nothing_that_learns_explains_a_model_in_memory(
    trained: Any, tokenizer: PreTrainedTokenizerFast
) -> None:
    expected = tuple(spec.id for spec in registry.METHODS if spec.default and not spec.learns)
    assert methods_for(wrap(trained, tokenizer)) == expected


def test_classes_are_those_of_the_configuration_unless_they_are_given(
    trained: Any, tokenizer: PreTrainedTokenizerFast
) -> None:
    assert wrap(trained, tokenizer).labels == LABELS
    assert wrap(trained, tokenizer, ["a", "b", "c"]).labels == ("a", "b", "c")


def test_weights_of_half_precision_are_explained_in_single_precision(
    trained: Any, tokenizer: PreTrainedTokenizerFast
) -> None:
    trained.to(torch.bfloat16)
    model = wrap(trained, tokenizer)
    assert {parameter.dtype for parameter in trained.parameters()} == {torch.bfloat16}
    assert {parameter.dtype for parameter in model.module.parameters()} == {torch.float32}
    assert sum(explain(model, TEXT, methods=["occlusion"]).probabilities) == pytest.approx(1, abs=1e-6)


def test_weights_of_single_precision_take_no_memory_again_and_decide_the_version(
    trained: Any, tokenizer: PreTrainedTokenizerFast
) -> None:
    model = wrap(trained, tokenizer)
    places = {parameter.data_ptr() for parameter in trained.parameters()}
    assert {parameter.data_ptr() for parameter in model.module.parameters()} == places
    assert model.version == f"memory-{fingerprint(model)[:12]}"
    with torch.no_grad():
        trained.classifier.bias += 1
    assert wrap(trained, tokenizer).version != model.version


def test_what_cannot_be_explained_has_a_sentence(trained: Any, tokenizer: PreTrainedTokenizerFast) -> None:
    wrong: tuple[tuple[tuple[Any, ...], str], ...] = (
        ((trained, tokenizer, ["a", "b"]), "'in memory' needs 3 different names of classes as labels, not 'a', 'b'."),
        ((trained, tokenizer, ["a", "b", "b"]), "needs 3 different names"),
        ((trained, tokenizer, "abc"), "needs 3 different names of classes as labels, not 'abc'."),
        ((trained, object()), "'in memory' has no fast tokenizer"),
        ((nn.Linear(2, 2), tokenizer), "A Linear is no classifier of transformers."),
        ((lambda texts: texts, tokenizer), "A function is no classifier of transformers."),
    )
    for given, sentence in wrong:
        with pytest.raises(ModelUnavailable) as error:
            wrap(*given)
        assert sentence in str(error.value)
    tokenizer.add_tokens(["many", "more"])
    with pytest.raises(ModelUnavailable, match="tokens up to number 21, but 'in memory' only 20 embeddings"):
        wrap(trained, tokenizer)
