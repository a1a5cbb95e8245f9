"""The container: built and started where an engine is at hand; without one, what its Dockerfile says is done here."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml

from explainers.studies.speed import measure

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "assets" / "container"
PATIENCE = 90.0  # seconds until the app says that it is well
TAG = "crosslight-test"


def instructions() -> list[tuple[str, str]]:
    """Name and rest of each line of the Dockerfile, continued lines joined."""
    text = re.sub(r"\\\n", " ", (FOLDER / "Dockerfile").read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(name, rest.strip()) for name, _, rest in (line.partition(" ") for line in lines)]


def values(name: str) -> list[str]:
    return [rest for instruction, rest in instructions() if instruction == name]


def copies() -> list[tuple[list[str], str]]:
    """What is copied from the repository, and to where."""
    return [(words[:-1], words[-1]) for words in map(shlex.split, values("COPY"))]


def test_everything_that_is_copied_exists_and_reaches_the_engine() -> None:
    rules = (FOLDER / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    allowed = [rule[1:] for rule in rules if rule.startswith("!")]
    refused = [rule for rule in rules if rule and not rule.startswith(("!", "#", "**")) and rule != "*"]
    for sources, _ in copies():
        for source in sources:
            assert (ROOT / source).exists()
            assert any(source == rule or source.startswith(f"{rule}/") for rule in allowed), f"{source} is ignored"
            assert not any(fnmatch(source, rule) for rule in refused)


def test_the_app_runs_as_nobody_special_and_gets_its_signals() -> None:
    assert values("USER") == ["1000:1000"]
    assert not values("ADD")
    assert values("CMD")[-1].startswith('["python", "-m", "streamlit"')  # not through a shell
    assert not re.search(r"password|secret|token", " ".join(values("ENV")), re.IGNORECASE)


def test_all_packages_but_torch_are_installed_by_their_hashes() -> None:
    (command,) = [value for value in values("RUN") if "pip install" in value]
    for part in command.split("&&"):
        assert "--require-hashes" in part or "torch==" in part or "pip check" in part


def test_compose_starts_the_app_with_postgresql() -> None:
    compose = yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))
    app, database = compose["services"]["app"], compose["services"]["database"]
    assert (FOLDER / app["build"]["context"] / app["build"]["dockerfile"]).resolve() == FOLDER / "Dockerfile"
    assert app["environment"]["DATABASE_URL"].startswith("postgresql://crosslight:${POSTGRES_PASSWORD:?")
    assert all(port.startswith("127.0.0.1:") for port in app["ports"])
    assert "ports" not in database
    named = {volume.partition(":")[0] for service in (app, database) for volume in service["volumes"]}
    assert named == set(compose["volumes"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What the image would hold below its working directory."""
    for sources, target in copies():
        for source in sources:
            goal = tmp_path / target / Path(source).name if target.endswith("/") else tmp_path / target
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, goal, ignore=shutil.ignore_patterns("__pycache__", "docs"))
            else:
                goal.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / source, goal)
    return tmp_path


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """As in the container: its variables, folders and programs, and nothing else of this machine's."""
    port = str(measure.free_port())
    data = {name: str(tmp_path / "data" / name) for name in ("store", "huggingface", "models")}
    for path in data.values():
        Path(path).mkdir(parents=True)
    return {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.defpath}",
        "HOME": str(tmp_path),
        "STREAMLIT_SERVER_PORT": port,
        "CROSSLIGHT_STORE": data["store"],
        "HF_HOME": data["huggingface"],
        "CROSSLIGHT_MODELS": data["models"],
    }


@pytest.fixture
def running(folder: Path, environment: dict[str, str]) -> Iterator["subprocess.Popen[bytes]"]:
    words = re.findall(r'"([^"]+)"', values("CMD")[-1])
    words += ["--server.address=127.0.0.1"]  # not where others can reach it
    app = subprocess.Popen(words, cwd=folder, env=environment)
    yield app
    app.kill()
    app.wait()


def health(folder: Path, environment: dict[str, str]) -> int:
    words = re.findall(r'"([^"]+)"', values("HEALTHCHECK")[-1])
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, check=False).returncode


@pytest.mark.slow
def test_the_files_of_the_image_start_the_app_and_it_is_healthy_until_it_ends(
    folder: Path, environment: dict[str, str], running: "subprocess.Popen[bytes]"
) -> None:
    end = time.monotonic() + PATIENCE
    while health(folder, environment) != 0:
        assert running.poll() is None
        assert time.monotonic() < end, "it never became healthy"
        time.sleep(1)
    running.terminate()
    running.wait(timeout=15)
    assert health(folder, environment) != 0


def engine() -> str | None:
    """The container engine that answers here."""
    programs = filter(None, map(shutil.which, ("docker", "podman")))
    answering = (program for program in programs if not subprocess.run([program, "ps"], capture_output=True).returncode)
    return next(answering, None)


@pytest.mark.slow
def test_the_image_is_built_and_becomes_healthy() -> None:
    program = engine()
    if program is None:
        pytest.skip("no container engine answers here")
    subprocess.run([program, "build", "-f", str(FOLDER / "Dockerfile"), "-t", TAG, str(ROOT)], check=True)
    started = subprocess.run([program, "run", "-d", "--rm", TAG], capture_output=True, text=True, check=True)
    container = started.stdout.strip()
    try:
        end = time.monotonic() + PATIENCE
        while True:
            check = [program, "exec", container, "sh", "assets/container/health.sh"]
            if subprocess.run(check, capture_output=True, check=False).returncode == 0:
                break
            assert time.monotonic() < end, "it never became healthy"
            time.sleep(2)
        user = subprocess.run([program, "exec", container, "id", "-u"], capture_output=True, text=True, check=True)
        assert user.stdout.strip() == "1000"
    finally:
        subprocess.run([program, "stop", container], capture_output=True, check=False)
