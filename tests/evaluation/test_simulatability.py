"""SIM: a student learns from explanations, and is asked without them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
import torch
from typer.testing import CliRunner

from explainers.__main__ import app
from explainers.datasets.example import Example, InputImage
from explainers.errors import DataUnavailable, ExplanationError
from explainers.evaluation.names import NO_EXPLANATION, RANDOM, UNIFORM
from explainers.learned.student import (
    UnitStates,
    answers,
    as_shares,
    lesson,
    taught,
    unit_states,
    untaught,
)
from explainers.methods.registry import select
from explainers.models.frozen_model import FrozenModel
from explainers.models.text.base_weights import from_package
from explainers.report.quantities import with_student_gains
from explainers.results.attribution import Attribution
from explainers.results.decision import Settings
from explainers.studies.criteria import (
    padded,
    present,
    simulatability_markdown,
    simulatability_rows,
)

WORDS = ("good", "bad", "dull", "very good", "not bad")
INPUTS = [Example(f"the {thing} was {word}") for thing in ("film", "plot", "end", "joke") for word in WORDS] * 2


@pytest.fixture
def states(bert: FrozenModel) -> UnitStates:
    return UnitStates(bert.base, bert.tokenizer)  # type: ignore[arg-type]


def test_a_units_state_is_the_mean_of_its_tokens_and_has_length_1(bert: FrozenModel, states: UnitStates) -> None:
    encoding, longer = bert.encode(Example("unwatchable film")), bert.encode(Example("the film was good"))
    rows = states.of([encoding, longer])
    assert rows.shape == (2, 4, 16)
    lengths = torch.tensor([[1.0, 1, 0, 0], [1, 1, 1, 1]])  # two words, and four
    assert torch.allclose(rows.norm(dim=-1), lengths, atol=1e-5)
    ids = torch.tensor([encoding.ids])  # [CLS] un ##watch ##able film [SEP]
    tokens = bert.base(ids).last_hidden_state[0]  # type: ignore[operator]
    expected = torch.nn.functional.layer_norm(tokens[1:4].mean(0), (16,))
    assert torch.allclose(rows[0, 0], expected / expected.norm(), atol=1e-5)
    assert states.of([encoding])[0, 0].tolist() == rows[0, 0].tolist()


def test_of_a_pair_each_text_has_its_own_tokens(pairs: FrozenModel) -> None:
    encoding = pairs.encode(Example("good film", "good plot"))
    rows = UnitStates(pairs.base, pairs.tokenizer).of([encoding])[0]  # type: ignore[arg-type]
    assert len(rows) == 4
    assert not torch.allclose(rows[0], rows[2])  # the same word, in another text


def informative(rows: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """States of eight units of which number 3 alone tells the class, the classes, and shares that say so."""
    generator = torch.Generator().manual_seed(rows)
    states = torch.randn(rows, 8, 32, generator=generator)
    predicted = torch.arange(rows) % 2
    states[:, 3] = 0.1 * states[:, 3]
    states[:, 3, 0] += 4
    states[:, 3, 1] += 4 * (2 * predicted - 1)
    shares = torch.zeros(rows, 8)
    shares[:, 3] = 1
    return torch.nn.functional.normalize(states, dim=-1), torch.ones(rows, 8, dtype=torch.bool), predicted, shares


def test_a_student_who_is_told_where_to_look_learns_more_from_few_inputs() -> None:
    states, units, predicted, shares = informative(12)
    unseen, its_units, truth, its_shares = informative(400)
    told = taught(states, units, predicted, shares, 2, 0)
    told_nothing = taught(states, units, predicted, None, 2, 0)
    told_wrongly = taught(states, units, predicted, shares.roll(1, 1), 2, 0)

    def accuracy(weights: dict[str, torch.Tensor]) -> float:
        return float((answers(weights, unseen, its_units)[0].argmax(1) == truth).float().mean())

    assert accuracy(told) > accuracy(told_nothing) + 0.05
    assert accuracy(told) > accuracy(told_wrongly) + 0.05
    attention = answers(told, unseen, its_units)[1].exp()
    assert attention[:, 3].mean() > 0.5
    assert its_shares.argmax(1).eq(3).all()


def test_without_shares_the_lesson_is_the_error_alone() -> None:
    states, units, predicted, shares = informative(6)
    weights = untaught(2, 32, 0)
    assert float(lesson(weights, states, units, predicted, None)) == pytest.approx(0.693, abs=0.05)  # ln 2 at the start
    both = float(lesson(weights, states, units, predicted, shares))
    # q = 0: every unit has the attention 1/8, so -Σ r log a = log 8
    assert both - float(lesson(weights, states, units, predicted, None)) == pytest.approx(2.0794, abs=1e-3)


def test_shares_are_the_positive_part_and_equal_where_there_is_none() -> None:
    units = torch.tensor([[True, True, True], [True, True, False]])
    shares = as_shares(torch.tensor([[3.0, -1.0, 1.0], [-1.0, -2.0, 9.0]]), units)
    assert shares.tolist() == [[0.75, 0.0, 0.25], [0.5, 0.5, 0.0]]


def test_words_that_the_explained_model_does_not_tell_apart_have_states_of_their_own(
    bert: FrozenModel, states: UnitStates
) -> None:
    first, second = (bert.encode(text) for text in ("xylo film", "quark film"))
    assert first.ids == second.ids  # [UNK] film
    states.of([first, second, first])
    assert len(states.known) == 2


def test_every_method_and_control_has_a_row(bert: FrozenModel, states: UnitStates) -> None:
    rows = simulatability_rows(
        bert, INPUTS, select(["aml", "occlusion"]), Settings(), states, shown=10, students=2, progress=print
    )
    by_method = {row["method"]: row for row in rows}
    assert set(by_method) == {NO_EXPLANATION, UNIFORM, RANDOM, "aml", "occlusion"}
    assert by_method[NO_EXPLANATION]["sim"] is None
    for method, row in by_method.items():
        assert len(row["students"]) == 2
        assert row["accuracy"] == pytest.approx(sum(row["students"]) / 2)
        if method != NO_EXPLANATION:
            assert row["sim"]["mean"] == pytest.approx(row["accuracy"] - by_method[NO_EXPLANATION]["accuracy"])
            assert row["sim"]["texts"] == 20


def test_the_same_seed_gives_the_same_rows(bert: FrozenModel, states: UnitStates) -> None:
    first, again = (
        simulatability_rows(bert, INPUTS, select(["aml"]), Settings(), states, shown=10, students=1, progress=print)
        for _ in range(2)
    )
    assert first == again


def test_a_method_that_fails_has_a_reason(bert: FrozenModel, states: UnitStates) -> None:
    def failing(*_args: object) -> Attribution:
        raise RuntimeError

    rows = simulatability_rows(
        bert, INPUTS, select(["occlusion"]), Settings(), states, shown=10, students=1, progress=print, explain=failing
    )
    assert rows[-1] == {"method": "occlusion", "reason": "Internal error in Crosslight (RuntimeError)."}


def test_too_few_inputs_are_a_sentence(bert: FrozenModel, states: UnitStates) -> None:
    with pytest.raises(DataUnavailable, match="3 students with 10 inputs each and at least 10 held out"):
        simulatability_rows(bert, INPUTS[:35], (), Settings(), states, shown=10, students=3, progress=print)


def test_images_are_a_sentence(bert: FrozenModel, states: UnitStates) -> None:
    encoding = bert.encode(Example("a film"))
    with pytest.raises(ExplanationError, match="reads text only"):
        states.of([replace(encoding, image=cast(InputImage, object()))])


def test_padding_is_marked(bert: FrozenModel) -> None:
    units = present([bert.encode(Example("good film")), bert.encode(Example("good"))])
    assert units.tolist() == [[True, True], [True, False]]
    assert padded([(1.0, 2.0), (3.0,)], units).tolist() == [[1.0, 2.0], [3.0, 0.0]]


def test_the_table_says_what_is_clear() -> None:
    interval = {"low": -0.1, "mean": 0.1, "high": 0.3, "texts": 9}
    rows = [
        {"method": NO_EXPLANATION, "accuracy": 0.5, "students": [0.5], "sim": None},
        {"method": "aml", "accuracy": 0.6, "students": [0.6], "sim": interval},
        {"method": "lime", "accuracy": 0.7, "students": [0.7], "sim": {**interval, "low": 0.01}},
        {"method": "faml", "reason": "It failed."},
    ]
    assert simulatability_markdown({"rows": rows}).splitlines()[2:6] == [
        "| LIME | 70.0 % | +10.0 [+1.0, +30.0] |  | 70.0 % |",
        "| AML | 60.0 % | +10.0° [-10.0, +30.0] |  | 60.0 % |",
        "| No explanation | 50.0 % |  |  | 50.0 % |",
        "| fAML † | undefined: It failed. |  |  |  |",
    ]


def test_the_interval_over_students_is_that_of_their_differences() -> None:
    rows = [
        {"method": NO_EXPLANATION, "accuracy": 0.5, "students": [0.4, 0.5, 0.6], "sim": None},
        {"method": "aml", "accuracy": 0.6, "students": [0.5, 0.6, 0.7], "sim": {"mean": 0.1}},
        {"method": "lime", "accuracy": 0.6, "students": [0.4, 0.6, 0.8], "sim": {"mean": 0.1}},
    ]
    without, same, spread = with_student_gains(rows)
    assert without["student_gain"] is None
    assert same["student_gain"] == pytest.approx({"mean": 0.1, "low": 0.1, "high": 0.1})
    # differences 0, 0.1 and 0.2: 0.1 ± 4.303 · 0.1 / √3
    assert spread["student_gain"] == pytest.approx({"mean": 0.1, "low": -0.1484, "high": 0.3484}, abs=1e-4)


@pytest.mark.slow
@pytest.mark.skipif(from_package() is None, reason="the base weights are not installed")
def test_the_command_writes_a_record(tmp_path: Path, hub_folder: Path) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("\n".join(f"{example.text} {number}" for number, example in enumerate(INPUTS)))
    words = ["study", "simulatability", "--model", str(hub_folder), "--data", str(texts), "--methods", "occlusion"]
    words += ["--shown", "10", "--students", "2", "--out", str(tmp_path / "out"), "--json"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    record = json.loads((tmp_path / "out" / "simulatability.json").read_text())
    assert [row["method"] for row in record["rows"]] == [NO_EXPLANATION, UNIFORM, RANDOM, "occlusion"]
    assert "simulatability --shown 10 --students 2 --model" in record["command"]
    assert unit_states().encoder is not None
