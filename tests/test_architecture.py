"""Imports point one way: pages → app → explainers, and inside explainers from what is built to what it is built of."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LAYERS = (
    ("explainers.errors",),
    ("explainers.datasets",),
    ("explainers.models",),
    ("explainers.explanation", "explainers.settings"),
    ("explainers.entry",),
    ("explainers.attribution", "explainers.metrics"),
    ("explainers.learned",),  # some methods select or optimise by a metric
    ("explainers.narrative",),  # its weights are kept as theirs are
    ("explainers",),  # what puts them together: methods, comparison, api, report, cli, …
    ("app",),
    ("pages", "streamlit_app"),
)
FILES = sorted(path for top in ("explainers", "app", "pages") for path in (ROOT / top).rglob("*.py"))


def imports(path: Path) -> Iterator[str]:
    """Every module that a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            yield f"{node.module}.{node.names[0].name}"


def part(module: str) -> tuple[int, str] | None:
    """The layer's number and the part of it to which a module belongs; None for other people's modules."""
    for number, parts in enumerate(LAYERS):
        for name in parts:
            if f"{module}.".startswith(f"{name}."):
                return number, name
    return None


@pytest.mark.parametrize("path", [*FILES, ROOT / "streamlit_app.py"], ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_down_or_stay_in_their_part(path: Path) -> None:
    own = part(".".join(path.relative_to(ROOT).with_suffix("").parts))
    assert own is not None
    used = {part(module) for module in imports(path)} - {None, own}
    assert [name for number, name in used if number >= own[0]] == []  # type: ignore[misc]


@pytest.mark.parametrize("path", [path for path in FILES if "explainers" in path.parts], ids=lambda path: path.stem)
def test_explainers_know_nothing_of_the_app(path: Path) -> None:
    assert {module.split(".")[0] for module in imports(path)}.isdisjoint({"streamlit", "app", "pages"})


def test_data_sets_depend_on_nothing_but_errors() -> None:
    used = {module for path in FILES if path.parent.name == "datasets" for module in imports(path)}
    ours = {module for module in used if module.startswith("explainers.")}
    assert {".".join(module.split(".")[:2]) for module in ours} <= {"explainers.errors", "explainers.datasets"}


@pytest.mark.parametrize("module", ["explainers", "explainers.methods", "explainers.models.cards", "explainers.errors"])
def test_what_a_page_needs_at_first_does_not_load_torch(module: str) -> None:
    code = f"import sys, {module}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
