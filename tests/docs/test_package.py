"""The package: what it depends on, and the wheel: two names, the models, no tests and no studies; it runs elsewhere."""

import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from explainers.installation import ASSETS, ENTRY, VERSION, files_beside
from explainers.models.bundle_cards import bundle_names

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FOR_STUDIES = {"optuna", "websockets"}
LARGEST = 90_000_000  # bytes
USED = """
import json, sys
from streamlit.testing.v1 import AppTest
from typer.testing import CliRunner
from explainers.__main__ import app
from explainers.installation import ENTRY
explained = CliRunner().invoke(app, ["explain", "--text", "A charming journey.", "--methods", "occlusion"])
studied = CliRunner().invoke(app, ["study", "cards", "--check"])
sys.path.insert(0, str(ENTRY.parent))  # as Streamlit does
page = AppTest.from_file(str(ENTRY), default_timeout=120).run()
commands = [[each.exit_code, each.stdout, each.stderr] for each in (explained, studied)]
print(json.dumps([*commands, [error.message for error in page.exception]]))
"""


def by_name(lines: list[str]) -> dict[str, Requirement]:
    requirements = map(Requirement, (line for line in lines if line and not line.startswith("#")))
    return {canonicalize_name(requirement.name): requirement for requirement in requirements}


def pins(file: str) -> dict[str, str]:
    """The exact version of each package of a file of requirements."""
    requirements = by_name((ROOT / file).read_text(encoding="utf-8").splitlines())
    return {name: str(requirement.specifier).removeprefix("==") for name, requirement in requirements.items()}


def test_the_package_needs_what_is_tested_in_versions_that_include_the_tested_ones() -> None:
    tested, needed = pins("requirements.txt"), by_name(PROJECT["dependencies"])
    assert tested.keys() - FOR_STUDIES == needed.keys()
    assert [name for name, need in needed.items() if tested[name] not in need.specifier] == []


def test_what_the_package_leaves_out_is_imported_by_studies_alone() -> None:
    imports = re.compile(rf"^\s*(?:import|from) (?:{'|'.join(FOR_STUDIES)})\b", re.MULTILINE)
    paths = [path for top in ("explainers", "app", "pages") for path in (ROOT / top).rglob("*.py")]
    users = [path.relative_to(ROOT).as_posix() for path in paths if imports.search(path.read_text(encoding="utf-8"))]
    assert users
    assert all(path.startswith(("explainers/studies/", "app/load/")) for path in users)


@pytest.mark.parametrize(("extra", "package"), [("auth", "streamlit"), ("postgres", "psycopg")])
def test_an_extra_is_what_the_container_has(extra: str, package: str) -> None:
    (requirement,) = map(Requirement, PROJECT["optional-dependencies"][extra])
    assert requirement.name == package
    assert pins("assets/container/requirements.txt")[package] in requirement.specifier


def test_the_changelog_begins_with_this_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## \[(.+?)\]", changelog, re.MULTILINE)[0] == VERSION


def test_files_lie_beside_the_library_or_in_the_folder_of_the_app(tmp_path: Path) -> None:
    assert (ASSETS, ENTRY) == (ROOT / "assets", ROOT / "streamlit_app.py")
    assert files_beside(tmp_path) == tmp_path
    (tmp_path / "crosslight").mkdir()
    assert files_beside(tmp_path) == tmp_path  # somebody's folder of this name
    (tmp_path / "crosslight" / "streamlit_app.py").touch()
    assert files_beside(tmp_path) == tmp_path / "crosslight"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    (path,) = folder.glob("*.whl")
    return path


@pytest.mark.slow
def test_the_wheel_has_two_names_and_the_models_but_no_tests_and_no_studies(wheel: Path) -> None:
    assert wheel.stat().st_size < LARGEST
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        entry_points = archive.read(f"crosslight-{VERSION}.dist-info/entry_points.txt").decode()
    assert {name.partition("/")[0] for name in names} == {"explainers", "crosslight", f"crosslight-{VERSION}.dist-info"}
    folders = {name.split("/")[1] for name in names if name.startswith("crosslight/")}
    assert folders >= {"app", "pages", "assets", ".streamlit", "streamlit_app.py"}
    assert not [name for name in names if re.search(r"(^|/)(tests?|studies|load|readings|container)/", name)]
    assert not [name for name in names if re.search(r"assets/docs/.*\.(json|png)$", name)]
    assert {f"crosslight/assets/bundles/{name}/weights.safetensors" for name in bundle_names()} <= set(names)
    assert "crosslight = explainers.__main__:app" in entry_points


@pytest.mark.slow
def test_installed_in_another_folder_it_explains_opens_its_page_and_says_where_the_studies_are(
    wheel: Path, tmp_path: Path
) -> None:
    """In one process outside the repository, which sees the wheel's content, as site-packages has it."""
    installed, elsewhere = tmp_path / "site-packages", tmp_path / "elsewhere"
    elsewhere.mkdir()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    command = [sys.executable, "-P", "-c", USED]
    result = subprocess.run(command, cwd=elsewhere, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    explained, studied, errors = json.loads(result.stdout)
    assert explained[0] == 0, explained
    assert "sst2 predicts positive" in explained[1]
    assert studied[:2] == [2, ""]
    assert "in a checkout" in studied[2]
    assert errors == []
