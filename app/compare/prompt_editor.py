"""The prompt of a language model, written on the page: a popover in the line of the question."""

from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from app import plain_text
from app.compare.state import NO_OTHER, PREDICTED, RESET, compare_state
from app.model_pool import roots
from app.session import held, put, value_of
from app.streamlit_shims import Container
from explainers.errors import ExplanationError
from explainers.models.bundle_cards import bundle_names
from explainers.models.model_names import resolve_model_name
from explainers.models.prompt import (
    DEFAULT_PROMPT,
    READINGS,
    Prompt,
    PromptError,
    Reading,
    prompt_named,
    save_prompt,
    shipped_prompts,
    split_name,
)
from explainers.report.text import one_line

HELP = "How a language model reads the text, and which word of its answer stands for which class."
TEMPLATE_HELP = (
    "{text} is where the text goes, {text_pair} a second one. The model's next word is the answer, so let it end where "
    "the word begins."
)
WORDS_LABEL = "Class words, one class per line: name = word"
READ_LABELS: dict[Reading, str] = {"first": "its first token", "mean": "the mean over its tokens"}
READ_HELP = (
    "The first token decides alone, and no two words may share it. The mean is over the log-probabilities of all its "
    "tokens, each after those before it. It takes longer."
)
ADAPTER = (
    "This prompt has an adapter, weights that were trained for it. With any change it is another prompt, without them."
)
START = "prompt start"
SEPARATORS = (" = ", "=", ": ", ":")  # of the name of a class and its word


@dataclass
class PromptForm:
    """What the fields hold. `about` is the model whose prompt they were filled with; `problem` says why what they hold
    cannot be used."""

    about: str = ""
    model: str = ""
    template: str = ""
    words: str = ""
    chat: bool = False
    read: Reading = "first"
    problem: str = ""
    adapter: bool = False
    used: dict[str, str] = field(default_factory=dict)  # this session's own prompts by name: how each begins, its words

    def fill(self, prompt: Prompt) -> None:
        self.template, self.chat, self.adapter, self.problem = prompt.template, prompt.chat, prompt.adapter, ""
        self.read = prompt.read
        self.words = "\n".join(f"{name} = {word}" for name, word in prompt.classes.items())

    def widget(self, name: str) -> dict[str, Any]:
        """The arguments of the field's widget, which gets its value twice, as those of the page's controls do."""
        value = getattr(self, name)
        put(f"prompt {name}", value)
        return {"key": f"prompt {name}", "value": value}

    def take(self) -> None:
        """Takes what a person typed."""
        for name in ("model", "template", "words", "chat", "read"):
            setattr(self, name, value_of(f"prompt {name}"))


def show(line: Container) -> None:
    """Draw the popover, unless an embedded classifier is chosen, which reads no prompt."""
    state, form = compare_state(), held(PromptForm)
    if not state.controls.model or state.controls.model in bundle_names():
        return
    if form.about != state.controls.model:
        _fill_from_model(form, state.controls.model)
    popover = line.popover("Prompt", key=f"edit prompt {state.controls.model}", help=HELP)  # another key closes it
    with popover, st.container(width=440):
        if form.adapter:
            st.caption(ADAPTER)
        st.selectbox(
            "Begin with",
            (*shipped_prompts(), *reversed(form.used)),
            key=START,
            index=None,
            placeholder="a prompt that comes with Crosslight, or one that you wrote",
            format_func=lambda name: form.used.get(name, name),
            on_change=_begin_with,
        )
        with st.form("prompt", border=False):
            st.text_input("Language model", help="A hub id, a folder, or smollm2.", **form.widget("model"))
            st.text_area("Template", height=150, help=TEMPLATE_HELP, **form.widget("template"))
            st.text_area(WORDS_LABEL, height=120, **form.widget("words"))
            put("prompt read", form.read)
            st.selectbox(
                "Of a word of several tokens, read",
                READINGS,
                index=READINGS.index(form.read),
                format_func=READ_LABELS.__getitem__,
                key="prompt read",
                help=READ_HELP,
            )
            st.checkbox("As a message in the model's chat format", **form.widget("chat"))
            if form.problem:  # above the button, which is at the lower end of the window
                plain_text.error(form.problem)
            st.form_submit_button("Use this prompt", type="primary", on_click=_use)
        st.caption("Prompts are saved on this machine, so that the address of the page finds them again.")


def _fill_from_model(form: PromptForm, name: str) -> None:
    form.about, (form.model, key) = name, split_name(name)
    try:
        form.fill(prompt_named(key or DEFAULT_PROMPT))
    except PromptError:
        form.fill(prompt_named(DEFAULT_PROMPT))


def _begin_with() -> None:
    chosen = value_of(START)
    if chosen is not None:
        held(PromptForm).fill(prompt_named(chosen))


def _use() -> None:
    """Makes the language model with this prompt the model of the page; what is wrong with it is said, and stays."""
    state, form = compare_state(), held(PromptForm)
    form.take()
    try:
        prompt = Prompt(form.template, classes_of(form.words), form.chat, read=form.read)
        model = form.model.strip()
        if not model:
            raise PromptError("Name a language model: smollm2, a hub id such as owner/model, or a folder.")
        resolve_model_name(f"{model}:{DEFAULT_PROMPT}", roots())  # before anything is saved
        key = _name_of(prompt) or save_prompt(prompt)
    except ExplanationError as error:
        form.problem = str(error)
        return
    if key not in shipped_prompts():
        form.used[key] = f"{one_line(prompt.template)} ({one_line(', '.join(prompt.classes.values()))})"
    form.about, form.problem, name = "", "", f"{model}:{key}"
    if name != state.controls.model:
        state.change(model=name, class_=PREDICTED, versus=NO_OTHER, **RESET)


def _name_of(prompt: Prompt) -> str:
    """The name of the page's prompt where it was not changed, else that of an equal shipped one without weights of its
    own; empty if there is none."""
    shipped = (name for name in shipped_prompts() if not prompt_named(name).adapter)
    names = (split_name(compare_state().controls.model)[1], *shipped)
    return next((name for name in filter(None, names) if _key(name) == prompt.key), "")


def _key(name: str) -> str:
    try:
        return prompt_named(name).key
    except PromptError:
        return ""


def classes_of(lines: str) -> dict[str, str]:
    """From lines "name = word" to both, also with a colon; a line with neither is both in one. Raises `PromptError` for
    a name that comes twice."""
    classes: dict[str, str] = {}
    for line in filter(str.strip, lines.splitlines()):
        between = next((sign for sign in SEPARATORS if sign in line), "")
        name, word = (part.strip() for part in (line.rsplit(between, 1) if between else (line, line)))
        if name in classes:
            raise PromptError(f"The class {name!r} comes twice. Give every class a name of its own.")
        classes[name] = word
    return classes
