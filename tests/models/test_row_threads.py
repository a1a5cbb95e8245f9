import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from explainers.models.batching import MIN_ROWS, map_rows_in_threads, single_thread_pool


@pytest.fixture(params=[2, 3])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(1)


@pytest.mark.parametrize("rows", [1, MIN_ROWS, 2 * MIN_ROWS, 2 * MIN_ROWS + 1, 37])
def test_the_results_of_all_rows_come_in_order(threads: int, rows: int) -> None:
    inputs, calls = torch.arange(rows), []

    def work(part: slice) -> torch.Tensor:
        calls.append((len(inputs[part]), threading.current_thread().name))
        return inputs[part] ** 2

    assert torch.equal(map_rows_in_threads(work, rows), inputs**2)
    assert len(calls) == max(1, min(threads, rows // MIN_ROWS))
    assert sum(count for count, _ in calls) == rows
    assert max(count for count, _ in calls) - min(count for count, _ in calls) <= 1
    assert all(name.startswith("row") for _, name in calls) == (len(calls) > 1)


def test_a_pool_thread_has_one_torch_thread_and_all_others_keep_theirs(threads: int) -> None:
    thread_counts: list[int] = []

    def work(part: slice) -> torch.Tensor:
        thread_counts.append(torch.get_num_threads())
        return torch.zeros(part.stop - part.start)

    for _ in range(3):
        map_rows_in_threads(work, 40)
    assert set(thread_counts) == {1}
    assert torch.get_num_threads() == threads
    with ThreadPoolExecutor(1) as later:
        assert later.submit(torch.get_num_threads).result() == threads


def test_with_one_thread_nothing_is_distributed() -> None:
    assert torch.get_num_threads() == 1
    names = []

    def work(part: slice) -> torch.Tensor:
        names.append(threading.current_thread().name)
        return torch.zeros(part.stop - part.start)

    assert len(map_rows_in_threads(work, 100)) == 100
    assert names == [threading.current_thread().name]


def test_an_error_in_a_thread_reaches_the_caller(threads: int) -> None:
    def work(part: slice) -> torch.Tensor:
        if part.start:
            raise RuntimeError("can't allocate memory")
        return torch.zeros(part.stop)

    with pytest.raises(RuntimeError, match="can't allocate memory"):
        map_rows_in_threads(work, 40)


def test_the_pool_is_created_once(threads: int) -> None:
    assert single_thread_pool(threads) is single_thread_pool(threads)
