"""The controls of the Compare page. Each returns what was chosen and nothing else."""

from dataclasses import dataclass, replace
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import pictures, state
from app.cards import Look
from app.engine import Engine, roots
from explainers.datasets.example import Evidence, Example
from explainers.errors import ExplanationError
from explainers.learned.entries import DEFAULT_VARIANTS
from explainers.methods import DEFAULT, METHODS, Entry, chosen, fitting
from explainers.metrics.faithfulness import METRICS
from explainers.models.asking import SINGLE, text_names
from explainers.models.cards import BUNDLES, asks_of, bundled, card
from explainers.models.encoding import ERASURES, OF_PICTURES, UNIT_KINDS, Erasure
from explainers.models.multimodal.cards import is_head
from explainers.models.names import permitted
from explainers.report.colours import PRESETS, Scale
from explainers.settings import Settings

ONE, MAYBE_TWO = "Text", "Second text (only for models of pairs)"
PREDICTED = "the predicted one"
GROUPS = tuple(dict.fromkeys(entry.group for entry in METHODS))


@dataclass(frozen=True)
class Choice:
    methods: tuple[str, ...]
    settings: Settings
    preset: str
    scale: Scale


def sidebar(engine: Engine) -> Choice:
    """Which methods, over what, and how they are drawn."""
    with st.sidebar:
        st.subheader("Methods")
        methods = tuple(each for group in GROUPS for each in _of_group(group))
        methods = (*methods, *_for_two_parts(engine), *_variants(engine))
        st.subheader("Question")
        unit = st.segmented_control(
            "Unit",
            UNIT_KINDS,
            default="word",
            required=True,
            key="unit",
            bind="query-params",
            persist_state="session",
            help="What gets one score: a word as people write it, or a token as the model reads it. Of a picture it is "
            "always a patch.",
            on_change=state.bring_back,
        )
        erasure = _erasure(engine)
        st.subheader("Drawing")
        preset = st.selectbox(
            "Colours",
            list(PRESETS),
            key="colours",
            bind="query-params",
            persist_state="session",
            format_func=lambda name: PRESETS[name].title,
        )
        scale = st.segmented_control(
            "Scale",
            ("per method", "shared"),
            default="per method",
            required=True,
            key="scale",
            bind="query-params",
            persist_state="session",
            help="Per method: the strongest word or patch of each card is full. Shared: one scale for all cards, so "
            "that their colours can be compared; methods with small scores look pale.",
        )
        with st.expander("Sampling"):
            samples = st.number_input(
                "Samples of LIME and KernelSHAP",
                50,
                5000,
                500,
                50,
                key="samples",
                bind="query-params",
                persist_state="session",
            )
            steps = st.number_input(
                "Steps of integrated gradients",
                5,
                500,
                50,
                5,
                key="steps",
                bind="query-params",
                persist_state="session",
            )
            seed = st.number_input("Seed", 0, 9999, 0, 1, key="seed", bind="query-params", persist_state="session")
    settings = Settings(unit or "word", erasure, int(samples), int(steps), int(seed))
    return Choice(methods, settings, preset or "safe", "shared" if scale == "shared" else "method")


def _of_group(group: str) -> list[str]:
    return _picked(group, group.lower(), [each for each in fitting(METHODS, ("",)) if each.group == group])


def _for_two_parts(engine: Engine) -> list[str]:
    """Apart from the other controls, so that these keep what was chosen when a pair makes place for a single text."""
    if reads_pictures(engine, _model()):
        return _picked("Controls for pictures", "pictures", [each for each in METHODS if each.pictures_only])
    if asks_two(engine):
        return _picked("Controls for pairs", "pairs", [each for each in METHODS if each.pairs_only])
    return []


