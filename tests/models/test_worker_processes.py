import os
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import psutil
import pytest
import torch

from explainers.errors import ExplanationError
from explainers.models.worker_processes import check_processes, map_in_processes

CPU = torch.device("cpu")


def squares(processes: int) -> list[int]:
    return list(map_in_processes(lambda number: number**2, 7, processes))


def test_results_come_in_order_however_many_processes_work() -> None:
    assert squares(1) == squares(2) == squares(3) == [0, 1, 4, 9, 16, 25, 36]
    assert list(map_in_processes(lambda number: number, 0, 2)) == []


def test_several_processes_are_not_this_one_and_have_a_thread_each() -> None:
    torch.set_num_threads(2)
    try:
        results = set(map_in_processes(lambda _number: (os.getpid(), torch.get_num_threads()), 8, 2))
    finally:
        torch.set_num_threads(1)
    assert os.getpid() not in {process for process, _ in results}
    assert {threads for _, threads in results} == {1}
    assert set(map_in_processes(lambda _number: os.getpid(), 3, 1)) == {os.getpid()}


def test_an_error_of_one_reaches_the_caller() -> None:
    def work(number: int) -> int:
        if number == 2:
            raise ExplanationError("Two is too many.")
        return number

    for processes in (1, 2):
        results = map_in_processes(work, 4, processes)
        assert [next(results), next(results)] == [0, 1]
        with pytest.raises(ExplanationError, match="Two is too many"):
            next(results)


def test_whoever_has_enough_need_not_wait_for_the_rest(tmp_path: Path) -> None:
    def work(number: int) -> None:
        time.sleep(0.01)
        (tmp_path / str(number)).touch()

    with closing(map_in_processes(work, 500, 2)) as results:
        next(results)
    assert 1 <= len(list(tmp_path.iterdir())) < 500


ENDLESS = """
import os, time
from explainers.models.worker_processes import map_in_processes

def work(number):
    os.write(1, f"{os.getpid()}\\n".encode())  # at once: two prints may end up in one line
    time.sleep(60)

list(map_in_processes(work, 2, 2))
"""


@pytest.mark.slow
def test_whoever_is_killed_leaves_no_process() -> None:
    with subprocess.Popen([sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, text=True) as killed:
        try:
            assert killed.stdout
            workers = [psutil.Process(int(killed.stdout.readline())) for _ in range(2)]
        finally:
            killed.kill()
    _, alive = psutil.wait_procs(workers, 20)
    assert not alive


@pytest.mark.parametrize(
    ("number", "device", "sentence"),
    [
        (0, CPU, "at least 1 process, not 0"),
        (2, torch.device("cuda"), "on the CPU only, not on cuda. Set --device cpu"),
    ],
)
def test_impossible_numbers_of_processes_are_a_sentence(number: int, device: torch.device, sentence: str) -> None:
    with pytest.raises(ExplanationError, match=sentence):
        check_processes(number, device)
    check_processes(1, device)


def test_a_system_that_cannot_fork_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explainers.models.worker_processes.can_fork", lambda: False)
    with pytest.raises(ExplanationError, match="need Linux, which can fork"):
        check_processes(2, CPU)
    check_processes(1, CPU)
