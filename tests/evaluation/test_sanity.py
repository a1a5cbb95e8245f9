"""Sanity checks on the small BERT and on bags of words, whose explanations are known."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import GPT2Config, GPT2ForSequenceClassification

from explainers import wrap
from explainers.attribution.attention import Attention
from explainers.datasets.labelled_rows import InputRow
from explainers.errors import ExplanationError
from explainers.evaluation.explain_batch import SetPlan
from explainers.evaluation.names import SANITY_RECORDS
from explainers.evaluation.sanity import SanityPlan, chance_rho, check_row, checked_rows, run_checks, steps_of
from explainers.evaluation.sanity_summary import (
    SANITY_CHECKS,
    SanityOutcome,
    cascade,
    notes,
    outcomes,
    sanity_frame,
    sentence,
)
from explainers.metrics.bootstrap import Interval
from explainers.models.altered import noisy_copies, planted_copy, randomisation_steps, randomised_copies
from explainers.models.decoder import decoder_classifier
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Erasure
from explainers.report.set_tables import sanity_table
from explainers.results.decision import Settings

Bag = Callable[..., FrozenModel]
SET = SetPlan(("occlusion", "gradient_x_input", "attention_mean", "lime"), Settings(samples=60))
PLAN = SanityPlan(SET)
ABOUT = {"sha256": "of the table"}
TEXTS = (
    "the good film was very good",
    "a bad plot , not good",
    "the film was very dull !",
    "not a bad film was the plot",
    "a dull film , a good plot",
    "very bad , the plot was dull",
)
ROWS = tuple(InputRow(str(number), text, line=number + 2) for number, text in enumerate(TEXTS))


def p_of(model: FrozenModel, text: str) -> np.ndarray:
    encoding = model.encode(text)
    return model.probabilities(encoding, np.ones((1, len(encoding.units)), dtype=bool))[0]


def test_weights_become_random_from_the_output_downwards(bert: FrozenModel) -> None:
    before = {name: tensor.clone() for name, tensor in bert.module.state_dict().items()}
    own = dict(bert.module.named_parameters())
    random = []
    for copy in randomised_copies(bert, 0):
        random.append({name for name, tensor in copy.module.named_parameters() if tensor is not own[name]})
        assert not np.allclose(p_of(copy, TEXTS[0]), p_of(bert, TEXTS[0]))
    assert randomisation_steps(bert) == ["head", "layer 2", "layer 1", "embeddings"]
    head, second, first, everything = random
    assert {name for name in head if "classifier" in name or "pooler" in name} == head
    assert "bert.encoder.layer.1.output.dense.weight" in second - head
    assert "bert.encoder.layer.0.output.dense.weight" in first - second
    assert everything == set(own)
    assert all(torch.equal(before[name], tensor) for name, tensor in bert.module.state_dict().items())


def test_random_matrices_keep_their_spread_and_norms_are_reset(bert: FrozenModel) -> None:
    *_, copy = randomised_copies(bert, 0)
    own, new = bert.module.state_dict(), copy.module.state_dict()
    table = "bert.embeddings.word_embeddings.weight"
    assert float(new[table].std()) == pytest.approx(float(own[table].std()), rel=0.2)
    assert not torch.equal(new[table], own[table])
    norm = "bert.encoder.layer.0.output.LayerNorm"
    assert torch.equal(new[f"{norm}.weight"], torch.ones(16))
    assert torch.equal(new[f"{norm}.bias"], torch.zeros(16))
    *_, other = randomised_copies(bert, 1)
    assert not torch.equal(other.module.state_dict()[table], new[table])


def test_what_a_decoder_has_before_its_layers_goes_with_its_embeddings(bert: FrozenModel) -> None:
    config = GPT2Config(vocab_size=20, n_positions=16, n_embd=8, n_layer=2, n_head=2, num_labels=2, pad_token_id=0)
    module = decoder_classifier("gpt2", GPT2ForSequenceClassification(config))
    model = replace(bert, module=module, labels=("negative", "positive"), segmented=False)
    own = {id(tensor): name for name, tensor in model.module.named_parameters()}
    last: set[str] = set()
    for step, copy in zip(randomisation_steps(model), randomised_copies(model, 0), strict=True):
        drawn = set(own.values()) - {own[id(tensor)] for tensor in copy.module.parameters() if id(tensor) in own}
        fresh, last = drawn - last, drawn
        assert any("wpe" in name for name in fresh) == any("wte" in name for name in fresh) == (step == "embeddings")
        assert any("ln_f" in name for name in fresh) == (step == "head")
    assert last == set(own.values())


def test_noisy_copies_answer_the_same_again_in_any_batch_and_differ_from_each_other(bert: FrozenModel) -> None:
    first, second = noisy_copies(bert, 2, 0)
    once, again = (p_of(noisy_copies(bert, 1, 0)[0], TEXTS[0]) for _ in range(2))
    assert np.allclose(once, again)
    assert np.allclose(once, p_of(first, TEXTS[0]))
    encoding = first.encode(TEXTS[0])
    masks = np.vstack([np.ones(len(encoding.units)), np.eye(len(encoding.units))]).astype(bool)
    assert np.allclose(first.probabilities(encoding, masks)[0], once, atol=1e-6)
    answers = [p_of(model, TEXTS[0]) for model in (bert, first, second)]
    assert not np.allclose(answers[0], answers[1], atol=1e-4)
    assert not np.allclose(answers[1], answers[2], atol=1e-4)
    assert not any(part._forward_hooks for part in bert.module.modules())


@pytest.mark.parametrize("erasure", ["mask", "delete", "zero"])
def test_a_planted_token_alone_decides_the_answer(bert: FrozenModel, erasure: Erasure) -> None:
    encoding = bert.encode("the film was very dull !")
    copy, unit = planted_copy(bert, encoding, 5, 2), 4  # "dull", after [CLS]
    alone, without = np.eye(6, dtype=bool)[unit], ~np.eye(6, dtype=bool)[unit]
    p = copy.probabilities(encoding, [np.ones(6, dtype=bool), alone, without], erasure)
    assert (p[:2, 2] > 0.99).all()
    assert np.allclose(p[2], bert.probabilities(encoding, [without], erasure)[0], atol=1e-6)
    one_by_one = copy.probabilities(encoding, np.vstack([np.ones(6), 1 - np.eye(6)]).astype(bool), erasure)
    assert (one_by_one[:, 2] > 0.99).tolist() == [place != unit + 1 for place in range(7)]


@pytest.mark.parametrize("erasure", ["mask", "zero"])
def test_the_gradient_of_a_planted_token_points_to_its_class(bert: FrozenModel, erasure: Erasure) -> None:
    encoding = bert.encode("the film was very dull !")
    copy, unit = planted_copy(bert, encoding, 5, 2), 4
    mask = torch.ones(1, len(encoding.units), requires_grad=True)
    copy.soft(encoding, mask, erasure)[0, 2].backward()  # type: ignore[no-untyped-call]
    assert mask.grad is not None
    gradient = mask.grad[0]
    assert float(gradient[unit]) > 1
    assert float(gradient[torch.arange(6) != unit].abs().max()) < 1e-3 * float(gradient[unit])


def test_nothing_is_planted_into_windows(bert: FrozenModel) -> None:
    bert.tokenizer.enable_truncation(6)
    record = check_row(bert, PLAN, replace(ROWS[0], text="the film was very dull but the plot was good"))
    assert "Nothing is planted into a text that is read in several windows." in record["reasons"]["planted"][""]


def test_every_check_is_recorded_with_its_reason_where_it_does_not_apply(bert: FrozenModel) -> None:
    record = check_row(bert, PLAN, ROWS[0])
    methods = {*SET.methods, "random"}
    assert set(record["weights"]) == set(record["seed"]) == set(record["class"]) == methods
    assert {*record["reverse"], *record["reasons"]["reverse"]} == methods
    assert all(len(values) == len(steps_of(bert)) == 4 for values in record["weights"].values())
    assert "reads what is inside the model" in record["reasons"]["planted"]["attention_mean"]
    found = {method: place for method, place in record["planted"].items() if method != "random"}
    assert found == {"occlusion": 1, "gradient_x_input": 1, "lime": 1}


def test_a_method_that_ignores_the_model_fails_and_one_that_asks_it_passes(bert: FrozenModel) -> None:
    frame = sanity_frame([check_row(bert, PLAN, row) for row in ROWS], steps_of(bert))
    results = {method: {outcome.check.id: outcome for outcome in listed} for method, listed in outcomes(frame).items()}
    random, occlusion, attention = (results[method] for method in ("random", "occlusion", "attention_mean"))
    assert (random["weights"].verdict, random["class"].verdict) == ("failed", "failed")
    assert random["seed"].verdict != "passed"
    assert attention["class"].verdict == "failed"  # it is the same map for every class
    assert attention["planted"].verdict == "not applicable"
    assert (occlusion["seed"].verdict, occlusion["planted"].verdict) == ("passed", "passed")
    assert occlusion["reverse"].value is not None
    assert occlusion["reverse"].value.mean == 1
    assert [step for step, _ in cascade(frame, "occlusion")] == steps_of(bert)
    assert "Planted word: The word is planted at the model's answer, and Attention, mean reads" in notes(frame)[0]


def test_unrelated_orders_are_worth_nothing_whatever_their_number_of_units() -> None:
    generator = np.random.default_rng(1)
    for units in (5, 20):
        rho = [abs(np.corrcoef(generator.permutation(units), generator.permutation(units))[0, 1]) for _ in range(3000)]
        assert chance_rho(units) == pytest.approx(np.mean(rho), abs=0.02)
    assert chance_rho(5) > 0.35 > 0.2 > chance_rho(20)


def test_with_two_classes_the_other_class_reverses_the_signs(bag: Bag) -> None:
    model = bag({"good": 2.0, "bad": -2.0, "film": 0.1, "the": 0.05, "was": 0.01, "dull": -1.0, "very": 0.5})
    record = check_row(model, SanityPlan(SetPlan(("occlusion",))), InputRow("1", "the film was very good"))
    assert record["class"]["occlusion"] == pytest.approx(-1)
    assert record["seed"]["occlusion"] == pytest.approx(1)


def test_smooth_explanations_are_averaged_over_noisy_copies(bert: FrozenModel) -> None:
    plan = SetPlan(("gradient_x_input",))
    plain, smooth = (check_row(bert, SanityPlan(plan, number), ROWS[0]) for number in (0, 3))
    assert plain["weights"].keys() == smooth["weights"].keys()
    assert plain["weights"]["gradient_x_input"] != smooth["weights"]["gradient_x_input"]
    assert plain["seed"] == smooth["seed"]


def test_a_short_text_and_a_failing_method_leave_the_others(bert: FrozenModel, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "fewer than 4 units" in check_row(bert, PLAN, InputRow("1", "good film"))["failed"]

    def fail(*_arguments: object) -> None:
        raise ExplanationError("It does not work today.")

    monkeypatch.setattr(Attention, "attribute", fail)
    record = check_row(bert, PLAN, ROWS[0])
    for check in ("weights", "seed", "class", "reverse"):
        assert record["reasons"][check]["attention_mean"] == "It does not work today."
        assert "attention_mean" not in record[check]
        assert "occlusion" in record[check]


def test_a_function_has_no_weights_and_the_other_checks_stand() -> None:
    def answer(texts: list[str]) -> np.ndarray:
        good = np.array([0.9 if "good" in text else 0.2 for text in texts])
        return np.stack([1 - good, good], axis=1)

    model = wrap(answer, labels=["negative", "positive"])
    plan = SanityPlan(SetPlan(("occlusion",), Settings(erasure="delete")))
    record = check_row(model, plan, InputRow("1", "a good film indeed"))
    assert "no weights that could be made random" in record["reasons"]["weights"][""]
    assert "No word can be planted" in record["reasons"]["planted"][""]
    assert record["class"]["occlusion"] == pytest.approx(-1)
    results = outcomes(sanity_frame([record], steps_of(model)))
    assert "no weights" in results["occlusion"][0].reason


def test_a_method_that_ranks_nothing_has_a_reason_and_no_verdict() -> None:
    model = wrap(lambda texts: np.full((len(texts), 2), 0.5), labels=["negative", "positive"])
    plan = SanityPlan(SetPlan(("occlusion",), Settings(erasure="delete")))
    record = check_row(model, plan, InputRow("1", "a good film indeed"))
    for check in ("seed", "class", "reverse"):
        assert record["reasons"][check]["occlusion"] == "The scores of Occlusion are all equal: they rank nothing."
    assert record["reverse"] == {}
    assert record["reasons"]["reverse"]["random"] == "The order and its reverse have the same evidence."


def test_interrupted_checks_go_on_failed_ones_again_and_processes_change_nothing(
    bert: FrozenModel, tmp_path: Path
) -> None:
    assert list(run_checks(bert, PLAN, ROWS, ABOUT, tmp_path / "whole", 2))[-1] == len(ROWS)
    steps = run_checks(bert, PLAN, ROWS, ABOUT, tmp_path / "cut")
    while next(steps) < 2:
        pass
    steps.close()
    path = tmp_path / "cut" / SANITY_RECORDS
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:2], '{"id": "1", "failed": "no memory"}', ""]))
    assert list(run_checks(bert, PLAN, ROWS, ABOUT, tmp_path / "cut")) == [1, 2, 3, 4, 5, 6]
    whole, cut = ((tmp_path / name / SANITY_RECORDS).read_text().splitlines() for name in ("whole", "cut"))
    assert whole == cut
    for plan, about in ((SanityPlan(SetPlan(("occlusion",))), ABOUT), (SanityPlan(SET, 1), ABOUT), (PLAN, {})):
        with pytest.raises(ExplanationError, match="belongs to another run"):
            list(run_checks(bert, plan, ROWS, about, tmp_path / "cut"))


def test_rows_with_enough_units_are_chosen_whatever_their_order(bert: FrozenModel) -> None:
    rows = (*ROWS, *(InputRow(f"short {number}", "good film") for number in range(20)))
    chosen = checked_rows(bert, SET, rows, 4)
    assert len(chosen) == 4
    assert all(row in ROWS for row in chosen)
    assert set(checked_rows(bert, SET, rows[::-1], 4)) == set(chosen)
    assert len(checked_rows(bert, SET, rows[6:], 4)) == 4  # whose records say why


@pytest.mark.parametrize(
    ("check", "mean", "low", "high", "verdict"),
    [
        ("weights", 0.1, -0.1, 0.2, "passed"),
        ("weights", 0.2, 0.1, 0.3, "open"),
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
        "LIME – passed: other seed and reversed order; failed: random weights; open: other class."
    )
    (cells,) = sanity_table().cells([("lime", results)])
    assert cells["random weights (≤ 0.2)"] == "✗ 0.90 [0.80, 1.00]"
    assert cells["planted word (≥ 0.5)"] == ""
    assert (
        sentence("lime", [SanityOutcome("lime", check, None) for check in SANITY_CHECKS]) == "LIME – no check applies."
    )


def test_without_checks_there_is_an_empty_frame_and_without_values_a_reason() -> None:
    frame = sanity_frame([], [])
    assert isinstance(frame, pd.DataFrame)
    assert outcomes(frame) == {}
    skipped = sanity_frame([{"id": "a", "failed": "It is too short."}], [])
    assert outcomes(skipped) == {}
    assert notes(skipped) == ["a: It is too short."]


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
