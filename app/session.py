"""What one browser session holds: a typed object per page, and how the controls of a page are carried.

A page declares each of its controls once, as a field of a frozen dataclass with the metadata `carried`. Its widget, its
place in the address, Undo and the downloads are read from that declaration. Streamlit's `session_state` is used here
alone.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar

import streamlit as st

from app import streamlit_shims
from app.model_pool import DRAWN, ModelPool, first_model
from explainers.models.bundle_cards import bundle_names
from explainers.report.wording import one_line

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from streamlit.runtime.uploaded_file_manager import UploadedFile

Controls = TypeVar("Controls", bound="DataclassInstance")
Held = TypeVar("Held")
LONGEST_NAMED = 60  # characters of a value in a sentence


class Codec(NamedTuple):
    """A value as the texts of its parameter, and back; `decode` raises `ValueError` or `LookupError`. `clean` makes the
    value of what a person typed or chose."""

    encode: Callable[[Any], list[str]]
    decode: Callable[[list[str]], Any]
    clean: Callable[[Any], Any] = lambda value: value


@dataclass(frozen=True)
class Control:
    """How a control is carried: its parameter in the address (empty: in none), whether Undo and downloads hold it, and
    by which `noun` a sentence names a value that does not exist."""

    codec: Codec
    address: str
    undo: bool
    download: bool
    noun: str


@dataclass
class Visit:
    """What all pages of a browser session share: which page was drawn before this one, the chosen model, by component
    what it got last, and by uploader the files that were given."""

    navigated: bool = False
    page_before: str | None = None
    page: str | None = None
    model: str = ""
    newest: dict[str, tuple[dict[str, Any], dict[str, Any]]] = field(default_factory=dict)
    files: dict[str, "tuple[UploadedFile, ...]"] = field(default_factory=dict)


@dataclass
class PageState(Generic[Controls]):
    """What a session holds of one page. `problems` are sentences by parameter: what the address or an export asks for
    in vain."""

    controls: Controls
    begun: bool = False
    unchecked: set[str] = field(default_factory=set)  # from the source, not yet compared with what is offered
    source: Literal["address", "export"] = "address"  # what named controls last
    problems: dict[str, str] = field(default_factory=dict)
    earlier_problems: frozenset[str] = frozenset()  # parameters of those that an earlier run of the page noted
    drawn: dict[str, Any] = field(default_factory=dict)  # what the widgets were last drawn with, by control
    replaced: dict[str, Any] = field(default_factory=dict)  # what they showed before the page gave them that
    renewals: Counter[str] = field(default_factory=Counter)  # new widgets in place of folded ones, by control
    changing: Lock = field(default_factory=Lock, repr=False, compare=False)

    def change(self, **changes: Any) -> None:
        """Changes controls by name, one at a time: the run that was replaced draws on while the next one begins."""
        with self.changing:
            self.controls = replace(self.controls, **changes)

    def correct(self, name: str, value: Any, corrected: Any) -> None:
        """Changes a control from the value that a run has read, unless a person has changed it meanwhile: a run that
        was replaced draws on for a moment."""
        with self.changing:
            if getattr(self.controls, name) == value:
                self.controls = replace(self.controls, **{name: corrected})

    def begin(self) -> None:
        """Called first in a run of the page: takes the controls from the address where that is new to this session.

        A link to the page may name a few controls, and the session has the others. A model that was chosen on another
        page is the one here."""
        self.earlier_problems = frozenset(self.problems)
        declared = {spec.address for spec in controls_of(type(self.controls)).values()}
        named = {parameter for parameter in declared if parameter and st.query_params.get_all(parameter)}
        back, elsewhere = streamlit_shims.is_history_navigation(), came_from_another_page()
        linked = named if elsewhere and not back else set()
        if not self.begun or (back and not elsewhere):  # back from another page brings what the session has
            linked = declared
        self.begun = True
        self.read_address(linked)

    def finish(self) -> None:
        """Called once in a run of the page, after its controls: the address follows, and other pages get the model."""
        visit().model = getattr(self.controls, "model", visit().model)
        write_address(self.address())

    def address(self) -> dict[str, list[str]]:
        """Return the texts of every parameter of the page. The model with which a session begins is not named."""
        return encoded(without_first_model(self.controls))

    def read_address(self, parameters: set[str]) -> None:
        """Takes these parameters from the address; one that is absent means the default."""
        self.source = "address" if parameters else self.source
        for name, spec in controls_of(type(self.controls)).items():
            if spec.address and spec.address in parameters:
                texts = st.query_params.get_all(spec.address)
                self.change(**{name: self._decoded(name, spec, texts) if texts else default_of(self.controls, name)})
        model = getattr(self.controls, "model", None)
        if model is not None and not (model and "model" in parameters):
            elsewhere = visit().model if came_from_another_page() else ""
            self.correct("model", model, elsewhere or model or first_model())

    def restore(self, view: Mapping[str, Any]) -> None:
        """Takes the controls that a download names, as `described` wrote them; what it does not name has its default,
        and what is not available here is named, as it is for an address."""
        self.source = "export"
        for name, spec in controls_of(type(self.controls)).items():
            if spec.download:
                default = default_of(self.controls, name)
                self.change(**{name: self._restored(name, spec, view.get(key_of(name), default), default)})

    def _restored(self, name: str, spec: Control, value: Any, default: Any) -> Any:
        value = tuple(value) if isinstance(value, list) else value
        if value == default and type(value) is type(default):
            return value
        try:
            texts = spec.codec.encode(value)
            if not all(isinstance(text, str) for text in texts):
                raise ValueError(value)
        except (ValueError, LookupError, TypeError, AttributeError):
            self.note_unavailable(spec, [str(value)])
            return default
        return self._decoded(name, spec, texts)

    def _decoded(self, name: str, spec: Control, texts: list[str]) -> Any:
        try:
            value = spec.codec.decode(texts)
        except (ValueError, LookupError):
            self.note_unavailable(spec, texts)
            return default_of(self.controls, name)
        self.unchecked.add(name)
        return value

    def note_unavailable(self, spec: Control, texts: Iterable[str]) -> None:
        if names := ", ".join(f"“{one_line(text, LONGEST_NAMED)}”" for text in list(filter(None, texts))[:3]):
            what = f"The {self.source} names the {spec.noun} {names}, which is not available here."
            self.note(spec.address, f"{what} Choose another one.")

    def note(self, parameter: str, problem: str) -> None:
        """Keeps a sentence until more of the question changes than what is removed."""
        self.problems = {**self.problems, parameter: problem}
        self.earlier_problems -= {parameter}

    def forget_problems(self) -> None:
        """Forgets what earlier runs of the page noted."""
        self.problems = {name: text for name, text in self.problems.items() if name not in self.earlier_problems}

    def widget(
        self,
        name: str,
        *,
        options: Collection[Any] | None = None,
        default: Any = None,
        then: Callable[[], None] | None = None,
        initial: Literal["value", "default"] = "value",
        listed: Collection[Any] | None = None,
        folded: bool = False,
    ) -> dict[str, Any]:
        """Return the arguments for the widget of a control, after it was given the control's value.

        A value that is not among `options` gives way to the default, with a sentence where an address or an export
        named it. `default` is what the value None stands for, a list where several may be chosen. `then` is called
        after a person's change.

        The widget gets the value a second time as what it shows at first, by its argument `initial`, or by its index
        among what is `listed`: a browser that did not draw the run before would draw it empty, and send that. While the
        popover of a `folded` one is closed, the browser takes no value and sends the one it had: a new one replaces it.
        """
        if options is not None:
            self.offer(name, options)
        value = getattr(self.controls, name)
        self.correct(name, value, _or_default(value, default))
        value = getattr(self.controls, name)
        shown = default if value is None else value
        shown = list(shown) if isinstance(shown, tuple) else shown
        before = value_of(self._key(name))
        if before == shown:
            self.replaced.pop(name, None)  # the browser has heard of the value
        elif folded and before is not None and not _same(before, shown):
            self.renewals[name] += 1
        elif before is not None:
            self.replaced[name] = before
        self.drawn[name] = shown
        put(key := self._key(name), shown)
        index = [*listed].index(shown) if listed is not None and shown in listed else None
        first: dict[str, Any] = {initial: shown} if listed is None else {"index": index}
        return {"key": key, "on_change": self._changed, "args": (name, key, default, then), **first}

    def _key(self, name: str) -> str:
        """Return the key of the control's present widget."""
        return f"{key_of(name)} {self.renewals[name]}" if self.renewals[name] else key_of(name)

    def offer(self, name: str, options: Collection[Any]) -> None:
        """Gives a control its default where its value is not among the options, with a sentence where an address or an
        export named it."""
        value, spec = getattr(self.controls, name), controls_of(type(self.controls))[name]
        chosen = value if isinstance(value, tuple) else (value,)
        kept = tuple(option for option in chosen if option in (None, *options))
        if wrong := [option for option in chosen if option not in kept]:
            self.correct(name, value, kept or default_of(self.controls, name))
            if name in self.unchecked:
                self.note_unavailable(spec, map(str, wrong))
        self.unchecked.discard(name)

    def _changed(self, name: str, key: str, default: Any, then: Callable[[], None] | None) -> None:
        """Takes what a person chose. What a timer's run brings with it is no choice: undone values would come back."""
        if streamlit_shims.is_of_other_fragment() or key != self._key(name) or self._is_repeated(name):
            return
        value = value_of(key)
        if value is None:
            value = default_of(self.controls, name)
        value = _or_default(tuple(value) if isinstance(value, list) else value, default)
        self.unchecked.discard(name)
        self.change(**{name: controls_of(type(self.controls))[name].codec.clean(value)})
        if then is not None:
            then()

    def _is_repeated(self, name: str) -> bool:
        """Return whether the browser, with what a person has changed elsewhere, only sent what it showed before: it had
        not heard yet of the value that the page gave the widget meanwhile."""
        if name not in self.replaced or value_of(self._key(name)) != self.replaced[name]:
            return False
        others = (other for other in self.drawn if other != name)
        return any(value_of(self._key(other)) not in (None, self.drawn[other]) for other in others)


