"""The part of a model card about fitted weights: a table for the methods that learn, one for the narrators."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from explainers.methods.narrator_specs import NARRATORS
from explainers.methods.registry import METHODS
from explainers.metrics import consistency
from explainers.metrics.faithfulness import METRICS
from explainers.report.markdown_table import markdown_table

NOT_SETTINGS = ("method",)  # in a recipe, beside the settings that --set takes


def learned_weights(folder: Path) -> Iterator[str]:
    """The weights of the methods that learn; nothing where there are none."""
    cards = {method: _cards(folder, f"{method}-*.json") for method in METHODS.ids}
    cards = {method: fitted for method, fitted in cards.items() if fitted}
    if not cards:
        return
    yield "## Weights of the methods that learn"
    everything = [card for fitted in cards.values() for card in fitted]
    yield _texts(everything)
    names = {metric.id: metric.name for metric in METRICS} | {consistency.ID: consistency.NAME}
    measured = {id: name for id, name in names.items() if any(id in card["validation"] for card in everything)}
    yield markdown_table([_metrics(card, measured) for card in everything])
    yield from _time(everything)
    for method, fitted in cards.items():
        yield f"### {METHODS.get(method).name}"
        yield from _settings(fitted)


def narrator_weights(folder: Path) -> Iterator[str]:
    """The weights of the narrators; nothing where there are none."""
    cards = [card for narrator in NARRATORS.ids for card in _cards(folder, f"{narrator}.json")]
    if not cards:
        return
    yield "### Weights of the narrators"
    yield markdown_table([_narrator(card) for card in cards])
    yield from _settings(cards)


def _cards(folder: Path, pattern: str) -> list[dict[str, Any]]:
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob(pattern))]


def _id(card: Mapping[str, Any]) -> str:
    return f"{card['method']}:{card['variant']}" if "variant" in card else str(card["method"])


def _texts(cards: Sequence[Mapping[str, Any]]) -> str:
    learned_from, watched = (max(card["texts"][part] for card in cards) for part in ("learned from", "watched"))
    return (
        f"Fitted to {learned_from:,} unlabelled inputs; the validation metrics are those of {watched:,} other inputs "
        "under the mask operator. A method that is named without a variant takes its default."
    )


def _metrics(card: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, str]:
    """A row with the metrics whose ids and `names` are given."""
    spec, validation = METHODS.get(card["method"]), card["validation"]
    return {
        "weights": f"`{_id(card)}`" + (" (default)" if card["variant"] == spec.default_variant else ""),
        **{
            f"{name}, validation": f"{validation[metric]:.3f}" if metric in validation else "–"
            for metric, name in names.items()
        },
        "steps": _steps(card),
        "parameters": f"{card['parameters']:,}",
        "seconds": _seconds(card),
        "warnings": " ".join(card["alarms"]) or "–",
    }


def _steps(card: Mapping[str, Any]) -> str:
    """After how many the weights were kept, and of which seed where there are several."""
    if "steps" not in card:
        return "–"
    text = f"{card['steps']['kept']:,} of {card['steps']['all']:,}"
    return f"{text}, the best of {len(card['seeds'])} seeds" if "seeds" in card else text


def _seconds(card: Mapping[str, Any]) -> str:
    return f"{card['seconds']['all']:,.0f}" if "seconds" in card else "–"


def _time(cards: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    timed = [card for card in cards if "seconds" in card]
    if timed:
        machines = sorted({f"{card['machine']['device']}, {_threads(card)}" for card in timed})
        total = sum(card["seconds"]["all"] for card in timed)
        yield f"Seconds include the validation ({'; '.join(machines)}). Their sum is {total:,.0f}."


def _threads(card: Mapping[str, Any]) -> str:
    count = card["machine"]["threads"]
    return "1 thread" if count == 1 else f"{count} threads"


def _narrator(card: Mapping[str, Any]) -> dict[str, str]:
    return {
        "weights": f"`{_id(card)}`",
        **{name: f"{count:,}" for name, count in card["items"].items()},
        **{f"{name}, validation": f"{value:.3f}" for name, value in card["validation"].items()},
        "parameters": f"{card['parameters']:,}",
        "seconds": _seconds(card),
    }


def _settings(cards: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The settings that all have in common, and a row with the others and the command for each set of weights."""
    shared = {
        name: value
        for name, value in cards[0]["recipe"].items()
        if name not in NOT_SETTINGS and all(card["recipe"].get(name) == value for card in cards)
    }
    yield f"Settings: {_listed(shared)}."
    others = [
        {name: value for name, value in card["recipe"].items() if name not in (*shared, *NOT_SETTINGS)}
        for card in cards
    ]
    yield markdown_table(
        [
            {"weights": f"`{_id(card)}`"}
            | ({"other settings": _listed(other)} if any(others) else {})
            | {"command": f"`{card['command']}`"}
            for card, other in zip(cards, others, strict=True)
        ]
    )


def _listed(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"`{name}={value}`" for name, value in settings.items())
