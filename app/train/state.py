"""All that a session holds of the Train page: one typed object, `TrainState`.

That of Evaluate, which has a list of jobs too, is a `JobListState` as well.
"""

from dataclasses import dataclass, field

from app.session import MODEL_NAME, NOT_CARRIED, Controls, PageState, carried, held


@dataclass
class JobListState(PageState[Controls]):
    """What a session holds of a page with a list of jobs. `problem` is why a button could not do its work; `paces` has
    by job and its start how far it was when the session saw it first, and when that was."""

    problem: str = ""
    paces: dict[tuple[int, float | None], tuple[int, float]] = field(default_factory=dict)

    def take_problem(self) -> str:
        """Return the problem, which is shown once."""
        problem, self.problem = self.problem, ""
        return problem


@dataclass(frozen=True)
class TrainControls:
    """What stands in the form besides the settings of a method. Only the model is in the address. A column of None is
    the one that is guessed."""

    model: str = field(default="", metadata=carried(MODEL_NAME, "model", undo=False, download=False))
    train_variant: str = field(default="mine", metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    train_method: str = field(default="", metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    train_seed: int = field(default=0, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    train_texts: str = field(default="", metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    train_column: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    train_pair_column: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))


@dataclass
class TrainState(JobListState[TrainControls]):
    controls: TrainControls = field(default_factory=TrainControls)


def train_state() -> TrainState:
    """Return what the session holds of the Train page."""
    return held(TrainState)