def _or_default(value: Any, default: Any) -> Any:
    """Return None for the value, or for the same values, that stand there unless a person chooses."""
    return None if default is not None and _same(value, default) else value


def _same(value: Any, other: Any) -> bool:
    """Return whether two values are equal; of several names the order does not count."""
    several = isinstance(value, list | tuple) and isinstance(other, list | tuple)
    return set(value) == set(other) if several else bool(value == other)


def carried(codec: Codec, address: str, noun: str = "", *, undo: bool, download: bool) -> dict[str, Control]:
    """Return the metadata of the field of a control; without a `noun` it is called as its parameter."""
    return {"control": Control(codec, address, undo, download, noun or address)}


@cache
def controls_of(kind: "type[DataclassInstance]") -> dict[str, Control]:
    """Return the declarations of a page's controls by name."""
    return {field.name: field.metadata["control"] for field in fields(kind)}


def default_of(controls: "DataclassInstance", name: str) -> Any:
    """Return the value of a control before anybody has chosen."""
    return next(field.default for field in fields(controls) if field.name == name)


def key_of(name: str) -> str:
    """Return the key of a control's widget: "guess first" for `guess_first`, "class" for `class_`."""
    return name.strip("_").replace("_", " ")


def encoded(controls: "DataclassInstance") -> dict[str, list[str]]:
    """Return the texts of every parameter of the address; none for a control that has its default."""
    return {
        spec.address: [] if getattr(controls, name) == default_of(controls, name) else spec.codec.encode(value)
        for name, spec in controls_of(type(controls)).items()
        if spec.address
        for value in [getattr(controls, name)]
    }


