"""Trainings that an earlier app has left: they go on whichever page is opened first."""


def resume_watching() -> None:
    """Called when the page is drawn, so that nobody waits for the database's library."""
    from app.store import exists

    if exists():
        from app.train.view import jobs

        jobs()
