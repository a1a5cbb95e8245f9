"""The examples of a prompt as units: which blocks they are, and what is read when they are erased."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from explainers import ExplanationError, explain, load
from explainers.annotations.judged import marked_units
from explainers.annotations.records import Marked, Span
from explainers.attribution.given import unit_scores
from explainers.attribution.owen import coalitions_of
from explainers.comparison.runner import example_of
from explainers.comparison.two_models import shared_units
from explainers.datasets.example import Example
from explainers.datasets.labelled_rows import InputRow
from explainers.evaluation.explain_batch import SetPlan, explain_row
from explainers.models.frozen_model import FrozenModel
from explainers.models.prompt import Prompt, prompt_named
from explainers.models.prompted.filled import has_examples, prompt_examples
from explainers.models.prompted.model import PromptedModel
from explainers.report.document import document
from explainers.report.terminal import comparison_lines
from explainers.results.decision import Settings
from tests.models.prompted.conftest import write_byte_level

CLASSES = {"no": "old", "yes": "new"}
SHOTS = tuple(
    f"Review: {text}.\n Sentiment: {word}"
    for text, word in (("a long film", "old"), ("the plot was bright", "new"), ("very loud music", "old"))
)
QUESTION = "Review: {text}\n Sentiment:"
TEMPLATE = "\n\n".join(("the story was here", *SHOTS, QUESTION))
TEXT = "the camera seemed quite late"


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., PromptedModel]:
    from explainers.installation import STORE_VARIABLE

    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "store"))

    def load_it(template: str = TEMPLATE, chat: str | None = None) -> PromptedModel:
        folder = tmp_path / f"llama {bool(chat)}"
        if not folder.is_dir():
            write_byte_level(folder, chat)
        model = load(str(folder), prompt=Prompt(template, CLASSES, chat=chat is not None), device="cpu")
        assert isinstance(model, PromptedModel)
        return model

    return load_it


@pytest.mark.parametrize(
    ("template", "examples"),
    [
        (TEMPLATE, SHOTS),
        (TEMPLATE.replace("\n\n", "\n \n\n"), SHOTS),
        ("Q: a b A: c\n\nQ: d\n\nQ: {text} {text_pair} A:", ("Q: a b A: c",)),
        ("a film => old\n\n{text} =>", ("a film => old",)),
        (f"{SHOTS[0]}\n\n{QUESTION}\n\n{SHOTS[1]} and so:", SHOTS[:1]),
    ],
)
def test_an_example_is_a_block_that_reads_like_the_question_with_its_answer(
    template: str, examples: tuple[str, ...]
) -> None:
    found = prompt_examples(template)
    assert tuple(template[own.start : own.end] for own in found) == examples
    assert all(not template[own.end : own.stop].strip() for own in found)


@pytest.mark.parametrize(
    ("template", "sentence"),
    [
        (QUESTION, "The prompt has no examples"),
        (f"the story was here\n\n{QUESTION}", "The prompt has no examples"),
        (f"{SHOTS[0]}\n{QUESTION}", "The prompt has no examples"),
        ("a film\n\n{text}", "The prompt has no examples"),
        ("Q: a film\n\nQ: {text}", "The prompt has no examples"),
        ("Q:\na film\n\nA: old\n\nQ:\n{text}\n\nA:", "after the text the block must go on"),  # the answer would stay
        (f"{SHOTS[0]}\n{SHOTS[1]}\n\n{QUESTION}", "Two examples of the prompt stand in one block"),
        ("a film => old\nthe plot => new\n\n{text} =>", "Two examples of the prompt stand in one block"),
    ],
)
def test_examples_that_cannot_be_told_apart_are_a_sentence(template: str, sentence: str) -> None:
    with pytest.raises(ExplanationError, match=re.escape(sentence)):
        prompt_examples(template)
    assert not has_examples(template)


def test_the_shipped_prompt_has_four_examples() -> None:
    assert len(prompt_examples(prompt_named("sst2-examples").template)) == 4
    assert not has_examples(prompt_named("sst2").template)


def test_the_examples_are_the_units_and_the_text_stays(opened: Callable[..., PromptedModel]) -> None:
    model = opened()
    encoding, words = model.encode(TEXT, "example"), model.encode(TEXT)
    assert tuple(unit.text for unit in encoding.units) == SHOTS
    assert encoding.examples == "\n".join(SHOTS)
    assert [encoding.examples[unit.start : unit.end] for unit in encoding.units] == list(SHOTS)
    assert (encoding.ids, encoding.texts) == (words.ids, (TEXT,))
    assert encoding.shown_texts == (encoding.examples, TEXT)
    assert example_of(encoding) == Example(TEXT)
    with pytest.raises(ExplanationError, match="These scores are about the text"):
        unit_scores(encoding, [(0, 0, 3)], [1.0], signed=True)
    with pytest.raises(ExplanationError, match="The marks are in the text"):
        marked_units(Marked((Span(0, 3),)), encoding)


def test_every_example_is_a_coalition_of_its_own(opened: Callable[..., PromptedModel]) -> None:
    assert coalitions_of(opened().encode(TEXT, "example")).tolist() == [0, 1, 2]


def test_marks_in_the_text_judge_no_examples(opened: Callable[..., PromptedModel]) -> None:
    row = InputRow("a", TEXT, rationale=((((0, 3),), ()),))
    for unit in ("example", "word"):
        plan = SetPlan(("occlusion",), Settings(unit=unit, erasure="delete"))  # type: ignore[arg-type]
        methods = explain_row(opened(), plan, row)["methods"]
        assert ("plausibility" in methods["occlusion"]) is (unit == "word")


def test_examples_that_read_the_same_are_the_same_in_another_prompt(opened: Callable[..., PromptedModel]) -> None:
    one = opened().encode(TEXT, "example")
    other = opened("\n\n".join((SHOTS[2], SHOTS[1].replace("bright", "loud"), SHOTS[0], QUESTION)))
    assert shared_units(one, other.encode(TEXT, "example")) == ((0, 2), (2, 0))
    assert shared_units(one, one) == ((0, 0), (1, 1), (2, 2))


@pytest.mark.parametrize("kept", [(0,), (1, 2), (), (0, 1, 2)])
def test_a_deleted_example_is_not_in_the_prompt(kept: tuple[int, ...], opened: Callable[..., PromptedModel]) -> None:
    model = opened()
    shorter = opened("\n\n".join(("the story was here", *(SHOTS[number] for number in kept), QUESTION)))
    encoding, keep = model.encode(TEXT, "example"), np.isin(np.arange(3), kept)
    words = shorter.encode(TEXT)
    removed = model.without(encoding, np.flatnonzero(~keep).tolist(), "delete")
    assert removed.ids == words.ids
    expected = shorter.probabilities(words, np.ones((1, len(words.units)), dtype=bool), "delete")
    together = model.probabilities(encoding, np.vstack([keep, np.ones(3, bool), np.eye(3, dtype=bool)]), "delete")
    assert together[:1] == pytest.approx(expected, abs=1e-5)
    assert model.probabilities(encoding, keep[None], "delete") == pytest.approx(expected, abs=1e-5)


def test_a_kept_prefix_changes_no_answer_about_examples(opened: Callable[..., PromptedModel]) -> None:
    model = opened()
    encoding, keeps = model.encode(TEXT, "example"), np.vstack([np.ones(3, bool), ~np.eye(3, dtype=bool)])
    assert len(model.cache.prefix) > 20
    for erasure in model.erasures:
        answers = model.probabilities(encoding, keeps, erasure)
        assert np.ptp(answers[:, 0]) > 1e-4
        prefix, model.cache.prefix = model.cache.prefix, ()
        assert answers == pytest.approx(model.probabilities(encoding, keeps, erasure), abs=1e-5)
        model.cache.prefix = prefix


def test_soft_masks_reach_the_examples_alone(opened: Callable[..., PromptedModel]) -> None:
    model = opened()
    encoding = model.encode(TEXT, "example")
    mask = torch.ones(1, 3, requires_grad=True)
    (gradient,) = torch.autograd.grad(model.soft_probabilities(encoding, mask, "mask")[0, 0], mask)
    assert (gradient != 0).all()
    hard = model.probabilities(encoding, [[0, 1, 0]], "mask")
    soft = model.soft_probabilities(encoding, torch.tensor([[0.0, 1.0, 0.0]]), "mask")
    assert soft.numpy() == pytest.approx(hard, abs=1e-5)


def test_a_message_keeps_its_examples(opened: Callable[..., PromptedModel]) -> None:
    model = opened(chat="{% for message in messages %}film {{ message['content'] }} :{% endfor %}")
    encoding = model.encode(TEXT, "example")
    assert tuple(unit.text for unit in encoding.units) == SHOTS
    assert set(encoding.owners) == {-1, 0, 1, 2}
    changed = opened(chat="{% for message in messages %}{{ message['content'] }} :{% endfor %}")
    pieces = (changed.tokenizer.pieces[0].replace("music", "story"), *changed.tokenizer.pieces[1:])  # type: ignore[union-attr]
    changed.tokenizer = replace(changed.tokenizer, pieces=pieces)  # type: ignore[type-var]
    with pytest.raises(ExplanationError, match="changes the examples of the prompt"):
        changed.encode(TEXT, "example")


def test_other_models_have_no_examples(bert: FrozenModel, opened: Callable[..., PromptedModel]) -> None:
    with pytest.raises(ExplanationError, match="Only a language model with examples in its prompt"):
        explain(bert, TEXT, unit="example", methods="occlusion")
    with pytest.raises(ExplanationError, match="The prompt has no examples"):
        explain(opened(QUESTION), TEXT, unit="example", methods="occlusion")
    with pytest.raises(ExplanationError, match="The text is empty"):
        explain(opened(), " ", unit="example", methods="occlusion")


def test_a_comparison_calls_them_examples(opened: Callable[..., PromptedModel]) -> None:
    methods = ("occlusion", "lime", "kernel_shap", "integrated_gradients", "attention_mean")
    comparison = explain(opened(), TEXT, unit="example", methods=methods, steps=5)
    assert comparison.failures == ()
    assert comparison.ablated_inputs is None
    assert list(comparison.names) == ["Examples", "Text"]
    assert comparison.answer is not None
    assert comparison.answer.refusal.startswith("The prompt has 3 examples; the test")
    frame = comparison.to_frame()
    assert set(frame["kind"]) == {"example"}
    assert set(frame["of"]) == {"Examples"}
    content = comparison.as_dict()
    assert content["manifest"]["texts"] == [TEXT]
    assert content["manifest"]["settings"]["unit"] == "example"
    lines = "\n".join(comparison_lines(comparison))
    assert "“Review: a long film" in lines
    html = document(comparison)
    assert TEXT in html
    assert all(part in html for part in (">Examples<", "very loud music"))
