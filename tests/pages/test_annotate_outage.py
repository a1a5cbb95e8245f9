"""The database goes away while a person annotates, and comes back."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import event
from sqlalchemy.exc import OperationalError

from app.annotate import answers, session, workbench
from app.database import connections
from app.store import Store
from tests.pages.annotating import Annotate, annotate, only_project

assert annotate  # the fixture


@contextmanager
def outage(store: Store) -> Iterator[None]:
    """No statement reaches the database, as if its server were away."""

    def away(*_about: object) -> None:
        raise OperationalError("", None, sqlite3.OperationalError("the server closed the connection"))

    event.listen(store.engine, "before_cursor_execute", away)
    try:
        yield
    finally:
        event.remove(store.engine, "before_cursor_execute", away)


def test_what_is_marked_stays_and_is_stored_once_when_the_database_is_back(
    annotate: Callable[..., Annotate],
) -> None:
    page = annotate().create().press("join")
    before = page.item()
    with outage(session.annotation_store()):
        page.send(marked=[0], label=0)
        during = page.item()
        assert connections.SILENT in page.sentences
        assert workbench.HELD in page.sentences
        assert (during["key"], during["problem"], during["stored"]) == (before["key"], connections.SILENT, "")
        page.run()
        assert page.item()["key"] == before["key"]  # it stays as long as this lasts
    assert answers.annotations(session.annotation_store(), only_project()) == ()
    page.send(marked=[0], label=0)
    assert (page.item()["stored"], page.item()["problem"]) == ("Stored.", "")
    assert page.item()["progress"]["done"] == 1
    assert connections.SILENT not in page.sentences
    assert len(answers.annotations(session.annotation_store(), only_project())) == 1


def test_the_page_finds_the_database_again_without_a_new_answer(annotate: Callable[..., Annotate]) -> None:
    page = annotate().create().press("join")
    before = page.item()
    with outage(session.annotation_store()):
        assert connections.SILENT in page.run().sentences
    page.press("store again")
    assert connections.SILENT not in page.sentences
    assert page.item()["key"] == before["key"]


def test_no_item_appears_where_another_view_was_shown(annotate: Callable[..., Annotate]) -> None:
    page = annotate().create().press("join")
    page.item()
    page.view("Settings")
    with outage(session.annotation_store()):
        assert connections.SILENT in page.run().sentences
        with pytest.raises(KeyError):
            page.at.get_by_key("annotate")
