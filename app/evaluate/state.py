"""All that a session holds of the Evaluate page: one typed object, `EvaluateState`."""

from dataclasses import dataclass, field

from app.session import MODEL_NAME, NOT_CARRIED, TEXT, carried, held
from app.train.job_list import JobListState
from explainers.evaluation.set_spec import QUICK

NO_COLUMN = "none"
FILE, EXAMPLES = "My file", "Embedded examples"
SOURCES = (FILE, EXAMPLES)


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
class EvaluateState(JobListState[EvaluateControls]):
    controls: EvaluateControls = field(default_factory=EvaluateControls)
    shown: int | None = None  # the number of the evaluation whose result is drawn; None: the newest


def evaluate_state() -> EvaluateState:
    """Return what the session holds of the Evaluate page."""
    return held(EvaluateState)
