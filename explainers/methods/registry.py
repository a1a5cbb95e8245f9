"""All methods, in the order of display, and what is known about one without importing it.

A spec has texts for people, what the method costs and needs, and how it is made. It stands in the file of the method,
or beside it where that needs torch. The registries name the specs; their modules are imported when a registry is first
read, and a method, with torch, when it is made. A learned one may be asked for with other weights: `aml:comp`.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Literal, Protocol, cast, get_args

from explainers.datasets.example import Example
from explainers.errors import ExplanationError, did_you_mean
from explainers.methods.narrator_specs import NARRATORS
from explainers.models.prompt import split_name
from explainers.results.decision import DEFAULT_SAMPLING, Sampling
from explainers.results.registry import Registry, named

if TYPE_CHECKING:
    from explainers.models.frozen_model import FrozenModel
    from explainers.models.inputs.encoding import Encoding, Erasure
    from explainers.models.target import Target
    from explainers.results.attribution import Attribution
    from explainers.results.decision import Settings


Group = Literal[  # by mechanism
    "Consensus", "Gradient", "Perturbation", "Learned", "Attention", "Self-report", "Controls", "Yours"
]
GROUPS: tuple[Group, ...] = get_args(Group)  # in the order of display
Kind = Literal[
    "given", "joint", "one pass", "one part", "random order", "one by one", "gradients", "fine-tuned", "sampled"
]
KINDS: tuple[Kind, ...] = get_args(Kind)  # in the order in which they run
IMMEDIATE, SLOW = KINDS[:4], KINDS[-2:]
Needs = Literal["", "pair", "image", "prompt"]
Dash = Literal["solid", "dash", "dot"]
Passes = Callable[[int, int, int], int]
ID = r"[a-z][a-z0-9_]*(:.+)?"  # with the name of a variant after the colon
CRITERIA = ("difference", "comp", "suff", "cons", "sim")
SETTINGS = frozenset((*CRITERIA, "smat", "softmax", "sparsemax", "mask", "zero", "last", "middle"))  # in weights' names


class Method(Protocol):
    def attribute(self, model: "FrozenModel", encoding: "Encoding", label: int) -> "Attribution":
        """The scores of every unit for class number `label`."""
        ...


@dataclass(frozen=True)
class MethodSpec:
    """`implementation` is "module:class" of a dataclass; `fixed` are the fields that make it this method.

    The module is imported when the method is made, so that reading a spec does not load torch.
    """

    id: str
    name: str
    group: Group
    kind: Kind
    signed: bool
    idea: str
    caution: str
    formula: str  # LaTeX
    source: str
    implementation: str
    colour: str  # of its line in plots, #rrggbb
    passes: Passes = lambda _units, _samples, _steps: 1  # inputs through the model
    fixed: tuple[tuple[str, object], ...] = ()
    brief: tuple[tuple[str, object], ...] = ()  # further fields of it where means over a set are wanted
    brief_passes: Passes | None = None  # with these fields
    deviations: tuple[str, ...] = ()  # where the paper, its code and this implementation differ
    needs: Needs = ""  # besides a text; a prompt: of the model
    default: bool = True  # chosen unless a person chooses
    weights_of: str = ""  # the learned method whose fitted weights it uses; empty if it does not learn
    default_variant: str = ""  # of these weights
    has_coefficients: bool = False  # whether its weights can be shown as heat maps
    reads_class: bool = False  # whether its network is told the class, so that it explains any
    contrasts: bool = False  # whether, although it learns, it explains one class rather than another
    class_independent: bool = False  # whether its scores are the same for every class
    answers_only: bool = False  # whether the probabilities of erased inputs are all that it asks of a model
    one_window: bool = False  # whether it reads the states of the whole text, so that it needs it in one window
    trains_classifier: bool = False  # whether `fit --full` can train the classifier together with it
    supplied: str = ""  # how a person supplies its scores, "needs …"; empty if they are computed from the model
    is_control: bool = False  # shown for comparison; does not claim to explain
    is_report: bool = False  # whether the model is asked in words, which is no evidence of how it decides
    optimised: bool = False  # on the metrics by which methods are compared: listed apart, never leads

    def __post_init__(self) -> None:
        """Raises `ValueError` for what no page could show, because specs also come from other packages."""
        texts = (self.name, self.idea, self.caution, self.formula, self.source, self.implementation)
        checks = {
            f"id {self.id!r}": isinstance(self.id, str) and re.fullmatch(ID, self.id),
            f"group {self.group!r} (one of {', '.join(GROUPS)})": self.group in GROUPS,
            f"kind {self.kind!r} (one of {', '.join(KINDS)})": self.kind in KINDS,
            f"needs {self.needs!r} (pair, image, prompt or nothing)": self.needs in get_args(Needs),
            f"colour {self.colour!r} (#rrggbb)": re.fullmatch("#[0-9a-f]{6}", str(self.colour)),
            "texts (name, idea, caution, formula, source and implementation)": all(
                isinstance(text, str) and text for text in texts
            ),
        }
        for what, is_valid in checks.items():
            if not is_valid:
                raise ValueError(f"a method's spec has an unusable {what}")

    @property
    def learns(self) -> bool:
        """Return whether it explains with weights fitted to one model."""
        return bool(self.weights_of)

    @property
    def explains_predicted_only(self) -> bool:
        """Return whether its scores are about the predicted class, whichever class is asked for."""
        return self.class_independent or (self.learns and not self.reads_class)

    def can_read(self, encoding: "Encoding") -> bool:
        """Return whether it can explain this input: not a text in several windows, if it reads the states of all."""
        return not encoding.windows or not (self.one_window or (self.learns and not self.reads_class))

    def can_explain(self, target: "Target", predicted: int) -> bool:
        """Return whether its scores are about the target, where the model predicts class number `predicted`."""
        if self.is_report:
            return not target.is_contrast
        if not (self.learns or self.class_independent) or self.contrasts:
            return True
        return not target.is_contrast and (self.reads_class or target.label == predicted)

    @property
    def is_random(self) -> bool:
        """Return whether it is a single random order, which the random control replaces by a mean of several."""
        return self.kind == "random order"

    @property
    def is_single_part(self) -> bool:
        """Return whether it scores one part of the input as a whole, so that it ranks no unit within that part."""
        return self.kind == "one part"

    @property
    def is_given(self) -> bool:
        """Return whether a person made it; its place among the methods is told, but it is none of them."""
        return self.kind == "given"

    @property
    def is_joint(self) -> bool:
        """Return whether it is computed from the other methods, not from the model."""
        return self.kind == "joint"

    @property
    def is_supplied(self) -> bool:
        """Whether its scores come with the input, from a person or a file, and are not computed from the model."""
        return bool(self.supplied)

    @property
    def explains(self) -> bool:
        """Return whether its scores come from the model; those of the others do not stretch a shared colour scale."""
        return not self.is_random and not self.is_single_part and not self.is_given

    @property
    def comparable(self) -> bool:
        """Whether it may lead: not optimised on the metrics, no control of one part, no report of the model, and not a
        person's order."""
        apart = self.optimised or self.is_single_part or self.is_report
        return not apart and not self.is_given and not self.is_joint

    @property
    def repeatable(self) -> bool:
        """Return whether it is cheap enough to explain ten perturbed inputs for each input (AvgSen)."""
        return self.kind not in SLOW

    @property
    def in_brief(self) -> "MethodSpec":
        """Return the method with fewer passes, as means over a set need them."""
        return replace(self, fixed=(*self.fixed, *self.brief), passes=self.brief_passes or self.passes)

    @property
    def counted(self) -> str:
        """What `Attribution.samples` counts."""
        counts: dict[Kind, str] = {"sampled": "samples", "fine-tuned": "steps"}
        return counts.get(self.kind, "draws")

    @property
    def dash(self) -> Dash:
        """How its line is drawn: dotted for controls, dashed for methods that learn."""
        return "dot" if self.is_control else "dash" if self.learns else "solid"

    @property
    def display_name(self) -> str:
        """With a mark where it is not comparable with the others because it was optimised on the metrics."""
        return f"{self.name} †" if self.optimised else self.name

    def supports(self, example: Example) -> bool:
        """Return whether the example has what the method needs of it; see `suits` for what it needs of the model."""
        given = {"pair": example.pair is not None, "image": example.image is not None}
        return given.get(self.needs, True)

    def suits(self, model: str) -> bool:
        """Return whether the model of this name has what the method needs of a model: a prompt, or nothing."""
        return self.needs != "prompt" or bool(split_name(model)[1])

    def make(
        self, *, erasure: "Erasure", seed: int, samples: int, steps: int, sampling: Sampling = DEFAULT_SAMPLING
    ) -> Method:
        """The method with those of the settings that it has; a field `method` gets the id, without a variant."""
        implementation = named(self.implementation)
        settings: dict[str, object] = {"erasure": erasure, "seed": seed, "samples": samples, "sampling": sampling}
        settings["method"] = self.id.partition(":")[0]
        if not self.learns:  # the steps of a learned method are those of its training
            settings["steps"] = steps
        accepted = {field.name for field in fields(implementation)}
        values = {name: value for name, value in settings.items() if name in accepted}
        return cast(Method, implementation(**{**values, **dict(self.fixed)}))

    def made_with(self, settings: "Settings") -> Method:
        """`make` with all settings but the unit, which is the encoding's."""
        return self.make(
            erasure=settings.erasure,
            seed=settings.seed,
            samples=settings.samples,
            steps=settings.steps,
            sampling=settings.sampling,
        )

    def variant(self, name: str) -> "MethodSpec":
        """The same method with other weights, such as `aml:comp`. A name that a person gave them is shown as it is."""
        return replace(
            self,
            id=f"{self.id}:{name}",
            name=f"{self.name} ({name.replace('-', ', ') if SETTINGS.issuperset(name.split('-')) else name})",
            fixed=(*self.fixed, ("variant", name)),
        )


METHODS: Registry[MethodSpec] = Registry(
    "method",
    MethodSpec,
    (
        "explainers.learned.specs:AML",
        "explainers.learned.specs:FAML",
        "explainers.learned.specs:CIMI",
        "explainers.learned.specs:CIEM",
        "explainers.learned.specs:IVRA",
        "explainers.learned.specs:CXPLAIN",
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
        "explainers.attribution.self_ranking:SELF_RANKING",
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


def selection(ids: Iterable[str]) -> Selection:
    """Return the methods and the narrators among the ids. Raises `ExplanationError` for an unknown id."""
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
