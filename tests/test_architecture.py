"""Imports point one way and never in a circle; files stay small; a class has a name of its own.

Each rule is a function of a root folder that returns sentences, one per violation. Imports inside functions count,
those below `if TYPE_CHECKING:` only for circles. What a registry names in a string is not seen here.
"""

import ast
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOPS = ("explainers", "app", "pages")
ORDER = (  # each may import what stands in its own row or below; of `explainers` itself, the longest name counts
    ("streamlit_app", "explainers.__main__"),
    ("pages", "explainers.studies"),
    ("app", "explainers.commands"),
    ("explainers", "explainers.api"),
    ("explainers.report",),
    ("explainers.evaluation", "explainers.annotations"),
    ("explainers.comparison",),
    ("explainers.narrative", "explainers.learned", "explainers.attribution"),
    ("explainers.methods", "explainers.training", "explainers.metrics"),
    ("explainers.results",),
    ("explainers.models",),
    ("explainers.datasets",),
    ("explainers.errors", "explainers.installation", "explainers.memoized"),
)
LEVELS = {name: level for level, names in enumerate(ORDER) for name in names}
MOST_FILES = {"app": 9, "explainers": 6}
LONGEST = 400  # lines
SCENES = ("explainers/models/scenes", "explainers/datasets/scenes", "explainers/studies")
EAGER = ("captum", "torch", "pandas", "datasets", "peft")  # libraries that import their parts when they are imported

Rule = Callable[[Path], list[str]]
Graph = dict[str, set[str]]


