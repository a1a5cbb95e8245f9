"""Modules that sessions import at once, and those of the pages."""

import ast
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from types import ModuleType

import pytest

from app.server import imports

ROOT = Path(__file__).parents[3]
WAIT = 30  # seconds at most
PACKAGE = "circular_package"
IMPORTED = """
import sys
import streamlit
from app.server import imports
for name in (*imports.SESSION, *imports.PAGES[{path!r}]):
    imports.import_alone(name)
before = set(sys.modules)
own = ("app", "explainers", *sys.stdlib_module_names)
lines = [line for line in open({page!r}, encoding="utf-8") if line.startswith(("import ", "from "))]
exec("".join(lines), {{}})
print(*sorted(name for name in set(sys.modules) - before if name.partition(".")[0] not in own))
print(*sorted({{"torch", "scipy", "sklearn"}} & set(sys.modules)))
"""


@pytest.fixture
def gates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """Events of a package like NumPy: it needs its part `typing`, which needs the package. `begun`: its import has;
    `go`: it may go on, as soon as its part is being imported, too."""
    module = ModuleType("gates")
    module.begun, module.go = threading.Event(), threading.Event()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "gates", module)
    package = tmp_path / PACKAGE
    package.mkdir()
    (package / "__init__.py").write_text(
        f"import time, gates\ngates.begun.set()\ngates.go.wait({WAIT})\ntime.sleep(0.2)\n"
        f"from {PACKAGE}.typing import KIND\n"
    )
    (package / "typing.py").write_text(f"import gates\ngates.go.set()\nimport {PACKAGE}\nKIND = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield module
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]


def test_a_package_and_its_part_are_imported_by_two_sessions_at_once(gates: ModuleType) -> None:
    raised: list[str] = []

    def session(name: str) -> None:
        try:
            imports.import_alone(name)
        except Exception as error:  # whatever Python makes of it
            raised.append(str(error))

    first = Thread(target=session, args=(PACKAGE,))
    first.start()
    assert gates.begun.wait(WAIT)
    second = Thread(target=session, args=(f"{PACKAGE}.typing",))
    second.start()
    second.join(timeout=0.2)  # without the lock it would let the first one go on by now
    gates.go.set()
    for thread in (first, second):
        thread.join(timeout=WAIT)
    assert raised == []
    assert sys.modules[PACKAGE].KIND == 1


def test_what_is_there_waits_for_nobody() -> None:
    with imports._importing:
        thread = Thread(target=imports.import_alone, args=("sys", "app.server.imports"))
        thread.start()
        thread.join(timeout=WAIT)
        assert not thread.is_alive()


def test_a_module_that_cannot_be_imported_keeps_nothing_of_the_first_page_away(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asked: list[str] = []

    def imported(name: str) -> None:
        asked.append(name)
        raise ImportError(name)

    monkeypatch.setattr(imports, "import_alone", imported)
    imports.import_first_page().join(timeout=WAIT)
    assert tuple(asked) == imports.FIRST_PAGE
    assert all(f"{name} cannot be imported" in caplog.text for name in imports.FIRST_PAGE)


@pytest.mark.parametrize("path", imports.PAGES)
def test_the_imports_of_a_page_load_no_more_of_others_and_no_slow_library(path: str) -> None:
    code = IMPORTED.format(path=path, page=f"pages/{path or 'compare'}.py")
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout.split()) == (0, []), done.stderr


def test_every_page_of_the_navigation_has_its_modules() -> None:
    calls = [
        node for node in ast.walk(ast.parse((ROOT / "streamlit_app.py").read_text())) if isinstance(node, ast.Call)
    ]
    pages = [
        {word.arg: ast.literal_eval(word.value) for word in call.keywords}
        for call in calls
        if isinstance(call.func, ast.Attribute) and call.func.attr == "Page"
    ]
    assert {page.get("url_path", "") for page in pages} == set(imports.PAGES)
    assert [page for page in pages if page.get("default")] == [page for page in pages if "url_path" not in page]
