"""What is installed: the locks hold what the requirements name and all that those need, each with hashes."""

import importlib.util
import re
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
ENTRY = re.compile(r"^(?P<pin>[a-z0-9][^\\\n]*?) \\\n(?P<hashes>(?:    --hash=\S+(?: \\)?\n)*)", re.MULTILINE)
UNLOCKED = {"torch"}  # its builds have one version and different files


def required(name: str) -> list[Requirement]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


def locked(name: str) -> dict[str, list[tuple[Requirement, list[str]]]]:
    """By package: its entries (one for each set of markers), and their hashes."""
    entries: dict[str, list[tuple[Requirement, list[str]]]] = {}
    for match in ENTRY.finditer((ROOT / name).read_text(encoding="utf-8")):
        pin = Requirement(match["pin"])
        hashes = re.findall(r"--hash=sha256:([0-9a-f]{64})", match["hashes"])
        entries.setdefault(canonicalize_name(pin.name), []).append((pin, hashes))
    return entries


@pytest.mark.parametrize("folder", ["", "tests/"])
def test_the_lock_has_every_requirement_in_its_version_with_hashes(folder: str) -> None:
    entries = locked(f"{folder}requirements.lock")
    for requirement in required(f"{folder}requirements.txt"):
        name = canonicalize_name(requirement.name)
        if name not in UNLOCKED:
            assert {str(pin.specifier) for pin, _ in entries[name]} == {str(requirement.specifier)}, (
                f"run make lock: {name}"
            )
    assert all(hashes for pins in entries.values() for _, hashes in pins)
    assert not UNLOCKED & entries.keys()
    assert not [name for name in entries if name.startswith(("nvidia-", "cuda-", "triton"))]


def test_the_locks_name_no_index() -> None:
    for name in ("requirements.lock", "tests/requirements.lock"):
        assert not re.search(r"https?:|--(extra-)?index-url|--find-links|file:", (ROOT / name).read_text())


def test_the_locks_hold_all_that_the_installed_packages_need() -> None:
    entries = {**locked("requirements.lock"), **locked("tests/requirements.lock")}
    for name, pins in entries.items():
        if not any(pin.marker is None or pin.marker.evaluate() for pin, _ in pins):
            continue
        try:
            needs = distribution(name).requires or []
        except PackageNotFoundError:
            pytest.fail(f"{name} is locked and not installed: run make test")
        for need in map(Requirement, needs):
            if need.marker is None or need.marker.evaluate({"extra": ""}):
                assert canonicalize_name(need.name) in entries.keys() | UNLOCKED, f"{name} needs {need.name}"


def test_no_version_of_a_package_stands_in_both_locks() -> None:
    assert not locked("requirements.lock").keys() & locked("tests/requirements.lock").keys()


@pytest.fixture
def audit() -> ModuleType:
    spec = importlib.util.spec_from_file_location("audit", ROOT / ".ci" / "audit.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_audit_asks_for_every_pin(audit: ModuleType) -> None:
    pins = audit.pins(
        [str(ROOT / name) for name in ("requirements.txt", "requirements.lock", "tests/requirements.lock")]
    )
    assert {"torch==2.13.0", "streamlit==1.67.0"} <= set(pins)
    assert not [pin for pin in pins if " " in pin]


def test_a_package_with_two_versions_is_audited_in_both(audit: ModuleType) -> None:
    assert audit.distinct(["a==1", "a==2", "b==1"]) == [["a==1", "b==1"], ["a==2"]]


def test_the_audit_names_vulnerabilities_and_is_silent_about_none(
    audit: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known = {"name": "old", "version": "1.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["1.1"]}]}
    answers = [known, {"name": "new", "version": "2.0", "vulns": []}]
    monkeypatch.setattr(audit, "audit", lambda _: answers)
    assert audit.main([str(ROOT / "requirements.txt")]) == 1
    assert "old 1.0: PYSEC-1, fixed in 1.1." in capsys.readouterr().out
    monkeypatch.setattr(audit, "audit", lambda _: answers[1:])
    assert audit.main([str(ROOT / "requirements.txt")]) == 0


def test_an_unreachable_service_is_said_and_does_not_fail(
    audit: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(audit, "audit", lambda _: "no route")
    assert audit.main([str(ROOT / "requirements.txt")]) == 0
    assert "skipped" in capsys.readouterr().out