def without_first_model(controls: Controls) -> Controls:
    """Return the controls without the name of the model with which a session begins."""
    return replace(controls, model="") if getattr(controls, "model", None) == first_model() else controls


def undoable(controls: "DataclassInstance") -> dict[str, Any]:
    """Return the values that Undo brings back, by name."""
    return {name: getattr(controls, name) for name, spec in controls_of(type(controls)).items() if spec.undo}


def changes(before: "DataclassInstance", after: "DataclassInstance") -> set[str]:
    """Return the names of the values that Undo brings back and that differ."""
    return {name for name, value in undoable(after).items() if getattr(before, name) != value}


def noun_of(controls: "DataclassInstance", name: str) -> str:
    """Return what a control is called in a sentence."""
    return controls_of(type(controls))[name].noun


def described(controls: "DataclassInstance") -> dict[str, Any]:
    """Return the values that a download names, by the key of the control."""
    named = [name for name, spec in controls_of(type(controls)).items() if spec.download]
    return {key_of(name): getattr(controls, name) for name in named}


def write_address(parameters: Mapping[str, list[str]]) -> None:
    """Writes all that differs at once: each time the browser is told of an address, it adds a step to its history."""
    changed = {name: texts for name, texts in parameters.items() if texts != st.query_params.get_all(name)}
    if len(changed) == 1 and not all(changed.values()):
        del st.query_params[next(iter(changed))]
    elif changed:
        st.query_params.update(changed)  # an empty list is left out


