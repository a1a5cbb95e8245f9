"""The check of licences, on made-up metadata, and on everything that is pinned."""

import importlib.util
from email.message import Message
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
LOCKS = ("requirements.txt", "requirements.lock", "tests/requirements.lock", "assets/container/requirements.lock")


@pytest.fixture(scope="module")
def licences() -> ModuleType:
    spec = importlib.util.spec_from_file_location("licences", ROOT / ".ci" / "licences.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def fields(expression: str = "", wording: str = "", classifiers: tuple[str, ...] = ()) -> Message:
    message = Message()
    for name, value in (("License-Expression", expression), ("License", wording)):
        if value:
            message[name] = value
    for value in classifiers:
        message["Classifier"] = f"License :: OSI Approved :: {value}"
    return message


def test_every_pinned_package_is_accepted(licences: ModuleType) -> None:
    names = licences.pinned([str(ROOT / name) for name in LOCKS])
    assert {"torch", "streamlit", "playwright", "psycopg", "authlib"} <= set(names)
    assert list(licences.refused(names)) == []


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        (fields("MIT"), True),
        (fields("GPL-3.0-or-later"), False),
        (fields("AGPL-3.0-only"), False),
        (fields("GPL-2.0-or-later OR MIT"), True),
        (fields("MIT AND GPL-3.0-only"), False),
        (fields("(GPL-2.0-only OR MIT) AND (Apache-2.0 WITH LLVM-exception OR BSD-3-Clause)"), True),
        (fields("GPL-3.0-only WITH GCC-exception-3.1"), False),
        (fields("(MIT"), False),
        (fields("MIT MIT"), False),
        (fields("LGPL-3.0-only"), True),
        (fields(classifiers=("MIT License",)), True),
        (fields(classifiers=("GNU General Public License v3 (GPLv3)",)), False),
        (fields(wording="MIT", classifiers=("GNU Affero General Public License v3",)), False),
        (fields(wording="Apache 2.0"), True),
        (fields(wording="GPL"), False),
        (fields(wording="as you like"), False),
        (fields(), False),
        (None, False),
    ],
)
def test_permissive_licences_are_accepted_and_gpl_and_unknown_ones_are_not(
    licences: ModuleType, stated: Message | None, expected: bool
) -> None:
    assert licences.accepted(licences.licence("made-up", stated)) is expected


def test_a_reviewed_package_may_say_too_little_but_not_something_else(licences: ModuleType) -> None:
    assert licences.accepted(licences.licence("authlib", None))
    assert licences.accepted(licences.licence("authlib", fields()))
    assert not licences.accepted(licences.licence("authlib", fields("GPL-3.0-only")))
