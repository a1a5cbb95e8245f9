"""The examples that a model's box offers: those that come with it, and those of its generator."""

import re
from functools import lru_cache

from explainers.datasets.curated_examples import CuratedExample, curated_examples, example_of
from explainers.datasets.example import Example
from explainers.models import tasks
from explainers.models.bundle_cards import bundle_names, generator_noun

__all__ = ["CuratedExample", "curated_examples", "example_of"]

OWN_TEXT = "your own text"
GENERATED = re.compile(r"(\w+) ([0-9]{1,6})")  # the name of a generated example: noun and seed


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
