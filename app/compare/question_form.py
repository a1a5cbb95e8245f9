"""The head of the Compare page: model, prompt, example, what is explained, and the text or texts with the image.

The image is that of an example, a generated one, or a person's own, which is uploaded or pasted.
"""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import streamlit as st

from app import components, model_pool, plain_text
from app import model_info as models
from app.compare import file_rows, stored_results
from app.compare.state import NO_OTHER, OWN_IMAGE, PREDICTED, RESET, TEXTS, CompareState, compare_state
from app.session import held, put, sent_by, value_of
from app.streamlit_shims import Container
from explainers.datasets.example import Example, InputImage
from explainers.errors import ExplanationError
from explainers.models import bundle_cards, model_names
from explainers.models import prompt as prompts
from explainers.models.inputs.requirements import SINGLE_TEXT, display_input_names
from explainers.report import display_images, wording

CLASS_HELP = (
    "Positive scores support this class. Choose another class to see what supports that one. The predicted one is that "
    "of the whole input: it stays while words are removed."
)
VERSUS_HELP = "Choose another class to see what speaks for the one and not for the other: p(one) / (p(one) + p(other))."
ONE, MAYBE_TWO = "Text", "Second text (only for models of pairs)"
SUFFIXES = ("png", "jpg", "jpeg", "webp", "gif", "bmp")
MEGABYTES = 10
WIDEST, HIGHEST = 480, 170  # pixels of the image above the controls
WIDTHS = (150, 190, 190, 150)  # pixels of the boxes for model, example and classes: two of them fit on a phone
TOO_LARGE = f"The pasted image is too large. Give an image of at most {MEGABYTES} MB."

HELP = "How a language model reads the text, and which word of its answer stands for which class."
TEMPLATE_HELP = (
    "{text} is where the text goes, {text_pair} a second one. The model's next word is the answer, so let it end where "
    "the word begins."
)
WORDS_LABEL = "Class words, one class per line: name = word"
READ_LABELS: dict[prompts.Reading, str] = {"first": "its first token", "mean": "the mean over its tokens"}
READ_HELP = (
    "The first token decides alone, and no two words may share it. The mean is over the log-probabilities of all its "
    "tokens, each after those before it. It takes longer."
)
ADAPTER = (
    "This prompt has an adapter, weights that were trained for it. With any change it is another prompt, without them."
)
START = "prompt start"
SEPARATORS = (" = ", "=", ": ", ":")  # of the name of a class and its word


class Question(NamedTuple):
    """What is asked: the class to explain (None: the predicted one), with `versus` rather than that other class."""

    model: str
    example: Example
    label: str | None
    versus: str | None


def line() -> Container:
    """Return the place of the one line with model, example, classes, and the buttons for all that is seldom changed."""
    return st.container(horizontal=True, vertical_alignment="bottom", key="question line")


def question(pool: model_pool.ModelPool, line: Container) -> Question:
    """Draw the controls, folded away where the type is large."""
    state = compare_state()
    if state.controls.large:
        with st.expander("Model and input"):
            return _question(pool, state, st.container(horizontal=True))
    return _question(pool, state, line)


def _question(pool: model_pool.ModelPool, state: CompareState, line: Container) -> Question:
    first = line.container(width=WIDTHS[0], key="place of model")  # wider where there is room: page.css
    second, third, fourth = (line.container(width=width) for width in WIDTHS[1:])
    with first:
        model = models.model_box(state, fetched=True)
    info = models.model_info(pool, model)
    state.model_chosen(multimodal=info.multimodal)
    with second:
        examples = stored_results.titles(model, multimodal=info.multimodal)
        st.selectbox("Example", examples, **state.widget("example", listed=examples, then=state.example_chosen))
    with third:
        label = _class_box("Class to explain", PREDICTED, info.labels, "class_", CLASS_HELP, state)
    versus = None
    if len(info.labels) != 2 or state.controls.versus != NO_OTHER:  # of two, one is always explained against the other
        with fourth:
            others = tuple(other for other in info.labels if other != label)
            versus = _class_box("Rather than", NO_OTHER, others, "versus", VERSUS_HELP, state)
    with st.container(key="decides"):  # as high before a model is loaded, so that nothing below it moves
        plain_text.caption(models.decides_line(model, info.labels))
    example = _with_image(info, state) if info.multimodal else _texts(info.input_names, state)
    return Question(model, example, label, versus)


