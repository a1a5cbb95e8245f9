"""Two models side by side in a terminal, in a notebook and as JSON."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from explainers import api, explain_beside
from explainers.__main__ import app
from explainers.comparison.two_models import SecondQuestion, second_question
from explainers.errors import ExplanationError
from explainers.methods.narrator_specs import NARRATORS
from explainers.models.frozen_model import FrozenModel
from explainers.report.two_models import pair_fragment, pair_lines
from explainers.results.events import Failure

Build = Callable[..., FrozenModel]
TEXT = "a good film but dull"
WEIGHTS = {"a": 0.0, "good": 2.0, "film": 0.25, "but": 0.0, "dull": -1.0}


@pytest.fixture
def models(bag: Build) -> tuple[FrozenModel, FrozenModel]:
    """The second one finds "film" better than "good"."""
    return bag(WEIGHTS), replace(bag({**WEIGHTS, "good": 0.25, "film": 2.0}), name="other", version="2")


def test_rows_stand_below_their_units(models: tuple[FrozenModel, FrozenModel]) -> None:
    pair = explain_beside(*models, TEXT, methods=["occlusion"], label="positive")
    lines = list(pair_lines(pair))
    assert lines[0].startswith("bag predicts positive (0.78)")  # of either: the sum of weights is 1.25
    assert lines[1].startswith("other predicts positive (0.78)")
    at = next(number for number, line in enumerate(lines) if line.startswith("Occlusion: "))
    # ranks 3.5 1 2 3.5 5 and 3.5 2 1 3.5 5: 8.5 / 9.5
    assert lines[at] == "Occlusion: ρ = 0.89; furthest apart: “good”, rank 1 and 2 of 5"
    words, first, second = lines[at + 1 : at + 4]
    assert words.split() == TEXT.split()
    assert (first.split()[0], second.split()[0]) == ("bag", "other")
    assert len({len(words), len(first), len(second)}) == 1
    assert (first.split()[2], first.split()[3]) == (second.split()[3], second.split()[2])


def test_why_nothing_can_be_told_is_said(models: tuple[FrozenModel, FrozenModel]) -> None:
    lines = list(pair_lines(explain_beside(*models, "good film", methods=["occlusion", "lime"])))
    for line in lines[:2]:
        assert line.endswith(
            "Which words decide cannot be told here. The input has 2 words; the test against random "
            "orders needs at least 5."
        )


def test_a_notebook_draws_both_rows_and_escapes_names(models: tuple[FrozenModel, FrozenModel]) -> None:
    first, second = models
    pair = explain_beside(first, replace(second, name="<b>other"), TEXT, methods=["occlusion"])
    html = pair._repr_html_()  # type: ignore[attr-defined]
    assert html.count("<section>") == 1
    assert "&lt;b&gt;other" in html
    assert "<b>other" not in html


def test_other_classes_are_said(models: tuple[FrozenModel, FrozenModel]) -> None:
    first, second = models
    pair = explain_beside(first, replace(second, labels=("bad", "fine")), TEXT, methods=["occlusion"])
    lines = list(pair_lines(pair))
    assert lines[0].startswith("bag, positive predicts positive")
    assert any(line.startswith("other has no class positive and explains the one that it predicts") for line in lines)


def test_what_either_lacks_is_said(models: tuple[FrozenModel, FrozenModel]) -> None:
    pair = explain_beside(*models, TEXT, methods=["occlusion", "lime", "kernel_shap"])
    warned = replace(pair.first.decision, encoding=replace(pair.first.decision.encoding, warning="Cut after 5 words."))
    first = replace(pair.first, decision=warned, failures=(Failure("lime", "It found nothing."),))
    failed = (Failure("occlusion", "It broke."),)
    second = replace(pair.second, budget=2.0, postponed=("kernel_shap",), failures=failed)
    alone = ("occlusion", "kernel_shap"), ("lime",)
    pair = replace(pair, first=first, second=second, methods=(), alone=alone)
    said = [
        "bag: Cut after 5 words.",
        "LIME failed for bag: It found nothing.",
        "Occlusion failed for other: It broke.",
        "other: Not complete within 2 s: KernelSHAP. More time adds them.",
    ]
    assert list(pair_lines(pair))[-5:] == ["", *said]  # no "Only for": why the other lacks it is said
    assert all(f"<small>{sentence}</small>" in pair_fragment(pair) for sentence in said)


def test_narrators_have_no_part_by_default(
    speaker: FrozenModel, narrators: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert narrators
    monkeypatch.setattr(api, "default_methods", lambda: ("occlusion",))
    pair = explain_beside(speaker, speaker, "good film", "dull film")
    assert [method.method for method in pair.methods] == ["occlusion"]
    assert pair.first.narratives == pair.second.narratives == ()


def test_narrators_that_are_named_run_for_both(speaker: FrozenModel, narrators: tuple[str, ...]) -> None:
    pair = explain_beside(speaker, speaker, "good film", "dull film", methods=["occlusion", *narrators[:2]])
    for comparison in (pair.first, pair.second):
        assert tuple(narrative.method for narrative in comparison.narratives) == narrators[:2]
    said = [f"{NARRATORS.get(one.method).name} for speaker: “{one.text}”" for one in pair.first.narratives]
    assert [line for line in pair_lines(pair) if " for speaker: “" in line] == said * 2
    assert pair.alone == ((), ())


def test_a_narrator_that_is_not_fitted_to_the_second_is_named(speaker: FrozenModel, narrators: tuple[str, ...]) -> None:
    other = replace(speaker, name="other")
    pair = explain_beside(speaker, other, "good film", "dull film", methods=["occlusion", narrators[0]])
    assert pair.second.narratives == ()
    sentence = f"Only for speaker: {NARRATORS.get(narrators[0]).name}."
    assert list(pair_lines(pair))[-1] == sentence
    assert sentence in pair_fragment(pair)
    assert pair.as_dict()["only_first"] == [narrators[0]]


def test_the_second_is_asked_what_it_can_answer(models: tuple[FrozenModel, FrozenModel]) -> None:
    first, other = models
    decision = explain_beside(first, other, TEXT, methods=["occlusion"], versus="negative").first.decision
    methods = ("aml:comp", "occlusion", "lime")
    fits = second_question(decision, methods, "other", other)
    assert fits == SecondQuestion(("lime", "occlusion"), "positive", "negative", "mask")
    assert second_question(decision, methods, "other", other, label="negative").versus is None
    renamed = second_question(decision, methods, "other", replace(other, labels=("negative", "fine")))
    assert (renamed.label, renamed.versus) == (None, None)


def test_from_the_command_line(hub_folder: Path) -> None:
    line = ["explain", "--text", "good film", "--methods", "occlusion", "--device", "cpu"]
    both = [*line, "--model", str(hub_folder), "--beside", str(hub_folder)]
    printed = CliRunner().invoke(app, both)
    assert printed.exit_code == 0, printed.stderr
    assert "Occlusion: ρ = 1.00; all ranks are equal" in printed.stdout
    content = json.loads(CliRunner().invoke(app, [*both, "--json"]).stdout)
    assert [method["method"] for method in content["methods"]] == ["occlusion"]
    assert content["methods"][0]["first"] == content["methods"][0]["second"]
    assert content["first"]["manifest"]["model"]["precision"] == "float32"


@pytest.mark.parametrize("failing", ["first", "second"])
def test_a_model_for_which_everything_failed_ends_the_command(
    hub_folder: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    whole = api.explain_beside

    def without_results(*given: object, **options: object) -> object:
        pair = whole(*given, **options)  # type: ignore[arg-type]
        failed = replace(getattr(pair, failing), results=(), failures=(Failure("occlusion", "It broke."),))
        return replace(pair, **{failing: failed})

    monkeypatch.setattr(api, "explain_beside", without_results)
    line = ["explain", "--text", "good film", "--methods", "occlusion", "--device", "cpu", "--json"]
    printed = CliRunner().invoke(app, [*line, "--model", str(hub_folder), "--beside", str(hub_folder)])
    assert (printed.exit_code, printed.stdout) == (2, "")
    assert printed.stderr.splitlines()[-1] == f"Occlusion failed for {hub_folder}: It broke."


@pytest.mark.parametrize("option", ["--attributions", "--superpixels", "--html", "--table"])
def test_what_is_about_one_model_is_refused_before_any_is_loaded(option: str) -> None:
    value = {"--superpixels": "4", "--table": "scores.csv"}.get(option, "file")
    line = ["explain", "--text", "good film", "--model", "nowhere/model", "--beside", "nowhere/other", option, value]
    refused = CliRunner().invoke(app, line)
    assert (refused.exit_code, "are about one model" in refused.stderr) == (2, True)


def test_models_that_read_another_kind_of_input_are_a_sentence(models: tuple[FrozenModel, FrozenModel]) -> None:
    first, second = models
    with pytest.raises(ExplanationError, match="other"):
        explain_beside(first, replace(second, input_names=("premise", "hypothesis")), TEXT, methods=["occlusion"])
