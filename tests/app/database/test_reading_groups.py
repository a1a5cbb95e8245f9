"""Reading groups on both databases: what arrives at the same moment is counted once, and nothing of it is lost."""

from collections.abc import Callable
from threading import Barrier, Thread
from uuid import uuid4

import pytest

from app.reading import groups
from app.reading.groups import GroupRefused, Groups
from tests.app.database.conftest import Opened

PLACE = "aml/4"


@pytest.fixture
def group(database: str, opened: Opened, monkeypatch: pytest.MonkeyPatch) -> Groups:
    monkeypatch.setattr(groups, "REMEMBERED", 0.0)
    return Groups(opened())


def at_once(*verbs: Callable[[], None]) -> list[Exception]:
    """Runs all at the same moment; the errors."""
    barrier, errors = Barrier(len(verbs)), []

    def run(verb: Callable[[], None]) -> None:
        barrier.wait()
        try:
            verb()
        except Exception as error:
            errors.append(error)

    threads = [Thread(target=run, args=(verb,)) for verb in verbs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def test_bets_of_the_same_person_are_one(group: Groups) -> None:
    code, _ = group.start("aml", 4)
    name = uuid4().hex
    assert at_once(*(lambda choice=choice: group.bet(code, name, PLACE, choice) for choice in range(8))) == []
    assert set(group.bets(code, PLACE)) == {name}
    assert group.look(code).people == 1


def test_no_reveal_is_lost(group: Groups) -> None:
    code, key = group.start("aml", 4)
    places = [f"aml/{number}" for number in range(8)]
    assert at_once(*(lambda place=place: group.reveal(code, key, place) for place in places)) == []
    assert group.look(code).revealed == set(places)


def test_a_group_takes_no_more_than_it_may(group: Groups, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "MOST_PEOPLE", 3)
    code, _ = group.start("aml", 4)
    errors = at_once(*(lambda: group.join(code, uuid4().hex) for _ in range(8)))
    assert [type(error) for error in errors] == [GroupRefused] * 5
    assert group.look(code).people == 3


def test_notes_at_the_same_moment_are_all_kept(group: Groups) -> None:
    code, _ = group.start("aml", 4)
    name = uuid4().hex
    assert at_once(*(lambda text=text: group.note(code, name, PLACE, text) for text in "abcd")) == []
    assert sorted(note.text for note in group.notes(code)) == list("abcd")
