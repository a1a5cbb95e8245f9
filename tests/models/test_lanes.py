import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from explainers.models.lanes import FEWEST, in_lanes, lanes


@pytest.fixture(params=[2, 3])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(1)


@pytest.mark.parametrize("rows", [1, FEWEST, 2 * FEWEST, 2 * FEWEST + 1, 37])
def test_the_results_of_all_rows_come_in_order(threads: int, rows: int) -> None:
    given, seen = torch.arange(rows), []

    def work(part: slice) -> torch.Tensor:
        seen.append((len(given[part]), threading.current_thread().name))
        return given[part] ** 2

    assert torch.equal(in_lanes(work, rows), given**2)
    assert len(seen) == max(1, min(threads, rows // FEWEST))
    assert sum(count for count, _ in seen) == rows
    assert max(count for count, _ in seen) - min(count for count, _ in seen) <= 1
    assert all(name.startswith("lane") for _, name in seen) == (len(seen) > 1)


def test_a_lane_has_one_thread_and_all_others_keep_theirs(threads: int) -> None:
    inside: list[int] = []

    def work(part: slice) -> torch.Tensor:
        inside.append(torch.get_num_threads())
        return torch.zeros(part.stop - part.start)

    for _ in range(3):
        in_lanes(work, 40)
    assert set(inside) == {1}
    assert torch.get_num_threads() == threads
    with ThreadPoolExecutor(1) as later:
        assert later.submit(torch.get_num_threads).result() == threads


def test_with_one_thread_nothing_is_shared_out() -> None:
    assert torch.get_num_threads() == 1
    names = []

    def work(part: slice) -> torch.Tensor:
        names.append(threading.current_thread().name)
        return torch.zeros(part.stop - part.start)

    assert len(in_lanes(work, 100)) == 100
    assert names == [threading.current_thread().name]


def test_an_error_in_a_lane_reaches_the_caller(threads: int) -> None:
    def work(part: slice) -> torch.Tensor:
        if part.start:
            raise RuntimeError("can't allocate memory")
        return torch.zeros(part.stop)

    with pytest.raises(RuntimeError, match="can't allocate memory"):
        in_lanes(work, 40)


def test_lanes_are_made_once(threads: int) -> None:
    assert lanes(threads) is lanes(threads)
