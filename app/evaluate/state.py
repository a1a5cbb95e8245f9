"""What is held of evaluations: by a session, as one typed object, and by the store, finished or not."""

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

from app.session import MODEL_NAME, NOT_CARRIED, TEXT, carried, held, whole_number
from app.store import Job
from app.train.state import JobListState
from explainers.evaluation import names, record_file, sanity_summary, set_spec, set_summary
from explainers.memoized import memoized
from explainers.report.set_tables import metric_columns

FILE, EXAMPLES = "My file", "Embedded examples"
SOURCES = (FILE, EXAMPLES)
FEWEST_INPUTS, RECENT_INPUTS = 5, 20  # by which the pace is judged
LONGER = 1.25  # times as long as was said: then that is said
MOST_PARTIAL = 20_000_000  # bytes of a running evaluation that are read again and again; then its result is awaited
PART = set_spec.Shard().file


@dataclass(frozen=True)
class EvaluateControls:
    """What stands in the form, and what is looked at in a result. A column of None is the one that is guessed."""

    model: str = field(default="", metadata=carried(MODEL_NAME, "model", undo=False, download=False))
    evaluate_preset: str = field(
        default=set_spec.QUICK.id, metadata=carried(TEXT, "preset", undo=False, download=False)
    )
    evaluate_source: str = field(default=FILE, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    text_column: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    pair_column: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    label_column: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    id_column: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    image_column: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    rationale_column: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    evaluate_n: int | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    evaluate_sanity: int | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    evaluate_thorough: bool = field(default=False, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    evaluate_methods: tuple[str, ...] | None = field(
        default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False)
    )
    evaluation: int | None = field(  # whose result is drawn; None: the newest
        default=None, metadata=carried(whole_number(1, 10**9), "evaluation", undo=False, download=False)
    )
    words_method: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    words_class: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))


@dataclass
class Remaining:
    """How long a running evaluation still takes, by the pace of its last inputs.

    `seen` are the numbers of inputs that were done when the page looked, each with the moment of the last one.
    """

    started: float = 0.0  # what was done before, as before a resumption, says nothing about the pace
    seen: list[tuple[int, float]] = field(default_factory=list)
    said: float | None = None

    def seconds(self, done: int, moment: float, inputs: int) -> float | None:
        """Return the seconds; None until enough inputs were seen. What was said rises only where it was far off."""
        if moment < self.started:
            return None
        if not self.seen or done > self.seen[-1][0]:
            self.seen.append((done, moment))
        while len(self.seen) > 1 and done - self.seen[1][0] >= RECENT_INPUTS:
            self.seen.pop(0)
        first, since = self.seen[0]
        if done - first < FEWEST_INPUTS:
            return None
        seconds = (moment - since) / (done - first) * (inputs - done)
        if self.said is None or not self.said <= seconds <= LONGER * self.said:
            self.said = seconds
        return self.said


@dataclass
class EvaluateState(JobListState[EvaluateControls]):
    controls: EvaluateControls = field(default_factory=EvaluateControls)
    remaining: dict[tuple[int, float | None], Remaining] = field(default_factory=dict)  # by evaluation and its start


def evaluate_state() -> EvaluateState:
    """Return what the session holds of the Evaluate page."""
    return held(EvaluateState)


@dataclass(frozen=True)
class SetResult:
    """The manifest, a row per input, and a row per input and method; of a running evaluation those so far."""

    manifest: dict[str, Any]
    rows: pd.DataFrame
    methods: pd.DataFrame
    sanity: pd.DataFrame
    finished: bool

    @property
    def operators(self) -> list[str]:
        operators: list[str] = self.manifest["operators"]
        return operators

    @memoized
    def advice(self) -> set_summary.Recommendation:
        return set_summary.recommendation(self.methods, self.operators[0])

    @memoized
    def table(self) -> list[set_summary.MethodSummary]:
        return set_summary.method_table(self.methods, metric_columns(self.operators), self.operators[0])

    @memoized
    def curves(self) -> list[set_summary.MeanCurves]:
        return set_summary.mean_curves(self.methods)

    @memoized
    def shares(self) -> list[set_summary.StatusShare]:
        return [share for by in set_summary.GROUPINGS for share in set_summary.status_shares(self.rows, by)]

    @memoized
    def points(self) -> pd.DataFrame:
        return set_summary.trust_points(self.rows, self.methods, self.operators[0])

    @memoized
    def checks(self) -> dict[str, list[sanity_summary.SanityOutcome]]:
        return sanity_summary.outcomes(self.sanity)

    @memoized
    def _words(self) -> dict[str, pd.DataFrame]:
        return {}

    def words(self, method: str) -> pd.DataFrame:
        """Return the words over the set by a method."""
        if method not in self._words:
            self._words[method] = set_summary.words_over_set(self.rows, self.methods, method)
        return self._words[method]


def done(job: Job) -> int:
    """Return how many inputs have a record."""
    return _records(job.run_folder / PART)


def checked(job: Job) -> int:
    """Return on how many inputs the sanity checks have run."""
    return _records(job.run_folder / names.SANITY_RECORDS)


def checking(job: Job) -> bool:
    """Return whether the sanity checks run, or have run."""
    return (job.run_folder / names.SANITY_RECORDS).is_file()


def moment(job: Job) -> float:
    """Return when the last record was written; 0 before the first."""
    try:
        return (job.run_folder / PART).stat().st_mtime
    except OSError:
        return 0.0


def has_result(job: Job) -> bool:
    """Return whether there is a result, or a part of it that can be drawn."""
    from explainers.evaluation.set_job import MANIFEST_FILE

    try:
        return (job.run_folder / MANIFEST_FILE).is_file() or (
            (job.run_folder / PART).stat().st_size <= MOST_PARTIAL and done(job) > 0
        )
    except OSError:
        return False


def result(job: Job) -> SetResult | None:
    """Return the result, or what there is of it; None where there is nothing to be drawn."""
    from explainers.evaluation.set_job import MANIFEST_FILE

    manifest, part = job.run_folder / MANIFEST_FILE, job.run_folder / PART
    try:
        if manifest.is_file():
            return _finished(job.run_folder, manifest.stat().st_mtime_ns)
        return _partial(part, part.stat().st_size) if has_result(job) else None
    except OSError:
        return None


def _records(path: Path) -> int:
    """Return the number of lines below the signature; 0 without the file."""
    try:
        return _lines(path, path.stat().st_size) - 1
    except OSError:
        return 0


@lru_cache(maxsize=64)
def _lines(path: Path, _size: int) -> int:
    with path.open("rb") as file:
        return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(2**20), b""))


@lru_cache(maxsize=4)
def _finished(folder: Path, _moment: int) -> SetResult:
    from explainers.evaluation.set_job import read_sanity, read_set

    return SetResult(*read_set(folder), read_sanity(folder), finished=True)


@lru_cache(maxsize=2)
def _partial(part: Path, _size: int) -> SetResult:
    from explainers.evaluation.set_job import frames_of
    from explainers.evaluation.shards import StoredSet

    about, records = record_file.read_signed(part)
    manifest = {"command": about["command"], "data": about["data"], **about["plan"], "inputs": len(records)}
    return SetResult(
        manifest, *frames_of(StoredSet(about, records)), sanity_summary.sanity_frame([], []), finished=False
    )
