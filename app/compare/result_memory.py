"""Results that are remembered for all sessions, within bounds; and the model's answers about the last inputs."""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from threading import Lock

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

RESULTS_KEPT = 1000
IMAGES_KEPT = 200 * 2**20  # bytes of the images of remembered results
ANSWERS_KEPT = 8  # inputs


@dataclass(eq=False)
class ResultMemory:
    """The keys of results begin with (model version, model name, request)."""

    results: OrderedDict[Hashable, object] = field(default_factory=OrderedDict)
    answers: dict[Hashable, dict[bytes, Floats]] = field(default_factory=dict)
    changing: Lock = field(default_factory=Lock)

    def recall(self, key: Hashable) -> object | None:
        with self.changing:
            if key in self.results:
                self.results.move_to_end(key)
            return self.results.get(key)

    def remember(self, key: Hashable, value: object) -> None:
        with self.changing:
            self.results[key] = value
            while len(self.results) > RESULTS_KEPT or self._image_bytes() > IMAGES_KEPT:
                self.results.popitem(last=False)

    def answers_about(self, key: Hashable) -> dict[bytes, Floats]:
        """Those that are known about an input, to be added to. The model itself is not kept."""
        with self.changing:
            others = [each for each in self.answers if each != key]
            for old in others[: max(0, len(others) + 1 - ANSWERS_KEPT)]:
                del self.answers[old]
            return self.answers.setdefault(key, {})

    def _image_bytes(self) -> int:
        """Of the different images about which something is remembered."""
        images = (key[0][2].example.image for key in self.results)  # type: ignore[index]
        return sum({id(image): len(image.content) for image in images if image is not None}.values())
