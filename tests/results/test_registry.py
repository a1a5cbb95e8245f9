from dataclasses import dataclass

import pytest

from explainers.errors import ExplanationError
from explainers.results.registry import Registry


@dataclass(frozen=True)
class Spec:
    id: str


A, B, C = Spec("a"), Spec("b"), Spec("c")


@pytest.fixture
def registry() -> Registry[Spec]:
    return Registry("letter", (A, B))


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


def test_registries_share_nothing() -> None:
    specs = (A,)
    one, other = Registry("letter", specs), Registry("letter", specs)
    one.register(B)
    assert other.ids == ("a",)
