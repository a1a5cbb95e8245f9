"""The precision of answers to masks: what is rounded, what is not, and the check that no ranking changes."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from explainers.api import explain
from explainers.comparison.decision import decide
from explainers.errors import ExplanationError
from explainers.models import precision as module
from explainers.models.calls import Meter, PredictionCache
from explainers.models.catalog import load
from explainers.models.frozen_model import FrozenModel
from explainers.models.in_memory import wrap
from explainers.models.inputs.encoding import Erasure
from explainers.models.precision import Precision, check_bfloat16, checked_precision, leading_units
from explainers.report.terminal import comparison_lines
from explainers.results.attribution import ranking

TEXT = "the good film was not bad"
Answers = Callable[[Precision, np.ndarray, Erasure], np.ndarray]


def passing(*_: object) -> module.UsedPrecision:
    return module.UsedPrecision("bfloat16")


def refusing(*_: object) -> module.UsedPrecision:
    return module.UsedPrecision(note="Computed in float32: for a test.")


def masks_of(model: FrozenModel) -> tuple[Any, np.ndarray]:
    encoding = model.encode(TEXT)
    return encoding, ~np.eye(len(encoding.units), dtype=bool)


def answering(exact: list[float], rounded: list[float]) -> Answers:
    """p(class 1) of the whole input, then of the input without each unit, in either precision."""
    table = {"float32": np.array(exact), "bfloat16": np.array(rounded)}
    return lambda precision, _masks, _erasure: np.stack([1 - table[precision], table[precision]], axis=1)


@pytest.mark.parametrize(
    ("rounded", "used", "note"),
    [
        ([0.9, 0.3, 0.5, 0.91, 0.89, 0.8], "bfloat16", ""),  # other numbers, the same first unit of either class
        ([0.9, 0.5, 0.3, 0.91, 0.89, 0.8], "float32", "other units lead when one is erased by mask"),  # for class 1
        ([0.9, 0.3, 0.5, 0.89, 0.91, 0.8], "float32", "other units lead"),  # for class 0
        ([0.4, 0.1, 0.3, 0.6, 0.39, 0.38], "float32", "the model predicts another class"),
    ],
)
def test_the_check_compares_the_leading_units_of_both_classes(rounded: list[float], used: str, note: str) -> None:
    exact = [0.9, 0.2, 0.4, 0.95, 0.85, 0.8]
    result = check_bfloat16(answering(exact, rounded), 5, ["mask"])
    assert result.precision == used
    assert note in result.note
    assert result.note.startswith("Computed in float32: in bfloat16 ") == bool(note)


def test_every_operator_is_checked() -> None:
    exact = [0.9, 0.2, 0.4]

    def answers(precision: Precision, masks: np.ndarray, erasure: Erasure) -> np.ndarray:
        assert masks.tolist() == [[True, True], [False, True], [True, False]]
        swapped = precision == "bfloat16" and erasure == "zero"
        return answering(exact, [0.9, 0.4, 0.2])("bfloat16" if swapped else "float32", masks, erasure)

    assert check_bfloat16(answers, 2, ["mask", "delete"]).precision == "bfloat16"
    assert check_bfloat16(answers, 2, ["mask", "delete", "zero"]).note.endswith("erased by zero.")


def test_the_leading_units_are_the_first_fifth_at_least_one() -> None:
    assert leading_units(np.array([0.9, 0.5])) == [0]
    assert leading_units(np.array([0.9, 0.8, 0.2, 0.7, 0.1, 0.9, 0.9])) == [3, 1]  # falls 0.1 0.7 0.2 0.8 0 0


def test_the_products_are_rounded_and_the_answer_is_not(bert: FrozenModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explainers.models.frozen_model.check_bfloat16", passing)
    kinds: list[torch.dtype] = []
    bert.module.classifier.register_forward_hook(lambda _module, _args, output: kinds.append(output.dtype))
    weights = {name: (value.dtype, value.clone()) for name, value in bert.module.state_dict().items()}
    encoding, masks = masks_of(bert)
    for erasure in bert.erasures:
        exact = bert.probabilities(encoding, masks, erasure)
        rounded = bert.in_precision("bfloat16").probabilities(encoding, masks, erasure)
        assert rounded.dtype == np.float64
        assert np.abs(rounded - exact).max() < 0.02
        assert (rounded != exact).any()
        assert rounded.sum(axis=1) == pytest.approx(1, abs=1e-6)  # as a softmax in float32 is
    assert set(kinds) == {torch.float32, torch.bfloat16}
    assert {name: value.dtype for name, value in bert.module.state_dict().items()} == {
        name: dtype for name, (dtype, _) in weights.items()
    }
    assert all(torch.equal(value, weights[name][1]) for name, value in bert.module.state_dict().items())


def test_gradients_and_states_are_those_in_float32(bert: FrozenModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explainers.models.frozen_model.check_bfloat16", passing)
    rounding, (encoding, masks) = bert.in_precision("bfloat16"), masks_of(bert)
    shares = torch.from_numpy(masks).float()
    assert torch.equal(rounding.soft(encoding, shares), bert.soft(encoding, shares))
    assert torch.equal(rounding.states(encoding).hidden[-1], bert.states(encoding).hidden[-1])


def test_an_input_that_does_not_pass_is_answered_in_float32_and_says_so(
    bert: FrozenModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []

    def refuse(*arguments: object) -> module.UsedPrecision:
        calls.append(1)
        return refusing(*arguments)

    monkeypatch.setattr("explainers.models.frozen_model.check_bfloat16", refuse)
    plain = explain(bert, TEXT, methods=["occlusion"])
    comparison = explain(bert, TEXT, methods=["occlusion"], precision="bf16")
    assert comparison.results[0].attribution.scores == plain.results[0].attribution.scores
    assert len(calls) == 1  # for the input, not for every call
    model = comparison.manifest()["model"]
    assert (model["precision"], model["precision_note"]) == ("float32", "Computed in float32: for a test.")
    assert "Computed in float32: for a test." in "\n".join(comparison_lines(comparison))
    assert plain.manifest()["model"]["precision"] == "float32"
    assert "precision_note" not in plain.manifest()["model"]


def test_a_check_for_which_there_is_no_time_is_broken_off_and_not_remembered(
    bert: FrozenModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    began: list[int] = []

    def check(answers: module.Answers, units: int, erasures: Sequence[Erasure]) -> module.UsedPrecision:
        began.append(units)
        check_bfloat16(answers, units, erasures)
        return module.UsedPrecision("bfloat16")

    monkeypatch.setattr("explainers.models.frozen_model.check_bfloat16", check)
    short = explain(bert, TEXT, methods=["occlusion"], precision="bfloat16", budget=1e-9)  # a batch takes longer
    note = "Computed in float32: there was no time to check bfloat16."
    model = short.manifest()["model"]
    assert (model["precision"], model["precision_note"]) == ("float32", note)
    assert note in short.decision.encoding.warning
    assert len(began) == 1  # nothing else that is computed checks it again
    whole = explain(bert, TEXT, methods=["occlusion"], precision="bfloat16")
    assert (whole.manifest()["model"]["precision"], len(began)) == ("bfloat16", 2)


@pytest.mark.parametrize(("budget", "precision"), [(40.0, "float32"), (4000.0, "bfloat16")])
def test_the_checks_of_the_whole_input_and_of_what_is_left_of_it_share_their_time(
    bert: FrozenModel, monkeypatch: pytest.MonkeyPatch, budget: float, precision: str
) -> None:
    def check(answers: module.Answers, units: int, erasures: Sequence[Erasure]) -> module.UsedPrecision:
        check_bfloat16(answers, units, erasures)
        return module.UsedPrecision("bfloat16")

    monkeypatch.setattr("explainers.models.frozen_model.check_bfloat16", check)
    meter = Meter(seconds=10.0)  # which the first check has taken: a quarter of 40
    left = decide(bert.in_precision("bfloat16"), TEXT, removed=[0], meter=meter, budget=budget).decision
    assert left.card.precision == precision
    assert (module.NO_TIME.note in left.encoding.warning) == (precision == "float32")


def test_a_swapped_pair_is_one_mask_and_not_checked(pairs: FrozenModel, monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[int] = []
    monkeypatch.setattr(
        "explainers.models.frozen_model.check_bfloat16",
        lambda _answers, units, _erasures: checked.append(units) or module.UsedPrecision("bfloat16"),
    )
    comparison = explain(pairs, "good film", "a dull film", methods=["occlusion"], precision="bfloat16")
    assert comparison.ablated_inputs is not None
    assert len(checked) == 1


def test_an_input_that_passes_has_its_precision_in_the_manifest(
    bert: FrozenModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explainers.models.frozen_model.check_bfloat16", passing)
    comparison = explain(bert, TEXT, methods=["occlusion"], precision="bfloat16")
    assert comparison.manifest()["model"]["precision"] == "bfloat16"
    assert not comparison.decision.encoding.warning
    assert (
        comparison.results[0].attribution.scores
        != explain(bert, TEXT, methods=["occlusion"]).results[0].attribution.scores
    )


def test_where_the_check_passes_occlusion_has_the_same_first_units_in_both_precisions(bert: FrozenModel) -> None:
    texts = (TEXT, "the film was long", "a very dull plot", "good", "unwatchable film", "not good not bad film")
    used = []
    for text in texts:
        rounded, exact = (explain(bert, text, methods="occlusion", precision=one) for one in ("bfloat16", "float32"))
        used.append(rounded.manifest()["model"]["precision"])
        count = -(-len(exact.decision.encoding.units) // 5)  # 20 %, at least one
        first = [ranking(one.results[0].attribution.scores)[:count].tolist() for one in (rounded, exact)]
        assert first[0] == first[1], text
        assert rounded.label == exact.label
    assert set(used) == {"bfloat16", "float32"}


def test_answers_in_two_precisions_are_kept_apart(bert: FrozenModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explainers.models.frozen_model.check_bfloat16", passing)
    encoding, masks = masks_of(bert)
    pooled = bert.pooled(PredictionCache())
    rounded = pooled.in_precision("bfloat16").probabilities(encoding, masks)
    assert (pooled.probabilities(encoding, masks) == bert.probabilities(encoding, masks)).all()
    assert (pooled.in_precision("bfloat16").probabilities(encoding, masks) == rounded).all()


def test_other_weights_are_checked_anew(bert: FrozenModel) -> None:
    model = bert.in_precision("bfloat16")
    model.used_precision(model.encode(TEXT))
    other = model.with_module(bert.module)
    assert (len(model.precision_checks.known), len(other.precision_checks.known)) == (1, 0)
    assert replace(bert).precision_checks is bert.precision_checks


@pytest.mark.parametrize(("name", "precision"), [("fp32", "float32"), ("bf16", "bfloat16"), ("bfloat16", "bfloat16")])
def test_the_names_of_precisions(name: str, precision: str) -> None:
    assert checked_precision(name) == precision


def test_an_unknown_precision_and_a_function_are_sentences() -> None:
    with pytest.raises(ExplanationError, match=r"Unknown precision 'int8'. Choose one of: float32, bfloat16\."):
        load("sst2", precision="int8")
    function = wrap(lambda texts: [[0.5, 0.5]] * len(texts), labels=["no", "yes"])
    with pytest.raises(ExplanationError, match="is a function, which computes in a precision of its own"):
        explain(function, "A text.", precision="bfloat16")
