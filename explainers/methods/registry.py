"""All methods, in the order of display. A learned one may be asked for with other weights: `aml:comp`.

Importing this module is cheap: a method, and torch with it, is imported when it is made.
"""

from collections.abc import Iterable, Sequence

from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.methods.attribution_specs import CAPTUM, CONTROLS
from explainers.methods.given_specs import GIVEN, NEEDS, given_spec
from explainers.methods.learned_specs import LEARNED
from explainers.methods.spec import MethodSpec
from explainers.results.registry import Registry

METHODS: Registry[MethodSpec] = Registry("method", (*LEARNED, *CAPTUM, *CONTROLS))


def default_methods() -> tuple[str, ...]:
    """Ids of the methods that run unless a person chooses."""
    return tuple(spec.id for spec in METHODS if spec.default)


def groups() -> tuple[str, ...]:
    """In the order of display."""
    return tuple(dict.fromkeys(spec.group for spec in METHODS))


def method_spec(id: str) -> MethodSpec:
    """Of one method or variant. Raises `ExplanationError` for an unknown id."""
    base, colon, variant = id.partition(":")
    if base in GIVEN.ids:
        return given_spec(id)
    if base not in METHODS.ids or (colon and not (variant and METHODS.get(base).learns)):
        raise ExplanationError(f"Unknown method {id!r}. Choose from: {', '.join(METHODS.ids)}.")
    spec = METHODS.get(base)
    return spec.variant(variant) if colon else spec


def select(ids: Iterable[str]) -> tuple[MethodSpec, ...]:
    """The specs with these ids, in the order of display. Raises `ExplanationError` for an unknown id."""
    order = (*GIVEN.ids, *METHODS.ids)
    specs = {id: method_spec(id) for id in ids}
    return tuple(sorted(specs.values(), key=lambda spec: (order.index(base_id(spec.id)), spec.id)))


def base_id(id: str) -> str:
    """`aml` for `aml:comp`."""
    return id.partition(":")[0]


def applicable(specs: Iterable[MethodSpec], example: Example) -> tuple[MethodSpec, ...]:
    """Those of the methods that make sense for one text, a pair, or an image with text."""
    return tuple(spec for spec in specs if spec.supports(example))


def check_applicable(ids: Iterable[str], example: Example) -> None:
    """Raises `ExplanationError` for an unknown id, and for a method that needs what the example does not have."""
    for spec in select(ids):
        if spec.group == "Given":
            raise ExplanationError(f"{spec.id} {NEEDS[base_id(spec.id)]}")
        if not spec.supports(example):
            needed = {"pair": "a pair of texts", "image": "an image with the text"}[spec.needs]
            raise ExplanationError(f"{spec.id} needs {needed}. Omit it, or add what is missing.")


def learning_methods() -> tuple[str, ...]:
    """Ids of the methods that are fitted."""
    return tuple(spec.id for spec in METHODS if spec.weights_of == spec.id)


def using_weights_of(method: str) -> Sequence[MethodSpec]:
    """The methods that explain with the fitted weights of `method`, itself first."""
    return tuple(spec for spec in METHODS if spec.weights_of == method)
