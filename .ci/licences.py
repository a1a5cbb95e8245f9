"""Licences of pinned packages: `python .ci/licences.py LOCK…` in the environment in which the locks are installed.

A package is accepted if its metadata names a permissive licence, or a weak copyleft one (MPL, LGPL) that unmodified,
separately installed packages satisfy. GPL, AGPL and unknown licences are refused. `REVIEWED` holds packages whose
metadata say too little, or that only the container installs, with what their licence file says. Needs no network.
Exit code 1: a package is refused.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from email.message import Message
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

from packaging.requirements import Requirement

PIN = re.compile(r"^[A-Za-z0-9._-]+(?:\[[a-z,]+\])?==[^\\\n]+", re.MULTILINE)
ACCEPTED = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0",
    "CNRI-Python", "HPND", "ISC", "LGPL-2.1-only", "LGPL-2.1-or-later", "LGPL-3.0-only", "LGPL-3.0-or-later", "MIT",
    "MIT-CMU", "MPL-2.0", "PSF-2.0", "Python-2.0", "Unlicense", "Zlib",
}  # fmt: skip
CLASSIFIERS = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
WORDINGS = {  # of the field License, which is free text
    "3-clause bsd license": "BSD-3-Clause",
    "apache": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "apache 2.0 license": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "bsd": "BSD-3-Clause",
    "mit license": "MIT",
}
REVIEWED = {
    "authlib": "BSD-3-Clause",  # container
    "axe-playwright-python": "MIT AND MPL-2.0",  # with axe-core (MPL-2.0) unmodified; tests only
    "cffi": "MIT",  # container
    "cryptography": "Apache-2.0 OR BSD-3-Clause",  # container
    "httpcore": "BSD-3-Clause",  # container
    "httpx": "BSD-3-Clause",  # container
    "joserfc": "BSD-3-Clause",  # container
    "pycparser": "BSD-3-Clause",  # container
}


def pinned(paths: Sequence[str]) -> list[str]:
    """Every package of the locks that this platform installs, once."""
    lines = (line for path in paths for line in PIN.findall(Path(path).read_text(encoding="utf-8")))
    pins = map(Requirement, lines)
    return sorted({pin.name for pin in pins if pin.marker is None or pin.marker.evaluate()})


def licence(name: str, fields: Message | None) -> str:
    """An SPDX expression from a package's metadata, "" if they name none that is known; None is a missing package."""
    if fields is None:
        return REVIEWED.get(name, "")
    stated = fields.get("License-Expression") or ""
    classifiers = [
        line.rpartition("::")[2].strip() for line in fields.get_all("Classifier", []) if line.startswith("License ::")
    ]
    classifiers = [line for line in classifiers if line != "OSI Approved"]
    wording = (fields.get("License") or "").strip()
    if not stated and classifiers:
        stated = " AND ".join(CLASSIFIERS.get(line, f"<{line}>") for line in classifiers)
    return stated or REVIEWED.get(name, "") or WORDINGS.get(wording.lower(), wording)


def accepted(expression: str) -> bool:
    """Whether all parts of an AND, and one of an OR, are accepted licences. Other text is not."""
    words = re.findall(r"[()]|[^\s()]+", expression)
    try:
        result = _either(words)
    except IndexError:
        return False
    return result and not words


def _either(words: list[str]) -> bool:
    result = _both(words)
    while words and words[0] == "OR":
        words.pop(0)
        result = _both(words) or result
    return result


def _both(words: list[str]) -> bool:
    result = _one(words)
    while words and words[0] == "AND":
        words.pop(0)
        result = _one(words) and result
    return result


def _one(words: list[str]) -> bool:
    word = words.pop(0)
    if word == "(":
        result = _either(words)
        return words.pop(0) == ")" and result
    if words and words[0] == "WITH":
        words.pop(0)
        word = f"{word} WITH {words.pop(0)}"
    return word in ACCEPTED


def refused(names: Sequence[str]) -> Iterator[str]:
    """A sentence per package that is not accepted."""
    for name in names:
        try:
            fields = metadata(name)
        except PackageNotFoundError:
            fields = None
        expression = licence(name, fields)
        if not accepted(expression):
            yield (
                f"{name}: {expression or 'no licence is known'}. Replace it, or read its licence file and add it to "
                "REVIEWED in .ci/licences.py."
            )


if __name__ == "__main__":
    names = pinned(sys.argv[1:])
    sentences = list(refused(names))
    sys.stdout.write("\n".join([*sentences, f"{len(names)} packages, {len(sentences)} refused."]) + "\n")
    sys.exit(bool(sentences))
