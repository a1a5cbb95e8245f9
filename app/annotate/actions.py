"""What a button of the Annotate page does, and the sentence where that fails."""

from collections.abc import Callable

from app import plain_text
from app.annotate import session
from app.annotate.state import annotate_state
from explainers.errors import ExplanationError


def attempt(action: Callable[..., object], *arguments: object) -> None:
    """Return a callback for `on_click`; `show_problem` shows afterwards why it failed. An ended pass does nothing."""
    try:
        session.check_pass()
        action(*arguments)
    except ExplanationError as error:
        annotate_state().problem = str(error)


def show_problem() -> None:
    """Show why the last button could not do its work, once."""
    state = annotate_state()
    problem, state.problem = state.problem, ""
    if problem:
        plain_text.error(problem)
