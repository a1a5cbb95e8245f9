"""Known vulnerabilities of pinned packages: `python .ci/audit.py FILE…` in an environment that has pip-audit.

The files are locks or requirements. Exit code 1: there are some. That the service of vulnerabilities cannot be reached
is no failure; a sentence says so.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

PIN = re.compile(r"^[A-Za-z0-9._-]+(?:\[[a-z,]+\])?==[^\s;\\]+", re.MULTILINE)
PATIENCE = 30  # seconds for an answer
OPTIONS = ["--no-deps", "--disable-pip", "--format", "json", "--progress-spinner", "off", "--timeout", str(PATIENCE)]
UNREACHABLE = re.compile(r"connect|timed? ?out|resolve|unreachable|HTTPError|SSL", re.IGNORECASE)
LEFT_OUT = "The audit is skipped: the vulnerability service cannot be reached ({}).\n"


def pins(paths: list[str]) -> list[str]:
    """Every package with its version, once."""
    return sorted({pin for path in paths for pin in PIN.findall(Path(path).read_text(encoding="utf-8"))})


def audit(packages: list[str]) -> list[dict[str, Any]] | str:
    """What pip-audit says of each, or why its service cannot be asked. Raises `RuntimeError` if it fails otherwise."""
    answers: list[dict[str, Any]] = []
    for names in distinct(packages):
        done = asked(names)
        try:
            answers += json.loads(done.stdout)["dependencies"]
        except ValueError:
            reason = (done.stderr.strip().splitlines() or [""])[-1][:300]
            if UNREACHABLE.search(done.stderr):
                return reason
            raise RuntimeError(f"pip-audit failed: {reason}") from None
    if all("skip_reason" in answer for answer in answers):
        return "it knows none of the packages"
    return answers


def asked(packages: list[str]) -> "subprocess.CompletedProcess[str]":
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pins.txt"
        path.write_text("\n".join(packages), encoding="utf-8")
        command = [sys.executable, "-m", "pip_audit", *OPTIONS, "--requirement", str(path)]
        return subprocess.run(command, capture_output=True, text=True, check=False)


def distinct(packages: list[str]) -> list[list[str]]:
    """In lists that name a package once: the locks have two versions of some, for different versions of Python."""
    lists: list[dict[str, str]] = []
    for pin in packages:
        name = pin.partition("==")[0]
        free = next((names for names in lists if name not in names), None)
        if free is None:
            lists.append(free := {})
        free[name] = pin
    return [list(names.values()) for names in lists]


def vulnerabilities(answers: list[dict[str, Any]]) -> list[str]:
    """A sentence for each."""
    return [
        f"{answer['name']} {answer['version']}: {known['id']}, fixed in "
        f"{', '.join(known['fix_versions']) or 'no version'}."
        for answer in answers
        for known in answer.get("vulns", [])
    ]


def main(paths: list[str]) -> int:
    answers = audit(pins(paths))
    if isinstance(answers, str):
        sys.stdout.write(LEFT_OUT.format(answers))
        return 0
    unknown = [answer["name"] for answer in answers if "skip_reason" in answer]
    sys.stdout.write(f"{len(answers) - len(unknown)} packages audited.\n")
    if unknown:
        sys.stdout.write(f"Not known to the service: {', '.join(unknown)}.\n")
    lines = vulnerabilities(answers)
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
