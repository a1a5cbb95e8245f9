"""The upper part of the sidebar of the Compare page: which methods, and with which settings."""

from collections.abc import Iterable
from dataclasses import dataclass

import streamlit as st

from app.compare import address_check, file_rows, guess, narrator_choice, url_state
from app.model_info import ModelInfo, chosen_model, model_info
from app.model_pool import ModelPool
from explainers.methods.registry import METHODS, groups, select, using_weights_of
from explainers.methods.spec import MethodSpec
from explainers.models.inputs.encoding import UNIT_KINDS, Erasure
from explainers.results.settings import UNTIL_SETTLED, Settings
from explainers.training.artifacts import available_artifacts

SAMPLES_HELP = (
    "0: until the most important 20 % of the units and both AOPC no longer change; the method's details say after how "
    "many. Otherwise exactly this many."
)
FEWEST_SAMPLES = 50


@dataclass(frozen=True)
class ComparisonOptions:
    methods: tuple[str, ...]
    narrators: tuple[str, ...] | None  # None: all that are fitted to the model
    settings: Settings


def sidebar(pool: ModelPool) -> ComparisonOptions:
    model = chosen_model()
    info = model_info(pool, model)
    with st.sidebar:
        st.subheader("Methods", anchor=False)
        methods = (*_general_methods(), *_controls_of_inputs(info), *_variants(model, info.version))
        narrators = narrator_choice.picked(model, info.version) if info.version else None
        st.subheader("Question", anchor=False)
        guess.switch()
        file_rows.controls()
        unit = st.segmented_control(
            "Unit",
            UNIT_KINDS,
            default="word",
            required=True,
            key="unit",
            bind="query-params",
            persist_state="session",
            help="What gets one score: a word as people write it, or a token as the model reads it. In an image it is "
            "always a patch.",
            on_change=url_state.restore_all,
        )
        erasure = _erasure(info)
        samples, steps, seed = _sampling()
    return ComparisonOptions(methods, narrators, Settings(unit or "word", erasure, samples, steps, seed))


def _general_methods() -> tuple[str, ...]:
    """The chosen methods that need nothing but a text."""
    offered = [spec for spec in METHODS if not spec.needs]
    return tuple(
        method
        for group in groups()
        for method in _picked(group, group.lower(), [spec for spec in offered if spec.group == group])
    )


def _controls_of_inputs(info: ModelInfo) -> list[str]:
    """Apart from the others, which keep what was chosen when a pair is replaced by a single text."""
    if info.multimodal:
        return _picked("Controls for images", "pictures", [spec for spec in METHODS if spec.needs == "image"])
    if info.pairs or (not info.input_names and st.session_state["pair"].strip()):
        return _picked("Controls for pairs", "pairs", [spec for spec in METHODS if spec.needs == "pair"])
    return []


def _picked(title: str, key: str, offered: Iterable[MethodSpec]) -> list[str]:
    specs = {spec.name: spec for spec in offered}
    address_check.check(key, specs, "method")
    names = st.pills(
        title,
        list(specs),
        selection_mode="multi",
        default=[name for name, spec in specs.items() if spec.default],
        key=key,
        bind="query-params",
        persist_state="session",
    )
    return [specs[name].id for name in specs if name in (names or [])]


def _variants(model: str, version: str) -> list[str]:
    """Other weights of the learned methods that were fitted to the model, as method ids such as `aml:comp`."""
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
        key="variants",
        bind="query-params",
        persist_state="session",
        placeholder="none",
        help="The same methods trained for another metric, layer or norm, or weights fitted on the Train page.",
    )
    return [names[name] for name in picked]


def _erasure(info: ModelInfo) -> Erasure:
    if st.session_state.get("erase", "mask") not in info.erasures:
        st.session_state["erase"] = "mask"
    address_check.check("erase", info.erasures, "erasure operator")
    in_images = " In an image, mask and delete give a patch the image's mean colour, and blur removes its detail."
    erasure = st.segmented_control(
        "Erase by",
        info.erasures,
        default="mask",
        required=True,
        key="erase",
        bind="query-params",
        persist_state="session",
        help="How a word is removed: mask replaces it by the mask token, delete drops it and closes the gap, zero sets "
        f"its embedding to 0. All metrics depend on it.{in_images if info.multimodal else ''}",
    )
    return erasure or "mask"


def _sampling() -> tuple[int, int, int]:
    """Samples, steps and seed."""
    with st.expander("Sampling"):
        samples = st.number_input(
            "Samples of LIME and KernelSHAP",
            UNTIL_SETTLED,
            5000,
            UNTIL_SETTLED,
            50,
            help=SAMPLES_HELP,
            key="samples",
            bind="query-params",
            persist_state="session",
        )
        steps = st.number_input(
            "Steps of integrated gradients", 5, 500, 50, 5, key="steps", bind="query-params", persist_state="session"
        )
        seed = st.number_input("Seed", 0, 9999, 0, 1, key="seed", bind="query-params", persist_state="session")
    return max(int(samples), FEWEST_SAMPLES) if samples else UNTIL_SETTLED, int(steps), int(seed)