def _erasure(engine: Engine) -> Erasure:
    """What the model can do, as far as it is known before it is loaded."""
    model = _model()
    loaded, pictured = engine.loaded(model), reads_pictures(engine, model)
    offered = loaded.erasures if loaded is not None else OF_PICTURES if pictured else ERASURES
    if st.session_state.get("erase", "mask") not in offered:
        st.session_state["erase"] = "mask"
    patches = " Of a picture, mask and delete leave its mean colour in a patch's place, and blur leaves the patch "
    found = st.segmented_control(
        "Erase by",
        offered,
        default="mask",
        required=True,
        key="erase",
        bind="query-params",
        persist_state="session",
        help="How a word is taken away: mask puts the mask token in its place, delete drops it and closes the "
        "gap, zero sets its embedding to 0. The figures depend on it, so it stands next to them."
        + (f"{patches}without its detail." if pictured else ""),
    )
    return found or "mask"


def _picked(title: str, key: str, offered: list[Entry]) -> list[str]:
    entries = {entry.name: entry for entry in offered}
    picked = st.pills(
        title,
        list(entries),
        selection_mode="multi",
        default=[name for name, entry in entries.items() if entry.id in DEFAULT],
        key=key,
        bind="query-params",
        persist_state="session",
    )
    return [entries[name].id for name in entries if name in (picked or [])]


def _variants(engine: Engine) -> list[str]:
    """Other weights of the learned methods that were fitted to the chosen model, as method ids such as `aml:comp`."""
    from explainers.learned.weights import available

    model = _model()
    found = [
        f"{method}:{each.variant}"
        for each in available(model, version_of(engine, model))
        if each.variant and each.variant != DEFAULT_VARIANTS.get(each.method)
        for method in ({"aml": ("aml", "faml")}.get(each.method, (each.method,)))
        if each.method in {entry.id for entry in METHODS}
    ]
    names = {entry.name: entry.id for entry in chosen(found)}
    if not names:
        return []
    picked = st.multiselect(
        "Other weights",
        list(names),
        key="variants",
        bind="query-params",
        persist_state="session",
        placeholder="none",
        help="The same methods trained for another figure, layer or norm, or what you fitted on the Train page.",
    )
    return [names[name] for name in picked]


def _model() -> str:
    """Which model is chosen, before its box is drawn."""
    return str(st.session_state.get("model") or st.query_params.get("model") or (bundled() or ("",))[0])


def asks(engine: Engine, model: str) -> tuple[str, ...]:
    """Names of the texts that the model reads: from its card or, once it is loaded, from itself; () if unknown."""
    loaded = engine.loaded(model)
    if loaded is not None:
        return loaded.asks
    try:
        return asks_of(card(BUNDLES / model)) if model in bundled() else ()
    except ExplanationError:
        return ()  # the run will say what is wrong with the bundle


def reads_pictures(engine: Engine, model: str) -> bool:
    """Whether the model is known to read a picture with the text: from its card or, once it is loaded, from itself."""
    loaded = engine.loaded(model)
    if loaded is not None:
        return loaded.pictured
    try:
        if model in bundled():
            return bool(card(BUNDLES / model).get("pictures"))
        return is_head(Path(permitted(model, roots())))  # heads stand on encoders of pictures and texts
    except ExplanationError:
        return False  # the run will say what is wrong with the model


def asks_two(engine: Engine) -> bool:
    """Whether the question is about a pair, before its boxes are drawn."""
    known = asks(engine, _model())
    return len(known) == 2 or (not known and bool(st.session_state["pair"].strip()))


def version_of(engine: Engine, model: str) -> str:
    """The model's version, from its card or, once it is loaded, from itself; empty while it is not known."""
    loaded = engine.loaded(model)
    if loaded is not None:
        return loaded.version
    try:
        return str(card(BUNDLES / model)["sha256"])[:12] if model in bundled() else ""
    except ExplanationError:
        return ""  # the run will say what is wrong with the bundle


def model_box() -> str:
    """Which model, on every page that asks for one."""
    picked = st.selectbox(
        "Model",
        list(bundled()),
        key="model",
        bind="query-params",
        persist_state="session",
        accept_new_options=True,
        help="An embedded model, the id of a classifier of texts, or of pictures with a text, on the Hugging Face hub "
        "(owner/model or owner/model@revision), or a folder below the one the app was started in.",
    )
    return picked or ""


