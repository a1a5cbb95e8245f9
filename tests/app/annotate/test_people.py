import time
from collections.abc import Callable

import pytest
from sqlalchemy import text

from app.annotate import people
from app.annotate.people import MOST_TRIES, TRY_SECONDS, Tries
from app.annotate.projects import Project
from app.annotate.tables import PassRow
from app.store import Store
from explainers.errors import ExplanationError

Make = Callable[..., Project]


def test_a_token_becomes_a_pass_and_then_only_hashes_are_stored(annotation_store: Store, make_project: Make) -> None:
    project = make_project()
    token = people.invite(annotation_store, project.id, "A1")
    assert people.invites(annotation_store, project.id)[0].token == token  # so that the link can be copied
    secret = people.exchange(annotation_store, token, Tries(), "")
    guest = people.guest(annotation_store, secret)
    assert guest is not None
    assert (guest.project, guest.name, guest.role) == (project.id, "A1", "annotator")
    with annotation_store.read() as session:
        tables = ("annotation_invites", "annotation_passes")
        rows = [row for table in tables for row in session.execute(text(f"SELECT * FROM {table}"))]
    assert token not in str(rows)
    assert secret not in str(rows)


def test_a_revoked_invitation_and_its_passes_end(annotation_store: Store, make_project: Make) -> None:
    project = make_project()
    token = people.invite(annotation_store, project.id, "A1")
    secret = people.exchange(annotation_store, token, Tries(), "")
    (listed,) = people.invites(annotation_store, project.id)
    people.revoke(annotation_store, project.id, listed.id)
    assert people.guest(annotation_store, secret) is None
    with pytest.raises(ExplanationError, match="not valid: it was revoked"):
        people.exchange(annotation_store, token, Tries(), "")


def test_a_person_gets_a_new_link_and_keeps_their_place(annotation_store: Store, make_project: Make) -> None:
    project, tries = make_project(), Tries()
    first = people.invite(annotation_store, project.id, "A1")
    secret = people.exchange(annotation_store, first, tries, "")
    before = people.guest(annotation_store, secret)
    (opened,) = people.invites(annotation_store, project.id)
    people.renew(annotation_store, project.id, opened.id)
    (renewed,) = people.invites(annotation_store, project.id)
    assert people.guest(annotation_store, secret) == before  # the browser that is at work stays
    other = people.exchange(annotation_store, renewed.token, tries, "")
    assert people.guest(annotation_store, other) == before
    with pytest.raises(ExplanationError):
        people.exchange(annotation_store, first, tries, "")

    people.revoke(annotation_store, project.id, opened.id)
    people.renew(annotation_store, make_project().id, opened.id)
    assert people.invites(annotation_store, project.id)[0].revoked  # only through its own project
    people.renew(annotation_store, project.id, opened.id)
    (again,) = people.invites(annotation_store, project.id)
    assert (again.revoked, again.opened) == (False, False)
    assert people.guest(annotation_store, secret) is people.guest(annotation_store, other) is None
    assert people.guest(annotation_store, people.exchange(annotation_store, again.token, tries, "")) == before


def test_an_invitation_is_revoked_only_through_its_own_project(annotation_store: Store, make_project: Make) -> None:
    one, other = make_project(), make_project()
    people.invite(annotation_store, one.id, "A1")
    (listed,) = people.invites(annotation_store, one.id)
    people.revoke(annotation_store, other.id, listed.id)
    assert not people.invites(annotation_store, one.id)[0].revoked


def test_a_pass_expires(annotation_store: Store, make_project: Make) -> None:
    secret = people.exchange(annotation_store, people.invite(annotation_store, make_project().id, "A1"), Tries(), "")
    with annotation_store.begin() as session:
        session.query(PassRow).update({"expires": time.time() - 1})
    assert people.guest(annotation_store, secret) is None


def test_wrong_tokens_are_limited_by_address(annotation_store: Store, make_project: Make) -> None:
    token = people.invite(annotation_store, make_project().id, "A1")
    tries = Tries()
    for _ in range(MOST_TRIES):
        with pytest.raises(ExplanationError, match="not valid"):
            people.exchange(annotation_store, "guess", tries, "10.0.0.1")
    with pytest.raises(ExplanationError, match="Too many"):
        people.exchange(annotation_store, "guess", tries, "10.0.0.1")
    with pytest.raises(ExplanationError, match="not valid"):
        people.exchange(annotation_store, "guess", tries, "10.0.0.2")
    assert people.exchange(annotation_store, token, tries, "10.0.0.1")  # of somebody behind the same proxy


def test_addresses_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    tries, now = Tries(), time.monotonic()
    for _ in range(MOST_TRIES):
        tries.note("10.0.0.1")
    monkeypatch.setattr(time, "monotonic", lambda: now + TRY_SECONDS + 60)
    tries.note("10.0.0.2")
    assert set(tries.by_address) == {"10.0.0.2"}


def test_the_same_link_in_two_browsers_is_one_person(annotation_store: Store, make_project: Make) -> None:
    project = make_project()
    token = people.invite(annotation_store, project.id, "A1")
    guests = [people.guest(annotation_store, people.exchange(annotation_store, token, Tries(), "")) for _ in range(2)]
    assert guests[0] == guests[1]


def test_two_invitations_have_different_names(annotation_store: Store, make_project: Make) -> None:
    project = make_project()
    people.invite(annotation_store, project.id, "A1")
    with pytest.raises(ExplanationError, match="already"):
        people.invite(annotation_store, project.id, " A1 ")
    with pytest.raises(ExplanationError, match="for whom"):
        people.invite(annotation_store, project.id, " ")
    with pytest.raises(ExplanationError, match="owner's decisions"):
        people.invite(annotation_store, project.id, "decision")


def test_owners_without_a_name_get_free_pseudonyms(annotation_store: Store, make_project: Make) -> None:
    project = make_project()
    people.invite(annotation_store, project.id, "P1")
    number = people.annotator(annotation_store, project.id, "account a@b.example")
    assert people.annotator(annotation_store, project.id, "account a@b.example") == number
    assert people.names(annotation_store, project.id) == {number: "P2"}


def test_several_invitations_stay_copyable_until_each_is_opened_or_revoked(
    annotation_store: Store, make_project: Make
) -> None:
    project = make_project()
    tokens = [people.invite(annotation_store, project.id, name) for name in ("A1", "A2", "A3")]
    assert [invite.token for invite in people.invites(annotation_store, project.id)] == tokens
    people.exchange(annotation_store, tokens[0], Tries(), "")
    people.revoke(annotation_store, project.id, people.invites(annotation_store, project.id)[2].id)
    assert [invite.token for invite in people.invites(annotation_store, project.id)] == ["", tokens[1], ""]
    people.exchange(annotation_store, tokens[0], Tries(), "")  # the same link in a second browser
