"""An attribute that is computed once per instance, without a lock.

`functools.cached_property` of Python 3.11 holds one lock for all instances while it computes. Where computing means
passes of a model, and a pass waits for its turn, threads then wait for each other for ever. Here two threads may
compute the same value; the first stays.
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class memoized(Generic[T]):  # a decorator, as `property`
    """Decorates a method without arguments. The value lives in the instance's `__dict__`, so it also suits a frozen
    dataclass."""

    def __init__(self, function: Callable[[Any], T]) -> None:
        self.function, self.name = function, function.__name__
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> "memoized[T]": ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> "memoized[T] | T":
        if instance is None:
            return self
        value: T = vars(instance).setdefault(self.name, self.function(instance))
        return value  # later reads find the instance's own attribute and do not come here
