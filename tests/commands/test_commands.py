import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from explainers import explain, load
from explainers.__main__ import COMMANDS, app
from explainers.commands import training
from explainers.datasets.example import Example
from explainers.installation import VERSION
from explainers.methods.narrator_specs import NARRATORS
from explainers.methods.registry import METHODS, applicable, default_methods, select
from explainers.metrics.faithfulness import METRICS
from explainers.models import catalog
from explainers.models.frozen_model import FrozenModel
from explainers.results.decision import DEFAULT_SAMPLING
from explainers.results.manifest import strict_json
from explainers.studies import evaluation

ROOT = Path(__file__).parents[2]
FOR_ONE_TEXT = [spec.id for spec in applicable(select(default_methods()), Example("the text"))]
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
    content = json.loads(result.stdout)
    assert content["model"] == "small"
    assert set(content["probabilities"]) == {"negative", "neutral", "positive"}
    assert sum(content["probabilities"].values()) == pytest.approx(1)
    assert content["label"] == max(content["probabilities"], key=content["probabilities"].get)
    assert [explanation["method"] for explanation in content["explanations"]] == ["consensus", *FOR_ONE_TEXT]
    for explanation in content["explanations"]:
        assert explanation["label"] == content["label"]
        assert [(unit["text"], unit["start"], unit["end"]) for unit in explanation["units"]] == [
            ("the", 0, 3),
            ("good", 4, 8),
            ("film", 9, 13),
        ]
        assert len(explanation["scores"]) == 3
        assert explanation["seconds"] >= 0
        assert explanation["model_calls"] >= 0
        assert set(explanation["metrics"]) == {metric.id for metric in METRICS}


