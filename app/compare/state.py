"""All that a session holds of the Compare page: one typed object, `CompareState`.

Its controls are declared once, in `CompareControls`: widgets, address, Undo and downloads read the declaration. Texts
are in the address by the example's title or, where they are short, in full, an image by its name; of a long text and of
an uploaded image the address has a checksum, by which the server finds them (`kept_inputs`). The second text and the
image are kept also while a model is chosen that reads neither.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple
from uuid import uuid4

import streamlit as st

from app import model_pool, session
from app.compare import kept_inputs, runs
from app.compare.kept_inputs import IMAGE_NAME, TEXTS_NAME, AwaitedTexts
from app.compare.row_file import RowFile
from app.compare.stored_results import (
    GENERATED,
    OWN_TEXT,
    curated_examples,
    example_of,
    generated_example,
    is_generated,
    is_image_name,
    named,
    titles,
)
from app.session import FLAG, NAMES, NOT_CARRIED, TEXT, Codec, PageState, carried, held, one_of, sent_by, whole_number
from explainers.datasets.example import Example, InputImage
from explainers.errors import DataUnavailable
from explainers.metrics.agreement import AGREEMENTS
from explainers.report.colours import PRESETS
from explainers.report.display_images import display_image
from explainers.results.decision import UNTIL_SETTLED

PREDICTED, NO_OTHER = "the predicted one", "nothing"  # the class to explain, and the one that it is compared with
OWN_IMAGE = "your own picture"  # the name of an uploaded one
NOT_HERE = "The text is too long for this address, and the server no longer has it. Paste it, or its JSON export."
IMAGE_NOT_HERE = "The server no longer has the image of this address. Give the image again."
STEPS_KEPT, IMAGES_KEPT = 100, 40 * 2**20  # steps of Undo, and bytes of their images
NUMBER = re.compile(r"[0-9]{1,6}")  # of a unit; the address can hold anything
BOTH_KINDS, AUTO = "Both", "auto"
SAMPLES, STEPS, SEEDS = (UNTIL_SETTLED, 5000), (5, 500), (0, 9999)  # fewest and most
FEWEST_SAMPLES = 50  # where they are not drawn until settled
SAMPLE_COUNT = whole_number(FEWEST_SAMPLES, SAMPLES[1], besides=UNTIL_SETTLED)

BUDGETS = {5: "5 s", 20: "20 s", 60: "60 s", 0: "until done"}  # seconds for a comparison; 0: as many as it takes
DEFAULT_BUDGET = next((seconds for seconds in BUDGETS if str(seconds) == os.environ.get("CROSSLIGHT_BUDGET")), 20)
TEXTS = ("text", "pair")
UNITS = Codec(
    lambda units: [".".join(map(str, units))],
    lambda texts: tuple(int(number) for number in texts[-1].split(".") if NUMBER.fullmatch(number)),
)
FIRST, MATRIX = one_of({True: "first"}), one_of({"matrix": "matrix"})
BUDGET = one_of({seconds: str(seconds) if seconds else "none" for seconds in BUDGETS})
COLOURS = one_of({name: preset.title for name, preset in PRESETS.items()})
RESET: dict[str, Any] = {"removed": (), "opened": (), "sentences": 0}  # what refers to the units of one input
Chosen = tuple[str, ...] | None  # names; None: those that are chosen unless a person chooses


@dataclass(frozen=True)
class CompareControls:
    """Every control of the page, in the order of the address."""

    model: str = field(default="", metadata=carried(session.MODEL_NAME, "model", undo=True, download=True))
    example: str = field(default="", metadata=carried(TEXT, "example", undo=True, download=True))
    class_: str = field(default=PREDICTED, metadata=carried(TEXT, "class", undo=True, download=True))
    versus: str = field(default=NO_OTHER, metadata=carried(TEXT, "versus", "class", undo=True, download=True))
    text: str = field(default="", metadata=carried(TEXT, "text", undo=True, download=True))
    pair: str = field(default="", metadata=carried(TEXT, "pair", undo=True, download=True))
    picture: str = field(default="", metadata=carried(TEXT, "picture", undo=True, download=True))
    own_image: InputImage | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=True, download=False))
    removed: tuple[int, ...] = field(default=(), metadata=carried(UNITS, "removed", undo=True, download=True))

    gradient: Chosen = field(default=None, metadata=carried(NAMES, "gradient", "method", undo=True, download=True))
    perturbation: Chosen = field(
        default=None, metadata=carried(NAMES, "perturbation", "method", undo=True, download=True)
    )
    learned: Chosen = field(default=None, metadata=carried(NAMES, "learned", "method", undo=True, download=True))
    attention: Chosen = field(default=None, metadata=carried(NAMES, "attention", "method", undo=True, download=True))
    controls: Chosen = field(default=None, metadata=carried(NAMES, "controls", "method", undo=True, download=True))
    yours: Chosen = field(default=None, metadata=carried(NAMES, "yours", "method", undo=True, download=True))
    pairs: Chosen = field(default=None, metadata=carried(NAMES, "pairs", "method", undo=True, download=True))
    pictures: Chosen = field(default=None, metadata=carried(NAMES, "pictures", "method", undo=True, download=True))
    asked: Chosen = field(default=None, metadata=carried(NAMES, "asked", "method", undo=True, download=True))
    variants: tuple[str, ...] = field(
        default=(), metadata=carried(NAMES, "variants", "method", undo=True, download=True)
    )
    narrators: Chosen = field(default=None, metadata=carried(NAMES, "narrators", "narrator", undo=True, download=True))

    guess_first: bool = field(default=False, metadata=carried(FIRST, "guess", undo=True, download=True))
    unit: str = field(default=AUTO, metadata=carried(TEXT, "unit", undo=True, download=True))
    opened: tuple[int, ...] = field(default=(), metadata=carried(UNITS, "opened", undo=True, download=True))
    sentences: int = field(  # into which the text was cut when they got these numbers; 0: there are none
        default=0, metadata=carried(whole_number(0, 10**6), "sentences", undo=False, download=True)
    )
    erase: str | None = field(
        default=None, metadata=carried(TEXT, "erase", "erasure operator", undo=True, download=True)
    )
    budget: int = field(default=DEFAULT_BUDGET, metadata=carried(BUDGET, "budget", "time", undo=False, download=True))
    samples: int = field(default=UNTIL_SETTLED, metadata=carried(SAMPLE_COUNT, "samples", undo=True, download=True))
    steps: int = field(default=50, metadata=carried(whole_number(*STEPS), "steps", undo=True, download=True))
    seed: int = field(default=0, metadata=carried(whole_number(*SEEDS), "seed", undo=True, download=True))
    device: str = field(default=model_pool.SERVER_DEVICE, metadata=carried(TEXT, "device", undo=True, download=True))
    precision: str = field(default="float32", metadata=carried(TEXT, "precision", undo=True, download=True))

    top: int = field(default=20, metadata=carried(whole_number(0, 100), "top", "top share", undo=False, download=True))
    sort: str = field(default="evidence", metadata=carried(TEXT, "sort", "order", undo=False, download=True))
    colours: str = field(default="safe", metadata=carried(COLOURS, "colours", undo=False, download=True))
    scale: str = field(default="per method", metadata=carried(TEXT, "scale", undo=False, download=True))
    large: bool = field(default=False, metadata=carried(FLAG, "large", undo=False, download=True))
    separate: bool = field(default=False, metadata=carried(FLAG, "separate", undo=False, download=True))
    opacity: int = field(default=80, metadata=carried(whole_number(0, 100), "opacity", undo=False, download=True))
    evidence: bool = field(default=False, metadata=carried(FLAG, "evidence", undo=False, download=True))
    view: str = field(default="rows", metadata=carried(MATRIX, "view", undo=False, download=True))
    duel: str = field(default="", metadata=carried(TEXT, "duel", undo=False, download=True))
    beside_class: str = field(default="", metadata=carried(TEXT, "beside-class", "class", undo=False, download=True))
    beside: str = field(
        default="", metadata=carried(session.MODEL_NAME, "beside", "second model", undo=False, download=True)
    )
    erased: str = field(default=BOTH_KINDS, metadata=carried(TEXT, "erased", "erased units", undo=False, download=True))
    reverse: bool = field(default=False, metadata=carried(FLAG, "reverse", undo=False, download=True))
    agree: bool = field(default=False, metadata=carried(FLAG, "agree", undo=False, download=True))
    agreement: str = field(
        default=AGREEMENTS[0].name, metadata=carried(TEXT, "agreement", "measure", undo=False, download=True)
    )

    @property
    def texts(self) -> tuple[str, str]:
        return self.text, self.pair


@dataclass(frozen=True)
class Guess:
    """What a person marked before they saw an explanation. `marked` are unit numbers of the whole input, the most
    important first; `moment` is that of the last change.

    `id` tells the browser, without what the guess is about, that another one has begun."""

    about: tuple[str, Example, object]  # model, input, and into which units it is cut
    marked: tuple[int, ...] = ()
    moment: float = 0.0
    shown: bool = False  # whether the person has asked for the explanations
    id: str = field(default_factory=lambda: uuid4().hex)


class RowOrder(NamedTuple):
    """All methods, those shown in full at first, and by method its group in the answer without the units `removed`."""

    methods: tuple[str, ...]
    featured: frozenset[str]
    groups: Mapping[str, Mapping[str, str]]
    removed: tuple[int, ...]


@dataclass
class CompareState(PageState[CompareControls]):
    """The controls, the steps of Undo, and what the page shows."""

    controls: CompareControls = field(default_factory=CompareControls)
    steps: list[CompareControls] = field(default_factory=list)  # what the page was asked before
    present: CompareControls | None = None  # what it was asked when it was last drawn
    undone: bool = False  # a step was taken back, and the page was not drawn again
    taken_back: str = ""  # what Undo took back, until the page has said it
    asked: Example | None = None  # the input that is explained
    multimodal: bool = False  # whether the model reads images
    left_out: str = ""  # of what the address has only a name: nothing, "text", "picture" or "text and picture"
    awaited_texts: AwaitedTexts = field(default_factory=AwaitedTexts)
    run: runs.Run | None = None
    last_good_run: runs.Run | None = None
    beside_run: runs.Run | None = None  # of the second model
    row_order: tuple[object, RowOrder] | None = None  # for which question, and the order
    narrow: bool = False  # the page is as narrow as a phone
    last_click: object = None
    duel_boxes: object = None  # methods and pair of the boxes of the duel as the page filled them
    duel_folded: bool = False  # as decided for the input `duel_subject`
    duel_subject: tuple[str, Example] | None = None
    guess: Guess | None = None
    image_problem: str = ""
    images_uploaded: int = 0  # only another key empties an uploader
    last_generated: dict[str, int] = field(default_factory=dict)  # by noun
    row_file: RowFile | None = None
    row_files: int = 0  # so many were given
    row_files_removed: int = 0  # only another key empties an uploader

    def read_address(self, parameters: set[str]) -> None:
        before = self.controls.picture
        super().read_address(parameters)
        long = any(st.query_params.get(name) for name in (TEXTS_NAME, IMAGE_NAME))
        if not (parameters & {"example", *TEXTS, "picture"} or (parameters and long)):
            return
        model = self.controls.model
        fitting = (*titles(model), *titles(model, multimodal=True))  # whether it reads images may not be known yet
        self.offer("example", ("", *fitting))
        texts, own_image = self._own_texts(), self._own_image()
        own = texts is not None or own_image is not None
        title = OWN_TEXT if own else self.controls.example or titles(model)[0]
        image = self.controls.picture if is_image_name(self.controls.picture) else before
        if st.query_params.get(IMAGE_NAME):
            image = "" if own_image is None else OWN_IMAGE
            self.change(own_image=own_image)
        self.change(example=title, picture=image)
        curated = named(title)
        if curated is not None:
            self._set_inputs(curated.texts, curated.title if curated.image else "")
        else:
            self._set_inputs(texts or ("", ""), "")

    def _own_texts(self) -> tuple[str, str] | None:
        """Return those of the address, or those that are too long for it and kept here, by whichever session; None for
        an example. What the address says of the units of texts that are not here waits until they are pasted."""
        if any(st.query_params.get_all(name) for name in TEXTS):
            return self.controls.texts
        own = st.query_params.get(TEXTS_NAME, "")
        texts = kept_inputs.find_texts(own)
        if own and texts is None:
            self.note(TEXTS_NAME, NOT_HERE)
            self.awaited_texts.wait_for(own, {name: getattr(self.controls, name) for name in RESET})
            self.change(**RESET)
        return texts

    def _own_image(self) -> InputImage | None:
        """Return the image that the address has a name for; None for none, and for one that is no longer here."""
        name = st.query_params.get(IMAGE_NAME, "")
        image = kept_inputs.find_image(name)
        if name and image is None:
            self.note(IMAGE_NAME, IMAGE_NOT_HERE)
            self.change(**RESET)
        return image

    def ask(self, example: Example) -> None:
        """Called once in a run of the page, after its controls, with the input that is explained: a changed question is
        a new step of Undo, and the address follows."""
        self.asked = example
        before, self.present = self.present, self.controls
        if before is not None and (changed := session.changes(before, self.controls)):
            if changed - RESET.keys():  # words may be removed: a sentence above them that went would move them
                self.forget_problems()
            self.steps = bounded([*self.steps, before][-STEPS_KEPT:])
        self.finish()

    def address(self) -> dict[str, list[str]]:
        """Return the texts of every parameter: of an example its title alone, of long texts and of an image that was
        given their name."""
        if self.asked is None:
            return {}
        own, first = self.controls.example == OWN_TEXT, titles(self.controls.model, multimodal=self.multimodal)[0]
        texts = (self.asked.text, self.asked.pair or "") if own else ("", "")
        image = self.controls.picture if own and self.asked.image is not None else ""
        given = self.asked.image if image == OWN_IMAGE else None
        placed = kept_inputs.address_of(texts)
        missing = {"text": TEXTS_NAME in placed, "picture": given is not None}
        self.left_out = " and ".join(name for name, is_missing in missing.items() if is_missing)
        written = replace(
            session.without_first_model(self.controls),
            example="" if any(texts) or self.controls.example == first else self.controls.example,
            text=placed.get("text", ""),
            pair=placed.get("pair", ""),
            picture="" if image == OWN_IMAGE else image,
        )
        return {
            **session.encoded(written),
            TEXTS_NAME: [placed[TEXTS_NAME]] if TEXTS_NAME in placed else [],
            IMAGE_NAME: [] if given is None else [kept_inputs.remember_image(given)],
        }

    def undo(self) -> None:
        """Brings the last question back; called before the controls are drawn."""
        if self.steps:
            self.change(**session.undoable(self.steps.pop()))
            self.present, self.undone = self.controls, True

    def take_undone(self) -> bool:
        """Return whether a step was taken back since the last call: then the whole page must be drawn again."""
        undone, self.undone = self.undone, False
        return undone

    def example_chosen(self) -> None:
        """The example's texts and image replace the current ones; "your own text" leaves them."""
        curated = named(self.controls.example)
        if curated is not None:
            self._set_inputs(curated.texts, curated.title if curated.image else "")
            self.change(**RESET)

    def model_chosen(self, *, multimodal: bool = False) -> None:
        """An example of another model is replaced by the first one of this model; a text of one's own stays."""
        self.multimodal = multimodal
        offered = titles(self.controls.model, multimodal=multimodal)
        if self.controls.example not in offered:
            self.change(example=offered[0])
            self.example_chosen()

    def text_changed(self) -> None:
        self.image_problem = ""
        of_units = self.awaited_texts.pasted(self.controls.texts)
        self.unchecked |= of_units.keys()
        self.change(**RESET | of_units)
        curated = named(self.controls.example)
        if curated is None or curated.texts != self.controls.texts:
            self.change(example=OWN_TEXT)

    def own_texts(self, texts: tuple[str, str]) -> None:
        """Texts of a person's own replace the current ones; the image stays."""
        self._set_inputs(texts, "")
        self.change(example=OWN_TEXT, **RESET)

    def image_changed(self, name: str) -> None:
        """Another image replaces the current one; the text stays."""
        self.image_problem = ""
        self.change(picture=name, example=OWN_TEXT, **RESET)

    def take_image(self, content: bytes) -> None:
        """Makes this the image; if it is none, says why, and the previous one stays."""
        try:
            image = InputImage.uploaded(content)
            display_image(image)
        except DataUnavailable as error:
            self.image_problem = f"{error} The previous image stays." if self.controls.picture else str(error)
            return
        self.change(own_image=image)
        self.image_changed(OWN_IMAGE)

    def _set_inputs(self, texts: tuple[str, str], image: str) -> None:
        """With an empty `image` the current one stays, for another model."""
        self.image_problem = ""
        self.change(text=texts[0], pair=texts[1], picture=image or self.controls.picture)

    def image(self) -> InputImage | None:
        """Return the image that is explained."""
        name = self.controls.picture
        if name == OWN_IMAGE:
            return self.controls.own_image
        if is_generated(name):
            return generated_example(name).image
        curated = named(name)
        return example_of(curated).image if curated is not None else None

    def reference(self, example: Example) -> Example | None:
        """Return the curated or generated example with these inputs, with reasons and evidence; None for others."""
        name = self.controls.picture
        candidates = [generated_example(name)] if is_generated(name) else []
        candidates += [example_of(curated) for curated in curated_examples() if curated.text == example.text]
        inputs = example.text, example.pair, example.image
        return next((one for one in candidates if (one.text, one.pair, one.image) == inputs), None)

    def next_generated(self, noun: str) -> None:
        """The next generated image with its statement replaces image and text."""
        match = GENERATED.fullmatch(self.controls.picture) if is_generated(self.controls.picture) else None
        number = int(match[2]) if match else self.last_generated.get(noun, 0)
        self.last_generated[noun] = number + 1
        self.image_changed(f"{noun} {number + 1}")
        self.change(text=generated_example(f"{noun} {number + 1}").text)

    def restore_all(self) -> None:
        self.change(removed=())

    def unit_clicked(self) -> None:
        """Removes the unit that was clicked, or restores it. A click may be delivered twice, and counts once."""
        clicked = sent_by("sheet", "toggled")
        if clicked is not None and clicked != self.last_click:
            self.last_click = clicked
            self.change(removed=tuple(sorted(set(self.controls.removed) ^ {int(clicked["unit"])})))

    def resized(self) -> None:
        self.narrow = bool(sent_by("sheet", "narrow"))

    def view_chosen(self) -> None:
        self.change(view="matrix" if sent_by("sheet", "view") == "matrix" else "rows")

    def drop_unknown_units(self, units: int) -> None:
        """Drops what the address removes beyond the last unit of the input, with a sentence."""
        removed = self.controls.removed
        if any(number >= units for number in removed):
            self.change(removed=tuple(number for number in removed if number < units))
            self.present = self.controls  # no step of a person's: the sentence stays
            self.note("removed", f"The address removes units that do not exist: the input has {units}.")
            st.rerun(scope="app")


def compare_state() -> CompareState:
    """Return what the session holds of the Compare page."""
    return held(CompareState)


def bounded(steps: list[CompareControls]) -> list[CompareControls]:
    """Return the last steps, as far back as their different images fit into the memory of a session."""
    images: dict[int, int] = {}
    for number in range(len(steps) - 1, -1, -1):
        image = steps[number].own_image
        if image is not None:
            images[id(image)] = len(image.content)
        if sum(images.values()) > IMAGES_KEPT:
            return steps[number + 1 :]
    return steps
