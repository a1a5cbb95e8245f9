"""The same model and sentences explained by other packages and here: seconds, passes, and how good the scores are.

Each peer runs in a virtual environment of its own, made once and used again, and reads the model from a folder from
which every version of transformers can load it.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save_file
from tokenizers import Tokenizer

from explainers.comparison.decision import decide
from explainers.datasets.example import Example
from explainers.errors import ExplanationError, ModelUnavailable, without_folders
from explainers.metrics import chance, erasure, faithfulness
from explainers.models.calls import PredictionCache
from explainers.models.frozen_model import FrozenModel
from explainers.models.text.bundle import PooledClassifier
from explainers.studies.peers.packages import CROSSLIGHT, PEERS, SHAPLEY, Peer, PeerJob, PeerRun, Sentence, read_runs
from explainers.studies.sampling.measure import UNITS, exact_shapley, game_of

FINISHED = "installed.txt"  # in the environment: what was installed, present once that is over
LOG = "pip.log"
PATIENCE = 1800  # seconds for one process of a peer


def python_of(peer: Peer, folder: Path) -> Path:
    """The interpreter of the peer's environment in `folder`, which is made if it is not there.

    Raises `ExplanationError` if pip cannot install the packages; what it said is in the environment's `LOG`.
    """
    home = folder / peer.id
    python = home / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    wanted = "\n".join(peer.all_requirements) + "\n"
    finished = home / FINISHED
    if finished.is_file() and finished.read_text(encoding="utf-8") == wanted:
        return python
    home.mkdir(parents=True, exist_ok=True)
    logged([sys.executable, "-m", "venv", "--clear", str(home)], home, peer)
    logged([str(python), "-m", "pip", "install", "--quiet", *peer.all_requirements], home, peer)
    finished.write_text(wanted, encoding="utf-8")
    return python


def logged(command: Sequence[str], home: Path, peer: Peer) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=PATIENCE)
    except subprocess.TimeoutExpired as error:
        raise ExplanationError(
            f"{peer.name} is left out: its packages were not installed after {PATIENCE // 60} minutes."
        ) from error
    home.mkdir(parents=True, exist_ok=True)
    (home / LOG).write_text(done.stdout + done.stderr, encoding="utf-8")
    if done.returncode:
        packages = ", ".join(peer.requirements)
        raise ExplanationError(
            f"{peer.name} is left out: pip could not install {packages}. Its messages are in {peer.id}/{LOG}."
        )


WEIGHTS, CONFIG, TOKENIZER = "weights.safetensors", "config.json", "tokenizer.json"
KEPT = (  # of the configuration: what the network is made of
    "hidden_act", "hidden_size", "initializer_range", "intermediate_size", "layer_norm_eps", "max_position_embeddings",
    "num_attention_heads", "num_hidden_layers", "pad_token_id", "type_vocab_size", "vocab_size",
)  # fmt: skip


def write_model(model: FrozenModel, folder: Path) -> None:
    """Weights, configuration and tokenizer. Raises `ModelUnavailable` for another model than an embedded one."""
    network = model.module
    if not isinstance(network, PooledClassifier) or len(model.input_names) > 1:
        raise ModelUnavailable(f"The peers read an embedded model of one text, as sst2; {model.name} is none.")
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: tensor.detach().cpu().clone() for name, tensor in network.state_dict().items()}
    save_file(weights, folder / WEIGHTS)
    config = cast(Any, network.base_model.config).to_dict()
    entries = {name: config[name] for name in KEPT} | {"num_labels": len(model.labels)}
    (folder / CONFIG).write_text(json.dumps(entries), encoding="utf-8")
    tokenizer = cast(Tokenizer, model.tokenizer)
    (folder / TOKENIZER).write_text(tokenizer.to_str(), encoding="utf-8")


ROOT = Path(__file__).parents[3]
SAMPLES, STEPS = 500, 50
Floats = NDArray[np.float64]
Progress = Callable[[str], None]


@dataclass(frozen=True)
class MeasuredRun:
    """`error` is ‖s - φ‖ / ‖φ‖ where Shapley values are estimated and known, `evidence` AOPC-C - AOPC-S."""

    package: str
    run: PeerRun
    error: float | None
    evidence: float | None


@dataclass(frozen=True)
class PeerComparison:
    """`left_out` are sentences about peers that could not be measured."""

    job: PeerJob
    runs: tuple[MeasuredRun, ...]
    left_out: tuple[str, ...]


def compare_with_peers(
    model: FrozenModel,
    texts: Sequence[Example],
    longer: Example,
    most: int,
    threads: int,
    environments: Path,
    progress: Progress,
) -> PeerComparison:
    """About the `longer` text and the first `most` of `texts` with 10 to 13 words of one token each.

    The environments of the peers are made in the given folder. Raises `ModelUnavailable` if the peers cannot read the
    model.
    """
    runs, left_out = list[tuple[str, PeerRun]](), list[str]()
    with tempfile.TemporaryDirectory() as folder:
        write_model(model, Path(folder))
        job = _job(model, texts, longer, most, threads or torch.get_num_threads(), folder)
        progress(f"{CROSSLIGHT.name}: {len(job.sentences)} sentences")
        runs += [(CROSSLIGHT.name, run) for run in runs_of(CROSSLIGHT, Path(sys.executable), job)]
        for peer in PEERS:
            progress(f"{peer.name}: {len(job.sentences)} sentences")
            try:
                runs += [(peer.name, run) for run in runs_of(peer, python_of(peer, environments), job)]
            except ExplanationError as error:  # the others go on
                left_out.append(str(error))
                progress(str(error))
    progress("exact Shapley values and the metrics of all scores")
    return PeerComparison(job, _judged(model, job, runs), tuple(left_out))


def runs_of(peer: Peer, python: Path, job: PeerJob) -> tuple[PeerRun, ...]:
    """What the peer's process measures. Raises `ExplanationError` if it fails."""
    asked, answer = Path(job.folder) / f"{peer.id}-job.json", Path(job.folder) / f"{peer.id}-runs.json"
    asked.write_text(json.dumps(asdict(job)), encoding="utf-8")
    patience = None if peer is CROSSLIGHT else PATIENCE
    alone = {"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    try:
        done = subprocess.run(
            [str(python), "-m", peer.module, str(asked), str(answer)],
            capture_output=True, text=True, errors="replace", check=False, env=os.environ | alone, timeout=patience,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise ExplanationError(f"{peer.name} is left out: it was not done after {PATIENCE // 60} minutes.") from error
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise ExplanationError(f"{peer.name} is left out: it stopped with an error ({without_folders(last)}).")
    try:
        return read_runs(answer)
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ExplanationError(f"{peer.name} is left out: its results cannot be read.") from error


def _job(
    model: FrozenModel, texts: Sequence[Example], longer: Example, most: int, threads: int, folder: str
) -> PeerJob:
    short = [text for text in texts if len(model.encode(text).units) in UNITS and one_token_each(model, text)]
    chosen = [*short[:most], longer]
    sentences = [Sentence(text.text, decide(model, text).decision.label) for text in chosen]
    return PeerJob(model.name, folder, tuple(sentences), len(chosen) - 1, threads, SAMPLES, STEPS)


def one_token_each(model: FrozenModel, text: Example) -> bool:
    """Return whether the units are single tokens, so that every package explains the same features."""
    encoding = model.encode(text)
    return sorted(owner for owner in encoding.owners if owner >= 0) == list(range(len(encoding.units)))


def _judged(model: FrozenModel, job: PeerJob, runs: Sequence[tuple[str, PeerRun]]) -> tuple[MeasuredRun, ...]:
    model = model.pooled(PredictionCache())
    exact = {place: _exact(model, sentence) for place, sentence in enumerate(job.sentences) if place != job.long}
    answers = {place: _answers(model, sentence) for place, sentence in enumerate(job.sentences)}
    return tuple(
        MeasuredRun(
            package,
            run,
            _error(run, exact),
            _evidence(answers[run.sentence], run.scores, job.sentences[run.sentence].label),
        )
        for package, run in runs
    )


def _exact(model: FrozenModel, sentence: Sentence) -> Floats:
    return exact_shapley(game_of(model, model.encode(sentence.text), sentence.label))


def _answers(model: FrozenModel, sentence: Sentence) -> erasure.MaskedPredictor:
    return erasure.MaskedPredictor(model, model.encode(sentence.text), "mask")


def _error(run: PeerRun, exact: Mapping[int, Floats]) -> float | None:
    shapley = exact.get(run.sentence)
    if shapley is None or run.method not in SHAPLEY or len(run.scores) != len(shapley):
        return None
    return float(np.linalg.norm(np.asarray(run.scores) - shapley) / np.linalg.norm(shapley))


def _evidence(answers: erasure.MaskedPredictor, scores: tuple[float, ...], label: int) -> float | None:
    if len(scores) != len(answers.encoding.units):
        return None
    return chance.evidence(faithfulness.measured(answers, scores, label, faithfulness.metrics_at_percents()))
