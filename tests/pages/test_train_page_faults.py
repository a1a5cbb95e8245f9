"""The Train page while the store fails, and for people who log in."""

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from app import model_info as models
from app.database import connections
from app.database.connections import StoreUnavailable
from app.server import login
from app.store import URL_VARIABLE
from app.train import processes, view
from explainers.errors import ExplanationError
from explainers.installation import STORE_VARIABLE

Opened = Callable[..., Any]
TEXTS = "\n".join(f"a good film, number {number}" for number in range(24))
DAMAGED = connections.DAMAGED.format(file="crosslight.db")


@pytest.fixture(autouse=True)
def store(small: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "store"))
    monkeypatch.delenv(URL_VARIABLE, raising=False)
    monkeypatch.setattr(view, "EXPLAINERS", (sys.executable, "-c", "import time; time.sleep(60)"))
    monkeypatch.setattr(view, "_reported", set())
    monkeypatch.setattr(models.bundle_cards, "bundle_names", lambda: ("small",))
    yield tmp_path / "store"
    with suppress(ExplanationError):  # of the test without a database
        for child in view.shared_jobs().supervisor.children.values():
            processes.end(child.pid, at_once=True)
            child.wait()


def turned_to(page: Any) -> AppTest:
    at: AppTest = page.at
    at.switch_page("pages/train.py")
    page.run()
    return at


def damage(store: Path) -> Path:
    store.mkdir(exist_ok=True)
    file = store / "crosslight.db"
    file.write_bytes(b"This is no database. " * 1000)
    return file


def test_a_damaged_store_is_named_on_the_train_page_only(opened: Opened, store: Path) -> None:
    file = damage(store)
    page = opened()
    page.settle()
    assert page.sentences == []
    at = turned_to(page)
    assert page.sentences == [DAMAGED]
    assert str(store) not in "".join(page.sentences)
    at.text_area(key="train texts").set_value(TEXTS)
    at.button(key="start training").click()
    page.run()
    assert page.sentences == [DAMAGED, DAMAGED]  # beside the button, and in place of the list
    assert at.text_area(key="train texts").value == TEXTS
    runs = store / "runs"
    assert not runs.exists() or not list(runs.iterdir())
    file.rename(store / "damaged.db")
    at.button(key="start training").click()
    page.run()
    assert page.sentences == []
    assert [job.texts for job in view.shared_jobs().all()] == [24]
    view.shared_jobs().cancel(1)


@pytest.mark.parametrize("change", ["cancel", "resume", "delete"])
def test_a_button_that_cannot_do_its_work_says_why_once(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    page = opened()
    at = turned_to(page)
    at.text_area(key="train texts").set_value(TEXTS)
    at.button(key="start training").click()
    page.run()
    jobs = view.shared_jobs()
    if change != "cancel":
        jobs.cancel(1)
    page.run()

    def fail(*_: object, **__: object) -> None:
        raise StoreUnavailable("The disk of the server is full.")

    with monkeypatch.context() as patch:
        patch.setattr(jobs, change, fail)
        page.run()
        at.button(key=f"{change} 1").click()
        page.run()
    assert page.sentences == ["The disk of the server is full."]
    assert at.text_area(key="train texts").value == TEXTS
    page.run()
    assert page.sentences == []
    jobs.cancel(1)


def test_an_address_that_names_no_database_leaves_the_other_pages_alone(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(URL_VARIABLE, "postgresql://me:secret@db:port/x")
    page = opened()
    page.settle()
    assert page.sentences == []
    lines = [record.getMessage() for record in caplog.records if "cannot be watched" in record.getMessage()]
    assert len(lines) == 1
    assert "secret" not in caplog.text
    turned_to(page)
    (sentence,) = page.sentences
    assert "DATABASE_URL is not the address of a database" in sentence


def test_people_who_log_in_see_their_own_trainings(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    claims: dict[str, object] = {}
    monkeypatch.setattr(login, "configured_providers", lambda: ("",))
    monkeypatch.setattr(login, "claims", lambda: claims)
    monkeypatch.setenv("CROSSLIGHT_OWNERS", "owner@example.org")

    def page_of(name: str) -> AppTest:
        claims.update(
            is_logged_in=True, iss="https://id.example.org", sub=name, email=f"{name}@example.org", email_verified=True
        )
        return turned_to(opened())

    at = page_of("ada")
    at.text_area(key="train texts").set_value(TEXTS)
    at.button(key="start training").click().run()
    assert at.button(key="cancel 1")
    assert not any(button.key == "cancel 1" for button in page_of("bob").button)
    owner = page_of("owner")
    assert any("by ada@example.org" in element.proto.body for element in owner.get("html"))
    owner.button(key="cancel 1").click().run()
    assert [job.status for job in view.shared_jobs().all()] == ["cancelled"]


def test_who_is_not_logged_in_sees_no_page(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login, "configured_providers", lambda: ("",))
    monkeypatch.setattr(login, "claims", lambda: {})
    at: AppTest = opened().at
    assert [button.label for button in at.button] == ["Log in"]
    assert not at.text_area