@pytest.mark.usefixtures("small")
def test_methods_class_and_settings_are_those_of_the_options() -> None:
    options = (
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
    content = json.loads(explained(*options, "--json").stdout)
    assert [explanation["method"] for explanation in content["explanations"]] == ["consensus", "lime", "occlusion"]
    assert content["label"] == "neutral"
    settings = {
        "unit": "token",
        "erasure": "delete",
        "samples": 50,
        "steps": 5,
        "seed": 3,
        "sampling": DEFAULT_SAMPLING,
    }
    assert content["manifest"]["settings"] == settings


@pytest.mark.usefixtures("small")
def test_sentences_are_opened_and_time_is_limited_by_options() -> None:
    result = explained("--unit", "sentence", "--open", "0", "--budget", "600", "--json", "--methods", "occlusion")
    answer = json.loads(result.stdout)
    assert answer["manifest"]["settings"]["unit"] == "sentence"
    assert answer["manifest"]["settings"]["opened"] == [0]
    assert answer["budget"] == {"seconds": 600.0, "postponed": [], "ended_early": []}


@pytest.mark.usefixtures("small")
def test_one_class_rather_than_another_is_an_option() -> None:
    options = ("--methods", "occlusion", "--class", "neutral", "--versus", "positive")
    content = json.loads(explained(*options, "--json").stdout)
    assert (content["label"], content["versus"]) == ("neutral", "positive")
    assert "explained: neutral rather than positive" in explained(*options).stdout


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
        (("--methods", "shap"), "Unknown method 'shap'. Choose from: aml, faml, cimi,"),
        (("--methods", "oclusion"), "Unknown method 'oclusion'. Did you mean occlusion? Choose from: aml, faml, cimi,"),
        (("--methods", ""), "Unknown method ''."),
        (("--methods", "occlusion,cause"), "cause puts one model's decisions into words, and it has not been fitted"),
        (("--methods", "premise_only"), "premise_only needs a pair of texts. Omit it, or add what is missing."),
        (("--methods", "occlusion,text_only"), "text_only needs an image with the text."),
        (("--methods", "aml:nope"), "This method learns to explain one model, and a variant 'nope' of it has not been"),
        (("--methods", "occlusion,aml:nope"), "This method learns to explain one model, and a variant 'nope'"),
        (("--erasure", "blur"), "The erasure 'blur' is not available. Choose one of: mask, delete, zero."),
        (("--unit", "letter"), "Unknown unit 'letter'. Choose one of: word, token, sentence, example."),
        (("--open", "1"), "Only sentences are opened, and the unit is the word. Choose the unit sentence."),
        (("--unit", "sentence", "--open", "1,x"), "--open needs numbers of sentences, such as 0,3, not '1,x'."),
        (("--unit", "sentence", "--open", "7"), "The input has 1 sentence, and no number 7. Numbers begin at 0."),
        (("--budget", "0"), "A budget is a number of seconds above 0."),
        (("--budget", "nan"), "A budget is a number of seconds above 0."),
        (("--label", "bad"), "small has no class 'bad'. Choose one of: negative, neutral, positive."),
        (("--versus", "bad"), "small has no class 'bad'. Choose one of: negative, neutral, positive."),
        (("--class", "neutral", "--versus", "neutral"), "The class to explain is neutral, and it cannot be"),
        (("--samples", "1"), "Samples must be at least 10"),
        (("--text", ""), "The text is empty"),
        (("--text", " \n"), "The text is empty"),
        (("--html", "/no/such/folder/page.html"), "/no/such/folder is no folder"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_user_errors_are_one_sentence_and_exit_code_2(arguments: tuple[str, ...], sentence: str) -> None:
    result = explained("--methods", "occlusion", *arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(sentence)
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--model", "no such model"), "The model 'no such model' is not available. Choose one of: "),
        (("--model", "sst-2"), "The model 'sst-2' is not available. Did you mean sst2? Choose one of: "),
        (("--device", "abacus"), "The device 'abacus' is not available. Choose one of: auto, cpu"),
        (("--device", "meta"), "The device 'meta' is not available. Choose one of: auto, cpu"),
        (("--precision", "int8"), "Unknown precision 'int8'. Choose one of: float32, bfloat16."),
    ],
    ids=["model", "like", "device", "meta", "precision"],
)
def test_an_unknown_model_device_or_precision_is_one_sentence(arguments: tuple[str, ...], sentence: str) -> None:
    result = explained(*arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith(sentence)
    assert result.stderr.count("\n") == 1


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path, hub_folder: Path) -> None:
    texts, taken = tmp_path / "texts.txt", tmp_path / "taken"
    texts.write_text("\n".join(f"the film was {word} {number}" for word in ("good", "bad") for number in range(10)))
    taken.write_text("a file")
    options = ("--model", str(hub_folder), "--data", str(texts), "--methods", "occlusion", "--n", "3")
    result = ran("study", "evaluation", *options, "--sensitive", "0", "--out", str(taken / "below"))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines()[-1] == f"{taken / 'below'} cannot be used: Not a directory. Choose another place."


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("aml", "--full"), "aml cannot train the classifier; ivra can. Omit --full."),
        (("ivra", "--full", "--resume"), "A training of the classifier itself cannot be resumed. Omit --resume."),
        (("lime",), "'lime' does not learn. Choose one of: aml, cimi, ciem, ivra, cxplain, all."),
        (("aml", "--set", "epochs"), "--set needs name=value, not 'epochs'."),
        (("aml", "--set", "epochs=abc"), "The setting epochs of aml must be a whole number, not 'abc'."),
    ],
)
def test_a_fit_that_is_impossible_is_one_sentence(arguments: tuple[str, ...], sentence: str) -> None:
    result = ran("fit", *arguments)
    assert (result.exit_code, result.stderr.strip()) == (2, sentence)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("study", "evaluation", "--n", "-1"), "--n must be 0 (all texts) or more, not -1."),
        (("study", "evaluation", "--sensitive", "-1"), "should be greater than or equal to 0"),
        (("study", "narratives", "--n", "-1"), "should be greater than or equal to 0"),
        (("study", "tune", "--trials", "0"), "should be greater than or equal to 1"),
    ],
)
def test_a_count_that_is_impossible_is_refused_before_a_model_is_loaded(
    arguments: tuple[str, ...], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation.catalog, "load", lambda *_names, **_rest: pytest.fail("a model was loaded"))
    result = ran(*arguments)
    assert result.exit_code == 2
    assert sentence in " ".join(result.stderr.replace("│", " ").split())


