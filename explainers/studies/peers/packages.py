"""The packages that `study peers` compares with, in exact versions, and the job that each of them gets."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from torch import nn

INSIDE = "explainers.studies.peers.inside"
WARM_UP = "a fine film"  # explained first by every method, which is not timed


@dataclass(frozen=True)
class Peer:
    """`requirements` are what pip installs besides torch; `module` runs in the peer's environment."""

    id: str
    name: str
    requirements: tuple[str, ...]

    @property
    def module(self) -> str:
        return f"{INSIDE}.{self.id}_runs"

    @property
    def all_requirements(self) -> tuple[str, ...]:
        """With the torch of this program, so that all run the same arithmetic."""
        return (f"torch=={version('torch').partition('+')[0]}", *self.requirements)


PEERS = (
    Peer(
        "captum",
        "Captum 0.9.0, as documented",
        ("captum==0.9.0", "scikit-learn==1.9.1", "transformers==5.23.0", "numpy==2.4.6"),
    ),
    Peer(
        "ferret",
        "ferret 0.4.2",
        (
            "ferret-xai==0.4.2",
            "transformers==4.57.6",
            "shap==0.44.1",
            "captum==0.7.0",
            "pyarrow==21.0.0",
            "numpy==1.26.4",
        ),
    ),
    Peer("interpreto", "interpreto 0.5.2", ("interpreto==0.5.2", "transformers==5.23.0", "numpy==2.4.6")),
    Peer("shap", "shap 0.51.0", ("shap==0.51.0", "transformers==5.23.0", "numpy==2.4.6")),
)
CROSSLIGHT = Peer("crosslight", "Crosslight", ())  # runs in the environment of this program


IG, LIME, KERNEL_SHAP, OCCLUSION = "Integrated gradients", "LIME", "KernelSHAP", "Occlusion"
PARTITION, GRADIENT = "Partition SHAP", "Gradient × input"
TOGETHER = "LIME, KernelSHAP and Occlusion together"
FOUR = "Integrated gradients, gradient × input, LIME and SHAP, with curves and metrics"
SHAPLEY = (KERNEL_SHAP, PARTITION)  # they estimate Shapley values

DEFAULT = "default"
COUNTS = (50, 100, 150, 200, 300, 500, 1000)  # of shared masks, in which equal accuracy is looked for
GROUP_COUNTS = (100, 150, 200, 300)  # the same where several methods are timed together


def shared(count: int) -> str:
    return f"{count} shared masks"


@dataclass(frozen=True)
class Sentence:
    """`label` is the class to explain; every unit of the text is one token."""

    text: str
    label: int


@dataclass(frozen=True)
class PeerJob:
    """`long` says which of the sentences is the longer one, of which everything is measured."""

    model: str
    folder: str
    sentences: tuple[Sentence, ...]
    long: int
    threads: int
    samples: int
    steps: int


@dataclass(frozen=True)
class PeerRun:
    """A method on a sentence. `passes` are inputs that went through the model; `scores` one per unit, or none."""

    sentence: int
    method: str
    setting: str
    seconds: float
    passes: int
    scores: tuple[float, ...] = ()


@dataclass(frozen=True)
class Timed:
    """A method to be measured: its name, its setting, and what computes its scores of a sentence."""

    method: str
    setting: str
    explain: Callable[[Sentence], Sequence[float]]
    long_only: bool = False


def read_job(path: Path) -> PeerJob:
    values = json.loads(path.read_text(encoding="utf-8"))
    job = PeerJob(**values | {"sentences": tuple(Sentence(**value) for value in values["sentences"])})
    if job.threads:
        torch.set_num_threads(job.threads)
    return job


def write_runs(path: Path, runs: Sequence[PeerRun]) -> None:
    path.write_text(json.dumps([asdict(run) for run in runs]), encoding="utf-8")


def read_runs(path: Path) -> tuple[PeerRun, ...]:
    """What a peer wrote. Raises `KeyError`, `TypeError` or `ValueError` for anything else."""
    return tuple(PeerRun(**run | {"scores": tuple(run["scores"])}) for run in json.loads(path.read_text("utf-8")))


def measured(job: PeerJob, network: nn.Module, methods: Sequence[Timed]) -> Iterator[PeerRun]:
    """Every method on every sentence, one after the other, after a warm-up on a short one."""
    for timed in methods:
        timed.explain(Sentence(WARM_UP, 1))
        for place, sentence in enumerate(job.sentences):
            if place != job.long and timed.long_only:
                continue
            with counted(network) as rows:
                started = time.perf_counter()
                scores = timed.explain(sentence)
                seconds = time.perf_counter() - started
            yield PeerRun(place, timed.method, timed.setting, seconds, sum(rows), tuple(map(float, scores)))


@contextmanager
def counted(network: nn.Module) -> Iterator[list[int]]:
    """Rows of every forward pass, noted by a hook."""
    rows: list[int] = []

    def note(_module: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        given = (
            tensor for tensor in (*args, kwargs.get("input_ids"), kwargs.get("inputs_embeds")) if tensor is not None
        )
        rows.append(len(next(given)))

    hook = network.register_forward_pre_hook(note, with_kwargs=True)
    try:
        yield rows
    finally:
        hook.remove()
