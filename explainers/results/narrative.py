"""What a narrator answers with; readable without torch."""

from dataclasses import dataclass


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
