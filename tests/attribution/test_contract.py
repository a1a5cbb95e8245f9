"""What every method of the registry promises, whichever it is."""

import random
from collections.abc import Callable
from dataclasses import fields

import numpy as np
import pytest
import torch

from explainers.datasets.example import Example
from explainers.errors import Cancelled, ExplanationError
from explainers.methods.registry import METHODS, MethodSpec, select
from explainers.models.calls import Meter
from explainers.models.catalog import fingerprint
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding, Erasure
from explainers.results.attribution import Attribution
from explainers.results.decision import Decision
from explainers.results.registry import named

pytestmark = pytest.mark.usefixtures("narrow_search")
TEXT = "the film was not unwatchable , but a very dull plot !"  # 12 units, 16 tokens with the special ones
ODD = ["good", "!", "... , !", "xyzzy", "👍🏽 good", "cafe\u0301", "فيلم good שלום", "good good good", "a\x00b !"]
ODD_AND_ERASURE = [(text, "mask") for text in ODD] + [
    (text, erasure) for text in ("xyzzy", "👍🏽 good") for erasure in ("delete", "zero")
]

every_method = pytest.mark.parametrize(
    "entry", [entry for entry in METHODS if not entry.needs], ids=lambda entry: entry.id
)
every_asking_method = pytest.mark.parametrize(
    "entry", [entry for entry in METHODS if entry.explains and entry.needs != "prompt"], ids=lambda entry: entry.id
)
every_explaining_method = pytest.mark.parametrize(
    "entry",
    [entry for entry in METHODS if entry.group in ("Gradient", "Perturbation") and not entry.optimised],
    ids=lambda entry: entry.id,
)  # whose scores are effects; a search gives places
every_erasure = pytest.mark.parametrize("erasure", ["mask", "delete", "zero"])


def scored(
    entry: MethodSpec,
    model: FrozenModel,
    encoding: Encoding,
    erasure: Erasure = "mask",
    *,
    seed: int = 0,
    label: int = 0,
) -> Attribution:
    method = entry.make(erasure=erasure, seed=seed, samples=60, steps=10)
    return method.attribute(model, encoding, label)


def condition(model: FrozenModel) -> tuple[object, ...]:
    """Everything about a model that an explanation could leave changed."""
    parts = list(model.module.modules())
    weights = [(weight.requires_grad, weight.grad is None) for weight in model.module.parameters()]
    return fingerprint(model), [part.training for part in parts], [hooks(part) for part in parts], weights


def hooks(part: torch.nn.Module) -> list[object]:
    """Those of transformers do not count: it installs them once and they sleep until hidden states are asked for."""
    every = [hook for name, hooks in vars(part).items() if name.endswith("_hooks") for hook in hooks.values()]
    return [hook for hook in every if getattr(hook, "__module__", "") != "transformers.utils.output_capturing"]


def chance_of_the_process() -> tuple[object, ...]:
    kind, keys, position, *rest = np.random.get_state()  # noqa: NPY002
    return torch.get_rng_state().tolist(), (kind, keys.tolist(), position, *rest), random.getstate()


@every_method
@every_erasure
def test_the_same_question_has_the_same_answer(bert: FrozenModel, entry: MethodSpec, erasure: Erasure) -> None:
    first, second = (scored(entry, bert, bert.encode(TEXT), erasure) for _ in range(2))
    assert first == second


@every_method
def test_one_finite_score_per_unit_and_none_for_special_tokens(bert: FrozenModel, entry: MethodSpec) -> None:
    encoding = bert.encode(TEXT)
    result = scored(entry, bert, encoding)
    assert result.encoding is encoding
    assert len(result.scores) == len(encoding.units) == 12
    assert np.isfinite([result.scores, result.spread or result.scores]).all()
    assert any(result.scores)


@every_method
@pytest.mark.parametrize(("text", "erasure"), ODD_AND_ERASURE)
def test_odd_texts_are_explained_too(bert: FrozenModel, entry: MethodSpec, text: str, erasure: Erasure) -> None:
    encoding = bert.encode(text)
    result = scored(entry, bert, encoding, erasure)
    assert len(result.scores) == len(encoding.units) > 0
    assert np.isfinite(result.scores).all()


@every_method
def test_a_pair_of_texts_is_explained_as_one(bert: FrozenModel, entry: MethodSpec) -> None:
    encoding = bert.encode(Example("the film was good", "a dull plot"))
    assert len(scored(entry, bert, encoding).scores) == 4 + 3


@every_method
def test_tokens_can_be_the_units(bert: FrozenModel, entry: MethodSpec) -> None:
    encoding = bert.encode("unwatchable film", "token")
    assert len(scored(entry, bert, encoding).scores) == 4


@pytest.mark.parametrize("text", ["", "   ", "\n\t"])
def test_a_text_without_units_is_a_sentence(bert: FrozenModel, text: str) -> None:
    with pytest.raises(ExplanationError, match="Restore at least one"):
        Decision(bert, bert.encode(text), 0)


@every_method
def test_the_answer_carries_what_the_registry_says(bert: FrozenModel, entry: MethodSpec) -> None:
    result = scored(entry, bert, bert.encode("good film"), label=2)
    assert (result.method, result.signed, result.label, result.stage) == (entry.id, entry.signed, 2, "final")
    if not entry.signed:
        assert min(result.scores) >= 0


