import json
import re
import shlex
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from typer.testing import CliRunner, Result

from explainers.__main__ import app
from explainers.commands.training import say_time
from explainers.datasets.example import Example
from explainers.errors import DataUnavailable, ExplanationError
from explainers.installation import STORE_VARIABLE
from explainers.learned import fit as command
from explainers.learned import fitting_loop
from explainers.learned.aml import Aml
from explainers.learned.batches import encode_for_learning
from explainers.learned.cimi import Cimi
from explainers.learned.fit import make, read_examples, recipe_for, run_folder
from explainers.learned.fitting_loop import LearnedTraining, explained
from explainers.learned.recipes import RECIPES, SHIPPED, LearnedAttribution, load_trained
from explainers.methods.registry import METHODS
from explainers.models import tasks
from explainers.models.frozen_model import FrozenModel
from explainers.models.text.base_weights import sha256
from explainers.training.loop import LOG
from explainers.training.spec import FitSpec

ENDS = ("good", "bad", "dull", "unwatchable", "very good", "not bad")
TEXTS = tuple(f"the {subject} was {end} !" for end in ENDS for subject in ("film", "plot", "a film", "dull plot"))
QUICK = (("epochs", "1"), ("batch", "8"))


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Empty, and what is written where nobody says where goes to the test's own folder."""
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "store"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "store"


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(TEXTS), encoding="utf-8")
    return path


def spec_of(method: str = "aml", **fields: Any) -> FitSpec:
    return FitSpec(method, **{"model": "small", **fields})


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (spec_of(), Aml(select="difference", lambda_a=0.5)),
        (spec_of(variant="suff"), Aml(select="suff", lambda_a=0.125)),
        (spec_of(variant="mine"), Aml()),
        (
            spec_of(variant="suff", settings=(("select", "comp"), ("rank", "4"))),
            Aml(rank=4, select="comp", lambda_a=0.125),
        ),
        (spec_of(variant="mine", seed=7), Aml(seed=7)),
        (spec_of("cimi", variant="mine", settings=(("states", "false"),)), Cimi(states=False)),
    ],
    ids=["the first choice", "a shipped one", "a new one", "over a shipped one", "seed", "another method"],
)
def test_a_shipped_variants_settings_are_taken_and_typed_ones_over_them(
    spec: FitSpec, expected: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = {
        "difference": {"select": "difference", "lambda_a": 0.5},
        "suff": {"select": "suff", "lambda_a": 0.125},
    }
    monkeypatch.setitem(SHIPPED, "aml", shipped)
    assert recipe_for(spec) == expected


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (spec_of("lime"), "'lime' does not learn. Choose one of: aml, cimi"),
        (spec_of("faml"), "'faml' does not learn."),
        (spec_of(variant="../up"), "The variant '../up' is not a name"),
        (spec_of(variant="Mine"), "The variant 'Mine' is not a name"),
        (spec_of(variant="x" * 41), f"The variant '{'x' * 41}' is not a name"),
        (spec_of(settings=(("lambda", "1"),)), "aml has no setting 'lambda'."),
        (spec_of(settings=(("dropout", "1.5"),)), "The setting dropout of aml must be at most 1, not '1.5'."),
        (
            spec_of(settings=(("epochs", "few"),)),
            "The setting epochs of aml must be a whole number, not 'few'.",
        ),
    ],
)
def test_a_training_that_cannot_be_is_a_sentence(spec: FitSpec, sentence: str) -> None:
    with pytest.raises(ExplanationError) as raised:
        recipe_for(spec)
    assert str(raised.value).startswith(sentence)


def test_the_command_on_the_card_makes_the_same_training() -> None:
    spec = spec_of(variant="mine", model="my model", seed=3, settings=(("epochs", "2"), ("replacement", "random")))
    words = shlex.split(spec.command)
    assert words[:5] == ["python", "-m", "explainers", "fit", "aml"]
    assert words[5:] == [
        *("--model", "my model", "--data", "DATA", "--variant", "mine", "--seed", "3"),
        *("--set", "epochs=2", "--set", "replacement=random"),
    ]


