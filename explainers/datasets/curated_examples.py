"""The examples that come with the embedded models (assets/examples.json), and some of them for SmolLM2."""

import json
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from explainers.datasets.example import Evidence, Example, InputImage
from explainers.installation import ASSETS

EXAMPLES, IMAGES = ASSETS / "examples.json", ASSETS / "images"


@dataclass(frozen=True)
class CuratedExample:
    """A text, a pair of texts, or a text with an `image` (its file's name), for one model; the same title is the same
    input, also for another model.

    `explanations` are reasons that people or the generator gave, `label` is the number of the correct class of that
    model where it is known, `why` says what the example shows.
    """

    model: str
    title: str
    text: str
    pair: str | None = None
    explanations: tuple[str, ...] = ()
    image: str = ""
    evidence: Evidence | None = None
    label: int | None = None
    why: str = ""

    @property
    def texts(self) -> tuple[str, str]:
        """The second one is empty where there is none."""
        return self.text, self.pair or ""


@cache
def curated_examples() -> tuple[CuratedExample, ...]:
    return tuple(_parsed(values) for values in json.loads(EXAMPLES.read_text(encoding="utf-8")))


def _parsed(values: dict[str, Any]) -> CuratedExample:
    spans = values.get("evidence")
    evidence = spans and Evidence(*(tuple(map(tuple, spans[name])) for name in ("words", "boxes")))
    return CuratedExample(**{**values, "explanations": tuple(values.get("explanations", ())), "evidence": evidence})


@lru_cache(maxsize=64)
def example_of(curated: CuratedExample) -> Example:
    image = InputImage((IMAGES / curated.image).read_bytes()) if curated.image else None
    return Example(
        curated.text,
        curated.pair,
        label=curated.label,
        explanations=curated.explanations,
        image=image,
        evidence=curated.evidence,
    )
