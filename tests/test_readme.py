import re
from pathlib import Path

import pytest

from explainers.cli import app
from explainers.methods import METHODS
from explainers.metrics.faithfulness import METRICS
from explainers.models.cards import BUNDLES, bundled, card
from explainers.models.encoding import ERASURES

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
pytestmark = pytest.mark.skipif(not README.is_file(), reason="there is no README.md yet")


@pytest.fixture(scope="module")
def readme() -> str:
    return README.read_text(encoding="utf-8")


@pytest.mark.parametrize("entry", METHODS, ids=[entry.id for entry in METHODS])
def test_every_method_is_named(readme: str, entry: object) -> None:
    assert f"| `{entry.id}` | {entry.name} |" in readme  # type: ignore[attr-defined]


@pytest.mark.parametrize("metric", METRICS, ids=[metric.id for metric in METRICS])
def test_every_figure_is_named_with_its_direction(readme: str, metric: object) -> None:
    (row,) = (line for line in readme.splitlines() if line.startswith(f"| {metric.name} |"))  # type: ignore[attr-defined]
    assert row.endswith("| higher |" if metric.higher_is_better else "| lower |")  # type: ignore[attr-defined]


def test_every_way_to_erase_is_named(readme: str) -> None:
    assert all(f"`{erasure}`" in readme for erasure in ERASURES)


def test_its_commands_exist(readme: str) -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"(?:^|`)make (\w+)", readme, re.MULTILINE))
    assert {"run", "test"} <= targets <= set(re.findall(r"^(\w+):", makefile, re.MULTILINE))
    commands = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    named = set(re.findall(r"-m explainers ([a-z-]+)", readme))
    assert {"explain", "methods"} <= named <= commands


def test_its_test_command_is_the_one_that_ci_runs() -> None:
    assert "make test" in (ROOT / ".ci" / "run").read_text()


def test_every_variable_it_names_is_read_and_the_other_way_round(readme: str) -> None:
    read = {
        name
        for folder in ("app", "explainers")
        for source in (ROOT / folder).rglob("*.py")
        for name in re.findall(r"CROSSLIGHT_[A-Z]+", source.read_text(encoding="utf-8"))
    }
    assert set(re.findall(r"CROSSLIGHT_[A-Z]+", readme)) == read


@pytest.mark.parametrize("name", bundled() or [pytest.param("", marks=pytest.mark.skip("there is no bundle"))])
def test_the_accuracy_is_the_one_on_the_card(readme: str, name: str) -> None:
    accuracy = card(BUNDLES / name)["accuracy"]["test"]
    assert f"`{name}`" in readme
    assert f"{accuracy:.3f}" in readme or f"{100 * accuracy:.1f} %" in readme


def test_every_file_it_shows_is_there(readme: str) -> None:
    for target in re.findall(r"\]\((?!https?:|#)([^)]+)\)", readme):
        assert (ROOT / target).exists(), target


def test_nothing_was_left_to_fill_in(readme: str) -> None:
    assert not re.findall(r"\b[A-Z]+_SECTION\b", readme)
