"""What a narrator answers with; readable without torch."""

from dataclasses import dataclass

NO_WORD = "it names no word of the input"


@dataclass(frozen=True)
class Narrative:
    """A generated sentence. `stated` is the class it names, None if it names none.

    `read` are C2's probabilities, read from what φ is about to say; empty where the training has no C2. `mentions` are
    numbers of units whose word, or another form of it, stands in the sentence; derived, not part of the paper.
    """

    method: str
    text: str
    stated: int | None
    read: tuple[float, ...]
    mentions: tuple[int, ...]
    seconds: float


@dataclass(frozen=True)
class NarrativeCheck:
    """What was checked about the narrative of `method`.

    `true` tells whether its reason is true of the input, None where no checker knows; `true_note` says why. `used`
    tells whether the probability of the stated class falls further without the words that the sentence mentions than
    without any other set of as many (`random_removed`), None where `use_note` says why not. `full` and `removed` are
    that probability with all units and without the mentioned words, None where nothing was erased. `chance` is how
    likely the reason holds, by a regression on readings; None where that is not known.
    """

    method: str
    true: bool | None = None
    true_note: str = ""
    used: bool | None = None
    use_note: str = ""
    full: float | None = None
    removed: float | None = None
    random_removed: tuple[float, ...] = ()
    chance: float | None = None