def _class_box(
    title: str, neither: str, labels: Sequence[str], field: str, help: str, state: CompareState
) -> str | None:
    """Return the chosen class, None for `neither`. A person who types in the box searches it."""
    value = getattr(state.controls, field)
    asked = [] if value == neither else [value]
    options = [neither, *(labels or asked)]  # before the model is loaded, its classes may not be known
    chosen = st.selectbox(title, options, help=help, **state.widget(field, options=options, listed=options))
    return None if chosen == neither else chosen


def _with_image(info: models.ModelInfo, state: CompareState) -> Example:
    """The image on the left, the text about it on the right, and below how to give another image."""
    left, right = st.columns(2)
    with left, st.container(key="given_image"):
        image = _image(state)
    with right:
        name = plain_text.label(info.input_names[0].capitalize(), ONE) if info.input_names else ONE
        text = _text(name, "text", state)
        curated = stored_results.named(state.controls.example)
        if curated is not None:
            st.caption(curated.why)
        _image_controls(info.generator_noun, state)
    return Example(text, image=image)


def _texts(input_names: tuple[str, ...], state: CompareState) -> Example:
    """One box, or two side by side. Where the input names are not known, an empty second box means a single text."""
    if input_names == SINGLE_TEXT:
        return Example(_text(ONE, "text", state))
    names = display_input_names(input_names, 2) if input_names else (ONE, MAYBE_TWO)
    boxes = zip(st.columns(2), names, TEXTS, strict=True)
    first, second = (_text(name, key, state, column) for column, name, key in boxes)
    return Example(first, second if input_names or second.strip() else None)


def _text(name: str, field: str, state: CompareState, column: Container | None = None) -> str:
    typed = partial(file_rows.text_changed, state)
    return (column or st).text_area(name, height=72, **state.widget(field, then=typed)) or ""


