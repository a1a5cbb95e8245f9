"""All that a session holds of the Train page: one typed object, `TrainState`."""

from dataclasses import dataclass, field

from app.session import MODEL_NAME, NOT_CARRIED, carried, held
from app.train.job_list import JobListState


@dataclass(frozen=True)
class TrainControls:
    """What stands in the form besides the settings of a method. Only the model is in the address."""

    model: str = field(default="", metadata=carried(MODEL_NAME, "model", undo=False, download=False))
    train_variant: str = field(default="mine", metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    train_method: str = field(default="", metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    train_seed: int = field(default=0, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    train_texts: str = field(default="", metadata=carried(NOT_CARRIED, "", undo=False, download=False))


@dataclass
class TrainState(JobListState[TrainControls]):
    controls: TrainControls = field(default_factory=TrainControls)


def train_state() -> TrainState:
    """Return what the session holds of the Train page."""
    return held(TrainState)