def test_an_ablation_that_does_not_exist_is_refused_before_data_are_read() -> None:
    result = ran("study", "ablate", "lime", "--data", "gone")
    assert result.exit_code == 2
    assert result.stderr.strip() == "An ablation of 'lime' is not available. Choose one of: aml, cimi, ciem, ivra."


@pytest.mark.parametrize("methods", ["premise_only", "aml:nope"])
def test_a_method_that_cannot_be_evaluated_is_refused(
    bert: FrozenModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, methods: str
) -> None:
    monkeypatch.setattr(evaluation.catalog, "load", lambda *_names, **_rest: bert)
    (tmp_path / "texts.txt").write_text("".join(f"the good film {number}\n" for number in range(20)))
    options = ("--data", str(tmp_path / "texts.txt"), "--methods", methods, "--out", str(tmp_path))
    result = ran("study", "evaluation", *options)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "needs a pair of texts" in result.stderr or "a variant 'nope'" in result.stderr


def test_numbers_that_json_does_not_have_become_null() -> None:
    content = strict_json({"a": [float("nan"), 1.5], "b": {"c": float("-inf")}, "d": (1, None, "é")})
    assert json.loads(content) == {"a": [None, 1.5], "b": {"c": None}, "d": [1, None, "é"]}


def test_methods_are_listed_with_their_ids() -> None:
    lines = ran("methods").stdout.splitlines()
    assert [line.split()[0] for line in lines] == [*METHODS.ids, *NARRATORS.ids]
    assert all(spec.idea in line for spec, line in zip((*METHODS, *NARRATORS), lines, strict=True))


def test_a_method_registered_at_run_time_is_listed() -> None:
    METHODS.register(replace(METHODS.get("occlusion"), id="erasing"))
    try:
        assert "\nerasing " in ran("methods").stdout
    finally:
        METHODS.unregister("erasing")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_the_scores_are_written_as_a_table(small: None, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"scores{suffix}"
    result = explained("--methods", "occlusion", "--table", str(path), "--json")
    assert result.exit_code == 0, result.stderr
    frame = pd.read_csv(path) if suffix == ".csv" else pd.read_parquet(path)
    (explanation,) = json.loads(result.stdout)["explanations"]
    assert frame["unit"].tolist() == ["the", "good", "film"]
    assert frame["score"].tolist() == pytest.approx(explanation["scores"])


def test_a_formula_in_a_table_is_text(small: None, tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    result = ran("explain", "--model", "small", "--text", "=1+1 good", "--methods", "occlusion", "--table", str(path))
    assert result.exit_code == 0, result.stderr
    cells = pd.read_csv(path, dtype=str, keep_default_na=False)
    assert any(unit.startswith("'=") for unit in cells["unit"])
    assert not cells.map(lambda cell: cell.startswith("=")).to_numpy().any()


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("scores.xlsx", "A table cannot be written as 'scores.xlsx'. Give a file name that ends in .csv or .parquet."),
        ("folder.csv", "The table cannot be written to "),
        ("folder.parquet", "The table cannot be written to "),
    ],
)
def test_a_table_that_cannot_be_written_is_one_sentence(small: None, tmp_path: Path, name: str, sentence: str) -> None:
    (tmp_path / name).mkdir()
    result = explained("--methods", "occlusion", "--table", str(tmp_path / name))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(sentence)
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "flags"),
    [
        ((), []),
        (
            ("--port", "8600", "--address", "0.0.0.0", "--no-browser"),
            ["--server.port=8600", "--server.address=0.0.0.0", "--server.headless=true"],
        ),
    ],
)
def test_app_hands_over_to_streamlit(
    monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], flags: list[str]
) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda _path, command: started.append(command))
    assert ran("app", *options).exit_code == 0
    assert started == [[sys.executable, "-P", "-m", "streamlit", "run", str(ROOT / "streamlit_app.py"), *flags]]


def test_version() -> None:
    result = ran("--version")
    assert (result.exit_code, result.stdout) == (0, f"crosslight {VERSION}\n")


@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)])
def test_every_command_has_help(command: tuple[str, ...]) -> None:
    result = ran(*command, "--help")
    assert result.exit_code == 0
    assert "Usage" in result.stdout


