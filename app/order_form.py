"""The upper half of the Train page: which method, for which model, from which texts. Returns what was asked for."""

from collections.abc import Iterator
from dataclasses import dataclass

import streamlit as st

from app.controls import asks, model_box, reads_pictures, version_of
from app.engine import Engine
from app.jobs import Jobs
from app.logbook import duration, read
from app.orders import Order
from app.safe import markdown
from app.settings_form import recipes, settings
from explainers.datasets.example import Example
from explainers.datasets.texts import FEWEST, checked, parsed
from explainers.errors import DataUnavailable, ExplanationError
from explainers.learned.weights import VARIANT, available, own_folder
from explainers.methods import METHODS

NAMES = {entry.id: entry.name for entry in METHODS}
KINDS = (".txt", ".csv", ".tsv")
MEGABYTES = 10
PAIRED = "pasted pairs"  # what the box holds for a model of pairs
SCENES = "scenes"
GENERATED = (
    "Nothing has to be given: methods for this model learn from scenes and statements that its generator draws with a "
    "fixed seed. They are other ones than those that the model was trained and tested on."
)
ELSEWHERE = (
    "This model reads pictures, and here only texts can be given. Fit the method on the command line: "
    "python -m explainers fit, with --data, --format and --pictures."
)
TWO_TEXTS = "A charming and often affecting journey.\nThe plot goes nowhere.\n…"
TWO_PAIRS = "Two boys kick a ball.\tChildren are playing.\nA man sleeps.\tA man is running.\n…"


@dataclass(frozen=True)
class Given:
    """The texts, or what is wrong with them. `typed` is false as long as nothing was given at all; with `generated`
    the model's own data are drawn when the training starts."""

    texts: tuple[Example, ...] = ()
    problem: str = f"There are no texts yet. Paste at least {FEWEST}, one per line, or choose a file."
    typed: bool = False
    generated: bool = False


def title() -> None:
    st.title("Train a method on your texts", anchor=False)
    st.write(
        "Some methods learn to explain a model before they are asked. Give them texts of the kind that the model will "
        "see. **No labels are needed**: they learn from what the model itself says about these texts, and the model "
        "stays as it is."
    )


def order(engine: Engine) -> Order:
    """Model, method, the name of the result, and the settings."""
    first, second, third = st.columns(3)
    with first:
        model = model_box()
    with second:
        place = st.empty()  # filled when the methods are loaded, which takes a while
    with third:
        variant = st.text_input(
            "Name of the result",
            "mine",
            max_chars=40,
            key="train variant",
            persist_state="session",
            help="Under this name it appears on the Compare page. Small letters, digits, points and dashes.",
        )
    known, _shipped = recipes()
    with place:
        method = st.selectbox(
            "Method",
            list(known),
            key="train method",
            persist_state="session",
            format_func=lambda name: NAMES.get(name, name),
            help="What each of them learns stands on the Methods page.",
        )
    named = (variant or "").strip()
    with st.expander("Settings"):
        seed, chosen = settings(method, named)
    _replaces(engine, model, method, named)
    return Order(method, model.strip(), named, seed, chosen)


def _replaces(engine: Engine, model: str, method: str, variant: str) -> None:
    """Says so if there are weights of this name already."""
    version = version_of(engine, model)
    if not VARIANT.fullmatch(variant):
        st.caption("The name needs a small letter or a digit first, then small letters, digits, points or dashes.")
    for each in available(model, version):
        if (each.method, each.variant) == (method, variant):
            own = each.path.parent == own_folder(model, version)
            what = "your earlier weights" if own else "the weights that come with the model"
            st.caption(
                f"{NAMES.get(method, method)} has {what} under the name {markdown(variant)}: these replace them."
            )


def examples(engine: Engine, model: str) -> Given:
    """What the method learns from: texts, or for the model of scenes what its generator draws."""
    if not reads_pictures(engine, model):
        return texts(asks(engine, model))
    if model == SCENES:
        st.info(GENERATED)
        return Given(problem="", generated=True)
    st.info(ELSEWHERE)
    return Given(problem=ELSEWHERE)


