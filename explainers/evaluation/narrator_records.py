"""A record per input of an evaluation of narrators: its texts and classes, the given reasons, and the sentences."""

from collections.abc import Mapping, Sequence
from typing import Any

from explainers.datasets.example import Example
from explainers.evaluation.narrators import NarratorRun


def input_text(example: Example) -> str:
    """All words of an example."""
    return " ".join(filter(None, (example.text, example.pair)))


def record_text(record: Mapping[str, Any]) -> str:
    """All words of the input of a record."""
    return " ".join(filter(None, (record["text"], record["pair"])))


def item_records(
    inputs: Sequence[Example], predicted: Sequence[int], runs: dict[str, list[NarratorRun]], labels: Sequence[str]
) -> list[dict[str, Any]]:
    """Per input: its texts, true and predicted class, human reasons, and the first seed's sentence of each narrator."""
    return [
        {
            "text": example.text,
            "pair": example.pair,
            "pictured": example.image is not None,
            "label": labels[example.label or 0],
            "predicted": labels[predicted[number]],
            "people": list(example.explanations),
            **{method: mine[0].sentences[number] for method, mine in runs.items()},
            **_checks_of(number, runs),
        }
        for number, example in enumerate(inputs)
    ]


def _checks_of(number: int, runs: dict[str, list[NarratorRun]]) -> dict[str, dict[str, bool | None]]:
    """By narrator, whether its reason for this input is true, and on topic; empty where that was not checked."""
    first = {method: mine[0] for method, mine in runs.items()}
    checks = {
        "true": {method: run.truths[number] for method, run in first.items() if run.truths},
        "on_topic": {method: run.topics[number] for method, run in first.items() if run.topics},
    }
    return {name: by_narrator for name, by_narrator in checks.items() if by_narrator}
