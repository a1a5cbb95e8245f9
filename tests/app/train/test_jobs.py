"""Jobs with a quick command in place of the training: `python -c SCRIPT fit --spec FILE`, which reads the same file."""

import csv
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import enumerate as enumerate_threads
from types import SimpleNamespace

import pytest

from app.database.connections import StoreUnavailable
from app.model_pool import DEVICE_VARIABLE, ROOTS_VARIABLE
from app.server.login import Account
from app.store import Job, Store
from app.train import processes
from app.train.jobs import Jobs, checked, runs, written
from app.train.processes import card
from explainers.datasets.example import Example
from explainers.errors import ExplanationError, ModelUnavailable
from explainers.installation import IMPORTED_FROM, STORE_VARIABLE
from explainers.models import catalog
from explainers.training.spec import FitSpec

PATIENCE = 120  # seconds
SPEC = FitSpec("aml", "owner/model", variant="mine", seed=3, settings=(("epochs", "2"),))
TEXTS = tuple(Example(f"text {number}") for number in range(20))
PROLOGUE = """
import json, os, pathlib, signal, subprocess, sys, time
spec = json.loads(pathlib.Path(sys.argv[3]).read_text())
folder = pathlib.Path(spec["folder"])
"""
GOOD = 'print(json.dumps({"arguments": sys.argv[1:], "spec": spec}, indent=2))'
BAD = 'print("Traceback", file=sys.stderr); print("The texts are too short.", file=sys.stderr); sys.exit(2)'
SLOW = '(folder / "began").write_text(str(os.getpid())); time.sleep(60)'
PARENT = """
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
(folder / "began").write_text(str(child.pid)); time.sleep(60)
"""
DEAF = f"signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLOW}"
ONCE = 'print(json.dumps({"resumed": True})) if spec["resume"] else sys.exit("It stopped half-way.")'
KILLED = "os.kill(os.getpid(), signal.SIGKILL)"
LOST = 'print("Epoch 1 of 9.", file=sys.stderr, flush=True); os.killpg(os.getpgid(0), signal.SIGKILL)'
ORDERLY = """
(folder.parent / "log").open("a").write("begin\\n"); time.sleep(0.3); (folder.parent / "log").open("a").write("end\\n")
"""

Office = Callable[..., Jobs]


@pytest.fixture(autouse=True)
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "store"))
    monkeypatch.delenv(DEVICE_VARIABLE, raising=False)


@pytest.fixture
def office() -> Iterator[Office]:
    """Jobs whose command is a script; nothing of them is left at the end."""
    offices: list[Jobs] = []

    def open_office(script: str = GOOD) -> Jobs:
        offices.append(Jobs(Store(synchronous="NORMAL"), (sys.executable, "-c", PROLOGUE + script)))
        return offices[-1]

    yield open_office
    for office in offices:
        for child in office.supervisor.children.values():
            processes.end(child.pid, at_once=True)
            child.wait()
        office.close()


def state(jobs: Jobs, number: int = 1) -> Job:
    return next(job for job in jobs.all() if job.id == number)


