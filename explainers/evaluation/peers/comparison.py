"""The same model and sentences explained by other packages and here: seconds, passes, and how good the scores are."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from explainers.comparison.question import ask
from explainers.comparison.standings import evidence
from explainers.datasets.example import Example
from explainers.errors import ExplanationError, without_folders
from explainers.evaluation.exact_values import exact_shapley, game_of
from explainers.evaluation.peers.environments import PATIENCE, python_of
from explainers.evaluation.peers.inside.job import PeerJob, PeerRun, Sentence, read_runs
from explainers.evaluation.peers.model_folder import write_model
from explainers.evaluation.peers.names import SHAPLEY
from explainers.evaluation.peers.packages import CROSSLIGHT, PEERS, Peer
from explainers.evaluation.sampling_error import UNITS
from explainers.metrics.erasure import Answers, erasure_curves
from explainers.metrics.faithfulness import METRICS
from explainers.models.answer_pool import AnswerPool
from explainers.models.frozen_model import FrozenModel
from explainers.results.erasure_curves import metric_counts

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
    sentences = [Sentence(text.text, ask(model, text)[0].label) for text in chosen]
    return PeerJob(model.name, folder, tuple(sentences), len(chosen) - 1, threads, SAMPLES, STEPS)


def one_token_each(model: FrozenModel, text: Example) -> bool:
    """Whether the units are single tokens, so that every package explains the same features."""
    encoding = model.encode(text)
    return sorted(owner for owner in encoding.owners if owner >= 0) == list(range(len(encoding.units)))


def _judged(model: FrozenModel, job: PeerJob, runs: Sequence[tuple[str, PeerRun]]) -> tuple[MeasuredRun, ...]:
    model = model.pooled(AnswerPool())
    exact = {place: _exact(model, each) for place, each in enumerate(job.sentences) if place != job.long}
    answers = {place: _answers(model, each) for place, each in enumerate(job.sentences)}
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


def _answers(model: FrozenModel, sentence: Sentence) -> Answers:
    return Answers(model, model.encode(sentence.text), "mask")


def _error(run: PeerRun, exact: Mapping[int, Floats]) -> float | None:
    shapley = exact.get(run.sentence)
    if shapley is None or run.method not in SHAPLEY or len(run.scores) != len(shapley):
        return None
    return float(np.linalg.norm(np.asarray(run.scores) - shapley) / np.linalg.norm(shapley))


def _evidence(answers: Answers, scores: tuple[float, ...], label: int) -> float | None:
    if len(scores) != len(answers.encoding.units):
        return None
    curves = erasure_curves(answers, scores, label, metric_counts(len(scores)))
    return evidence({metric.id: metric.score(curves) for metric in METRICS if not metric.every_count})
