"""The frame of what is computed for a run that is over: its end, and a sentence where it fails."""

import logging
from collections.abc import Callable
from typing import Protocol

from app.compare.runs import Run
from explainers.errors import Cancelled, ExplanationError

log = logging.getLogger(__name__)


class State(Protocol):
    active: bool
    error: str


def carry_out(run: Run, state: State, work: Callable[[], None], forget: Callable[[], object]) -> None:
    """Does the `work`; what went wrong is in `state`. What was stopped is forgotten, so that it is computed again as
    soon as somebody looks."""
    try:
        work()
    except Cancelled:
        forget()
        state.error = "Stopped."
    except ExplanationError as error:
        state.error = str(error)
    except BaseException as error:  # a programming error: the reader gets a sentence, the log the traceback
        from explainers.comparison.runner import internal_error

        log.exception("a computation after a comparison failed")
        state.error = internal_error(error)
    finally:
        state.active = False
