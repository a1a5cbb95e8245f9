"""Modules that sessions import at once, and those of the pages."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from threading import Thread

import pytest

from app.server import imports

ROOT = Path(__file__).parents[3]
LONG = 0.2  # seconds that each module of the packages here takes
THIRD_PARTY = """
import sys
import streamlit
from app.server import imports
imports.import_alone(*imports.SESSION, *imports.PAGES[{path!r}])
before = set(sys.modules)
own = ("app", "explainers", *sys.stdlib_module_names)
lines = [line for line in open({page!r}, encoding="utf-8") if line.startswith(("import ", "from "))]
exec("".join(lines), {{}})
new = {{name for name in set(sys.modules) - before if name.partition(".")[0] not in own}}
print(*sorted(new))
"""


@pytest.fixture
def circular(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a package like NumPy: it needs its part `typing`, which needs the package."""
    package = tmp_path / "circular_package"
    package.mkdir()
    (package / "__init__.py").write_text(
        f"import time\ntime.sleep({LONG})\nfrom circular_package.typing import KIND\nVALUE = KIND\n"
    )
    (package / "typing.py").write_text(f"import time\nimport circular_package\nKIND = 1\ntime.sleep({LONG})\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield package.name
    for name in [name for name in sys.modules if name.partition(".")[0] == package.name]:
        del sys.modules[name]


def errors_of(first: Callable[[], object], second: Callable[[], object]) -> list[str]:
    """What two threads raise, of which the second begins in the middle of the first."""
    raised: list[str] = []

    def run(work: Callable[[], object], after: float) -> None:
        time.sleep(after)
        try:
            work()
        except Exception as error:  # whatever Python makes of it
            raised.append(str(error))

    threads = [Thread(target=run, args=(first, 0.0)), Thread(target=run, args=(second, LONG / 2))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


def test_a_package_and_its_part_are_imported_by_two_sessions_at_once(circular: str) -> None:
    first, second = lambda: imports.import_alone(circular), lambda: imports.import_alone(f"{circular}.typing")
    assert errors_of(first, second) == []


def test_without_the_lock_one_of_them_gets_a_module_that_is_not_complete(circular: str) -> None:
    raised = errors_of(lambda: import_module(circular), lambda: import_module(f"{circular}.typing"))
    assert "partially initialized module" in raised[0]


def test_what_is_there_waits_for_nobody() -> None:
    with imports._importing:
        thread = Thread(target=imports.import_alone, args=("sys", "app.server.imports"))
        thread.start()
        thread.join(timeout=30)
        assert not thread.is_alive()


def test_the_modules_of_the_first_page_are_imported_in_the_background_without_slow_libraries() -> None:
    code = (
        "import sys; from app.server import imports; imports.import_first_page().join();"
        "slow = {'torch', 'scipy', 'sklearn'} & set(sys.modules);"
        "sys.exit(3 if slow or not set(imports.FIRST_PAGE) <= set(sys.modules) else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize("path", imports.PAGES)
def test_a_page_that_runs_imports_nothing_more_of_others(path: str) -> None:
    code = THIRD_PARTY.format(path=path, page=f"pages/{path or 'compare'}.py")
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout.split()) == (0, []), done.stderr


def test_every_page_of_the_navigation_has_its_modules() -> None:
    assert {f"{path or 'compare'}.py" for path in imports.PAGES} == {
        page.name for page in (ROOT / "pages").glob("*.py")
    }
