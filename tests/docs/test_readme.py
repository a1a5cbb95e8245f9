"""README and documents: short, complete against the registries, with links and commands that work."""

import re
from pathlib import Path

import pytest

from explainers.commands.app import app
from explainers.methods.narrator_specs import NARRATORS, NarratorSpec
from explainers.methods.registry import METHODS
from explainers.methods.spec import MethodSpec
from explainers.metrics.faithfulness import METRICS
from explainers.metrics.spec import MetricSpec
from explainers.models.bundle_cards import BUNDLES, bundle_names
from explainers.models.inputs.encoding import MULTIMODAL_ERASURES

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
OPERATIONS = ROOT / "assets" / "docs" / "operations.md"
DOCUMENTS = (README, *sorted((ROOT / "assets" / "docs").glob("*.md")), *sorted(BUNDLES.glob("*/README.md")))
PAGES = ("compare", "annotate", "reading", "interventions", "train", "methods")
LONGEST = 2000  # words
LARGEST_IMAGE = 250_000  # bytes

every_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))


@pytest.fixture(scope="module")
def readme() -> str:
    return README.read_text(encoding="utf-8")


def commands() -> set[str]:
    """The names of the sub-commands of `python -m explainers`."""
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


def test_it_is_short(readme: str) -> None:
    assert len(readme.split()) <= LONGEST


@pytest.mark.parametrize("spec", METHODS, ids=lambda spec: spec.id)
def test_every_method_has_a_row(readme: str, spec: MethodSpec) -> None:
    assert f"| `{spec.id}` | {spec.name} |" in readme


@pytest.mark.parametrize("spec", NARRATORS, ids=lambda spec: spec.id)
def test_every_narrator_has_a_row(readme: str, spec: NarratorSpec) -> None:
    assert f"| `{spec.id}` | {spec.name} |" in readme


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.id)
def test_every_metric_has_a_row_with_its_direction(readme: str, metric: MetricSpec) -> None:
    (row,) = (line for line in readme.splitlines() if line.startswith(f"| {metric.name} |"))
    assert row.endswith("| higher |" if metric.higher_is_better else "| lower |")


def test_the_tables_list_no_other_method_or_narrator(readme: str) -> None:
    ids = set(re.findall(r"^\| `(\w+)` \|(?: [^|]+ \|){2,3}$", readme, re.MULTILINE))  # rows of 3 or 4 columns
    assert ids - set(bundle_names()) == {*METHODS.ids, *NARRATORS.ids}


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
def test_every_page_has_an_image(readme: str, page: str) -> None:
    assert f"(assets/docs/{page}.png)" in readme
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
    assert all(f"`{command}`" in readme for command in commands())


@every_document
def test_its_commands_exist(document: Path) -> None:
    assert set(re.findall(r"-m explainers ([a-z-]+)", document.read_text(encoding="utf-8"))) <= commands()


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
