"""The comparison with other packages, without them: their processes are replaced, and nothing is installed."""

import json
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from transformers.models.bert.modeling_bert import BertModel
from typer.testing import CliRunner

from explainers.__main__ import app
from explainers.datasets.example import Example
from explainers.errors import ExplanationError, ModelUnavailable
from explainers.models.frozen_model import FrozenModel
from explainers.models.text.bundle import PooledClassifier
from explainers.results.decision import Settings
from explainers.studies.peers import measure, table
from explainers.studies.peers.inside import crosslight_runs
from explainers.studies.peers.inside.classifier import load_classifier
from explainers.studies.peers.measure import (
    MeasuredRun,
    PeerComparison,
    one_token_each,
    python_of,
    runs_of,
    write_model,
)
from explainers.studies.peers.packages import (  # fmt: skip
    COUNTS,
    CROSSLIGHT,
    KERNEL_SHAP,
    LIME,
    OCCLUSION,
    PARTITION,
    PEERS,
    TOGETHER,
    PeerJob,
    PeerRun,
    Sentence,
    Timed,
    counted,
    measured,
    read_job,
    read_runs,
    shared,
    write_runs,
)
from explainers.studies.peers.table import (
    Total,
    as_good,
    equal_accuracy,
    peer_document,
    together,
    totals,
)
from explainers.studies.sampling import measure as sampling

CAPTUM, FERRET = PEERS[0], PEERS[1]
SENTENCES = ("the film was not good", "the film was very bad")
LONGER = "the film was not very good , a dull plot"