def modules(root: Path) -> dict[str, Path]:
    """Every module of the program by its dotted name; a package has the name of its folder."""
    paths = [path for top in TOPS for path in (root / top).rglob("*.py")] + [root / "streamlit_app.py"]
    parts = {path: path.relative_to(root).with_suffix("").parts for path in sorted(paths) if path.exists()}
    return {".".join(part[:-1] if part[-1] == "__init__" else part): path for path, part in parts.items()}


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def nodes_at_run_time(node: ast.AST) -> Iterator[ast.AST]:
    """Every node below `node` except the bodies of `if TYPE_CHECKING:`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and re.fullmatch(r"(typing\.)?TYPE_CHECKING", ast.unparse(child.test)):
            for other in child.orelse:
                yield from [other, *nodes_at_run_time(other)]
        else:
            yield child
            yield from nodes_at_run_time(child)


def imported(path: Path, name: str, nodes: Callable[[ast.AST], Iterator[ast.AST]] = nodes_at_run_time) -> Iterator[str]:
    """The dotted name of everything that a file imports, relative imports resolved against its module `name`."""
    package = name if path.stem == "__init__" else name.rpartition(".")[0]
    for node in nodes(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            yield from (".".join([*above, *filter(None, [node.module]), alias.name]) for alias in node.names)


def graph(root: Path, nodes: Callable[[ast.AST], Iterator[ast.AST]] = nodes_at_run_time) -> Graph:
    """Which module imports which, within the program."""
    files, arrows = modules(root), defaultdict(set)
    for name, path in files.items():
        for target in imported(path, name, nodes):
            while target and target not in files:
                target = target.rpartition(".")[0]
            if target and target != name:
                arrows[name].add(target)
    return arrows


def level(name: str) -> int | None:
    """The row of ORDER to which a module belongs, None where nobody has given its package a place."""
    if name in LEVELS:
        return LEVELS[name]
    if name.startswith("app.load"):  # a study of the app
        return LEVELS["explainers.studies"]
    parts = name.split(".")
    return LEVELS.get(".".join(parts[:2]) if parts[0] == "explainers" else parts[0])


def upward_imports(root: Path) -> list[str]:
    arrows = [(name, target) for name, targets in graph(root).items() for target in targets]
    levels = {name: level(name) for name in modules(root)}
    return [f"{name} has no place in ORDER" for name, row in levels.items() if row is None] + [
        f"{name} imports {target}, which stands above it"
        for name, target in sorted(arrows)
        if levels[name] is not None and levels[target] is not None and levels[name] > levels[target]  # type: ignore[operator]
    ]


def circular_imports(root: Path) -> list[str]:
    """A circle in any package between its children: each is a module, or a sub-package with all that is in it."""
    return circles(graph(root))


def circular_types(root: Path) -> list[str]:
    """As `circular_imports`, with what is imported for types alone."""
    return circles(graph(root, ast.walk))


def circles(imports: Graph) -> list[str]:
    children: dict[str, Graph] = defaultdict(lambda: defaultdict(set))
    for name, targets in imports.items():
        for target in targets:
            package, one, other = parting(name.split("."), target.split("."))
            if one != other:
                children[package][one].add(other)
    sentences = []
    for package, arrows in sorted(children.items()):
        try:
            TopologicalSorter(arrows).prepare()
        except CycleError as error:
            sentences.append(f"circle in {package or 'the program'}: {' → '.join(reversed(error.args[1]))}")
    return sentences


def parting(one: list[str], other: list[str]) -> tuple[str, str, str]:
    """The deepest package of two modules, and the child of it to which each belongs (itself for its __init__)."""
    common = 0
    while common < min(len(one), len(other)) and one[common] == other[common]:
        common += 1
    return ".".join(one[:common]), ".".join(one[: common + 1]), ".".join(other[: common + 1])


def relative_imports(root: Path) -> list[str]:
    return [
        f"{path.relative_to(root)}:{node.lineno} imports relatively"
        for path in modules(root).values()
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.ImportFrom) and node.level
    ]


def streamlit_in_the_library(root: Path) -> list[str]:
    return [
        f"{name} imports streamlit"
        for name, path in modules(root).items()
        if name.startswith("explainers") and "streamlit" in {module.split(".")[0] for module in imported(path, name)}
    ]


def crowded_folders(root: Path) -> list[str]:
    counts = {folder: len(list((root / folder).glob("*.py"))) for folder in MOST_FILES}
    return [f"{folder}/ has {n} modules of its own" for folder, n in counts.items() if n > MOST_FILES[folder]]


def long_modules(root: Path) -> list[str]:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in modules(root).values()}
    return [f"{path.relative_to(root)} has {n} lines" for path, n in lengths.items() if n > LONGEST]


def scenes_elsewhere(root: Path) -> list[str]:
    """The synthetic world is one model among others: only its own two packages may name it, also in strings."""
    return [
        f"{path.relative_to(root)}:{number} says scenes"
        for path in modules(root).values()
        if not path.relative_to(root).as_posix().startswith(SCENES)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(r"(?<![a-z])scenes(?![a-z])", line, re.IGNORECASE)
    ]


def twin_classes(root: Path) -> list[str]:
    names = [
        node.name
        for path in modules(root).values()
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]
    return [f"class {name} is defined {count} times" for name, count in Counter(names).items() if count > 1]


def pages_without_navigation(root: Path) -> list[str]:
    """Streamlit opens a page without its entry until this call has run once."""
    pages = sorted((root / "pages").glob("*.py"))
    return [
        f"{page.relative_to(root)} does not begin with page_compat.navigated()"
        for page in pages
        if "page_compat.navigated()" not in page.read_text(encoding="utf-8")
    ]


def parts_before_their_library(root: Path) -> list[str]:
    """Python locks the part before the library. Two threads, of which one imports the library and the other a part,
    wait for each other then, and one of them fails."""
    return [
        f"{path.relative_to(root)} imports {part} before {part.partition('.')[0]}"
        for name, path in modules(root).items()
        for part in parts_first(path, name)
    ]


def parts_first(path: Path, name: str) -> Iterator[str]:
    whole: set[str] = set()
    statements = [node for node in nodes_at_run_time(parsed(path)) if isinstance(node, ast.Import | ast.ImportFrom)]
    for node in sorted(statements, key=lambda statement: statement.lineno):
        for target in [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]:
            library, dot, _ = target.partition(".")
            if dot and library in EAGER and library not in whole:
                yield target
            whole.add(library)


def shared_locks(root: Path) -> list[str]:
    """On Python 3.11 `functools.cached_property` holds one lock for all instances while it computes."""
    return [
        f"{path.relative_to(root)} imports {target}"
        for name, path in modules(root).items()
        for target in imported(path, name)
        if target == "functools.cached_property"
    ]


def scattered_session_state(root: Path) -> list[str]:
    """What a session holds is one typed object per page, which app/session.py keeps: a key by hand is forgotten by
    Undo, address or downloads."""
    return [
        f"{path.relative_to(root)}:{node.lineno} uses session_state"
        for path in modules(root).values()
        if path.relative_to(root).as_posix() != "app/session.py"
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Attribute) and node.attr == "session_state"
    ]


CSV_WRITERS = {
    "explainers/report/tables.py",  # all frames, guarded
    "explainers/annotations/formats/tables.py",  # annotations: guarded, and read back as they were
    "app/train/jobs.py",  # the texts of a training, which only the training reads
}


def unguarded_tables(root: Path) -> list[str]:
    """A cell that begins as a formula runs in a spreadsheet: labels and texts are other people's."""
    return [
        f"{path.relative_to(root)}:{node.lineno} writes CSV without the guard against formulas"
        for path in modules(root).values()
        if path.relative_to(root).as_posix() not in CSV_WRITERS
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call) and re.search(r"(\.to_csv|\bcsv\.(Dict)?[wW]riter)$", ast.unparse(node.func))
    ]


