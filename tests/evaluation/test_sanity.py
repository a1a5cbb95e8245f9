"""Sanity checks on the small BERT and on bags of words, whose explanations are known."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from explainers import wrap
from explainers.attribution.attention import Attention
from explainers.datasets.labelled_rows import InputRow
from explainers.errors import ExplanationError
from explainers.evaluation.explain_batch import SetPlan
from explainers.evaluation.sanity import (
    FILE,
    AlteredModels,
    altered_models,
    check_row,
    run_checks,
)
from explainers.evaluation.sanity_summary import (
    SANITY_CHECKS,
    SanityOutcome,
    cascade,
    outcomes,
    sanity_frame,
    sentence,
)
from explainers.metrics.bootstrap import Interval
from explainers.models.altered import noisy_copies, planted_copy, randomised_copies
from explainers.models.frozen_model import FrozenModel
from explainers.report.set_tables import sanity_table
from explainers.results.settings import Settings

Bag = Callable[..., FrozenModel]
PLAN = SetPlan(("occlusion", "gradient_x_input", "attention_mean", "lime"), Settings(samples=60))
TEXTS = (
    "the good film was very good",
    "a bad plot , not good",
    "the film was very dull !",
    "not a bad film was the plot",
    "a dull film , a good plot",
    "very bad , the plot was dull",
)
ROWS = tuple(InputRow(str(number), text, line=number + 2) for number, text in enumerate(TEXTS))


@pytest.fixture
def altered(bert: FrozenModel) -> AlteredModels:
    return altered_models(bert, 0, 0)


def p_of(model: FrozenModel, text: str) -> np.ndarray:
    encoding = model.encode(text)
    return model.probabilities(encoding, np.ones((1, len(encoding.units)), dtype=bool))[0]


def test_weights_become_random_from_the_output_downwards(bert: FrozenModel) -> None:
    before = {name: tensor.clone() for name, tensor in bert.module.state_dict().items()}
    own = dict(bert.module.named_parameters())
    random = []
    for step, copy in randomised_copies(bert, 0):
        changed = {name for name, tensor in copy.module.named_parameters() if tensor is not own[name]}
        random.append((step, changed))
        assert not np.allclose(p_of(copy, TEXTS[0]), p_of(bert, TEXTS[0]))
    assert [step for step, _ in random] == ["head", "layer 2", "layer 1", "embeddings"]
    head, second, first, everything = (changed for _, changed in random)
    assert {name for name in head if "classifier" in name or "pooler" in name} == head
    assert "bert.encoder.layer.1.output.dense.weight" in second - head
    assert "bert.encoder.layer.0.output.dense.weight" in first - second
    assert everything == set(own)
    assert all(torch.equal(before[name], tensor) for name, tensor in bert.module.state_dict().items())


def test_random_matrices_keep_their_spread_and_norms_are_reset(bert: FrozenModel) -> None:
    *_, (_, copy) = randomised_copies(bert, 0)
    own, new = bert.module.state_dict(), copy.module.state_dict()
    table = "bert.embeddings.word_embeddings.weight"
    assert float(new[table].std()) == pytest.approx(float(own[table].std()), rel=0.2)
    assert not torch.equal(new[table], own[table])
    norm = "bert.encoder.layer.0.output.LayerNorm"
    assert torch.equal(new[f"{norm}.weight"], torch.ones(16))
    assert torch.equal(new[f"{norm}.bias"], torch.zeros(16))
    other = [copy for _, copy in randomised_copies(bert, 1)][-1]
    assert not torch.equal(other.module.state_dict()[table], new[table])


def test_noisy_copies_answer_the_same_again_and_differ_from_each_other(bert: FrozenModel) -> None:
    first, second = noisy_copies(bert, 2, 0)
    once, again = (p_of(noisy_copies(bert, 1, 0)[0], TEXTS[0]) for _ in range(2))
    assert np.allclose(once, again)
    assert np.allclose(once, p_of(first, TEXTS[0]))
    answers = [p_of(model, TEXTS[0]) for model in (bert, first, second)]
    assert not np.allclose(answers[0], answers[1], atol=1e-4)
    assert not np.allclose(answers[1], answers[2], atol=1e-4)
    assert not any(part._forward_hooks for part in bert.module.modules())


def test_a_planted_token_alone_decides_the_answer(bert: FrozenModel) -> None:
    token = bert.encode("dull").ids[1]
    copy = planted_copy(bert, token, 2)
    with_word, without = "the film was very dull !", "the film was very good !"
    assert p_of(copy, with_word)[2] > 0.99
    assert np.allclose(p_of(copy, without), p_of(bert, without), atol=1e-6)
    encoding = copy.encode(with_word)
    mask = torch.ones(1, len(encoding.units), requires_grad=True)
    copy.soft(encoding, mask)[0, 2].backward()  # type: ignore[no-untyped-call]
    assert mask.grad is not None
    assert int(mask.grad[0].abs().argmax()) == 4


def test_every_check_is_recorded_with_its_reason_where_it_does_not_apply(altered: AlteredModels) -> None:
    record = check_row(altered, PLAN, ROWS[0])
    methods = {*PLAN.methods, "random"}
    assert set(record["weights"]) == set(record["seed"]) == set(record["class"]) == set(record["reverse"]) == methods
    assert all(len(values) == len(altered.steps) == 4 for values in record["weights"].values())
    assert record["planted"].keys() == {"occlusion", "gradient_x_input", "lime", "random"}
    assert "reads what is inside the model" in record["reasons"]["planted"]["attention_mean"]
    assert record["planted"]["occlusion"] == 1


def test_a_method_that_ignores_the_model_fails_and_one_that_asks_it_passes(altered: AlteredModels) -> None:
    frame = sanity_frame([check_row(altered, PLAN, row) for row in ROWS], altered.steps)
    results = {method: {outcome.check.id: outcome for outcome in listed} for method, listed in outcomes(frame).items()}
    random, occlusion, attention = (results[method] for method in ("random", "occlusion", "attention_mean"))
    assert (random["weights"].verdict, random["class"].verdict) == ("failed", "failed")
    assert random["seed"].verdict != "passed"
    assert attention["class"].verdict == "failed"  # it is the same map for every class
    assert attention["planted"].verdict == "not applicable"
    assert (occlusion["seed"].verdict, occlusion["planted"].verdict) == ("passed", "passed")
    assert occlusion["reverse"].value is not None
    assert occlusion["reverse"].value.mean == 1
    assert [step for step, _ in cascade(frame, "occlusion")] == altered.steps


def test_with_two_classes_the_other_class_reverses_the_signs(bag: Bag) -> None:
    model = bag({"good": 2.0, "bad": -2.0, "film": 0.1, "the": 0.05, "was": 0.01, "dull": -1.0, "very": 0.5})
    record = check_row(altered_models(model, 0, 0), SetPlan(("occlusion",)), InputRow("1", "the film was very good"))
    assert record["class"]["occlusion"] == pytest.approx(-1)
    assert record["seed"]["occlusion"] == pytest.approx(1)


def test_smooth_explanations_are_averaged_over_noisy_copies(bert: FrozenModel) -> None:
    plan = SetPlan(("gradient_x_input",))
    plain, smooth = (check_row(altered_models(bert, 0, number), plan, ROWS[0]) for number in (0, 3))
    assert plain["weights"].keys() == smooth["weights"].keys()
    assert plain["weights"]["gradient_x_input"] != smooth["weights"]["gradient_x_input"]
    assert plain["seed"] == smooth["seed"]


def test_a_short_text_and_a_failing_method_leave_the_others(
    altered: AlteredModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "fewer than 4 units" in check_row(altered, PLAN, InputRow("1", "good film"))["failed"]

    def fail(*_arguments: object) -> None:
        raise ExplanationError("It does not work today.")

    monkeypatch.setattr(Attention, "attribute", fail)
    record = check_row(altered, PLAN, ROWS[0])
    for check in ("weights", "seed", "class", "reverse"):
        assert record["reasons"][check] == {"attention_mean": "It does not work today."}
        assert record[check].keys() == {"occlusion", "gradient_x_input", "lime", "random"}


def test_a_function_has_no_weights_and_the_other_checks_stand() -> None:
    def answer(texts: list[str]) -> np.ndarray:
        good = np.array([0.9 if "good" in text else 0.2 for text in texts])
        return np.stack([1 - good, good], axis=1)

    models = altered_models(wrap(answer, labels=["negative", "positive"]), 0, 0)
    record = check_row(models, SetPlan(("occlusion",), Settings(erasure="delete")), InputRow("1", "a good film indeed"))
    assert "no weights that could be made random" in record["reasons"]["weights"][""]
    assert "No word can be planted" in record["reasons"]["planted"][""]
    assert record["class"]["occlusion"] == pytest.approx(-1)
    results = outcomes(sanity_frame([record], models.steps))
    assert "no weights" in results["occlusion"][0].reason


def test_interrupted_checks_go_on_and_processes_change_nothing(altered: AlteredModels, tmp_path: Path) -> None:
    assert list(run_checks(altered, PLAN, ROWS, tmp_path / "whole", 2))[-1] == len(ROWS)
    steps = run_checks(altered, PLAN, ROWS, tmp_path / "cut", 1)
    while next(steps) < 2:
        pass
    steps.close()
    assert list(run_checks(altered, PLAN, ROWS, tmp_path / "cut", 1)) == [2, 3, 4, 5, 6]
    whole, cut = ((tmp_path / name / FILE).read_text().splitlines() for name in ("whole", "cut"))
    assert whole == cut
    with pytest.raises(ExplanationError, match="belongs to another run"):
        list(run_checks(altered, SetPlan(("occlusion",)), ROWS, tmp_path / "cut", 1))


@pytest.mark.parametrize(
    ("check", "mean", "low", "high", "verdict"),
    [
        ("weights", 0.1, -0.1, 0.3, "passed"),
        ("weights", 0.3, 0.1, 0.5, "open"),
        ("weights", 0.9, 0.8, 1.0, "failed"),
        ("seed", 0.9, 0.8, 1.0, "passed"),
        ("seed", 0.5, 0.3, 0.7, "failed"),
        ("planted", 0.6, 0.4, 0.8, "open"),
    ],
)
def test_a_verdict_needs_the_whole_interval_on_one_side(
    check: str, mean: float, low: float, high: float, verdict: str
) -> None:
    (spec,) = (spec for spec in SANITY_CHECKS if spec.id == check)
    assert SanityOutcome("occlusion", spec, Interval(mean, low, high, 10)).verdict == verdict
    assert SanityOutcome("occlusion", spec, Interval(mean, low, high, 4)).verdict == "open"
    assert SanityOutcome("occlusion", spec, None, "why").verdict == "not applicable"


def test_a_sentence_says_what_was_passed_and_a_table_how_far() -> None:
    values = [Interval(0.9, 0.8, 1, 9), Interval(1, 1, 1, 9), Interval(0.3, 0, 0.6, 9), None, Interval(1, 0.7, 1, 9)]
    results = [SanityOutcome("lime", check, value) for check, value in zip(SANITY_CHECKS, values, strict=True)]
    assert sentence("lime", results) == (
        "LIME: passed other seed and reversed order; failed random weights; other class is open."
    )
    (cells,) = sanity_table().cells([("lime", results)])
    assert cells["random weights (≤ 0.3)"] == "✗ 0.90 [0.80, 1.00]"
    assert cells["planted word (≥ 0.5)"] == ""
    assert (
        sentence("lime", [SanityOutcome("lime", check, None) for check in SANITY_CHECKS]) == "LIME: no check applies."
    )


def test_without_checks_there_is_an_empty_frame() -> None:
    frame = sanity_frame([], [])
    assert isinstance(frame, pd.DataFrame)
    assert outcomes(frame) == {}


def test_a_share_of_all_inputs_still_has_an_interval() -> None:
    records = [
        {"id": str(number), "reasons": {check.id: {} for check in SANITY_CHECKS}, "planted": {"occlusion": 1}}
        | {check.id: {} for check in SANITY_CHECKS if check.id != "planted"}
        for number in range(6)
    ]
    (results,) = outcomes(sanity_frame(records, ["head"])).values()
    (planted,) = (outcome for outcome in results if outcome.check.id == "planted")
    assert planted.value is not None
    assert (planted.value.mean, planted.value.high) == (1, 1)
    assert 0.5 < planted.value.low < 0.7  # Wilson's interval of six of six
