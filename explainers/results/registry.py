"""Specifications in the order of display, selected by id: of the methods, of the metrics, of the narrators."""

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar, overload

from explainers.errors import ExplanationError


class HasId(Protocol):
    @property
    def id(self) -> str: ...


Spec = TypeVar("Spec", bound=HasId)


class Registry(Sequence[Spec]):
    """Reads like a tuple. Whoever iterates over it later also sees what was registered in the meantime."""

    def __init__(self, kind: str, specs: Iterable[Spec]) -> None:
        self.kind = kind  # as in "Unknown method …"
        self._specs = list(specs)

    @overload
    def __getitem__(self, index: int) -> Spec: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Spec, ...]: ...
    def __getitem__(self, index: int | slice) -> Spec | tuple[Spec, ...]:
        return tuple(self._specs[index]) if isinstance(index, slice) else self._specs[index]

    def __len__(self) -> int:
        return len(self._specs)

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(spec.id for spec in self._specs)

    def get(self, id: str) -> Spec:
        """Raises `ExplanationError` with the known ids."""
        for spec in self._specs:
            if spec.id == id:
                return spec
        raise ExplanationError(f"Unknown {self.kind} {id!r}. Choose from: {', '.join(self.ids)}.")

    def register(self, spec: Spec) -> None:
        """Adds one at the end. Raises `ValueError` if the id is taken."""
        if spec.id in self.ids:
            raise ValueError(f"the {self.kind} {spec.id!r} is registered already")
        self._specs.append(spec)

    def unregister(self, id: str) -> None:
        self._specs.remove(self.get(id))