def until(jobs: Jobs, true: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not true() and time.monotonic() < end:
        jobs.tick()
        time.sleep(0.01)
    assert true(), [(job.id, job.status, job.error) for job in jobs.all()]


def over(jobs: Jobs, number: int = 1) -> Job:
    until(jobs, lambda: not state(jobs, number).active)
    return state(jobs, number)


def began(jobs: Jobs, number: int = 1) -> int:
    """What the process wrote when it was at work: a process number."""
    file = state(jobs, number).run_folder / "began"
    until(jobs, lambda: file.is_file() and file.read_text() != "")
    return int(file.read_text())


def has_ended(pid: int) -> bool:
    """Ended, also if nobody has asked for its exit code yet."""
    try:
        return processes.psutil.Process(pid).status() == processes.psutil.STATUS_ZOMBIE
    except processes.psutil.NoSuchProcess:
        return True


def test_a_training_waits_runs_and_is_done(office: Office) -> None:
    jobs = office()
    job = jobs.submit(SPEC, TEXTS)
    assert (job.status, job.pid, job.texts) == ("waiting", None, 20)
    jobs.tick()
    assert state(jobs).status == "running"
    assert state(jobs).pid
    done = over(jobs)
    assert (done.status, done.exit_code, done.pid, done.error) == ("done", 0, None, "")
    assert done.created <= (done.started or 0) <= (done.finished or 0)


def test_the_process_reads_the_spec_that_the_store_holds(office: Office) -> None:
    jobs = office()
    jobs.submit(SPEC, TEXTS)
    done = over(jobs)
    assert done.spec == replace(SPEC, data=f"{done.folder}/texts.txt", folder=done.folder)
    assert card(done) == {
        "arguments": ["fit", "--spec", f"{done.folder}/spec.json"],
        "spec": json.loads(done.spec.as_json()),
    }


def test_a_spec_that_cannot_be_read_ends_the_training_with_a_sentence(office: Office) -> None:
    jobs = office()
    jobs.submit(SPEC, TEXTS)
    with jobs.store.begin() as session:
        job = session.get(Job, 1)
        assert job is not None
        job.spec_json = '{"method": "aml", "seeds": 0}'
    assert over(jobs).status == "failed"
    assert state(jobs).error == (
        "The training's spec cannot be read. The field model is missing. The field seeds must be at least 1, not 0. "
        "Start a new training."
    )
    with pytest.raises(ExplanationError, match="cannot be read"):
        jobs.resume(1)
    jobs.delete(1)
    assert not jobs.all()


def test_the_app_s_device_is_the_training_s(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DEVICE_VARIABLE, "cpu")
    assert office().submit(SPEC, TEXTS).spec.device == "cpu"


def test_the_texts_lie_where_nobody_else_may_read_them(office: Office) -> None:
    texts = (Example("--help"), Example("é $(id) `id` ; 'x'"), *TEXTS)
    job = office().submit(SPEC, texts)
    assert (job.run_folder / "texts.txt").read_text(encoding="utf-8").splitlines() == [text.text for text in texts]
    assert job.run_folder.stat().st_mode & 0o077 == 0
    assert "$" not in job.spec_json


def test_what_cannot_be_queued_leaves_no_text_on_the_disk(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = office()

    def fail() -> None:
        raise StoreUnavailable("The disk of the server is full.")

    monkeypatch.setattr(jobs.store, "begin", fail)
    with pytest.raises(StoreUnavailable, match="full"):
        jobs.submit(SPEC, TEXTS)
    assert list(runs().iterdir()) == []


@pytest.mark.parametrize("moment", ["texts", "folder"])
def test_texts_that_cannot_be_written_leave_nothing(
    office: Office, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    jobs = office()
    if moment == "texts":
        monkeypatch.setattr(Path, "write_text", no_space)
    else:
        monkeypatch.setattr("app.train.jobs.tempfile.mkdtemp", no_space)
    with pytest.raises(Exception, match=r"cannot be written to the disk of the server: No space left on device\."):
        jobs.submit(SPEC, TEXTS)
    assert not list(runs().iterdir())
    assert not jobs.all()


def no_space(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


def test_pairs_are_written_as_a_table(office: Office) -> None:
    job = office().submit(SPEC, (Example('a, "quoted" premise', "a hypothesis"), Example("alone")))
    with (job.run_folder / "texts.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == [["text", "pair"], ['a, "quoted" premise', "a hypothesis"], ["alone", ""]]


def test_a_failure_is_told_by_the_last_line_of_standard_error(office: Office) -> None:
    jobs = office(BAD)
    jobs.submit(SPEC, TEXTS)
    failed = over(jobs)
    assert (failed.status, failed.exit_code, failed.error) == ("failed", 2, "The texts are too short.")


def test_a_process_that_is_killed_says_so(office: Office) -> None:
    jobs = office(KILLED)
    jobs.submit(SPEC, TEXTS)
    assert over(jobs).error == "SIGKILL ended the process, perhaps for lack of memory. Resume it."


@pytest.mark.parametrize(
    ("script", "code", "sentence"),
    [
        (BAD, 2, "The texts are too short."),
        (KILLED, 137, "SIGKILL ended the process, perhaps for lack of memory. Resume it."),
        (LOST, None, "The process ended unexpectedly; resume it. Its last line was: Epoch 1 of 9."),
    ],
)
def test_why_it_failed_is_known_after_a_restart(office: Office, script: str, code: int | None, sentence: str) -> None:
    before = office(script)
    before.submit(SPEC, TEXTS)
    before.tick()
    (shell,) = before.supervisor.children.values()
    shell.wait()
    after = office(script)
    after.tick()
    assert (state(after).status, state(after).exit_code, state(after).error) == ("failed", code, sentence)


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        ("", "The process ended unexpectedly; resume it."),
        ("one\ntwo\n\n", "two"),
        ("╭─ Error ─╮\n│ No such option: --x │\n╰─────────╯\n", "No such option: --x"),
        ("x" * 501, "x" * 500 + " …"),
        ("a\xff", "a\ufffd"),
    ],
)
def test_last_words(tmp_path: Path, output: str, sentence: str) -> None:
    (tmp_path / processes.ERRORS).write_bytes(output.encode("latin-1" if "\xff" in output else "utf-8"))
    assert processes.last_words(tmp_path, 1) == sentence


def test_one_trains_at_a_time_in_the_order_of_asking(office: Office) -> None:
    jobs = office(ORDERLY)
    for name in ("first", "second"):
        jobs.submit(replace(SPEC, variant=name), TEXTS)
    jobs.tick()
    assert [job.status for job in reversed(jobs.all())] == ["running", "waiting"]
    assert over(jobs, 2).status == state(jobs, 1).status == "done"
    assert (runs() / "log").read_text().split() == ["begin", "end", "begin", "end"]


def test_the_same_name_is_not_trained_twice_at_once(office: Office) -> None:
    jobs = office()
    jobs.submit(SPEC, TEXTS)
    with pytest.raises(ExplanationError, match="on its way"):
        jobs.submit(SPEC, TEXTS)
    over(jobs)
    assert jobs.submit(SPEC, TEXTS).id == 2


@pytest.mark.slow
def test_cancelling_ends_the_process_and_all_that_it_started(office: Office) -> None:
    jobs = office(PARENT)
    jobs.submit(SPEC, TEXTS)
    grandchild, child = began(jobs), state(jobs).pid or 0
    jobs.cancel(1)
    assert state(jobs).status == "cancelled"
    until(jobs, lambda: has_ended(child) and has_ended(grandchild) and not jobs.tick())
    assert state(jobs).pid is None
    assert not jobs.supervisor.children


def test_who_does_not_listen_is_ended_after_a_while(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "GRACE", 60.0)
    jobs = office(DEAF)
    jobs.submit(SPEC, TEXTS)
    child = began(jobs)
    jobs.cancel(1)
    jobs.submit(replace(SPEC, variant="next"), TEXTS)
    jobs.tick()
    assert not has_ended(child)
    assert state(jobs, 2).status == "waiting"  # two cores are not shared with one that is still ending
    jobs.supervisor.dying = dict.fromkeys(jobs.supervisor.dying, 0.0)  # the time is over
    until(jobs, lambda: has_ended(child))
    until(jobs, lambda: state(jobs, 2).status == "running")


def test_a_waiting_training_is_cancelled_without_ever_starting(office: Office) -> None:
    jobs = office()
    jobs.submit(SPEC, TEXTS)
    jobs.cancel(1)
    assert not jobs.tick()
    assert (state(jobs).status, state(jobs).started) == ("cancelled", None)


def test_what_failed_is_resumed_with_the_same_spec(office: Office) -> None:
    jobs = office(ONCE)
    jobs.submit(SPEC, TEXTS)
    failed = over(jobs)
    assert failed.error == "It stopped half-way."
    for _ in range(2):
        jobs.resume(1)
    assert state(jobs).spec == replace(failed.spec, resume=True)
    assert (state(jobs).status, state(jobs).error) == ("waiting", "")
    assert over(jobs).status == "done"
    jobs.resume(1)
    assert state(jobs).status == "done"


@pytest.mark.slow
def test_a_process_that_still_runs_is_watched_by_the_next_app(office: Office) -> None:
    before = office(SLOW)
    before.submit(SPEC, TEXTS)
    began(before)
    (pid,) = before.supervisor.children
    after = office(SLOW)
    after.tick()
    assert (state(after).status, state(after).pid) == ("running", pid)
    after.cancel(1)
    until(before, lambda: has_ended(pid))  # only its parent can bury it, as long as it lives
    until(after, lambda: state(after).pid is None)


def test_a_process_that_died_with_the_app_can_be_resumed(office: Office) -> None:
    before = office(SLOW)
    before.submit(SPEC, TEXTS)
    began(before)
    ((pid, shell),) = before.supervisor.children.items()
    processes.end(pid, at_once=True)
    shell.wait()
    after = office(ONCE)
    after.tick()
    assert state(after).status == "failed"
    assert state(after).error == "The process ended unexpectedly; resume it."
    after.resume(1)
    assert state(after).status == "waiting"


def test_a_number_that_another_process_has_now_is_not_taken_for_the_training(office: Office) -> None:
    jobs = office()
    jobs.submit(SPEC, TEXTS)
    with jobs.store.begin() as session:
        job = session.get(Job, 1)
        assert job is not None
        job.status, job.pid = "running", os.getpid()
    jobs.tick()
    assert state(jobs).status == "failed"
    with jobs.store.begin() as session:
        job = session.get(Job, 1)
        assert job is not None
        job.status, job.pid = "running", os.getpid()
    jobs.cancel(1)  # and we are still here
    assert (state(jobs).status, state(jobs).pid) == ("cancelled", None)


def test_what_ended_well_while_no_app_was_there_is_done(office: Office) -> None:
    before = office()
    before.submit(SPEC, TEXTS)
    before.tick()
    (child,) = before.supervisor.children.values()
    child.wait()
    after = office()
    after.tick()
    assert (state(after).status, state(after).exit_code) == ("done", 0)


def test_what_cannot_be_started_is_told(office: Office) -> None:
    jobs = office()
    folder = jobs.submit(SPEC, TEXTS).run_folder
    (folder / "texts.txt").unlink()
    folder.rmdir()
    assert over(jobs).error == "The process cannot be started: No such file or directory. Start a new training."


def test_who_logs_in_sees_and_changes_only_what_is_theirs(office: Office) -> None:
    jobs = office()
    mine, other, owner = Account("1", "me", False), Account("2", "other", False), Account("3", "owner", True)
    jobs.submit(SPEC, TEXTS, mine)
    jobs.submit(replace(SPEC, variant="second"), TEXTS, other)
    seen = {account.name: [job.variant for job in jobs.overview(account).jobs] for account in (mine, other, owner)}
    assert seen == {"me": ["mine"], "other": ["second"], "owner": ["second", "mine"]}
    assert jobs.overview(other).ahead[2] == 1  # the queue is one for all
    jobs.cancel(1, other)
    assert state(jobs).status == "waiting"
    jobs.cancel(1, mine)
    for change in (jobs.resume, jobs.delete):
        change(1, other)
    assert state(jobs).status == "cancelled"
    jobs.resume(1, mine)
    jobs.cancel(1, owner)
    jobs.delete(1, mine)
    assert [(job.owner, job.owner_name) for job in jobs.all()] == [("2", "other")]


def test_deleting_takes_the_folder_and_nothing_else(office: Office, tmp_path: Path) -> None:
    jobs = office()
    folder = jobs.submit(SPEC, TEXTS).run_folder
    jobs.delete(1)
    assert state(jobs).active  # not while it is on its way
    over(jobs)
    jobs.delete(1)
    assert not folder.exists()
    assert not jobs.all()
    outside = tmp_path / "precious"
    outside.mkdir()
    with jobs.store.begin() as session:
        session.add(
            Job(method="a", model="b", variant="c", texts=1, spec_json="", folder=str(outside), status="failed")
        )
    jobs.delete(2)
    assert outside.exists()
    assert not jobs.all()


def test_a_folder_that_cannot_be_deleted_is_named_and_its_training_stays(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = office()
    jobs.submit(SPEC, TEXTS)
    jobs.cancel(1)
    with monkeypatch.context() as patch:
        patch.setattr("app.train.jobs.shutil.rmtree", no_space)
        with pytest.raises(ExplanationError, match="cannot be deleted: No space left on device"):
            jobs.delete(1)
    assert state(jobs).status == "cancelled"
    jobs.delete(1)
    assert not jobs.all()


def test_texts_of_an_app_that_crashed_are_removed_at_the_start(
    office: Office, caplog: pytest.LogCaptureFixture
) -> None:
    kept = office().submit(SPEC, TEXTS).run_folder
    recent, orphan, other = (written(SPEC, TEXTS)[0] for _ in range(3))
    (other / processes.OUTPUT).touch()  # began once: perhaps a job of a database that was moved away
    for folder in (kept, orphan, other):
        os.utime(folder, (0, 0))
    next_app = office()
    next_app.cancel(1)
    for _ in range(2):
        next_app.watch.attempt()
    assert sorted(runs().iterdir()) == sorted([kept, recent, other])
    assert [record.getMessage() for record in caplog.records] == [
        f"removed {orphan.name}: its training was never queued",
        "folders in runs that belong to no training of this database: 1; delete them by hand",
    ]


def test_no_thread_is_left_when_the_jobs_are_closed(office: Office) -> None:
    jobs = office().begin()
    jobs.close()
    assert "jobs" not in {thread.name for thread in enumerate_threads()}


def test_the_thread_does_it_all_by_itself(office: Office) -> None:
    jobs = office().begin()
    jobs.submit(SPEC, TEXTS)
    end = time.monotonic() + PATIENCE
    while state(jobs).active and time.monotonic() < end:
        time.sleep(0.02)
    assert state(jobs).status == "done"


@pytest.mark.parametrize("name", ["", "-x", "../x", "a b", "Mine", "é", "x" * 41, "a/b", "a\n"])
def test_a_name_that_is_none_is_refused(office: Office, name: str) -> None:
    jobs = office()
    with pytest.raises(ExplanationError, match="The name of the result needs"):
        jobs.submit(replace(SPEC, variant=name), TEXTS)
    assert not jobs.all()


@pytest.mark.parametrize(
    "name",
    [
        *(
            "sst2",
            "owner/model",
            "owner/model@main",
            "nothing",
            "",
            "--help",
            "a b/c",
            "x" * 5000,
            "~nobody/x",
            "a\x00b",
        ),
        *(
            "inside",
            "inside@main",
            "./inside",
            "inside/../outside",
            "outside",
            "link",
            "{here}/inside",
            "{here}/outside",
        ),
        *("outside/deep", "inside/deep", "outside/deep@main", "outside/deep@x", "/", "."),
    ],
)
def test_the_process_may_load_what_the_app_may_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for folder in ("inside/deep", "outside/deep", "allowed"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "outside")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(ROOTS_VARIABLE, f"allowed{os.pathsep}{tmp_path / 'inside'}")
    monkeypatch.setattr(catalog.bundle_cards, "bundle_names", lambda: ("sst2",))
    monkeypatch.setattr(
        catalog, "load_bundle", lambda folder, _: SimpleNamespace(name=folder.name, precision="float32")
    )
    monkeypatch.setattr(catalog, "load_pretrained", lambda name, _: SimpleNamespace(name=name, precision="float32"))
    model = name.format(here=tmp_path)
    roots = (Path("allowed"), tmp_path / "inside")
    try:
        expected: object = catalog.load(model, device="cpu", roots=roots).name
    except (ModelUnavailable, ValueError):
        with pytest.raises(ModelUnavailable, match="is not available"):
            checked(replace(SPEC, model=model))
    else:
        assert checked(replace(SPEC, model=model)).model == expected


def test_a_model_outside_is_refused_before_anything_is_written(office: Office, tmp_path: Path) -> None:
    jobs = office()
    with pytest.raises(ModelUnavailable):
        jobs.submit(replace(SPEC, model=str(tmp_path)), TEXTS)
    assert not jobs.all()
    assert not runs().exists()


def test_the_card_is_what_the_command_printed(office: Office) -> None:
    jobs = office("print('not JSON')")
    jobs.submit(SPEC, TEXTS)
    assert over(jobs).status == "done"
    assert card(state(jobs)) is None
    (state(jobs).run_folder / processes.OUTPUT).write_text(json.dumps([1]))
    assert card(state(jobs)) is None


def test_without_texts_the_spec_leaves_them_to_the_model_s_generator(office: Office) -> None:
    job = office().submit(SPEC, ())
    assert job.spec.data == ""
    assert not list(job.run_folder.iterdir())


def test_a_training_imports_the_package_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (IMPORTED_FROM / "explainers" / "__main__.py").is_file()
    monkeypatch.chdir(tmp_path)
    assert processes.start([sys.executable, "-c", "import explainers.errors"], tmp_path).wait(PATIENCE) == 0
