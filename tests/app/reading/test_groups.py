"""Reading groups: who presents, what is counted once, what is refused, and what survives a restart."""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Barrier, Thread
from uuid import uuid4

import pytest

from app.reading import group_view, groups
from app.reading.groups import Allowance, GroupRefused, Groups, ReadingGroup
from app.store import Store

PLACE = "aml/4"
ONE, OTHER = "1" * 32, "2" * 32


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'groups.db'}"


@pytest.fixture
def group(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Groups]:
    monkeypatch.setattr(groups, "REMEMBERED", 0.0)
    opened = Groups(Store(url))
    yield opened
    opened.store.close()


def test_followers_see_where_the_presenter_is(group: Groups) -> None:
    code, key = group.start("aml", 1)
    assert re.fullmatch(f"[{groups.ALPHABET}]{{8}}", code)
    group.move(code, key, "cimi", 5)
    assert (group.look(code).story, group.look(code).step) == ("cimi", 5)
    assert group.look(code.lower()).place == "cimi/5"


def test_only_the_presenters_key_moves_and_reveals(group: Groups) -> None:
    code, key = group.start("aml", 1)
    for wrong in ("", key[:-1], key + "a", groups.hashed(key)):
        with pytest.raises(GroupRefused, match="not that of the group's presenter"):
            group.move(code, wrong, "aml", 2)
        with pytest.raises(GroupRefused, match="not that of the group's presenter"):
            group.reveal(code, wrong, PLACE)
    assert group.look(code).step == 1


def test_the_key_is_not_in_the_store(group: Groups) -> None:
    code, key = group.start("aml", 1)
    with group.store.read() as session:
        kept = session.get(ReadingGroup, code)
        assert kept is not None
        assert key not in str(vars(kept))


def test_a_participant_is_counted_once_and_may_change_the_bet(group: Groups) -> None:
    code, _ = group.start("aml", 4)
    for choice in (0, 2, 1):
        group.bet(code, ONE, PLACE, choice)
    group.bet(code, OTHER, PLACE, 1)
    group.join(code, ONE)
    assert group.bets(code, PLACE) == {ONE: 1, OTHER: 1}
    assert group.look(code).people == 2


def test_after_the_reveal_bets_and_marks_stay(group: Groups) -> None:
    code, key = group.start("aml", 4)
    group.bet(code, ONE, PLACE, 0)
    group.mark(code, ONE, PLACE, (3, 1))
    group.reveal(code, key, PLACE)
    group.bet(code, ONE, PLACE, 2)
    group.bet(code, OTHER, PLACE, 2)
    group.mark(code, ONE, PLACE, (5,))
    assert group.bets(code, PLACE) == {ONE: 0}
    assert group.marks(code, PLACE) == {ONE: (3, 1)}
    assert group.look(code).revealed == {PLACE}