def texts(asks: tuple[str, ...]) -> Given:
    """From the box or from a file; with a sentence where the model, which `asks` for one or two, cannot use them."""
    pairs = len(asks) == 2
    left, right = st.columns([2, 1])
    with left:
        typed = st.text_area(
            f"Pairs, one per line: {asks[0]}, tab, {asks[1]}" if pairs else "Texts, one per line",
            key="train texts",
            height=232,
            persist_state="session",
            placeholder=TWO_PAIRS if pairs else TWO_TEXTS,
        )
    with right:
        file = st.file_uploader(
            "Or a file",
            type=list(KINDS),
            key="train file",
            max_upload_size=MEGABYTES,
            help="A text file with one text per line, or a table with a column text. For pairs a table with the "
            "columns premise and hypothesis, or text and text_pair. UTF-8.",
        )
        box = PAIRED if pairs else ".txt"
        given = _from_file(file.name, file.getvalue(), asks) if file is not None else _from(typed or "", box, asks)
        if given.texts:
            source = "from the file; remove it to use the box" if file is not None else "from the box"
            st.caption(
                f"**{len(given.texts):,} texts**, each once, {source}. A tenth is held out to watch the training."
            )
        st.caption("They are written to the disk of this server, and deleted with the training.")
    if given.problem and given.typed:
        st.error(markdown(given.problem))
    return given


def _from_file(name: str, content: bytes, asks: tuple[str, ...]) -> Given:
    kind = next((kind for kind in KINDS if name.lower().endswith(kind)), ".txt")
    try:
        return _from(content.decode("utf-8-sig"), kind, asks)
    except UnicodeDecodeError:
        return Given(problem=f"{name} is not UTF-8 text. Save it as UTF-8.", typed=True)


def _from(content: str, kind: str, asks: tuple[str, ...]) -> Given:
    if not content.strip():
        return Given()
    try:
        found = pasted(content) if kind == PAIRED else parsed(content, kind)
        return Given(checked(found, asks), "", typed=True)
    except DataUnavailable as error:
        return Given(problem=str(error), typed=True)


def pasted(content: str) -> list[Example]:
    """A pair per line, as it comes from a spreadsheet: with a tab between the texts."""
    halves = (line.partition("\t") for line in content.splitlines())
    return [Example(first.strip(), second.strip() or None) for first, _, second in halves]


def start(jobs: Jobs, asked: Order, given: Given) -> None:
    """The button, what it starts, and why not where it does not."""
    with st.container(horizontal=True, vertical_alignment="center"):
        pressed = st.button("Start training", type="primary", key="start training")
        expected = _expected(jobs, asked, len(given.texts))
        st.caption(expected, width="stretch")
    if pressed and given.problem and not given.typed:
        st.error(given.problem)
    elif pressed and not given.problem:
        try:
            jobs.submit(asked, given.texts)
        except ExplanationError as error:
            st.error(markdown(str(error)))
    st.caption("What this starts, to type it yourself:")
    file = "texts.csv" if any(each.pair for each in given.texts) else "texts.txt"
    st.code(asked.typed("" if given.generated else file), "sh", wrap_lines=True)


def _expected(jobs: Jobs, asked: Order, texts: int) -> str:
    """How long it may take, where an earlier training tells."""
    rates = list(_rates(jobs, asked))
    if not rates or not texts:
        return ""
    epochs = dict(asked.settings).get("epochs") or recipes()[0][asked.method].epochs
    return f"About {duration(rates[0] * texts * int(epochs))}, as long as the last one of this kind took per text."


def _rates(jobs: Jobs, asked: Order) -> Iterator[float]:
    """Seconds per text and epoch in earlier trainings of the same method and model, the latest first."""
    for job in jobs.all():
        if (job.method, job.model) == (asked.method, asked.model) and job.status == "done":
            log = read(job.run_folder)
            if log is not None and log.epochs and log.texts:
                yield log.epochs[-1].seconds / (log.texts * log.epochs[-1].number)
