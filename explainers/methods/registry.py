"""All methods, in the order of display. A learned one may be asked for with other weights: `aml:comp`.

A method's spec stands in the file of the method, or beside it where that needs torch. The registries name the specs;
their modules are imported when a registry is first read, and a method, with torch, when it is made.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from explainers.datasets.example import Example
from explainers.errors import ExplanationError, did_you_mean
from explainers.methods.narrator_specs import NARRATORS
from explainers.methods.spec import GROUPS, MethodSpec
from explainers.results.registry import Registry

METHODS: Registry[MethodSpec] = Registry(
    "method",
    MethodSpec,
    (
        "explainers.learned.specs:AML",
        "explainers.learned.specs:FAML",
        "explainers.learned.specs:CIMI",
        "explainers.learned.specs:CIEM",
        "explainers.learned.specs:IVRA",
        "explainers.attribution.gradient:INTEGRATED_GRADIENTS",
        "explainers.attribution.lime:LIME",
        "explainers.attribution.kernel_shap:KERNEL_SHAP",
        "explainers.attribution.owen:OWEN",
        "explainers.attribution.occlusion:OCCLUSION",
        "explainers.attribution.solvex:SOLVEX",
        "explainers.attribution.gradient:GRADIENT_X_INPUT",
        "explainers.attribution.gradient:GRADIENT_SHAP",
        "explainers.attribution.deeplift:DEEPLIFT",
        "explainers.attribution.attention:ATTENTION_MEAN",
        "explainers.attribution.attention:ATTENTION_LAST",
        "explainers.attribution.decompx:DECOMPX",
        "explainers.attribution.globenc:GLOBENC",
        "explainers.attribution.alti:ALTI",
        "explainers.attribution.controls:PREMISE_ONLY",
        "explainers.attribution.controls:HYPOTHESIS_ONLY",
        "explainers.attribution.controls:TEXT_ONLY",
        "explainers.attribution.controls:PICTURE_ONLY",
        "explainers.attribution.controls:FIRST_ONLY",
        "explainers.attribution.controls:LAST_ONLY",
        "explainers.attribution.controls:RANDOM",
    ),
    entry_points="crosslight.methods",
)
SUPPLIED: Registry[MethodSpec] = Registry(  # with the input, or made of the others; they cannot be chosen
    "supplied order",
    MethodSpec,
    (
        "explainers.attribution.given:GUESS",
        "explainers.attribution.given:PEOPLE",
        "explainers.attribution.given:FROM_FILE",
        "explainers.comparison.consensus:JOINT_ORDER",
    ),
)


def default_methods() -> tuple[str, ...]:
    """Ids of the methods that run unless a person chooses."""
    return tuple(spec.id for spec in METHODS if spec.default)


def groups() -> tuple[str, ...]:
    """The groups that have a method, in the order of display."""
    present = {spec.group for spec in METHODS}
    return tuple(group for group in GROUPS if group in present)


def method_spec(id: str) -> MethodSpec:
    """The specification of one method or variant. Raises `ExplanationError` for an unknown id."""
    base, colon, variant = id.partition(":")
    if base in SUPPLIED.ids:
        return supplied_spec(id)
    if base not in METHODS.ids or (colon and not (variant and METHODS.get(base).learns)):
        raise ExplanationError(
            f"Unknown method {id!r}.{did_you_mean(id, METHODS.ids)} Choose from: {', '.join(METHODS.ids)}."
        )
    spec = METHODS.get(base)
    return spec.variant(variant) if colon else spec


def supplied_spec(id: str) -> MethodSpec:
    """The specification of an id such as "guess", or "given:NAME" with the name that its file gives it."""
    base, _, name = id.partition(":")
    if name and SUPPLIED.get(base).is_supplied and not SUPPLIED.get(base).is_given:
        return replace(SUPPLIED.get(base), id=id, name=f"{name} (from a file)")
    return SUPPLIED.get(id)


def select(ids: Iterable[str]) -> tuple[MethodSpec, ...]:
    """The specs with these ids, in the order of display. Raises `ExplanationError` for an unknown id."""
    order = (*SUPPLIED.ids, *METHODS.ids)
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
        if spec.is_supplied:
            raise ExplanationError(f"{spec.id} {spec.supplied}")
        if not spec.supports(example):
            needed = {"pair": "a pair of texts", "image": "an image with the text"}[spec.needs]
            raise ExplanationError(f"{spec.id} needs {needed}. Omit it, or add what is missing.")


def learning_methods() -> tuple[str, ...]:
    """Ids of the methods that are fitted."""
    return tuple(spec.id for spec in METHODS if spec.weights_of == spec.id)


def using_weights_of(method: str) -> Sequence[MethodSpec]:
    """The methods that explain with the fitted weights of `method`, itself first."""
    return tuple(spec for spec in METHODS if spec.weights_of == method)


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
