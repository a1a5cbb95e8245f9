from collections.abc import Callable
from typing import cast

import pytest

from app.annotate import items
from app.annotate.preparation import Preparer
from app.annotate.prepared import Prepared
from app.annotate.projects import Project
from app.annotate.tables import ItemRow
from app.compare.engine import Engine
from app.store import Store
from tests.app.annotate.conftest import TEXT, prepared


def test_what_another_process_prepared_stays(
    annotation_store: Store, make_project: Callable[..., Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    project = make_project()
    (number,) = items.first_items(annotation_store, project.id, 1)

    def store(content: str) -> None:
        with annotation_store.begin() as session:
            session.query(ItemRow).filter_by(id=number).update({"prepared": content})

    def slow(*_about: object) -> Prepared:
        store(prepared(TEXT, label=0).as_json())  # the other process is quicker
        return prepared(TEXT, label=1)

    store("")
    monkeypatch.setattr(Preparer, "_asked", slow)
    Preparer(annotation_store, cast(Engine, None))._prepare(number)
    known = items.item(annotation_store, number)
    assert known is not None
    assert known[1] == prepared(TEXT, label=0)