def test_threads_at_the_same_time_are_counted_once(group: Groups) -> None:
    """Eight participants, three threads each, that bet at the same moment."""
    code, _ = group.start("aml", 4)
    names = [uuid4().hex for _ in range(8)]
    barrier, errors = Barrier(24), []

    def bet(name: str, choice: int) -> None:
        barrier.wait()
        try:
            group.bet(code, name, PLACE, choice)
        except Exception as error:
            errors.append(error)

    threads = [Thread(target=bet, args=(name, choice)) for name in names for choice in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert set(group.bets(code, PLACE)) == set(names)
    assert group.look(code).people == 8


def test_everything_survives_a_restart(group: Groups, url: str) -> None:
    code, key = group.start("aml", 4)
    group.bet(code, ONE, PLACE, 2)
    group.mark(code, ONE, PLACE, (4, 0))
    group.note(code, ONE, PLACE, " Why the mask token? ")
    group.reveal(code, key, PLACE)
    group.store.close()
    later = Groups(Store(url))
    later.check_presenter(code, key)
    assert later.look(code).revealed == {PLACE}
    assert later.bets(code, PLACE) == {ONE: 2}
    assert later.marks(code, PLACE) == {ONE: (4, 0)}
    assert [note.text for note in later.notes(code)] == ["Why the mask token?"]
    later.store.close()


def test_notes_are_bounded(group: Groups, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "MOST_NOTES", 2)
    code, _ = group.start("aml", 4)
    group.note(code, ONE, PLACE, "x" * 10_000)
    group.note(code, ONE, PLACE, "   ")
    group.note(code, ONE, PLACE, "second")
    with pytest.raises(GroupRefused, match="no more are kept"):
        group.note(code, ONE, PLACE, "third")
    assert [len(note.text) for note in group.notes(code)] == [groups.LONGEST_NOTE, 6]


def test_groups_and_people_are_bounded(group: Groups, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "MOST_GROUPS", 1)
    monkeypatch.setattr(groups, "MOST_PEOPLE", 1)
    code, _ = group.start("aml", 1)
    with pytest.raises(GroupRefused, match="Too many groups"):
        group.start("aml", 1)
    group.join(code, ONE)
    with pytest.raises(GroupRefused, match="takes no more"):
        group.bet(code, OTHER, PLACE, 0)
    group.bet(code, ONE, PLACE, 0)  # who is in stays in


def test_a_group_ends_after_a_day(group: Groups, monkeypatch: pytest.MonkeyPatch) -> None:
    code, _ = group.start("aml", 1)
    group.note(code, ONE, PLACE, "gone tomorrow")
    now = time.time()
    monkeypatch.setattr(groups.time, "time", lambda: now + groups.DAY + 1)
    with pytest.raises(GroupRefused, match="There is no group"):
        group.look(code)
    group.start("aml", 1)
    assert group.notes(code) == ()


def test_guessing_codes_is_slowed_down_for_the_guesser_alone(group: Groups) -> None:
    group.misses = Allowance(3, 60.0)
    code, _ = group.start("aml", 1)
    for _ in range(3):
        with pytest.raises(GroupRefused, match="There is no group"):
            group.look("ABCDEFGH", "guesser")
    for tried in ("ABCDEFGJ", code):
        with pytest.raises(GroupRefused, match="Too many wrong codes"):
            group.look(tried, "guesser")
    assert group.look(code, "somebody else").step == 1
    assert group.look(code, "guesser").step == 1  # known now: who is in the group stays in


def test_a_guesser_is_let_in_again_after_a_minute(group: Groups, monkeypatch: pytest.MonkeyPatch) -> None:
    group.misses = Allowance(1, 60.0)
    code, _ = group.start("aml", 1)
    with pytest.raises(GroupRefused, match="There is no group"):
        group.look("ABCDEFGH", "guesser")
    now = time.monotonic()
    monkeypatch.setattr(groups.time, "monotonic", lambda: now + 61)
    assert group.look(code, "guesser").step == 1
    assert group.misses.moments == {}


def test_one_visitor_begins_so_many_groups_and_others_are_not_kept_from_it(group: Groups) -> None:
    for _ in range(groups.MOST_OF_VISITOR):
        group.start("aml", 1, "one")
    with pytest.raises(GroupRefused, match="20 groups were begun from your address today"):
        group.start("aml", 1, "one")
    assert group.look(group.start("aml", 1, "other")[0]).step == 1


def test_where_all_places_are_taken_an_unused_group_gives_its_own(
    group: Groups, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups, "MOST_GROUPS", 3)
    unused, used, joined = (group.start("aml", 1) for _ in range(3))
    with pytest.raises(GroupRefused, match="Too many groups are open"):
        group.start("aml", 1)
    now = time.time()
    monkeypatch.setattr(groups.time, "time", lambda: now + groups.UNUSED + 1)
    group.move(*used, "aml", 2)
    group.join(joined[0], ONE)
    fresh, _ = group.start("aml", 1)
    with pytest.raises(GroupRefused, match="There is no group"):
        group.look(unused[0])
    assert [group.look(code).step for code in (used[0], joined[0], fresh)] == [2, 1, 1]


@pytest.mark.parametrize("code", ["", "short", "ABC/../", "ABCDE<", "'; --", "A" * 500])
def test_what_is_no_code_is_refused(group: Groups, code: str) -> None:
    with pytest.raises(GroupRefused, match="There is no group"):
        group.look(code)


@pytest.mark.parametrize("name", ["", "me", "x" * 32, "1" * 33])
def test_what_is_no_participant_is_refused(group: Groups, name: str) -> None:
    code, _ = group.start("aml", 1)
    with pytest.raises(GroupRefused, match="Reload the page"):
        group.bet(code, name, PLACE, 0)


def test_exported_notes_are_not_read_as_markdown(group: Groups) -> None:
    code, _ = group.start("aml", 4)
    group.note(code, ONE, PLACE, "# <b>[x](y)</b>\n- *a*")
    text = group_view.markdown(group.look(code), group.notes(code))
    assert text.startswith(f"# Notes of the reading group {code}, ")
    assert "## AML: learn the mask, step 4: " in text
    assert r"- \# \<b\>\[x\]\(y\)\</b\> \- \*a\*" in text


def test_a_place_that_no_story_has_keeps_its_name() -> None:
    assert group_view.place_title("gone/3") == "gone/3"
    assert group_view.place_title("aml/99") == "aml/99"