def _image(state: CompareState) -> InputImage | None:
    """Draw the image that is explained, with its name."""
    image, name = state.image(), state.controls.picture
    if image is not None:
        display = display_images.display_image(image)
        width = min(WIDEST, display.width * HIGHEST // display.height)
        st.image(display.content, width=max(width, 1), alt="The image that is explained")
        if name == OWN_IMAGE:
            name = f"your own image, {display.width:,} × {display.height:,} pixels"
        plain_text.caption(name)
    return image


def _image_controls(generator_noun: str, state: CompareState) -> None:
    """How to give another image, and what was wrong with the last one that was given."""
    noun = next((noun for noun in (generator_noun, *stored_results.generator_nouns()) if noun), "")
    with st.container(horizontal=True, vertical_alignment="top"):
        with st.expander("Your own image", width=200):
            st.file_uploader(
                "Your own image",
                type=list(SUFFIXES),
                key=_uploader(state),
                on_change=uploaded,
                max_upload_size=MEGABYTES,
                label_visibility="collapsed",
            )
            components.component("paste")(key="paste", data={"most": MEGABYTES * 2**20}, on_pasted_change=pasted)
        if noun:
            st.button(
                f"Another {noun}",
                key="another",
                on_click=state.next_generated,
                args=(noun,),
                help="Generates an image with a statement, which replaces the text. An image of your own is kept in "
                "the memory of this server for about a day, for who has the page's address, and not written to its "
                "disk.",
            )
    if state.image_problem:
        plain_text.error(state.image_problem)


def _uploader(state: CompareState) -> str:
    return f"picture file {state.images_uploaded}"


def uploaded() -> None:
    """Takes the file. The box is empty afterwards, because the image itself is shown."""
    state = compare_state()
    file = value_of(_uploader(state))
    if file is not None:
        state.take_image(file.getvalue())
        state.images_uploaded += 1


def pasted() -> None:
    """Takes what came from the clipboard; the component sends nothing where it is too large."""
    address = str(sent_by("paste", "pasted") or "")
    try:
        content = base64.b64decode(address.partition(",")[2], validate=True)
    except binascii.Error:
        content = b""
    if content:
        compare_state().take_image(content)
    else:
        compare_state().image_problem = TOO_LARGE


@dataclass
class PromptForm:
    """What the fields hold. `about` is the model whose prompt they were filled with; `problem` says why what they hold
    cannot be used."""

    about: str = ""
    model: str = ""
    template: str = ""
    words: str = ""
    chat: bool = False
    read: prompts.Reading = "first"
    problem: str = ""
    adapter: bool = False
    used: dict[str, str] = field(default_factory=dict)  # this session's own prompts by name: how each begins, its words

    def fill(self, prompt: prompts.Prompt) -> None:
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


def edit_prompt(line: Container) -> None:
    """Draw the popover, unless an embedded classifier is chosen, which reads no prompt."""
    state, form = compare_state(), held(PromptForm)
    if not state.controls.model or state.controls.model in bundle_cards.bundle_names():
        return
    if form.about != state.controls.model:
        _fill_from_model(form, state.controls.model)
    popover = line.popover("Prompt", key=f"edit prompt {state.controls.model}", help=HELP)  # another key closes it
    with popover, st.container(width=440):
        if form.adapter:
            st.caption(ADAPTER)
        st.selectbox(
            "Begin with",
            (*prompts.shipped_prompts(), *reversed(form.used)),
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
                prompts.READINGS,
                index=prompts.READINGS.index(form.read),
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
    form.about, (form.model, key) = name, prompts.split_name(name)
    try:
        form.fill(prompts.prompt_named(key or prompts.DEFAULT_PROMPT))
    except prompts.PromptError:
        form.fill(prompts.prompt_named(prompts.DEFAULT_PROMPT))


def _begin_with() -> None:
    chosen = value_of(START)
    if chosen is not None:
        held(PromptForm).fill(prompts.prompt_named(chosen))


def _use() -> None:
    """Makes the language model with this prompt the model of the page; what is wrong with it is said, and stays."""
    state, form = compare_state(), held(PromptForm)
    form.take()
    try:
        prompt = prompts.Prompt(form.template, classes_of(form.words), form.chat, read=form.read)
        model = form.model.strip()
        if not model:
            raise prompts.PromptError("Name a language model: smollm2, a hub id such as owner/model, or a folder.")
        model_names.resolve_model_name(
            f"{model}:{prompts.DEFAULT_PROMPT}", model_pool.roots()
        )  # before anything is saved
        key = _name_of(prompt) or prompts.save_prompt(prompt)
    except ExplanationError as error:
        form.problem = str(error)
        return
    if key not in prompts.shipped_prompts():
        form.used[key] = f"{wording.one_line(prompt.template)} ({wording.one_line(', '.join(prompt.classes.values()))})"
    form.about, form.problem, name = "", "", f"{model}:{key}"
    if name != state.controls.model:
        state.change(model=name, class_=PREDICTED, versus=NO_OTHER, **RESET)


def _name_of(prompt: prompts.Prompt) -> str:
    """The name of the page's prompt where it was not changed, else that of an equal shipped one without weights of its
    own; empty if there is none."""
    shipped = (name for name in prompts.shipped_prompts() if not prompts.prompt_named(name).adapter)
    names = (prompts.split_name(compare_state().controls.model)[1], *shipped)
    return next((name for name in filter(None, names) if _key(name) == prompt.key), "")


def _key(name: str) -> str:
    try:
        return prompts.prompt_named(name).key
    except prompts.PromptError:
        return ""


def classes_of(lines: str) -> dict[str, str]:
    """From lines "name = word" to both, also with a colon; a line with neither is both in one. Raises `PromptError` for
    a name that comes twice."""
    classes: dict[str, str] = {}
    for line in filter(str.strip, lines.splitlines()):
        between = next((sign for sign in SEPARATORS if sign in line), "")
        name, word = (part.strip() for part in (line.rsplit(between, 1) if between else (line, line)))
        if name in classes:
            raise prompts.PromptError(f"The class {name!r} comes twice. Give every class a name of its own.")
        classes[name] = word
    return classes
