import sys

import psutil  # type: ignore[import-untyped]
import pytest

from app.server import lifetime

MEGABYTE = 2**20


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc is told to give memory back")
def test_what_is_free_goes_back_to_the_system() -> None:
    if lifetime._function("malloc_trim") is None:
        pytest.skip("the C library is not glibc")
    process = psutil.Process()
    blocks = [bytes(100_000) for _ in range(2000)]  # small enough to come from the heap, 200 MB in all
    kept = blocks[::200]  # and these keep the heap from shrinking by itself
    del blocks
    before = process.memory_info().rss
    lifetime.release_memory()
    assert before - process.memory_info().rss > 100 * MEGABYTE
    assert len(kept) == 10


def test_elsewhere_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifetime, "_function", lambda _name: None)
    lifetime.bound_arenas()
    lifetime.release_memory()