def question(engine: Engine) -> tuple[str, Example, str | None]:
    """Model, text or texts, and class to explain (None: the predicted one)."""
    first, second, third = st.columns(3)
    with first:
        model = model_box()
    pictured = reads_pictures(engine, model)
    state.model_chosen(model, pictured=pictured)
    with second:
        st.selectbox(
            "Example",
            state.titles(model, pictured=pictured),
            key="example",
            bind="query-params",
            persist_state="session",
            on_change=state.example_chosen,
        )
    with third:
        explained = st.selectbox(
            "Class to explain",
            [PREDICTED, *known_labels(engine, model)],
            key="class",
            bind="query-params",
            persist_state="session",
            help="Scores say what speaks for this class. Choose another class to see what speaks for that one.",
        )
    asked = asks(engine, model)
    example = _with_picture(asked) if pictured else _texts(asked)
    return model, example, None if explained == PREDICTED else explained


def _with_picture(asked: tuple[str, ...]) -> Example:
    """The picture on the left, what is said about it on the right, and below how to give another picture."""
    left, right = st.columns(2)
    with left:
        picture = pictures.show()
    with right:
        text = _text(asked[0].capitalize() if asked else "Text", "text")
        sample = state.named(st.session_state["example"])
        if sample is not None:
            st.caption(sample.why)
    pictures.giving()
    return Example(text, picture=picture)


def _texts(asked: tuple[str, ...]) -> Example:
    """One box, or two side by side; a second one that stays empty means a single text where nobody knows better."""
    if asked == SINGLE:
        return Example(_text("Text", "text"))
    names = text_names(asked, 2) if asked else (ONE, MAYBE_TWO)
    boxes = zip(st.columns(2), names, state.TEXTS, strict=True)
    first, second = (_text(name, key, place) for place, name, key in boxes)
    return Example(first, second if asked or second.strip() else None)


def _text(name: str, key: str, place: DeltaGenerator | None = None) -> str:
    return (place or st).text_area(name, key=key, height=88, on_change=state.text_changed) or ""


def known_labels(engine: Engine, model: str) -> tuple[str, ...]:
    """The model's classes, from its card or, once it is loaded, from itself."""
    loaded = engine.loaded(model)
    if loaded is not None:
        return loaded.labels
    try:
        return tuple(card(BUNDLES / model)["labels"]) if model in bundled() else ()
    except ExplanationError:
        return ()  # the run will say what is wrong with the bundle


def look(choice: Choice, asked: Example) -> Look:
    """How the cards are ordered, which share of the units is outlined, and how a picture is covered."""
    left, right = st.columns([1, 2])
    with left:
        sort = st.selectbox(
            "Sort cards by",
            ["the usual order", *(metric.name for metric in METRICS)],
            key="sort",
            bind="query-params",
            persist_state="session",
        )
    with right:
        percent = st.slider(
            "Top share to outline, %",
            0,
            100,
            20,
            5,
            key="top",
            bind="query-params",
            persist_state="session",
            help="Moves with both charts.",
        )
    by_name = {metric.name: metric.id for metric in METRICS}
    found = Look(choice.preset, choice.scale, percent, by_name.get(sort or "", ""))
    if asked.picture is None:
        return found
    with left:
        evidence = _evidence(asked)
    with right:
        opacity = st.slider(
            "Colours over the picture, %",
            0,
            100,
            80,
            5,
            key="opacity",
            bind="query-params",
            persist_state="session",
            help="0 shows the picture alone.",
        )
    return replace(found, opacity=opacity, evidence=evidence)


def _evidence(asked: Example) -> Evidence | None:
    """What the answer follows from, where that is known and asked for."""
    found = pictures.known(asked)
    if found is None or found.evidence is None:
        return None
    wanted = st.toggle(
        "Show the true evidence",
        key="evidence",
        bind="query-params",
        persist_state="session",
        help="Outlines the things, and underlines the words, from which the right answer follows by the rules that "
        "made this picture. An explanation that is true to the model need not agree: the model may go by other things.",
    )
    return found.evidence if wanted else None
