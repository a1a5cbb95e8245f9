import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace

import pytest

from explainers.errors import ExplanationError
from explainers.results import registry as registries
from explainers.results.registry import Registry


@dataclass(frozen=True)
class Spec:
    id: str


class Point:
    """An entry point of the distribution `their-letters`."""

    def __init__(self, name: str, value: object) -> None:
        self.name, self.value, self.dist = name, f"theirs:{name}", SimpleNamespace(name="their-letters")
        self._loaded = value

    def load(self) -> object:
        if isinstance(self._loaded, Exception):
            raise self._loaded
        return self._loaded


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes these objects the entry points of the group `letters`."""

    def install(**values: object) -> None:
        points = [Point(name, value) for name, value in values.items()]
        monkeypatch.setattr(registries, "entry_points", lambda group: points if group == "letters" else ())

    return install


A, B, C = Spec("a"), Spec("b"), Spec("c")


@pytest.fixture
def registry() -> Registry[Spec]:
    return Registry("letter", Spec, (A, B))


def test_a_registry_reads_like_a_tuple(registry: Registry[Spec]) -> None:
    assert list(registry) == [A, B]
    assert (registry[0], registry[-1], registry[:1]) == (A, B, (A,))
    assert len(registry) == 2
    assert A in registry
    assert C not in registry
    assert registry.ids == ("a", "b")


def test_a_spec_is_selected_by_its_id(registry: Registry[Spec]) -> None:
    assert registry.get("b") is B
    with pytest.raises(ExplanationError, match=r"^Unknown letter 'c'\. Choose from: a, b\.$"):
        registry.get("c")


def test_a_registered_spec_comes_last(registry: Registry[Spec]) -> None:
    registry.register(C)
    assert registry.ids == ("a", "b", "c")
    assert registry.get("c") is C


def test_an_id_is_registered_once(registry: Registry[Spec]) -> None:
    with pytest.raises(ValueError, match="the letter 'a' is registered already"):
        registry.register(Spec("a"))
    assert registry.ids == ("a", "b")


def test_an_unregistered_spec_is_unknown(registry: Registry[Spec]) -> None:
    registry.unregister("a")
    assert registry.ids == ("b",)
    with pytest.raises(ExplanationError, match="Unknown letter 'a'"):
        registry.unregister("a")


def test_a_named_spec_is_imported_when_the_registry_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Registry("letter", Spec, ("letters:C", A))
    module = ModuleType("letters")
    monkeypatch.setattr(module, "C", C, raising=False)
    monkeypatch.setitem(sys.modules, "letters", module)
    assert list(registry) == [C, A]


@pytest.mark.parametrize("value", [C, lambda: C], ids=["a spec", "a function"])
def test_an_entry_point_adds_a_spec(installed: Callable[..., None], value: object) -> None:
    installed(own=value)
    registry = Registry("letter", Spec, (A, B), entry_points="letters")
    assert registry.ids == ("a", "b", "c")
    assert registry.declared == (A, B)
    assert registry.faults == ()


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (ImportError("No module named 'nowhere'"), "ImportError: No module named 'nowhere'"),
        ("c", "TypeError: it is a str, not a Spec or a function that returns one"),
        (lambda: 7, "TypeError: it is a int, not a Spec or a function that returns one"),
        (Spec("a"), "ValueError: the id 'a' is taken"),
        (lambda: 1 / 0, "ZeroDivisionError: division by zero"),
    ],
    ids=["import", "type", "returned type", "id", "call"],
)
def test_a_broken_entry_point_is_left_out_with_a_sentence(
    installed: Callable[..., None], caplog: pytest.LogCaptureFixture, value: object, reason: str
) -> None:
    installed(broken=value, own=C)
    registry = Registry("letter", Spec, (A, B), entry_points="letters")
    assert registry.ids == ("a", "b", "c")
    assert registry.faults == (f"The letter 'broken' of their-letters (theirs:broken) is left out: {reason}",)
    assert caplog.messages == list(registry.faults)


def test_registries_share_nothing() -> None:
    specs = (A,)
    one, other = Registry("letter", Spec, specs), Registry("letter", Spec, specs)
    one.register(B)
    assert other.ids == ("a",)
