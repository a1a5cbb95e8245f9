"""Which methods and narrators are compared, and with which settings: two small buttons in the line of the question."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import streamlit as st

from app import model_pool, plain_text, streamlit_shims
from app.compare import file_rows, guess, language_model, units
from app.compare.state import BUDGETS, FEWEST_SAMPLES, SAMPLES, SEEDS, STEPS, CompareState, compare_state
from app.model_info import ModelInfo, model_info
from explainers.datasets.example import Example
from explainers.methods.narrator_specs import NARRATORS, narrator_spec
from explainers.methods.registry import METHODS, MethodSpec, groups, select, using_weights_of
from explainers.models.inputs.encoding import Erasure
from explainers.models.precision import PRECISIONS, Precision
from explainers.results.decision import UNTIL_SETTLED, Settings
from explainers.training.artifacts import available_artifacts, not_fitted, runnable_narrators, waiting_narrators

NARRATORS_HELP = (
    "Each generates a sentence from the model's internal states, φ (words) from the words. Three things are checked."
)
PRECISION_HELP = (
    "The precision in which the model answers about erased inputs. bfloat16 is quicker on devices that compute in it. "
    "It is used only if it changes neither the class nor the leading units of this input when one at a time is erased; "
    "otherwise the page says so. Gradients and learned methods stay in float32."
)
SAMPLES_HELP = (
    "0: until the most important 20 % of the units and both AOPC no longer change; the method's details say after how "
    f"many. Otherwise exactly this many, at least {FEWEST_SAMPLES}."
)
TOO_FEW_SAMPLES = f"{FEWEST_SAMPLES} samples are drawn; fewer are not enough."
EDIT = "Which methods are compared, and which narrators put the decision into words."


@dataclass(frozen=True)
class ComparisonOptions:
    methods: tuple[str, ...]
    narrators: tuple[str, ...] | None  # None: all that are fitted to the model
    settings: Settings
    budget: int | None  # seconds
    device: str
    precision: Precision


def controls(pool: model_pool.ModelPool, example: Example, line: streamlit_shims.Container) -> ComparisonOptions:
    """Draw the controls into the line, and return what is chosen."""
    state = compare_state()
    model = state.controls.model
    info = model_info(pool, model)
    with line.popover(_title(info, state), key="edit methods", help=EDIT):
        methods = (
            *_general_methods(model, info.version, state),
            *_controls_of_inputs(info, state),
            *_variants(model, info.version, state),
        )
        chosen_narrators = narrators(model, info.version, state) if info.version else None
        waiting = waiting_narrators(model, info.version) if info.version else ()
        language_model.offer([narrator_spec(id).name for id in waiting], "of narrators")
    with line.popover("Settings", key="edit settings"):
        guess.switch()
        file_rows.controls()
        unit, opened = units.controls(example, state)
        erasure = _erasure(info, state)
        budget = _budget(state)
        samples, steps, seed = _sampling(state)
        device, precision = _hardware(pool, state)
    settings = Settings(unit, erasure, samples, steps, seed, opened=opened)
    return ComparisonOptions(methods, chosen_narrators, settings, budget, device, precision)


def _title(info: ModelInfo, state: CompareState) -> str:
    """Return "12 methods · edit"."""
    general = _general()
    absent = {spec.name for spec in not_fitted(state.controls.model, info.version)}
    chosen = [_chosen(group.lower(), specs, state, absent) for group, specs in general.items()]
    chosen += [_chosen(field, specs, state, absent) for field, _, specs in _of_inputs(info, state)]
    count = sum(map(len, chosen)) + len(state.controls.variants)
    return f"{count} method{'' if count == 1 else 's'} · edit"


def _general() -> dict[str, list[MethodSpec]]:
    """Return by group the methods that need nothing but a text."""
    general = {group: [spec for spec in METHODS if not spec.needs and spec.group == group] for group in groups()}
    return {group: specs for group, specs in general.items() if specs}


def _chosen(field: str, offered: Iterable[MethodSpec], state: CompareState, absent: Collection[str]) -> list[str]:
    """Return the names that are chosen among the offered ones, by default without the absent ones."""
    value = getattr(state.controls, field)
    default = [spec.name for spec in offered if spec.default and spec.name not in absent]
    return default if value is None else [spec.name for spec in offered if spec.name in value]


def _general_methods(model: str, version: str, state: CompareState) -> tuple[str, ...]:
    """Return the chosen methods that need nothing but a text."""
    absent = [spec.name for spec in not_fitted(model, version)]
    chosen = [
        method
        for group, offered in _general().items()
        for method in _picked(group, group.lower(), offered, state, absent)
    ]
    if absent:
        plain_text.caption(f"Not fitted to this model: {', '.join(absent)}. The Train page fits them.")
    return tuple(chosen)


def _controls_of_inputs(info: ModelInfo, state: CompareState) -> list[str]:
    """Return the chosen ones. They are apart from the others, which keep what was chosen when a pair is replaced by a
    single text."""
    return [method for field, title, specs in _of_inputs(info, state) for method in _picked(title, field, specs, state)]


def _of_inputs(info: ModelInfo, state: CompareState) -> list[tuple[str, str, list[MethodSpec]]]:
    """Return field, title and methods of the kind of input, or of a model with a prompt; none for a single text."""
    if info.multimodal:
        return [("pictures", "Controls for images", [spec for spec in METHODS if spec.needs == "image"])]
    if info.pairs or (not info.input_names and state.controls.pair.strip()):
        pairs = [spec for spec in METHODS if spec.needs == "pair"]
        return [("pairs", "Controls for pairs", pairs), *_of_prompt(state)]
    return _of_prompt(state)


def _of_prompt(state: CompareState) -> list[tuple[str, str, list[MethodSpec]]]:
    asked = [spec for spec in METHODS if spec.needs == "prompt" and spec.suits(state.controls.model)]
    return [("asked", "Asked in words", asked)] if asked else []


def _picked(
    title: str, field: str, offered: Iterable[MethodSpec], state: CompareState, absent: Collection[str] = ()
) -> list[str]:
    specs = {spec.name: spec for spec in offered}
    default = [name for name, spec in specs.items() if spec.default and name not in absent]
    widget = state.widget(field, options=specs, default=default, initial="default", folded=True)
    names = st.pills(title, list(specs), selection_mode="multi", **widget)
    return [specs[name].id for name in specs if name in (names or [])]


def _variants(model: str, version: str, state: CompareState) -> list[str]:
    """Return other weights of the learned methods that were fitted to the model, as method ids such as `aml:comp`."""
    ids = [
        f"{spec.id}:{weights.variant}"
        for weights in available_artifacts(model, version)
        for spec in using_weights_of(weights.method)
        if weights.variant and weights.variant != spec.default_variant
    ]
    names = {spec.name: spec.id for spec in select(ids)}
    if not names:
        return []
    picked = st.multiselect(
        "Other weights",
        list(names),
        placeholder="none",
        help="The same methods trained for another metric, layer or norm, or weights fitted on the Train page.",
        **state.widget("variants", options=names, initial="default", folded=True),
    )
    return [names[name] for name in picked]


def narrators(model: str, version: str, state: CompareState) -> tuple[str, ...] | None:
    """Return the ids of the chosen narrators, by default all that are fitted to the model and can run here; where none
    are fitted, draw nothing and return None, as before the model is loaded, so that loading it asks nothing new."""
    fitted = {artifact.method for artifact in available_artifacts(model, version, "narrative")}
    specs = {spec.name: spec for spec in NARRATORS if spec.id in fitted}
    if not specs:
        return None
    runnable = runnable_narrators(model, version)
    default = [name for name, spec in specs.items() if spec.id in runnable]
    widget = state.widget("narrators", options=specs, default=default, initial="default", folded=True)
    names = st.pills("Narrators", list(specs), selection_mode="multi", help=NARRATORS_HELP, **widget)
    return tuple(specs[name].id for name in specs if name in (names or []))


def _erasure(info: ModelInfo, state: CompareState) -> Erasure:
    in_images = " In an image, mask and delete give a patch the image's mean colour, and blur removes its detail."
    erasure = st.segmented_control(
        "Erase by",
        info.erasures,
        required=True,
        help="How a word is removed: mask replaces it by the mask token, delete drops it and closes the gap, zero sets "
        f"its embedding to 0. All metrics depend on it.{in_images if info.multimodal else ''}",
        **state.widget("erase", options=info.erasures, default=info.default_erasure, initial="default", folded=True),
    )
    return erasure or info.default_erasure


def _budget(state: CompareState) -> int | None:
    seconds = st.segmented_control(
        "Time",
        BUDGETS,
        required=True,
        format_func=BUDGETS.__getitem__,
        help="For one comparison. What comes first tells most: a first consensus and its test against random orders, "
        "then the other methods and erasure operators. What did not fit is named, and can be added.",
        **state.widget("budget", options=BUDGETS, initial="default", folded=True),
    )
    return seconds or None


def _sampling(state: CompareState) -> tuple[int, int, int]:
    """Return samples, steps and seed."""
    with st.expander("Sampling"):
        samples = st.number_input(
            "Samples of LIME and KernelSHAP",
            *SAMPLES,
            step=50,
            help=SAMPLES_HELP,
            **state.widget("samples", folded=True),
        )
        if UNTIL_SETTLED < samples < FEWEST_SAMPLES:
            st.caption(TOO_FEW_SAMPLES)
        steps = st.number_input("Steps of integrated gradients", *STEPS, step=5, **state.widget("steps", folded=True))
        seed = st.number_input("Seed", *SEEDS, step=1, **state.widget("seed", folded=True))
    return max(int(samples), FEWEST_SAMPLES) if samples else UNTIL_SETTLED, int(steps), int(seed)


def _hardware(pool: model_pool.ModelPool, state: CompareState) -> tuple[str, Precision]:
    """Return device and precision. Before the devices of this machine are known, the address may name any: a model is
    not loaded on one that is not there."""
    with st.expander("Device and precision"):
        offered, chosen = pool.offered_devices(), state.controls.device
        unknown = pool.devices is None and model_pool.own_device() == model_pool.SERVER_DEVICE and chosen not in offered
        if unknown:
            offered = (*offered, chosen)
        unchecked = unknown and "device" in state.unchecked
        device = st.selectbox(
            "Device",
            offered,
            format_func=lambda name: (
                f"auto ({model_pool.own_device()})"
                if name == model_pool.SERVER_DEVICE != model_pool.own_device()
                else name
            ),
            help="Where the model runs: auto is a GPU if this server has one.",
            **state.widget("device", options=offered, listed=offered, folded=True),
        )
        if unchecked:  # the address named it: where it turns out not to be there, that is said
            state.unchecked.add("device")
        precision = st.segmented_control(
            "Precision",
            PRECISIONS,
            required=True,
            help=PRECISION_HELP,
            **state.widget("precision", options=PRECISIONS, initial="default", folded=True),
        )
    return device or model_pool.SERVER_DEVICE, precision or "float32"
