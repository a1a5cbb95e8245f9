"""Methods and narrators chosen together, by their ids, as on the command line: "aml,lime,cause"."""

from collections.abc import Iterable
from dataclasses import dataclass

from explainers.errors import ExplanationError, did_you_mean
from explainers.methods.narrator_specs import NARRATORS
from explainers.methods.registry import METHODS, base_id, default_methods, method_spec


@dataclass(frozen=True)
class Selection:
    """Ids of methods, and of narrators; `narrators` is None for all that are fitted to the model."""

    methods: tuple[str, ...]
    narrators: tuple[str, ...] | None = None


def selection(ids: Iterable[str] | None) -> Selection:
    """None chooses the default methods and every fitted narrator. Raises `ExplanationError` for an unknown id."""
    if ids is None:
        return Selection(default_methods())
    given = tuple(dict.fromkeys(ids))
    methods = tuple(id for id in given if id not in NARRATORS.ids)
    for id in methods:
        if base_id(id) not in METHODS.ids:
            raise ExplanationError(
                f"Unknown method {id!r}.{did_you_mean(id, (*METHODS.ids, *NARRATORS.ids))} Choose from: "
                f"{', '.join(METHODS.ids)}; or from the narrators: {', '.join(NARRATORS.ids)}."
            )
        method_spec(id)
    return Selection(methods, tuple(id for id in NARRATORS.ids if id in given))