NOT_CARRIED = Codec(lambda _: [], lambda _: None)
TEXT = Codec(lambda text: [text], lambda texts: texts[-1])
MODEL_NAME = Codec(TEXT.encode, TEXT.decode, str.strip)
FLAG = Codec(lambda flag: [str(flag).lower()], lambda texts: {"true": True, "false": False}[texts[-1].lower()])
NAMES = Codec(lambda names: list(names) or [""], lambda texts: tuple(filter(None, texts)))  # empty: none of them


def whole_number(least: int, most: int, besides: int | None = None) -> Codec:
    """Return the codec of a number between two bounds, or of the one that is allowed `besides`."""

    def decode(texts: list[str]) -> int:
        number = int(texts[-1])
        if not least <= number <= most and number != besides:
            raise ValueError(number)
        return number

    return Codec(lambda number: [str(number)], decode)


def one_of(titles: Mapping[Any, str]) -> Codec:
    """Return the codec of a choice among values, which stand in the address by their titles."""
    by_title = {title: value for value, title in titles.items()}
    return Codec(lambda value: [titles[value]], lambda texts: by_title[texts[-1]])


def held(kind: type[Held]) -> Held:
    """Return the object of this class that the session holds, made on first use."""
    if kind.__name__ not in st.session_state:
        st.session_state[kind.__name__] = kind()
    result: Held = st.session_state[kind.__name__]
    return result


def put(key: str, value: Any) -> None:
    """Gives a widget its value before it is drawn. What already shows it is left alone, with what is being typed."""
    if key not in st.session_state or st.session_state[key] != value:
        st.session_state[key] = value


def value_of(key: str) -> Any:
    """Return what a widget or component shows or has sent; None where it is not drawn."""
    return st.session_state.get(key)


def sent_by(key: str, name: str) -> Any:
    """Return what the component with this key has sent under the name; None where it has not."""
    return (value_of(key) or {}).get(name)


def visit() -> Visit:
    return held(Visit)


def note_page() -> None:
    """Called once per run, before the page."""
    visit().page_before, visit().page = visit().page, streamlit_shims.page_hash()


def came_from_another_page() -> bool:
    """Return whether the last run of a page in this session was of another one."""
    return visit().page_before != visit().page


@st.cache_resource(show_spinner=False)
def model_pool() -> ModelPool:
    """Return the models of all sessions. Loads the libraries and the first model as soon as the first page is drawn."""
    pool = ModelPool()
    for name in bundle_names()[:1]:
        pool.warm_up(name, after=DRAWN)
    return pool
