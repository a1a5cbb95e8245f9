"""All that a session holds of the Evaluate page: one typed object, `EvaluateState`."""

from dataclasses import dataclass, field

from app.session import MODEL_NAME, NOT_CARRIED, TEXT, carried, held
from app.train.job_list import JobListState
from explainers.evaluation.set_spec import QUICK

NO_COLUMN = "none"
FILE, EXAMPLES = "My file", "Embedded examples"
SOURCES = (FILE, EXAMPLES)
FEWEST_INPUTS, RECENT_INPUTS = 5, 20  # by which the pace is judged
LONGER = 1.25  # times as long as was said: then that is said


@dataclass(frozen=True)
class EvaluateControls:
    """What stands in the form, and what is looked at in a result. A column of None is the one that is guessed."""

    model: str = field(default="", metadata=carried(MODEL_NAME, "model", undo=False, download=False))
    evaluate_preset: str = field(default=QUICK.id, metadata=carried(TEXT, "preset", undo=False, download=False))
    evaluate_source: str = field(default=FILE, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    text_column: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    pair_column: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    label_column: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    id_column: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    image_column: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    rationale_column: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    evaluate_n: int | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    evaluate_sanity: int | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    evaluate_methods: tuple[str, ...] | None = field(
        default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False)
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
    shown: int | None = None  # the number of the evaluation whose result is drawn; None: the newest
    remaining: dict[tuple[int, float | None], Remaining] = field(default_factory=dict)  # by evaluation and its start


def evaluate_state() -> EvaluateState:
    """Return what the session holds of the Evaluate page."""
    return held(EvaluateState)