@every_explaining_method
def test_a_planted_word_comes_first_and_a_word_without_weight_gets_nothing(
    bag: Callable[..., FrozenModel], entry: MethodSpec
) -> None:
    model = bag({"the": 0.0, "film": 0.02, "superb": 0.4, "was": 0.0, "long": -0.05}, additive=True)
    result = scored(entry, model, model.encode("the film was superb long"), label=1)
    assert result.encoding.units[int(np.argmax(result.scores))].text == "superb"
    assert result.encoding.units[int(np.argmin(result.scores))].text == "long"
    tolerance = 0.02 if entry.id == "lime" else 1e-5  # LIME's ridge mixes the words a little
    assert (result.scores[0], result.scores[2]) == pytest.approx((0, 0), abs=tolerance)


@every_explaining_method
def test_what_speaks_for_one_of_two_classes_speaks_against_the_other(
    bag: Callable[..., FrozenModel], entry: MethodSpec
) -> None:
    model = bag({"great": 1.5, "dull": -1.0, "the": 0.0})
    encoding = model.encode("the great dull")
    one, other = (np.array(scored(entry, model, encoding, label=label).scores) for label in (0, 1))
    assert one == pytest.approx(-other, abs=1e-5)


@every_asking_method
def test_the_model_is_unchanged_afterwards(bert: FrozenModel, entry: MethodSpec) -> None:
    before = condition(bert)
    for erasure in ("mask", "delete", "zero"):
        scored(entry, bert, bert.encode(TEXT), erasure)
    assert condition(bert) == before


@every_asking_method
@pytest.mark.parametrize("erasure", ["mask", "zero"])
def test_the_model_is_unchanged_after_an_exception_in_the_middle(
    bert: FrozenModel, entry: MethodSpec, erasure: Erasure, small_batches: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer = bert.base.encoder.layer[1]
    calls, whole = 0, layer.forward
    breaks_at = 10**9

    def forward(*args: object, **named: object) -> object:
        nonlocal calls
        calls += 1
        if calls > breaks_at:
            raise RuntimeError("injected")
        return whole(*args, **named)

    before, encoding = condition(bert), bert.encode(TEXT)
    scored(entry, bert, encoding, erasure)  # what was learned is loaded
    with monkeypatch.context() as patch:
        patch.setattr(layer, "forward", forward)
        expected = scored(entry, bert, encoding, erasure)
        calls, breaks_at = 0, calls // 2
        with pytest.raises(RuntimeError, match="injected"):
            scored(entry, bert, encoding, erasure)
    assert condition(bert) == before
    assert scored(entry, bert, encoding, erasure) == expected


@every_asking_method
def test_a_run_that_was_stopped_asks_nothing_more(bert: FrozenModel, entry: MethodSpec) -> None:
    meter = Meter()
    meter.cancel.set()
    with pytest.raises(Cancelled):
        scored(entry, bert.metered(meter), bert.encode(TEXT))
    assert meter.calls == 0


@pytest.mark.parametrize("method", ["integrated_gradients", "lime", "kernel_shap", "occlusion"])
def test_a_stop_in_the_middle_lets_only_the_running_batch_end(
    bert: FrozenModel, method: str, small_batches: None, stopping: Meter
) -> None:
    (entry,) = select([method])
    before = condition(bert)
    with pytest.raises(Cancelled):
        scored(entry, bert.metered(stopping), bert.encode(TEXT), "zero")
    assert stopping.batches == 1
    assert 1 <= stopping.calls <= 2  # 32 tokens hold two rows of 16
    assert condition(bert) == before


@every_method
def test_the_random_state_of_the_process_is_left_alone(bert: FrozenModel, entry: MethodSpec) -> None:
    before = chance_of_the_process()
    scored(entry, bert, bert.encode(TEXT))
    assert chance_of_the_process() == before


@pytest.mark.parametrize(
    "entry",
    [entry for entry in METHODS if "seed" in {field.name for field in fields(named(entry.implementation))}],
    ids=lambda entry: entry.id,
)
def test_another_seed_is_another_draw(bert: FrozenModel, entry: MethodSpec) -> None:
    encoding = bert.encode(TEXT)
    assert scored(entry, bert, encoding, seed=1).scores != scored(entry, bert, encoding, seed=2).scores


@every_method
@pytest.mark.parametrize("text", [TEXT, "good", "good film"])
def test_it_costs_no_more_than_is_announced(bert: FrozenModel, entry: MethodSpec, text: str) -> None:
    encoding, meter = bert.encode(text), Meter()
    scored(entry, bert.metered(meter), encoding)
    assert meter.calls <= entry.passes(len(encoding.units), 60, 10)


def test_the_registry_names_each_method_once() -> None:
    ids = [entry.id for entry in METHODS]
    assert len(set(ids)) == len(ids)
    assert [entry.id for entry in select(reversed(ids))] == ids  # always in the order of display


def test_an_unknown_method_is_answered_with_those_that_exist() -> None:
    with pytest.raises(ExplanationError, match=r"Unknown method 'shap'.*kernel_shap"):
        select(["lime", "shap"])