def test_help_loads_no_slow_library() -> None:
    code = (
        "import sys\nfrom explainers.__main__ import app\n"
        "for command in ([], ['fit'], ['evaluate']):\n"
        "    app([*command, '--help'], standalone_mode=False)\n"
        "sys.exit(bool({'torch', 'scipy', 'sklearn'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("Usage") == 3


def test_without_a_command_there_is_help() -> None:
    assert "explain" in ran().output


def test_from_the_shell_an_error_is_one_line_on_standard_error() -> None:
    command = [sys.executable, "-m", "explainers", "explain", "--text", "good", "--unit", "letter"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr == "Unknown unit 'letter'. Choose one of: word, token, sentence, example.\n"


@pytest.mark.slow
def test_from_the_shell_the_answer_is_that_of_this_process(hub_folder: Path) -> None:
    """Its pool answers in other batches and its sets are in another order; methods settle at the same scores."""
    text = "the film was not unwatchable , but a very <b>naïve</b> plot 🎬 !"
    command = [sys.executable, "-m", "explainers", "explain", "--model", str(hub_folder), "--text", text]
    command += ["--methods", "lime,kernel_shap", "--json"]
    result = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "7", "OMP_NUM_THREADS": "2"},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=True,
    )
    there = {explanation["method"]: explanation for explanation in json.loads(result.stdout)["explanations"]}
    for explanation in there.values():
        assert [text[unit["start"] : unit["end"]] for unit in explanation["units"]] == [
            unit["text"] for unit in explanation["units"]
        ]
    here = explain(load(str(hub_folder), device="cpu"), text, methods=["kernel_shap"]).results[0].attribution
    assert there["kernel_shap"]["samples"] == here.samples
    assert there["kernel_shap"]["scores"] == pytest.approx(here.scores, abs=2e-4)
    assert "Warning" not in result.stderr  # only the progress of reading a folder


@pytest.fixture
def of_pairs(pairs: FrozenModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model of pairs answers to every name."""
    monkeypatch.setattr(catalog, "load", lambda name, **_rest: pairs)


@pytest.mark.usefixtures("of_pairs")
def test_a_pair_is_explained_in_json_and_for_people() -> None:
    options = ("--text-pair", "a dull plot", "--methods", "occlusion,hypothesis_only")
    content = json.loads(explained(*options, "--json").stdout)
    assert [unit["segment"] for unit in content["explanations"][0]["units"]] == [0, 0, 0, 1, 1, 1]
    assert list(content["one_text_alone"]) == ["premise", "hypothesis", "swapped"]
    printed = explained(*options).stdout
    assert "film (premise) " in printed
    assert "dull (hypothesis) " in printed
    assert "Premise alone: " in printed
    assert " · swapped: " in printed


@pytest.mark.usefixtures("of_pairs")
def test_a_pair_model_that_gets_one_text_says_so() -> None:
    result = explained("--methods", "occlusion")
    assert result.exit_code == 2
    assert result.stderr == "small needs a premise and a hypothesis; the hypothesis is missing.\n"


def test_a_second_model_that_no_chosen_method_fits_is_a_sentence(
    bert: FrozenModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    load, other = catalog.load, replace(bert, name="other")
    monkeypatch.setattr(catalog, "load", lambda name, **rest: other if name == "other" else load(name, **rest))
    result = explained("--methods", "cimi", "--beside", "other")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "None of these methods is fitted to other. Choose others with --methods." in result.stderr


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("cimi", "--variant", "mine"), "cimi:mine"),
        (("all", "--variant", "mine"), "METHOD:mine"),
        (("cimi",), ""),
        (("cause", "--variant", "mine"), ""),
        (("ivra", "--full", "--variant", "mine"), ""),  # a model of its own
        (("cimi", "--variant", "mine", "--out", "elsewhere"), ""),
    ],
)
def test_a_fit_says_how_its_result_is_called(
    arguments: tuple[str, ...], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "run_fit", lambda *_: {})
    result = ran("fit", *arguments)
    assert result.exit_code == 0, result.stderr
    assert result.stderr == (f"It is called {name}, as in explain --methods {name}.\n" if name else "")
