"""Trainings that are submitted, cancelled, resumed, deleted, that end or crash, in any order, also over a restart.

Processes are played: they are alive until a rule ends them or the supervisor does.
"""

import tempfile
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.store import Store
from app.train import processes
from app.train.jobs import Jobs, runs
from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.installation import STORE_VARIABLE
from explainers.training.spec import FitSpec
from tests.fuzz.conftest import FEW, MANY

COMMAND = ("python", "-m", "explainers")
NAMES = ("one", "two", "three")
TEXTS = (Example("a good film"),)
DO = ("submit", "cancel", "resume", "delete", "tick", "tick", "end", "turn_deaf", "restart")
STEPS = st.lists(st.tuples(st.sampled_from(DO), st.integers(0, 3)), min_size=3, max_size=25)


class Processes:
    """In place of the operating system: the commands that run, by process number."""

    def __init__(self) -> None:
        self.numbers = count(10_000_000)  # greater than any real one
        self.running: dict[int, tuple[str, ...]] = {}
        self.codes: dict[int, int] = {}
        self.deaf: set[int] = set()  # to the request to end

    def start(self, command: list[str], _folder: Path) -> SimpleNamespace:
        pid = next(self.numbers)
        self.running[pid] = tuple(command)
        child = SimpleNamespace(pid=pid, returncode=None)
        child.poll = lambda: setattr(child, "returncode", None if pid in self.running else self.codes.get(pid, -9))
        return child

    def alive(self, pid: int, arguments: list[str]) -> bool:
        return self.running.get(pid, ())[len(COMMAND) :] == tuple(arguments)

    def group_alive(self, pid: int) -> bool:
        return pid in self.running

    def number_of(self, arguments: list[str]) -> int | None:
        return next((pid for pid, words in self.running.items() if words[len(COMMAND) :] == tuple(arguments)), None)

    def end(self, pid: int, *, at_once: bool = False) -> bool:
        if pid not in self.running:
            return False
        if at_once or pid not in self.deaf:
            self.gone(pid, -15)
        return True

    def gone(self, pid: int, code: int) -> None:
        del self.running[pid]
        self.codes[pid] = code


class Trainings:
    """`self.jobs` is the app; a restart makes a new one over the same database. `place` chooses among what there is."""

    def __init__(self, system: Processes) -> None:
        self.system = system
        self.jobs = Jobs(Store(synchronous="NORMAL"), COMMAND)

    def submit(self, place: int) -> None:
        name = NAMES[place % len(NAMES)]
        active = {job.variant for job in self.jobs.all() if job.active}
        try:
            self.jobs.submit(FitSpec("aml", "owner/model", variant=name), TEXTS)
        except ExplanationError:
            assert name in active
        else:
            assert name not in active

    def cancel(self, place: int) -> None:
        self.jobs.cancel(number := self.number(place))
        assert not any(job.active for job in self.jobs.all() if job.id == number)

    def resume(self, place: int) -> None:
        number = self.number(place)
        before = {job.id: job.status for job in self.jobs.all()}
        self.jobs.resume(number)
        after = {job.id: job.status for job in self.jobs.all()}
        assert after == before | ({number: "waiting"} if before.get(number) in ("failed", "cancelled") else {})

    def delete(self, place: int) -> None:
        number = self.number(place)
        active = {job.id for job in self.jobs.all() if job.active}
        self.jobs.delete(number)
        assert (number in {job.id for job in self.jobs.all()}) == (number in active)

    def tick(self, _place: int) -> None:
        self.jobs.tick()

    def end(self, place: int) -> None:
        for pid in list(self.system.running):
            self.system.gone(pid, (0, 1, -9, 2)[place])

    def turn_deaf(self, _place: int) -> None:
        self.system.deaf |= set(self.system.running)

    def restart(self, _place: int) -> None:
        self.jobs.close()
        self.jobs = Jobs(Store(synchronous="NORMAL"), COMMAND)

    def number(self, place: int) -> int:
        """Of a training, or one that was never given."""
        numbers = [job.id for job in self.jobs.all()]
        return numbers[place % len(numbers)] if numbers else 999

    def check(self) -> None:
        """What holds after every step."""
        jobs = self.jobs.all()
        assert len(self.system.running) <= processes.AT_ONCE
        for job in jobs:
            assert (job.finished is None) == job.active
            assert bool(job.error) <= (job.status == "failed")
        folders = set(runs().iterdir()) if runs().is_dir() else set()
        assert folders == {job.run_folder for job in jobs}

    def settle(self) -> None:
        """Lets everything come to its end: processes end well, and the app looks often enough."""
        for _ in range(2 * len(self.jobs.all()) + 3):
            self.jobs.tick()
            for pid in list(self.system.running):
                self.system.gone(pid, 0)
        self.jobs.tick()


@pytest.mark.slow
@given(steps=STEPS)
@settings(max_examples=20 if settings.default.max_examples == FEW else MANY // 3)
def test_trainings_survive_every_order(steps: list[tuple[str, int]]) -> None:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setenv(STORE_VARIABLE, folder)
        patch.setattr(processes, "GRACE", 0.0)
        system = Processes()
        for name in ("start", "alive", "group_alive", "number_of", "end"):
            patch.setattr(processes, name, getattr(system, name))
        trainings = Trainings(system)
        for name, place in [("submit", 0), ("tick", 0), *steps]:
            getattr(trainings, name)(place)
            trainings.check()
        trainings.settle()
        trainings.check()
        assert not any(job.active for job in trainings.jobs.all())
        assert not system.running
        trainings.jobs.close()