PUBLIC = ("errors", "testing", "typing", "column_config")  # modules of Streamlit that its documentation names
SHIMS = "app.streamlit_shims"


def private_parts_of_streamlit(root: Path) -> list[str]:
    """What Streamlit may move without a word is used in one place, which checks that it is there."""
    return [
        f"{path.relative_to(root)} uses {part}, which belongs into {SHIMS}"
        for name, path in modules(root).items()
        if name != SHIMS
        for part in private_parts(path, name)
    ]


def private_parts(path: Path, name: str) -> Iterator[str]:
    for target in imported(path, name):
        library, _, part = target.partition(".")
        # also `from streamlit import x`, of which nobody can tell here what x is: documented names are taken from `st`
        if library == "streamlit" and part and part.partition(".")[0] not in PUBLIC:
            yield target
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Attribute) and re.fullmatch(r"st\.(_\w+|runtime|proto|web)", ast.unparse(node)):
            yield ast.unparse(node)
        elif isinstance(node, ast.Constant) and re.search(r"/_stcore/(?!health)", str(node.value)):
            yield "an address of Streamlit's server"


RULES: tuple[Rule, ...] = (
    upward_imports,
    circular_imports,
    circular_types,
    relative_imports,
    streamlit_in_the_library,
    crowded_folders,
    long_modules,
    scenes_elsewhere,
    twin_classes,
    pages_without_navigation,
    parts_before_their_library,
    shared_locks,
    unguarded_tables,
    private_parts_of_streamlit,
    scattered_session_state,
)


@pytest.fixture(scope="module", autouse=True)
def trees_of_this_file() -> Iterator[None]:
    yield
    parsed.cache_clear()


def test_no_browser_test_waits_by_the_clock() -> None:
    """`settled` and the expectations of Playwright wait for what is to come."""
    clock = re.compile(r"wait_for_timeout|\bsleep\(")
    paths = sorted((ROOT / "tests" / "browser").glob("*.py"))
    assert paths
    assert [path.name for path in paths if clock.search(path.read_text(encoding="utf-8"))] == []
    assert all("reduced_motion" in text for path in paths if "new_context(" in (text := path.read_text()))


def test_browser_tests_lie_where_make_looks_for_them() -> None:
    marked = re.compile(r"\bmark\.(browser|crowded)\b")
    paths = [path for path in (ROOT / "tests").rglob("*.py") if marked.search(path.read_text(encoding="utf-8"))]
    assert {path.parent for path in paths} == {ROOT / "tests" / "browser"}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_program_keeps(rule: Rule) -> None:
    assert rule(ROOT) == []


