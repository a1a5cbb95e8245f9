"""Values that were computed for a model, kept as long as the model lives."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import TYPE_CHECKING, TypeVar, cast
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from torch import nn

    from explainers.models.frozen_model import FrozenModel

Value = TypeVar("Value")


class ModelCache:
    """At most `size` values per model; the least recently used one goes first. Safe for several threads."""

    def __init__(self, size: int) -> None:
        self._size, self._lock = size, Lock()
        self._values: WeakKeyDictionary[nn.Module, OrderedDict[Hashable, object]] = WeakKeyDictionary()

    def get(self, model: "FrozenModel", key: Hashable, compute: Callable[[], Value]) -> Value:
        """The kept value, or a new one; two threads may compute it at once, and both get the first result."""
        key = (model.version, key)
        with self._lock:
            values = self._values.setdefault(model.module, OrderedDict())
            if key in values:
                values.move_to_end(key)
                return cast(Value, values[key])
        value = compute()  # without the lock: loading waits for the model's own
        with self._lock:
            values = self._values.setdefault(model.module, OrderedDict())
            value = cast(Value, values.setdefault(key, value))
            while len(values) > self._size:
                values.popitem(last=False)
        return value
