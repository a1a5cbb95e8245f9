"""README and documents: complete against the registries, with links and commands that work."""

import re
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from types import ModuleType

import pytest

from explainers import explain
from explainers.__main__ import app
from explainers.methods.registry import METHODS, MethodSpec
from explainers.metrics.faithfulness import METRICS
from explainers.metrics.spec import MetricSpec
from explainers.models.bundle_cards import BUNDLES, bundle_names
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import MULTIMODAL_ERASURES
from explainers.studies.cards.command import (
    BEGIN,
    END,
    METHODS_DOCUMENT,
    method_tables_differ,
    with_method_tables,
    write_method_tables,
)

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
CONTRACT = ROOT / "assets" / "docs" / "contribute.md"
OPERATIONS = ROOT / "assets" / "docs" / "operations.md"
DOCUMENTS = (README, *sorted((ROOT / "assets" / "docs").glob("*.md")), *sorted(BUNDLES.glob("*/README.md")))
PAGES = ("compare", "annotate", "reading", "evaluate", "interventions", "train", "methods")
LARGEST_IMAGE = 250_000  # bytes

every_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))


@pytest.fixture(scope="module")
def readme() -> str:
    return README.read_text(encoding="utf-8")


def commands() -> set[str]:
    """The names of the sub-commands of `crosslight`."""
    groups = {group.name for group in app.registered_groups if group.name}
    return groups | {command.name for command in app.registered_commands if command.name}


def environment_variables(text: str) -> set[str]:
    return set(re.findall(r"CROSSLIGHT_[A-Z]+(?:_[A-Z]+)*|DATABASE_URL", text))


def links(document: Path) -> list[str]:
    """The relative targets, without images and pages of the web."""
    return re.findall(r"\]\((?!https?:)([^)]+)\)", document.read_text(encoding="utf-8"))


def anchors(document: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("spec", METHODS.declared, ids=lambda spec: spec.id)
def test_every_method_has_a_row_with_its_cost(spec: MethodSpec) -> None:
    lines = METHODS_DOCUMENT.read_text(encoding="utf-8").splitlines()
    (row,) = (line for line in lines if line.startswith(f"| `{spec.id}` | {spec.name} |"))
    assert f" | {spec.passes(30, 500, 50):,} | {spec.idea} | " in row


def test_the_tables_of_methods_are_what_the_specs_say() -> None:
    assert not method_tables_differ(), "run `python -m explainers study cards`"


def test_the_tables_are_written_where_they_differ(tmp_path: Path) -> None:
    document = tmp_path / "methods.md"
    document.write_text(f"before\n\n{BEGIN}old{END}\n\nafter\n", encoding="utf-8")
    assert write_method_tables(document)
    text = document.read_text(encoding="utf-8")
    assert text.startswith(f"before\n\n{BEGIN}| id |")
    assert text.endswith(f"{END}\n\nafter\n")
    assert not write_method_tables(document)
    with pytest.raises(ValueError, match="the document has no"):
        with_method_tables("no place")


@pytest.mark.parametrize(("spec", "heading"), [(MethodSpec, "## A method"), (MetricSpec, "## A metric")])
def test_the_contract_documents_every_field(spec: type, heading: str) -> None:
    section = CONTRACT.read_text(encoding="utf-8").split(f"\n{heading}\n")[1].split("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == [field.name for field in fields(spec)]


def test_the_contract_s_example_runs(bag: Callable[..., FrozenModel], monkeypatch: pytest.MonkeyPatch) -> None:
    code = re.search(r"```python\n# my_package\.py\n(.+?)```", CONTRACT.read_text(encoding="utf-8"), re.DOTALL)
    assert code is not None
    module = ModuleType("my_package")
    monkeypatch.setitem(sys.modules, "my_package", module)
    exec(code[1], vars(module))
    METHODS.register(module.FIRST_WORD)
    METRICS.register(module.HALF_KEPT)
    try:
        (result,) = explain(bag({"good": 2.0}), "good film", methods=["first_word"]).results
    finally:
        METHODS.unregister("first_word")
        METRICS.unregister("half_kept")
    assert result.attribution.scores == (1.0, 0.0)
    assert result.metrics["half_kept"] == pytest.approx(result.curves.when_kept(50))


@pytest.mark.parametrize("name", bundle_names())
def test_every_bundle_has_a_row_with_its_card(readme: str, name: str) -> None:
    (row,) = (line for line in readme.splitlines() if line.startswith(f"| `{name}` |"))
    assert f"(assets/bundles/{name}/README.md)" in row


@pytest.mark.parametrize("name", bundle_names())
def test_every_bundle_has_a_section_among_the_models(name: str) -> None:
    assert name in anchors(ROOT / "assets" / "docs" / "models.md")


@pytest.mark.parametrize("erasure", MULTIMODAL_ERASURES)
def test_every_erasure_operator_is_named(readme: str, erasure: str) -> None:
    assert f"`{erasure}`" in readme


@pytest.mark.parametrize("page", PAGES)
def test_every_page_has_an_image(page: str) -> None:
    shown = [document for document in DOCUMENTS if f"{page}.png)" in document.read_text(encoding="utf-8")]
    assert shown
    assert (ROOT / "assets" / "docs" / f"{page}.png").stat().st_size <= LARGEST_IMAGE


def test_the_pages_are_those_of_the_app() -> None:
    entry = (ROOT / "streamlit_app.py").read_text(encoding="utf-8")
    assert set(re.findall(r"pages/(\w+)\.py", entry)) == set(PAGES)


def test_its_make_targets_exist(readme: str) -> None:
    targets = set(re.findall(r"(?:^|`)make ([\w-]+)", readme, re.MULTILINE))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert targets >= {"run", "test", "test-fast"}
    assert targets <= set(re.findall(r"^([\w-]+):", makefile, re.MULTILINE))


def test_its_test_command_is_the_one_that_ci_runs() -> None:
    assert re.search(r"^make test$", (ROOT / ".ci" / "run").read_text(encoding="utf-8"), re.MULTILINE)


def test_every_command_is_named(readme: str) -> None:
    assert [command for command in commands() if not re.search(rf"(`|^crosslight ){command}\b", readme, re.M)] == []


@every_document
def test_its_commands_exist(document: Path) -> None:
    named = re.findall(r"(?:-m explainers|^`?crosslight) ([a-z-]+)", document.read_text("utf-8"), re.MULTILINE)
    assert set(named) <= commands()


def test_the_environment_variables_are_those_that_are_read(readme: str) -> None:
    documented = environment_variables(readme + OPERATIONS.read_text(encoding="utf-8"))
    sources = [path for folder in ("app", "explainers") for path in (ROOT / folder).rglob("*.py")]
    read = set().union(*(environment_variables(path.read_text(encoding="utf-8")) for path in sources))
    assert documented == read


@every_document
def test_every_relative_link_has_a_target(document: Path) -> None:
    for link in links(document):
        target, _, anchor = link.partition("#")
        path = document.parent / target if target else document
        assert path.exists(), link
        assert not anchor or anchor in anchors(path), link


@every_document
def test_it_names_no_path_of_a_machine(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    assert not re.search(r"(?<![\w.])/(?:work|tmp|home|root|usr|Users)\b", text)


@pytest.mark.parametrize("module", re.findall(r"`((?:explainers|tests|pages|app)/[\w/.]+)`", README.read_text("utf-8")))
def test_every_file_for_contributors_exists(module: str) -> None:
    assert "NAME" in module or (ROOT / module).exists()