@pytest.fixture
def pooled(bert: FrozenModel) -> FrozenModel:
    """Random weights in the network of the embedded models."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = PooledClassifier(BertModel(bert.base.config, add_pooling_layer=False), 2)
    return replace(bert, module=network, labels=("negative", "positive"))


def job_of(folder: Path) -> PeerJob:
    sentences = (*(Sentence(text, 1) for text in SENTENCES), Sentence(LONGER, 0))
    return PeerJob("small", str(folder), sentences, 2, 1, 20, 2)


def finished(command: Sequence[str], code: int = 0, errors: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.CompletedProcess(command, code, "", errors)


# environments


def test_an_environment_is_made_once_with_exact_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[Sequence[str]] = []

    def run(command: Sequence[str], **_options: object) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        return finished(command)

    monkeypatch.setattr(measure.subprocess, "run", run)
    python = python_of(FERRET, tmp_path)
    assert python == python_of(FERRET, tmp_path)
    assert len(commands) == 2
    assert commands[0][1:3] == ["-m", "venv"]
    assert commands[1][0] == str(python)
    assert {"ferret-xai==0.4.2", "pyarrow==21.0.0", "shap==0.44.1"} <= set(commands[1])
    python_of(replace(FERRET, requirements=("ferret-xai==0.4.3",)), tmp_path)
    assert len(commands) == 4  # other versions: made anew


def test_every_version_is_exact() -> None:
    assert all("==" in requirement for peer in PEERS for requirement in peer.all_requirements)


def test_what_pip_cannot_install_is_said_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reply = "ERROR: Could not find a version at https://packages.example/simple"
    monkeypatch.setattr(measure.subprocess, "run", lambda command, **_: finished(command, "pip" in command, reply))
    with pytest.raises(
        ExplanationError, match=r"ferret 0\.4\.2 is left out: pip could not install ferret-xai==0"
    ) as no:
        python_of(FERRET, tmp_path)
    assert "packages.example" not in str(no.value)
    assert reply in (tmp_path / "ferret" / measure.LOG).read_text()
    assert not (tmp_path / "ferret" / measure.FINISHED).exists()  # the next run tries again


# what runs inside


def test_a_peer_loads_the_same_model(pooled: FrozenModel, tmp_path: Path) -> None:
    write_model(pooled, tmp_path)
    model, tokenizer = load_classifier(tmp_path)
    with torch.no_grad():
        logits = model(**tokenizer(SENTENCES[0], return_tensors="pt")).logits
    expected = pooled.probabilities(pooled.encode(SENTENCES[0]), [[True] * 5])
    assert logits.softmax(-1).numpy() == pytest.approx(expected, abs=1e-5)


def test_a_model_that_peers_cannot_read_is_refused(bert: FrozenModel, tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="embedded model of one text"):
        write_model(bert, tmp_path)


def test_rows_are_counted_and_the_warm_up_is_not_timed(tmp_path: Path) -> None:
    network = torch.nn.Linear(3, 1)

    def explain(sentence: Sentence) -> Sequence[float]:
        for rows in (2, 5):
            network(torch.zeros(rows, 3))
        return [float(len(sentence.text))]

    runs = list(
        measured(job_of(tmp_path), network, [Timed(LIME, "any", explain), Timed(TOGETHER, "any", explain, True)])
    )
    assert [(run.sentence, run.method, run.passes) for run in runs] == [
        (0, LIME, 7), (1, LIME, 7), (2, LIME, 7), (2, TOGETHER, 7),
    ]  # fmt: skip
    assert runs[0].scores == (len(SENTENCES[0]),)
    with counted(network) as rows:
        pass
    network(torch.zeros(1, 3))
    assert rows == []  # the hook is gone


def test_captum_as_documented_asks_one_mask_at_a_time(pooled: FrozenModel, tmp_path: Path) -> None:
    from explainers.studies.peers.inside import captum_runs

    write_model(pooled, tmp_path)
    job = job_of(tmp_path)
    network, methods = captum_runs.methods(job)
    sizes: list[int] = []
    network.register_forward_pre_hook(lambda _, args, kwargs: sizes.append(len(kwargs["input_ids"])), with_kwargs=True)
    (occlusion,) = (method for method in methods if method.method == OCCLUSION)
    scores = occlusion.explain(job.sentences[0])
    assert set(sizes) == {1}
    encoding = pooled.encode(SENTENCES[0])
    whole, *without = pooled.probabilities(encoding, np.vstack([np.ones((1, 5)), 1 - np.eye(5)]).astype(bool))[:, 1]
    assert scores == pytest.approx([whole - probability for probability in without], abs=1e-5)


# results


def test_results_come_back_as_they_were_written(tmp_path: Path) -> None:
    runs = (PeerRun(0, LIME, "20 samples", 0.5, 20, (0.25, -1.0)), PeerRun(1, TOGETHER, "default", 1.0, 3))
    write_runs(tmp_path / "runs.json", runs)
    assert read_runs(tmp_path / "runs.json") == runs
    job = job_of(tmp_path)
    (tmp_path / "job.json").write_text(json.dumps(asdict(replace(job, threads=0))))
    assert read_job(tmp_path / "job.json") == replace(job, threads=0)


@pytest.mark.parametrize("written", ["", "[1]", '[{"sentence": 0}]'])
def test_results_that_cannot_be_read_leave_the_peer_out(
    written: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(command: Sequence[str], **_options: object) -> subprocess.CompletedProcess[str]:
        Path(command[-1]).write_text(written)
        return finished(command)

    monkeypatch.setattr(measure.subprocess, "run", run)
    with pytest.raises(
        ExplanationError, match=r"Captum 0\.9\.0, as documented is left out: its results cannot be read"
    ):
        runs_of(CAPTUM, Path("python"), job_of(tmp_path))


def test_a_peer_that_fails_is_left_out_with_its_last_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    errors = "Traceback\nImportError: no /home/somebody/lib/such.so"
    monkeypatch.setattr(measure.subprocess, "run", lambda command, **_: finished(command, 1, errors))
    with pytest.raises(ExplanationError, match=r"stopped with an error \(ImportError: no …/such.so\)"):
        runs_of(CAPTUM, Path("python"), job_of(tmp_path))


def test_a_peer_that_does_not_end_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def hangs(command: Sequence[str], *, timeout: float, **_options: object) -> subprocess.CompletedProcess[str]:
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(subprocess, "run", hangs)
    with pytest.raises(ExplanationError, match=r"as documented is left out: it was not done after 30 minutes\."):
        runs_of(CAPTUM, Path("python"), job_of(tmp_path))
    with pytest.raises(ExplanationError, match=r"its packages were not installed after 30 minutes\."):
        python_of(FERRET, tmp_path)


def shap(package: str, setting: str, seconds: float, error: float, method: str = KERNEL_SHAP) -> MeasuredRun:
    return MeasuredRun(package, PeerRun(0, method, setting, seconds, 100), error, 0.5)


def test_equal_accuracy_is_the_quickest_setting_that_is_as_good(tmp_path: Path) -> None:
    ours = [shap(CROSSLIGHT.name, shared(count), count / 100, 10 / count) for count in COUNTS]
    theirs = [shap(CAPTUM.name, "500 samples", 6.0, 0.1), shap("shap 0.51.0", "default", 6.0, 0.001, PARTITION)]
    some = totals(PeerComparison(job_of(tmp_path), (*ours, *theirs), ()), longer=False)
    reached, missed = equal_accuracy(some)
    assert reached.ours is not None
    assert reached.ours.setting == shared(100)
    assert reached.times == pytest.approx(6.0)
    assert missed.ours is None
    assert missed.times is None


def test_together_needs_lime_to_be_as_good_too(tmp_path: Path) -> None:
    def run(
        package: str, method: str, setting: str, seconds: float, error: float | None, evidence: float
    ) -> MeasuredRun:
        return MeasuredRun(package, PeerRun(0, method, setting, seconds, 10), error, evidence)

    here = [
        measured_run
        for count in COUNTS
        for measured_run in (
            run(CROSSLIGHT.name, KERNEL_SHAP, shared(count), 1, 10 / count, 0.5),
            run(CROSSLIGHT.name, LIME, shared(count), 1, None, 0.5 if count >= 200 else 0.4),
            run(CROSSLIGHT.name, TOGETHER, shared(count), count / 100, None, 0.5),
        )
    ]
    captum = [
        run(CAPTUM.name, LIME, "500 samples", 10, None, 0.5),
        run(CAPTUM.name, KERNEL_SHAP, "500 samples", 9, 0.1, 0.5),
        run(CAPTUM.name, OCCLUSION, "each word", 1, None, 0.5),
    ]
    (pair,) = together(totals(PeerComparison(job_of(tmp_path), (*here, *captum), ()), longer=False), CAPTUM.name)
    assert pair.ours is not None
    assert pair.ours.setting == shared(200)
    assert pair.times == pytest.approx(10.0)
    assert together(totals(PeerComparison(job_of(tmp_path), tuple(here), ()), longer=False), CAPTUM.name) == []


@pytest.mark.parametrize(("ours", "expected"), [(0.5, True), (0.497, True), (0.49, False)])
def test_where_no_exact_values_are_known_the_metrics_decide(ours: float, *, expected: bool) -> None:
    lime, theirs = Total("", LIME, "", 1, 1, None, 0.5), Total("", PARTITION, "", 1, 1, None, 0.5)
    assert as_good(lime, replace(theirs, method=KERNEL_SHAP, evidence=ours), lime, theirs) is expected
    assert as_good(replace(lime, evidence=ours), theirs, lime, theirs) is expected
    assert not as_good(replace(lime, evidence=None), theirs, lime, theirs)


def test_only_texts_whose_words_are_single_tokens_are_compared(pooled: FrozenModel) -> None:
    assert one_token_each(pooled, Example("the film was good"))
    pieces = [word for word in ("goodish", "unwatchable", "films") if len(pooled.encode(word).ids) > 3]
    assert all(not one_token_each(pooled, Example(f"the {word}")) for word in pieces)
    split = replace(pooled.encode("the film was"), owners=(-1, 0, 0, 1, -1))
    assert not one_token_each(SimpleNamespace(encode=lambda _text: split), Example("the film was"))  # type: ignore[arg-type]


# the command


@pytest.fixture
def processes(pooled: FrozenModel, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Crosslight runs in this process; ferret cannot be installed; the other peers find every word worth the same."""
    monkeypatch.setattr(table, "load", lambda _name, **_options: pooled)
    monkeypatch.setattr(crosslight_runs, "load", lambda _name, **_options: pooled)
    for counts in ("COUNTS", "GROUP_COUNTS"):
        monkeypatch.setattr(crosslight_runs.packages, counts, (20, 30))
    monkeypatch.setattr(crosslight_runs, "Settings", partial(Settings, samples=20))
    monkeypatch.setattr(sampling, "SENTENCES", SENTENCES)
    monkeypatch.setattr(measure, "UNITS", (5,))
    monkeypatch.setattr(table, "example_for", lambda _model: Example(LONGER))

    def run(command: Sequence[str], **_options: object) -> subprocess.CompletedProcess[str]:
        if "-m" in command and command[2] == "pip" and any("ferret" in argument for argument in command):
            return finished(command, 1, "no network")
        if len(command) == 5 and command[2].startswith("explainers."):
            job, answer = read_job(Path(command[3])), Path(command[4])
            if command[2] == CROSSLIGHT.module:
                write_runs(answer, list(measured(job, *crosslight_runs.methods(job))))
            else:
                write_runs(answer, [
                    PeerRun(place, method, "any", 50.0, 500, (0.1,) * len(sentence.text.split()))
                    for place, sentence in enumerate(job.sentences)
                    for method in (LIME, KERNEL_SHAP, OCCLUSION)
                ])  # fmt: skip
        return finished(command)

    monkeypatch.setattr(subprocess, "run", run)


