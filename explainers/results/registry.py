"""Specifications in the order of display, selected by id: of the methods, of the metrics, of the narrators.

Other packages add to a registry by an entry point, which names a spec or a function that returns one. An entry point
that cannot be used is left out: it is a warning in the log and one of the `faults`.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, Protocol, TypeVar, overload

from explainers.errors import ExplanationError


class HasId(Protocol):
    @property
    def id(self) -> str: ...


Spec = TypeVar("Spec", bound=HasId)
log = logging.getLogger(__name__)


def named(reference: str) -> Any:
    """Return what "module:NAME" names; the module is imported."""
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


class Registry(Sequence[Spec], Generic[Spec]):
    """Reads like a tuple. Whoever iterates over it later also sees what was registered in the meantime.

    `specs` are specs, or name them as "module:NAME"; they are imported when the registry is first read, and after them
    those of other packages' entry points in the group `entry_points`.
    """

    def __init__(self, kind: str, type_: type[Spec], specs: Iterable[Spec | str], *, entry_points: str = "") -> None:
        self.kind = kind  # as in "Unknown method …"
        self._type, self._declared, self._group = type_, tuple(specs), entry_points
        self._read: list[Spec] | None = None
        self._faults: tuple[str, ...] = ()

    @property
    def _specs(self) -> list[Spec]:
        if self._read is None:
            specs = [named(spec) if isinstance(spec, str) else spec for spec in self._declared]
            faults = []
            for point in self._foreign():
                try:
                    specs.append(self._spec_of(point, {spec.id for spec in specs}))
                except Exception as error:  # of somebody else's code, whatever it is
                    origin = f" of {point.dist.name}" if point.dist else ""
                    reason = " ".join(f"{type(error).__name__}: {error}".split())
                    faults.append(f"The {self.kind} {point.name!r}{origin} ({point.value}) is left out: {reason}")
                    log.warning("%s", faults[-1])
            self._read, self._faults = specs, tuple(faults)
        return self._read

    def _foreign(self) -> Iterator[EntryPoint]:
        points = entry_points(group=self._group) if self._group else ()
        return iter(sorted(points, key=lambda point: (point.dist.name if point.dist else "", point.name)))

    def _spec_of(self, point: EntryPoint, taken: set[str]) -> Spec:
        loaded = point.load()
        spec = loaded() if callable(loaded) and not isinstance(loaded, self._type) else loaded
        if not isinstance(spec, self._type):
            raise TypeError(
                f"it is a {type(spec).__name__}, not a {self._type.__name__} or a function that returns one"
            )
        if spec.id in taken:
            raise ValueError(f"the id {spec.id!r} is taken")
        return spec

    @property
    def declared(self) -> tuple[Spec, ...]:
        """Without those of other packages, and those that were registered later."""
        return tuple(self._specs[: len(self._declared)])

    @property
    def faults(self) -> tuple[str, ...]:
        """A sentence for each entry point that is left out."""
        return self._faults if self._specs else ()

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

    def reload(self) -> None:
        """Reads the specs again when they are next asked for: other packages may have been installed since."""
        self._read, self._faults = None, ()

    def register(self, spec: Spec) -> None:
        """Adds one at the end. Raises `ValueError` if the id is taken."""
        if spec.id in self.ids:
            raise ValueError(f"the {self.kind} {spec.id!r} is registered already")
        self._specs.append(spec)

    def unregister(self, id: str) -> None:
        self._specs.remove(self.get(id))
