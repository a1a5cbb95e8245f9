"""The package: what it depends on, and the wheel: two names, the models, no tests and no studies; it runs elsewhere."""

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
OPENED = """
import sys
from streamlit.testing.v1 import AppTest
from explainers.installation import ENTRY
sys.path.insert(0, str(ENTRY.parent))  # as Streamlit does
page = AppTest.from_file(str(ENTRY), default_timeout=120).run()
sys.exit("; ".join(error.message for error in page.exception) or 0)
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


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the content of the wheel, as site-packages has it."""
    folder = tmp_path_factory.mktemp("site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def run_installed(installed: Path, elsewhere: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Python outside the repository, which sees the wheel's content and the installed libraries."""
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    command = [sys.executable, "-P", *arguments]
    return subprocess.run(command, cwd=elsewhere, env=environment, capture_output=True, text=True, check=False)


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
def test_installed_in_another_folder_it_explains(installed: Path, tmp_path: Path) -> None:
    text = ("--text", "A charming journey.", "--methods", "occlusion")
    result = run_installed(installed, tmp_path, "-m", "explainers", "explain", *text)
    assert result.returncode == 0, result.stderr
    assert "sst2 predicts positive" in result.stdout


@pytest.mark.slow
def test_installed_in_another_folder_the_first_page_opens(installed: Path, tmp_path: Path) -> None:
    result = run_installed(installed, tmp_path, "-c", OPENED)
    assert result.returncode == 0, result.stderr


@pytest.mark.slow
def test_the_installed_package_says_where_the_studies_are(installed: Path, tmp_path: Path) -> None:
    result = run_installed(installed, tmp_path, "-m", "explainers", "study", "cards", "--check")
    assert (result.returncode, result.stdout) == (2, "")
    assert "in a checkout" in result.stderr
