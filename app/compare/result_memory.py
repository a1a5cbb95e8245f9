"""Results that are remembered for all sessions, within bounds; and the models' answers about the last inputs."""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from threading import Lock

from explainers.models.answer_pool import AnswerPool

RESULTS_KEPT = 1000
IMAGES_KEPT = 200 * 2**20  # bytes of the images of remembered results


@dataclass(eq=False)
class ResultMemory:
    """The keys of results begin with (model version, model name, request)."""

    results: OrderedDict[Hashable, object] = field(default_factory=OrderedDict)
    pool: AnswerPool = field(default_factory=AnswerPool)
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

    def _image_bytes(self) -> int:
        """Of the different images about which something is remembered."""
        images = (key[0][2].example.image for key in self.results)  # type: ignore[index]
        return sum({id(image): len(image.content) for image in images if image is not None}.values())
