import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from explainers.cli import app
from explainers.manifest import VERSION
from explainers.methods import DEFAULT, METHODS, chosen, fitting
from explainers.metrics.faithfulness import METRICS
from explainers.models import catalog
from explainers.models.cards import bundled
from explainers.models.classifier import FrozenModel

ROOT = Path(__file__).parents[1]
FOR_ONE_TEXT = [entry.id for entry in fitting(chosen(DEFAULT), ("the text",))]
QUICK = ("--samples", "50", "--steps", "5")


@pytest.fixture
def small(bert: FrozenModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """The small BERT answers to every name."""
    monkeypatch.setattr(catalog, "load", lambda name, **_rest: bert)


def ran(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def explained(*arguments: str) -> Result:
    return ran("explain", "--text", "the good film", *QUICK, *arguments)


@pytest.mark.usefixtures("small")
def test_json_has_everything_that_was_measured() -> None:
    result = explained("--json")
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert found["model"] == "small"
    assert set(found["probabilities"]) == {"negative", "neutral", "positive"}
    assert sum(found["probabilities"].values()) == pytest.approx(1)
    assert found["label"] == max(found["probabilities"], key=found["probabilities"].get)
    assert [each["method"] for each in found["explanations"]] == FOR_ONE_TEXT
    for each in found["explanations"]:
        assert each["label"] == found["label"]
        assert [(unit["text"], unit["start"], unit["end"]) for unit in each["units"]] == [
            ("the", 0, 3),
            ("good", 4, 8),
            ("film", 9, 13),
        ]
        assert len(each["scores"]) == 3
        assert each["seconds"] >= 0
        assert each["model_calls"] >= 0
        assert set(each["metrics"]) == {metric.id for metric in METRICS}


@pytest.mark.usefixtures("small")
def test_methods_class_and_settings_are_the_ones_that_were_asked_for() -> None:
    asked = (
        "--methods",
        "occlusion,lime",
        "--label",
        "neutral",
        "--erasure",
        "delete",
        "--unit",
        "token",
        "--seed",
        "3",
    )
    found = json.loads(explained(*asked, "--json").stdout)
    assert [each["method"] for each in found["explanations"]] == ["lime", "occlusion"]
    assert found["label"] == "neutral"
    settings = {"unit": "token", "erasure": "delete", "samples": 50, "steps": 5, "seed": 3}
    assert found["manifest"]["settings"] == settings


@pytest.mark.usefixtures("small")
def test_without_json_a_person_can_read_it() -> None:
    result = explained("--methods", "occlusion")
    assert result.exit_code == 0
    assert "Occlusion" in result.stdout
    assert "good" in result.stdout
    with pytest.raises(json.JSONDecodeError):
        json.loads(result.stdout)


@pytest.mark.usefixtures("small")
def test_the_page_is_written_to_a_file(tmp_path: Path) -> None:
    result = explained("--methods", "occlusion", "--html", str(tmp_path / "page.html"), "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)
    assert (tmp_path / "page.html").read_text(encoding="utf-8").lower().startswith("<!doctype html>")


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--methods", "shap"), "There is no method 'shap'. Choose from: aml, faml, cimi,"),
        (("--methods", ""), "There is no method ''."),
        (("--erasure", "blur"), "There is no erasure 'blur'. Choose one of: mask, delete, zero."),
        (("--unit", "letter"), "There is no unit 'letter'. Choose one of: word, token."),
        (("--label", "bad"), "The model has no class 'bad'. Choose one of: negative, neutral, positive."),
        (("--samples", "1"), "There must be at least 10 samples"),
        (("--text", ""), "The text is empty"),
        (("--text", " \n"), "The text is empty"),
        (("--html", "/no/such/folder/page.html"), "The page cannot be written to /no/such/folder/page.html"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_a_person_can_mend_is_one_sentence_and_exit_code_2(arguments: tuple[str, ...], sentence: str) -> None:
    result = explained("--methods", "occlusion", *arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(sentence)
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--model", "no such model"), "There is no model 'no such model'. Choose one of: "),
        (("--device", "abacus"), "There is no device 'abacus' here. Choose one of: auto, cpu,"),
    ],
    ids=["model", "device"],
)
def test_a_model_that_is_not_there_is_one_sentence(arguments: tuple[str, ...], sentence: str) -> None:
    result = explained(*arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith(sentence)
    assert result.stderr.count("\n") == 1


def test_methods_are_listed_with_their_ids() -> None:
    lines = ran("methods").stdout.splitlines()
    assert [line.split()[0] for line in lines] == [entry.id for entry in METHODS]
    assert all(entry.idea in line for entry, line in zip(METHODS, lines, strict=True))


def test_version() -> None:
    result = ran("--version")
    assert (result.exit_code, result.stdout) == (0, f"crosslight {VERSION}\n")


@pytest.mark.parametrize("command", [(), ("explain",), ("methods",), ("train-model",), ("bench",)])
def test_every_command_has_help(command: tuple[str, ...]) -> None:
    result = ran(*command, "--help")
    assert result.exit_code == 0
    assert "Usage" in result.stdout


def test_without_a_command_there_is_help() -> None:
    assert "explain" in ran().output


def test_from_the_shell_an_error_is_one_line_on_standard_error() -> None:
    command = [sys.executable, "-m", "explainers", "explain", "--text", "good", "--erasure", "blur"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert found.returncode == 2
    assert found.stdout == ""
    assert found.stderr == "There is no erasure 'blur'. Choose one of: mask, delete, zero.\n"


@pytest.mark.skipif("sst2" not in bundled(), reason="the bundle sst2 is not in assets/bundles")
def test_from_the_shell_the_real_model_answers_in_json() -> None:
    command = [
        sys.executable,
        "-m",
        "explainers",
        "explain",
        "--model",
        "sst2",
        "--methods",
        "lime,occlusion",
        "--json",
    ]
    text = "A wonderful film. <b>naïve</b> 🎬"
    found = subprocess.run(
        [*command, "--text", text], cwd=ROOT, capture_output=True, encoding="utf-8", timeout=120, check=True
    )
    answer = json.loads(found.stdout)
    assert answer["label"] == "positive"
    for each in answer["explanations"]:
        assert [text[unit["start"] : unit["end"]] for unit in each["units"]] == [unit["text"] for unit in each["units"]]
    assert found.stderr == ""


@pytest.fixture
def of_pairs(pairs: FrozenModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model of pairs answers to every name."""
    monkeypatch.setattr(catalog, "load", lambda name, **_rest: pairs)


@pytest.mark.usefixtures("of_pairs")
def test_a_pair_is_explained_in_json_and_for_people() -> None:
    asked = ("--text-pair", "a dull plot", "--methods", "occlusion,hypothesis_only")
    found = json.loads(explained(*asked, "--json").stdout)
    assert [unit["segment"] for unit in found["explanations"][0]["units"]] == [0, 0, 0, 1, 1, 1]
    assert list(found["one_text_alone"]) == ["premise", "hypothesis", "swapped"]
    said = explained(*asked).stdout
    assert "film (premise) " in said
    assert "dull (hypothesis) " in said
    assert "Premise alone: " in said
    assert " · swapped: " in said


@pytest.mark.usefixtures("of_pairs")
def test_a_pair_model_that_gets_one_text_says_so() -> None:
    result = explained("--methods", "occlusion")
    assert result.exit_code == 2
    assert result.stderr == "small asks for a premise and a hypothesis; the hypothesis is missing.\n"