@pytest.mark.usefixtures("processes")
def test_the_command_writes_the_document(tmp_path: Path) -> None:
    path = tmp_path / "peers.md"
    threads = torch.get_num_threads()
    command = [
        "study",
        "peers",
        "--out",
        str(path),
        "--texts",
        "2",
        "--environments",
        str(tmp_path),
        "--threads",
        str(threads),
    ]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    document = path.read_text(encoding="utf-8")
    assert f"study peers --model sst2 --out {path} --texts 2" in document
    assert "ferret 0.4.2 is left out: pip could not install ferret-xai==0.4.2" in document
    assert f"| 10–13 words | {TOGETHER} | {CAPTUM.name} | 300.00 | 3,000 |" in document
    assert f"| {CAPTUM.name} | {KERNEL_SHAP} | any |" in document
    assert "| default |" in document
    assert str(tmp_path) not in document.replace(str(path), "")


def test_the_document_says_where_nothing_is_as_good(tmp_path: Path) -> None:
    runs = (shap(CROSSLIGHT.name, shared(100), 1.0, 0.5), shap(CAPTUM.name, "500 samples", 2.0, 0.1))
    document = peer_document(PeerComparison(job_of(tmp_path), runs, ()), "study peers")
    assert "| not reached |" in document


def test_what_runs_in_another_environment_is_where_its_name_says() -> None:
    assert [peer.id for peer in (*PEERS, CROSSLIGHT) if find_spec(peer.module) is None] == []
