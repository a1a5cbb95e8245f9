"""A store with a project, whose items are prepared as if a model had read them."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from app.annotate import projects
from app.annotate.projects import Prepared, PreparedMap, Project, ProjectSpec
from app.annotate.tables import ItemRow
from app.server.login import ANYBODY
from app.store import URL_VARIABLE, Store
from explainers.annotations.judged import word_encoding
from explainers.annotations.records import GivenReason, Item
from explainers.datasets.example import Example
from explainers.installation import STORE_VARIABLE

METHODS, NARRATORS = ("integrated_gradients", "occlusion", "aml"), ("cause_phi", "cause")
TEXT = "A fine film, but dull"
REASON = GivenReason("It is fine.", "positive", "people")


@pytest.fixture
def annotation_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "store"))
    monkeypatch.delenv(URL_VARIABLE, raising=False)
    store = Store(synchronous="NORMAL")  # no test is about a loss of power
    yield store
    store.close()


def prepared(text: str, label: int = 1) -> Prepared:
    """As a model would read it; every method ranks the words in an order of its own."""
    encoding = word_encoding(Example(text))
    count = len(encoding.units)
    maps = {
        method: PreparedMap(tuple(float((unit + shift) % count) for unit in range(count)), True, {"aopc_c": shift / 10})
        for shift, method in enumerate(METHODS)
    }
    sentences = {narrator: f"Sentence {number}." for number, narrator in enumerate(NARRATORS)}
    return Prepared(
        encoding.texts, encoding.units, ("",), ("negative", "positive"), label, (0.1, 0.9), "1", maps, sentences
    )


@pytest.fixture
def make_project(annotation_store: Store) -> Callable[..., Project]:
    def make(texts: Sequence[str] = (TEXT,) * 4, **changes: object) -> Project:
        values: dict[str, object] = {
            "name": "Films",
            "model": "small",
            "tasks": projects.ORDER,
            "methods": METHODS,
            "narrators": NARRATORS,
            **changes,
        }
        listed = [Item(f"item {number}", Example(text), None, "positive", REASON) for number, text in enumerate(texts)]
        made = projects.create(annotation_store, ProjectSpec(**values), listed, ANYBODY)  # type: ignore[arg-type]
        with annotation_store.begin() as session:
            for row in session.query(ItemRow).filter_by(project=made.id):
                row.prepared = prepared(texts[row.number]).as_json()
        return made

    return make
