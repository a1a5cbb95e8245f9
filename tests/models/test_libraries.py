import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from app import model_pool


def test_two_threads_never_import_parts_of_transformers_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    running, most = [0], [0]

    def slow_import(_name: str) -> None:
        running[0] += 1
        most[0] = max(most[0], running[0])
        time.sleep(0.01)
        running[0] -= 1

    monkeypatch.setattr(model_pool, "import_module", slow_import)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda auto: model_pool.import_transformers(auto=auto), [True, False, True, False]))
    assert most == [1]


def test_every_part_is_there() -> None:
    model_pool.import_transformers(auto=True)
