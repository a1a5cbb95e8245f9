"""Trainings that an earlier app has left: they go on whichever page is opened first."""

import logging

from explainers.errors import ExplanationError

log = logging.getLogger(__name__)

_reported: set[str] = set()  # what the log says once


def resume_watching() -> None:
    """Called when the page is drawn, so that nobody waits for the database's library. A store that fails is no matter
    for the other pages: the Train page says what is wrong."""
    from app.store import exists

    try:
        if exists():
            from app.train.view import shared_jobs

            shared_jobs()
    except (ExplanationError, OSError) as error:
        if str(error) not in _reported:
            _reported.add(str(error))
            log.error("trainings cannot be watched: %s", error)
