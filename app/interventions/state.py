"""All that a session holds of the Interventions page: one typed object, `InterventionsState`."""

from dataclasses import dataclass, field

from app.interventions.inputs import OwnImages
from app.session import NOT_CARRIED, TEXT, PageState, came_from_another_page, carried, held, whole_number

RANDOM, TYPED = "20 % at random", "typed"
FIRST, LAST = 101, 999_000  # with which a generated set begins, and may begin
OF_A_FILE = tuple(f"{key}_{name}" for key in ("base", "source") for name in ("own", "file", "file_text"))
SETS, DRAWS = (0, LAST), (0, 9999)


@dataclass(frozen=True)
class InterventionsControls:
    """Every control of the page; None: what the page shows until a person chooses, which depends on model and set."""

    asked: str = field(default="", metadata=carried(TEXT, "model", undo=False, download=False))  # by a Compare address
    speaker: str | None = field(default=None, metadata=carried(TEXT, "speaker", undo=False, download=False))
    set_: str | None = field(default=None, metadata=carried(TEXT, "set", undo=False, download=False))
    set_from: int = field(default=FIRST, metadata=carried(whole_number(*SETS), "set from", undo=False, download=False))
    base: str | None = field(default=None, metadata=carried(TEXT, "base", undo=False, download=False))
    source: str | None = field(default=None, metadata=carried(TEXT, "source", undo=False, download=False))
    base_image: str | None = field(default=None, metadata=carried(TEXT, "base image", undo=False, download=False))
    source_image: str | None = field(default=None, metadata=carried(TEXT, "source image", undo=False, download=False))
    narrator: str | None = field(default=None, metadata=carried(TEXT, "narrator", undo=False, download=False))
    layer: str | None = field(default=None, metadata=carried(TEXT, "layer", undo=False, download=False))
    which: str = field(default=RANDOM, metadata=carried(TEXT, "which", undo=False, download=False))
    neurons: str = field(default="0-15, 40", metadata=carried(TEXT, "neurons", undo=False, download=False))
    draw: int | None = field(default=None, metadata=carried(whole_number(*DRAWS), "draw", undo=False, download=False))

    # A person's own examples, and what is typed in place of an example of the set, stay out of the address.
    base_own: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    source_own: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    base_premise: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    base_hypothesis: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    base_text: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    source_premise: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    source_hypothesis: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    source_text: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    base_file: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    source_file: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    base_file_text: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    source_file_text: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    first_column: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    second_column: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    base_number: int | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    source_number: int | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))


@dataclass
class InterventionsState(PageState[InterventionsControls]):
    controls: InterventionsControls = field(default_factory=InterventionsControls)
    own_file: str = ""  # the id of the file whose examples are chosen among
    own_images: OwnImages | None = None  # of that file, where it holds images

    def begin(self) -> None:
        """Called first in a run of the page: a model that an address asked for gives way to one chosen elsewhere."""
        if came_from_another_page():
            self.change(asked="")
        super().begin()

    def give(self, file: str) -> None:
        """Note from which file own examples are chosen. Another one, or none (""), drops what was chosen or typed for
        the one before; only the columns stay, where the next file has them too."""
        if file != self.own_file:
            self.own_file, self.own_images = file, None
            self.change(**{name: None for name in OF_A_FILE})


def interventions_state() -> InterventionsState:
    """Return what the session holds of the Interventions page."""
    return held(InterventionsState)