def test_a_file_is_split_into_texts_to_learn_from_and_others_to_watch(texts: Path) -> None:
    learned_from, validation = read_examples("small", texts, 0)
    assert (len(learned_from), len(validation)) == (22, 2)  # a tenth of 24
    assert sorted(example.text for example in (*learned_from, *validation)) == sorted(TEXTS)
    assert read_examples("small", texts, 0) == (learned_from, validation)
    assert read_examples("small", texts, 1) != (learned_from, validation)


def test_no_more_than_200_texts_are_watched(tmp_path: Path) -> None:
    path = tmp_path / "many.txt"
    path.write_text("\n".join(f"text number {number}" for number in range(3000)), encoding="utf-8")
    assert [len(part) for part in read_examples("small", path, 0)] == [2800, 200]


def test_a_table_may_have_pairs(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("pair,text\n" + "\n".join(f'"so, {text}",{text}' for text in TEXTS), encoding="utf-8")
    learned_from, validation = read_examples("small", path, 0)
    assert {(example.text, example.pair) for example in (*learned_from, *validation)} == {
        (text, f"so, {text}") for text in TEXTS
    }


def test_the_columns_of_a_table_may_be_named(tmp_path: Path) -> None:
    path = tmp_path / "reviews.csv"
    path.write_text("id,review,reply\n" + "\n".join(f"{text},so {text},no" for text in TEXTS), encoding="utf-8")
    learned_from, validation = read_examples("small", path, 0, columns=("review",))
    assert {(example.text, example.pair) for example in (*learned_from, *validation)} == {
        (f"so {text}", None) for text in TEXTS
    }
    (example, *_), _ = read_examples("small", path, 0, columns=("review", "reply"))
    assert example.pair == "no"
    with pytest.raises(DataUnavailable, match=r"^The table has no column 'body'; it has id, review, reply\.$"):
        read_examples("small", path, 0, columns=("body",))


def test_a_column_is_one_of_a_table(tmp_path: Path, texts: Path) -> None:
    with pytest.raises(DataUnavailable, match="has a text per line and no column 'review'"):
        read_examples("small", texts, 0, columns=("review",))
    with pytest.raises(DataUnavailable, match="--column review names a column of a table"):
        read_examples("sst2", tmp_path, 0, columns=("review",))


def test_of_a_models_own_data_the_labels_are_dropped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Splits:
        explainer = tuple(Example(f"text {number}", label=1) for number in range(300))
        validation = tuple(Example(f"other {number}", label=0) for number in range(300))

    class Task:
        read = staticmethod(lambda _folder: Splits)

    monkeypatch.setitem(tasks.TASKS, "small", Task)
    learned_from, validation = read_examples("small", tmp_path, 0)
    assert [len(learned_from), len(validation)] == [300, 200]
    assert {example.label for example in (*learned_from, *validation)} == {None}
    monkeypatch.setattr(Splits, "explainer", ())
    with pytest.raises(DataUnavailable, match="hold no texts for learning to explain it"):
        read_examples("small", tmp_path, 0)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("few.txt", "\n".join(TEXTS[:19]), "A method learns from 20 to 20,000 different texts; 19 given."),
        ("same.txt", "good\n" * 50, "A method learns from 20 to 20,000 different texts; 1 given."),
        (
            "head.csv",
            "sentence,label\na,1\n",
            "The table needs a column named text; it has sentence, label. For pairs it needs text and text_pair, or "
            "premise and hypothesis. Name other columns with --column and --pair-column.",
        ),
    ],
)
def test_texts_that_do_not_do_are_a_sentence(tmp_path: Path, name: str, content: str, sentence: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(DataUnavailable) as raised:
        read_examples("small", tmp_path / name, 0)
    assert str(raised.value) == sentence


def test_without_data_only_a_model_that_has_its_own_can_be_explained(tmp_path: Path) -> None:
    for data in (None, tmp_path):
        with pytest.raises(DataUnavailable, match="Give a file with texts for small"):
            read_examples("small", data, 0)
    with pytest.raises(DataUnavailable, match=r"The file or folder .* does not exist"):
        read_examples("small", tmp_path / "nothing.txt", 0)


@pytest.mark.parametrize("method", RECIPES)
def test_what_was_fitted_and_stored_gives_the_same_scores_when_it_is_loaded(
    bert: FrozenModel, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    trainings: list[LearnedTraining] = []
    fit = fitting_loop.fit

    def kept(*given: Any, **named: Any) -> LearnedTraining:
        trainings.append(fit(*given, **named))
        return trainings[0]

    monkeypatch.setattr(command.fitting_loop, "fit", kept)
    spec = spec_of(method, data=str(texts), settings=QUICK)
    make(spec, bert, tmp_path / "run", None, resume=False)
    recipe, module = load_trained(bert, method, spec.name)
    assert recipe == recipe_for(spec)
    items = encode_for_learning(bert, [Example(text) for text in TEXTS[:5]])
    before = explained(trainings[0].recipe, trainings[0].module, bert, items)
    assert explained(recipe, module, bert, items) == before
    for item, row in zip(items, before, strict=True):
        assert LearnedAttribution(method).attribute(bert, item.encoding, 0).scores == pytest.approx(row, abs=1e-5)


def test_the_card_says_how_the_weights_came_about(
    bert: FrozenModel, texts: Path, tmp_path: Path, own_store: Path
) -> None:
    spec = spec_of("cimi", data=str(texts), variant="mine", seed=2, settings=QUICK)
    card = make(spec, bert, tmp_path / "run", None, resume=False)
    path = own_store / "learned" / "small-1" / "cimi-mine.safetensors"
    assert card == json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    assert (card["method"], card["variant"], card["model"]) == ("cimi", "mine", {"name": "small", "version": "1"})
    assert card["recipe"] == asdict(Cimi(epochs=1, batch=8, seed=2))
    assert card["texts"] == {"learned from": 22, "watched": 2}
    assert card["command"] == spec.command
    assert set(card["validation"]) == {"aopc_c", "aopc_s"}
    assert card["sha256"] == sha256(path)
    tensors = load_file(path)
    assert card["parameters"] == sum(tensor.numel() for tensor in tensors.values())
    assert {tensor.dtype for tensor in tensors.values()} == {torch.float16}
    assert card["seconds"]["training"] <= card["seconds"]["all"]
    assert card["machine"]["device"] == "cpu"
    last = json.loads((tmp_path / "run" / LOG).read_text(encoding="utf-8").splitlines()[-1])
    assert card["warnings"] == last["warnings"]
    assert card["validation"] == last["validation"]


def test_weights_go_where_they_are_wanted(bert: FrozenModel, texts: Path, tmp_path: Path, own_store: Path) -> None:
    spec = spec_of("cimi", data=str(texts), variant="mine", settings=QUICK)
    make(spec, bert, tmp_path / "run", tmp_path / "there", resume=False)
    assert sorted(path.name for path in (tmp_path / "there").iterdir()) == ["cimi-mine.json", "cimi-mine.safetensors"]
    assert not own_store.exists()


def test_a_frozen_model_that_changed_leaves_no_weights(
    bert: FrozenModel, texts: Path, tmp_path: Path, own_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit = fitting_loop.fit

    def spoiling(*given: Any, **named: Any) -> LearnedTraining:
        training = fit(*given, **named)
        next(bert.module.parameters()).data += 1
        return training

    monkeypatch.setattr(command.fitting_loop, "fit", spoiling)
    with pytest.raises(RuntimeError, match="frozen model has changed"):
        make(spec_of("cimi", data=str(texts), settings=QUICK), bert, tmp_path / "run", None, resume=False)
    assert not own_store.exists()


def test_all_makes_every_shipped_variant(bert: FrozenModel, monkeypatch: pytest.MonkeyPatch, texts: Path) -> None:
    trainings: list[tuple[str, str, int, str]] = []

    def noted(spec: FitSpec, _model: object, folder: Path, _out: object, *, resume: bool) -> dict[str, Any]:
        trainings.append((spec.method, spec.name, spec.seed, folder.name))
        assert not resume
        return {}

    monkeypatch.setattr(command, "make", noted)
    command.make_all(FitSpec("all", "small", str(texts), seed=4), bert, None)
    names = [(method, variant) for method, variants in SHIPPED.items() for variant in variants]
    assert trainings == [(method, variant, 4, f"small-{method}-{variant}") for method, variant in names]


def test_the_folder_of_a_run_names_model_method_and_variant() -> None:
    assert run_folder(spec_of(variant="suff")) == Path("runs") / "small-aml-suff"
    assert run_folder(spec_of(model="me/model")) == Path("runs") / "me_model-aml-difference"


def ran(*arguments: str) -> Result:
    return CliRunner().invoke(app, ("fit", *arguments))


def test_from_the_command_line_weights_are_fitted_and_then_explain(
    hub_folder: Path, texts: Path, own_store: Path, tmp_path: Path
) -> None:
    quick = [part for name, value in QUICK for part in ("--set", f"{name}={value}")]
    result = ran("cimi", "--model", str(hub_folder), "--data", str(texts), *quick, "--device", "cpu")
    assert result.exit_code == 0, result.stderr
    assert "timed step" not in result.stderr  # nobody reads it here
    card = json.loads(result.stdout)
    name = f"cimi-{METHODS.get('cimi').default_variant}"
    (folder,) = (own_store / "learned").iterdir()
    assert sorted(path.name for path in folder.iterdir()) == [f"{name}.json", f"{name}.safetensors"]
    assert card == json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    (run,) = (tmp_path / "runs").iterdir()
    assert (run / LOG).is_file()
    again = ran("cimi", "--model", str(hub_folder), "--data", str(texts), *quick, "--device", "cpu", "--resume")
    assert again.exit_code == 0, again.stderr
    assert re.search(
        r"(?m)^cimi \(mask\) learns from \d+ examples and is judged on \d+ others\. The log is runs.*log\.jsonl\.",
        again.stderr,
    )
    arguments = ("explain", "--text", "the good film", "--model", str(hub_folder), "--methods", "cimi", "--json")
    answer = CliRunner().invoke(app, arguments)
    assert answer.exit_code == 0, answer.stderr
    assert len(json.loads(answer.stdout)["explanations"][0]["scores"]) == 3


def test_on_a_terminal_it_is_said_how_long_a_fit_takes_unless_it_goes_on(
    bert: FrozenModel, texts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = FitSpec("cimi", bert.name, str(texts), settings=QUICK)
    make(spec, bert, tmp_path / "run", tmp_path / "out", resume=False, announce=say_time)
    said = capsys.readouterr().err
    assert re.search(
        r"^About .+ on this machine, by a timed step\. Ctrl-C stops the fit; --resume continues it\.$", said
    )
    make(spec, bert, tmp_path / "run", tmp_path / "out", resume=True, announce=say_time)
    assert capsys.readouterr().err == ""  # its log tells what is left


def test_the_precision_of_a_training_is_a_setting_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    specs: list[FitSpec] = []
    monkeypatch.setattr("explainers.commands.training.run_fit", lambda spec, _say: specs.append(spec) or {})
    assert ran("cimi", "--precision", "bf16").exit_code == 0
    assert ran("cause", "--precision", "fp32").exit_code == 0
    assert [spec.settings for spec in specs] == [(("precision", "bfloat16"),), (("half_precision", "False"),)]
    twice = ran("cimi", "--precision", "bf16", "--set", "precision=float32")
    assert (twice.exit_code, "say the same. Omit one of them." in twice.stderr) == (2, True)


def bad_table(folder: Path) -> Path:
    path = folder / "bad.csv"
    path.write_text("a,b\n1,2\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (lambda _folder: ("lime",), "'lime' does not learn. Choose one of: "),
        (lambda _folder: ("aml", "--set", "rank"), "--set needs name=value, not 'rank'."),
        (lambda _folder: ("aml", "--set", "lambda=1"), "aml has no setting 'lambda'."),
        (
            lambda _folder: ("aml", "--set", "epochs=few"),
            "The setting epochs of aml must be a whole number, not 'few'.",
        ),
        (lambda _folder: ("aml", "--variant", "A B"), "The variant 'A B' is not a name"),
        (lambda _folder: ("aml", "--model", "no such model"), "The model 'no such model' is not available."),
        (lambda folder: ("aml", "--data", str(folder / "none.txt")), "The file or folder "),
        (lambda folder: ("aml", "--data", str(bad_table(folder))), "The table needs a column named text; it has a, b."),
        (lambda _folder: ("aml",), "Give a file with texts for "),
        (lambda _folder: ("aml", "--pair-column", "b"), "--pair-column names the second texts of pairs."),
        (
            lambda folder: ("aml", "--column", "a", "--format", "table", "--pictures", str(folder)),
            "--column does not go with --format. Omit it.",
        ),
    ],
    ids=[
        *("method", "pair", "setting", "value", "variant", "model", "no file", "a table without texts", "no data"),
        *("second column alone", "column of images"),
    ],
)
def test_what_a_person_can_mend_is_one_sentence_and_exit_code_2(
    hub_folder: Path, tmp_path: Path, own_store: Path, arguments: Callable[[Path], tuple[str, ...]], sentence: str
) -> None:
    method, *rest = arguments(tmp_path)
    model = () if "--model" in rest else ("--model", str(hub_folder))
    result = ran(method, *model, *rest)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.splitlines()[-1].startswith(sentence)  # after transformers' bar for the weights, if any
    assert "Traceback" not in result.stderr
    assert not own_store.exists()


@pytest.mark.parametrize("method", RECIPES)
def test_every_method_learns_from_pairs(pairs: FrozenModel, tmp_path: Path, method: str) -> None:
    table = tmp_path / "pairs.csv"
    table.write_text("premise,hypothesis\n" + "".join(f"{text},a good film\n" for text in TEXTS), encoding="utf-8")
    card = make(spec_of(method, data=str(table), settings=QUICK), pairs, tmp_path / "run", None, resume=False)
    assert card["texts"] == {"learned from": 22, "watched": 2}
    encoding = pairs.encode(Example("the film was dull", "a good film"))
    attribution = LearnedAttribution(method).attribute(pairs, encoding, 0)
    assert len(attribution.scores) == 4 + 3


def test_single_texts_are_refused_by_a_model_of_pairs(pairs: FrozenModel, texts: Path, tmp_path: Path) -> None:
    with pytest.raises(ExplanationError, match="needs a premise and a hypothesis; the hypothesis is missing"):
        make(spec_of(data=str(texts), settings=QUICK), pairs, tmp_path / "run", None, resume=False)


def test_a_card_may_name_settings_that_there_are_no_more(bert: FrozenModel, texts: Path, tmp_path: Path) -> None:
    make(spec_of("ivra", data=str(texts), settings=QUICK), bert, tmp_path / "run", None, resume=False)
    (path,) = (tmp_path / "store").rglob("ivra-*.json")
    card = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(card | {"recipe": card["recipe"] | {"path": True}}), encoding="utf-8")
    recipe, _ = load_trained(bert, "ivra")
    assert recipe == recipe_for(spec_of("ivra", settings=QUICK))
