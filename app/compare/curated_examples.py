"""The examples that come with the embedded models (assets/examples.json), and those of a model's generator."""

import json
import re
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from explainers.datasets.example import Evidence, Example
from explainers.datasets.image import InputImage
from explainers.models import tasks
from explainers.models.bundle_cards import bundle_names, generator_noun

ASSETS = Path(__file__).parents[2] / "assets"
EXAMPLES, IMAGES = ASSETS / "examples.json", ASSETS / "images"
OWN_TEXT = "your own text"
GENERATED = re.compile(r"(\w+) ([0-9]{1,6})")  # the name of a generated example: noun and seed


@dataclass(frozen=True)
class CuratedExample:
    """A text, a pair of texts, or a text with an `image` (its file's name), for an embedded model.

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


def named(title: str) -> CuratedExample | None:
    return next((example for example in curated_examples() if example.title == title), None)


def titles(model: str, *, multimodal: bool = False) -> list[str]:
    """The examples of a model, or of the one that it was made from; where it has none, all of its kind."""
    of_model = [each.title for each in curated_examples() if f"{model}-".startswith(f"{each.model}-")]
    of_kind = [each.title for each in curated_examples() if bool(each.image) is multimodal]
    return [*(of_model or of_kind), OWN_TEXT]


def generator_nouns() -> tuple[str, ...]:
    """What the generators of the embedded models call their examples."""
    return tuple(filter(None, map(generator_noun, bundle_names())))


def is_generated(name: str) -> bool:
    """Whether this is the name of a generated example, such as "scene 7"."""
    match = GENERATED.fullmatch(name)
    return match is not None and match[1] in generator_nouns()


@lru_cache(maxsize=64)
def generated_example(name: str) -> Example:
    """The generated image of this name with its statement."""
    return tasks.generated_example(name)


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
