"""Items that come with a model: its examples, its pairs, or what its generator draws."""

from dataclasses import replace

from explainers.annotations.records import Item, Marked, Span
from explainers.datasets.curated_examples import curated_examples, example_of
from explainers.datasets.example import Example
from explainers.datasets.pair_sets import shipped_pairs
from explainers.models import tasks

EXAMPLES, PAIRS, GENERATED = "Its examples", "Its pairs", "Generated examples"
MOST_GENERATED = 500


def sources(model: str, generator_noun: str) -> tuple[str, ...]:
    """What a model offers."""
    offered = {
        EXAMPLES: any(each.model == model for each in curated_examples()),
        PAIRS: bool(shipped_pairs(model)),
        GENERATED: bool(generator_noun),
    }
    return tuple(name for name, there in offered.items() if there)


def embedded_items(model: str, source: str, labels: tuple[str, ...], noun: str = "", count: int = 0) -> list[Item]:
    """The items of a source; `count` of generated ones."""
    if source == PAIRS:
        return [Item(f"pair {number}", example) for number, example in enumerate(shipped_pairs(model), start=1)]
    if source == GENERATED:
        names = [f"{noun} {number}" for number in range(1, count + 1)]
        return [_item(name, tasks.generated_example(name), labels) for name in names]
    return [_item(each.title, example_of(each), labels) for each in curated_examples() if each.model == model]


def _item(name: str, example: Example, labels: tuple[str, ...]) -> Item:
    """With the evidence that is known as its rationale."""
    known = example.evidence
    rationale = (Marked(tuple(Span(*span) for span in known.words), (), known.boxes),) if known is not None else None
    label = labels[example.label] if example.label is not None and example.label < len(labels) else ""
    return Item(name, replace(example, evidence=None), rationale, label)