SOUND = {
    "explainers/errors.py": "class ExplanationError(Exception): ...",
    "explainers/datasets/scenes/world.py": "from explainers.errors import ExplanationError\nSCENES = 'scenes'",
    "explainers/api.py": "import explainers.models.text.c",
    "explainers/models/scenes/network.py": "import explainers.datasets.scenes.world as scenes",
    "explainers/models/a.py": "import explainers.errors",
    "explainers/models/b.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import explainers.commands.d",
    "explainers/commands/d.py": "",
    "explainers/models/text/c.py": "from explainers.models import a, b",
    "app/main.py": "import explainers.models.text.c, streamlit",
    "pages/one.py": "from app import main, page_compat\n\npage_compat.navigated()",
}
BROKEN: list[tuple[Rule, dict[str, str], str]] = [
    (upward_imports, {"explainers/errors.py": "import os, explainers.models.a"}, "errors imports explainers.models.a"),
    (
        upward_imports,
        {"explainers/models/a.py": "def f():\n from explainers import errors, api"},
        "models.a imports explainers.api",
    ),
    (upward_imports, {"explainers/novel/a.py": ""}, "explainers.novel.a has no place"),
    (upward_imports, {"explainers/novel.py": ""}, "explainers.novel has no place"),
    (upward_imports, {"app/main.py": "from pages import one"}, "app.main imports pages.one"),
    (upward_imports, {"explainers/models/b.py": "if TYPE_CHECKING:\n    pass\nelse:\n    import app.main"}, "app.main"),
    (
        circular_imports,
        {
            "explainers/models/a.py": "from explainers.models import b",
            "explainers/models/b.py": "def f():\n    from explainers.models import a",
        },
        "explainers.models.a → explainers.models.b",
    ),
    (
        circular_imports,
        {"explainers/models/a.py": "import explainers.models.text.d", "explainers/models/text/d.py": ""},
        "circle in explainers.models: explainers.models",
    ),
    (
        circular_imports,
        {"explainers/models/a.py": "from . import b", "explainers/models/b.py": "from .a import x"},
        "circle in explainers.models: explainers.models",
    ),
    (
        circular_types,
        {
            "explainers/models/a.py": "if TYPE_CHECKING:\n    from explainers.models import b",
            "explainers/models/b.py": "def f():\n    from explainers.models import a",
        },
        "explainers.models.a → explainers.models.b",
    ),
    (circular_types, {"explainers/models/b.py": "if TYPE_CHECKING:\n    import app.main"}, "circle in the program"),
    (relative_imports, {"explainers/models/a.py": "from . import b"}, "a.py:1 imports relatively"),
    (
        streamlit_in_the_library,
        {"explainers/models/a.py": "import os, streamlit.testing"},
        "a imports streamlit",
    ),
    (crowded_folders, {f"app/more{number}.py": "" for number in range(9)}, "app/ has 10 modules"),
    (crowded_folders, {f"explainers/more{number}.py": "" for number in range(5)}, "explainers/ has 7 modules"),
    (unguarded_tables, {"app/main.py": "def f(x):\n    x.rows().to_csv()"}, "app/main.py:2 writes CSV"),
    (unguarded_tables, {"app/main.py": "import csv\ncsv.writer(1)"}, "app/main.py:2 writes CSV"),
    (
        private_parts_of_streamlit,
        {"app/main.py": "from streamlit.proto.Element_pb2 import Element"},
        "app/main.py uses streamlit.proto.Element_pb2.Element, which",
    ),
    (private_parts_of_streamlit, {"app/main.py": "from streamlit import runtime"}, "uses streamlit.runtime"),
    (
        private_parts_of_streamlit,
        {"pages/one.py": "from app import page_compat\npage_compat.navigated()\nst._main.x"},
        "uses st._main",
    ),
    (private_parts_of_streamlit, {"app/main.py": "URL = f'{x}/_stcore/stream'"}, "uses an address of"),
    (scattered_session_state, {"app/main.py": "import streamlit as st\nst.session_state['a'] = 1"}, "main.py:2 uses"),
    (shared_locks, {"app/main.py": "from functools import cached_property"}, "app/main.py imports functools"),
    (long_modules, {"pages/one.py": "\n" * 401}, "pages/one.py has 401 lines"),
    (scenes_elsewhere, {"pages/one.py": "if True:\n    NAME = 'all_scenes'"}, "pages/one.py:2 says scenes"),
    (twin_classes, {"app/main.py": "class ExplanationError: ..."}, "class ExplanationError is defined 2 times"),
    (pages_without_navigation, {"pages/one.py": "import app.main"}, "pages/one.py does not begin"),
    (
        parts_before_their_library,
        {"app/main.py": "import torch\nfrom torch.nn import Module\nfrom captum.attr import Lime"},
        "app/main.py imports captum.attr before captum",
    ),
]


def planted(root: Path, files: dict[str, str]) -> Path:
    for name, code in {**SOUND, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(code, encoding="utf-8")
    return root


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_sound_tree_breaks_no_rule(tmp_path: Path, rule: Rule) -> None:
    assert rule(planted(tmp_path, {})) == []


@pytest.mark.parametrize(("rule", "files", "sentence"), BROKEN, ids=lambda value: getattr(value, "__name__", ""))
def test_a_broken_tree_is_noticed(tmp_path: Path, rule: Rule, files: dict[str, str], sentence: str) -> None:
    (violation,) = rule(planted(tmp_path, files))
    assert sentence in violation


@pytest.mark.parametrize(
    "module", ["explainers", "explainers.methods.registry", "explainers.models.bundle_cards", "explainers.errors"]
)
def test_what_a_page_needs_at_first_does_not_load_torch(module: str) -> None:
    code = f"import sys, {module}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_what_the_pages_import_does_not_load_torch() -> None:
    """The pages themselves draw when they are imported; all that they import at first is."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "pages").glob("*.py"))]
    froms = [node for tree in trees for node in tree.body if isinstance(node, ast.ImportFrom) and node.module]
    lines = sorted({f"from {node.module} import {alias.name}" for node in froms for alias in node.names})
    assert len(lines) > 20
    code = "\n".join(["import sys", *lines, "sys.exit('torch' in sys.modules)"])
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False, capture_output=True).returncode == 0
