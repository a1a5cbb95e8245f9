"""The prompt of a language model, written on the page: a popover in the line of the question."""

from dataclasses import dataclass

import streamlit as st

from app import plain_text
from app.compare.state import NO_OTHER, PREDICTED, RESET, CompareState, compare_state
from app.model_pool import roots
from app.session import held, put, value_of
from app.streamlit_shims import Container
from explainers.errors import ExplanationError
from explainers.models.bundle_cards import bundle_names
from explainers.models.model_names import resolve_model_name
from explainers.models.prompt import Prompt, PromptError, prompt_named, save_prompt, shipped_prompts, split_name

MODEL, START, TEMPLATE, WORDS, CHAT = ("prompt model", "prompt start", "prompt template", "prompt words", "prompt chat")
HELP = "How a language model reads the text, and which word of its answer stands for which class."
TEMPLATE_HELP = (
    "{text} is where the text goes, {text_pair} a second one. The model's next word is the answer, so let it end where "
    "the word begins."
)
WORDS_HELP = "One class per line: its name = the word for it. Of a word of several tokens the first one is read."
DEFAULT = "sst2"


@dataclass
class PromptForm:
    """`about` is the model whose prompt the fields hold, as they were filled; `problem` why it could not be used."""

    about: str | None = None
    problem: str = ""


def show(line: Container) -> None:
    """Draw the popover, unless an embedded classifier is chosen, which reads no prompt."""
    state = compare_state()
    if not state.controls.model or state.controls.model in bundle_names():
        return
    form = held(PromptForm)
    if form.about != state.controls.model:
        _fill_from_model(form, state.controls.model)
    with line.popover("Prompt", key="edit prompt", help=HELP), st.container(width=440):
        st.selectbox(
            "Begin with",
            shipped_prompts(),
            key=START,
            index=None,
            placeholder="a prompt that comes with Crosslight",
            on_change=_begin_with,
        )
        with st.form("prompt", border=False):
            st.text_input("Language model", key=MODEL, help="A hub id, a folder, or smollm2.")
            st.text_area("Template", key=TEMPLATE, height=150, help=TEMPLATE_HELP)
            st.text_area("Class words", key=WORDS, height=90, help=WORDS_HELP)
            st.checkbox("As a message in the model's chat format", key=CHAT)
            st.form_submit_button("Use this prompt", type="primary", on_click=_use, args=(state,))
        if form.problem:
            plain_text.error(form.problem)
        st.caption("Prompts are saved on this machine, so that the address of the page finds them again.")


def _fill_from_model(form: PromptForm, name: str) -> None:
    model, key = split_name(name)
    try:
        prompt = prompt_named(key or DEFAULT)
    except PromptError:
        prompt = prompt_named(DEFAULT)
    form.about, form.problem = name, ""
    put(MODEL, model)
    _fill(prompt)


def _fill(prompt: Prompt) -> None:
    put(TEMPLATE, prompt.template)
    put(WORDS, "\n".join(f"{name} = {word}" for name, word in prompt.classes.items()))
    put(CHAT, prompt.chat)


def _begin_with() -> None:
    chosen = value_of(START)
    if chosen is not None:
        _fill(prompt_named(chosen))


def _use(state: CompareState) -> None:
    """Makes the language model with this prompt the model of the page; what is wrong with it is said, and stays."""
    form, model = held(PromptForm), (value_of(MODEL) or "").strip()
    try:
        prompt = Prompt(value_of(TEMPLATE) or "", classes_of(value_of(WORDS) or ""), bool(value_of(CHAT)))
        name = f"{model}:{_shipped_name(prompt) or save_prompt(prompt)}"
        resolve_model_name(name, roots())
    except ExplanationError as error:
        form.problem = str(error)
        return
    form.about, form.problem = name, ""
    if name != state.controls.model:
        state.change(model=name, class_=PREDICTED, versus=NO_OTHER, **RESET)


def _shipped_name(prompt: Prompt) -> str:
    """The name of the shipped prompt that this is; one that was tuned is another model, and is chosen by its name."""
    return next((name for name in shipped_prompts() if name != TUNED and prompt_named(name) == prompt), "")


TUNED = "completion"


def classes_of(lines: str) -> dict[str, str]:
    """From lines "name = word" to both; a line without = is both in one. Raises `PromptError` for a name that comes
    twice."""
    classes: dict[str, str] = {}
    for line in filter(str.strip, lines.splitlines()):
        name, equals, word = (part.strip() for part in line.partition("="))
        if name in classes:
            raise PromptError(f"The class {name!r} comes twice. Give every class a name of its own.")
        classes[name] = word if equals else name
    return classes
