"""The metrics under the other erasure operators, remembered by method: another choice of methods asks little."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock

from app.compare.result_memory import ResultMemory
from explainers.methods.registry import method_spec
from explainers.models.inputs.encoding import MULTIMODAL_ERASURES, Erasure
from explainers.results.operator_check import OperatorCheck

Values = Mapping[str, float]  # by metric
Known = tuple[Mapping[str, tuple[float, ...]], Mapping[Hashable, Values]]  # of the random orders, and by key

NOTING = Lock()  # two runs about one input may end at once


@dataclass(frozen=True)
class OperatorMemory:
    """`question` is the key of an input, `keys` are those of its methods with their weights."""

    memory: ResultMemory
    question: Hashable
    keys: Mapping[str, Hashable]

    def recall(self, stored: Sequence[OperatorCheck] = ()) -> tuple[OperatorCheck, ...]:
        """A check per operator that was tried, of the methods in `keys` that are known; first those that are stored."""
        remembered = [self._recall(erasure, stored) for erasure in MULTIMODAL_ERASURES]
        return tuple(check for check in remembered if check.random)

    def note(self, event: object) -> None:
        """Remembers a check, together with what is known of methods that it does not contain. What is given is left
        out: there would be a new key for each."""
        if isinstance(event, OperatorCheck) and not event.failure:
            named = {
                method: metrics for method, metrics in event.metrics.items() if method_spec(method).group != "Given"
            }
            new = {self.keys[method]: metrics for method, metrics in named.items()}
            with NOTING:
                known = self._known(event.erasure)[1]
                self.memory.remember(self._key(event.erasure), (event.random, {**known, **new}))

    def _recall(self, erasure: Erasure, stored: Sequence[OperatorCheck]) -> OperatorCheck:
        random, by_key = self._known(erasure)
        metrics = {method: by_key[key] for method, key in self.keys.items() if key in by_key}
        for check in (each for each in stored if each.erasure == erasure):
            metrics = {**metrics, **check.metrics}
            random = random or check.random
        return OperatorCheck(erasure, metrics, random)

    def _known(self, erasure: Erasure) -> Known:
        remembered = self.memory.recall(self._key(erasure))
        return remembered if isinstance(remembered, tuple) else ({}, {})

    def _key(self, erasure: Erasure) -> Hashable:
        return self.question, "other operators", erasure
