"""The part of a model card about fitted weights: a table for the methods that learn, one for the narrators."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from explainers.methods.narrator_specs import NARRATORS
from explainers.methods.registry import METHODS
from explainers.metrics import agreement, faithfulness
from explainers.report.tables import Table, TableColumn, key_column, markdown_table

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
    names = {metric.id: metric.name for metric in faithfulness.METRICS} | {agreement.ID: agreement.NAME}
    measured = {id: name for id, name in names.items() if any(id in card["validation"] for card in everything)}
    yield _fitted_table(measured).markdown(everything)
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


def _fitted_table(metrics: Mapping[str, str]) -> Table[Mapping[str, Any]]:
    """A row per set of weights, with the validation metrics whose ids and names are given."""

    def validation(metric: str) -> TableColumn[Mapping[str, Any]]:
        return TableColumn(f"{metrics[metric]}, validation", lambda card: card["validation"].get(metric), ".3f")

    return Table(
        (
            TableColumn("weights", _variant),
            *map(validation, metrics),
            TableColumn("steps", _steps),
            key_column("parameters", written=","),
            SECONDS,
            TableColumn("warnings", lambda card: " ".join(card["warnings"]) or None),
        )
    )


def _variant(card: Mapping[str, Any]) -> str:
    default = card["variant"] == METHODS.get(card["method"]).default_variant
    return f"`{_id(card)}`" + (" (default)" if default else "")


def _steps(card: Mapping[str, Any]) -> str | None:
    """After how many the weights were kept, and of which seed where there are several."""
    if "steps" not in card:
        return None
    text = f"{card['steps']['kept']:,} of {card['steps']['all']:,}"
    return f"{text}, the best of {len(card['seeds'])} seeds" if "seeds" in card else text


SECONDS: TableColumn[Mapping[str, Any]] = TableColumn(
    "seconds", lambda card: card.get("seconds", {}).get("all"), ",.0f"
)


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
        "seconds": SECONDS.cell(card),
    }


def _settings(cards: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The settings that all have in common, and a row with the others and the command for each set of weights."""
    shared = {
        name: value
        for name, value in cards[0]["recipe"].items()
        if name not in NOT_SETTINGS and all(card["recipe"].get(name) == value for card in cards)
    }
    yield f"Settings: {_listed(shared)}."

    def others(card: Mapping[str, Any]) -> str | None:
        own = {name: value for name, value in card["recipe"].items() if name not in (*shared, *NOT_SETTINGS)}
        return _listed(own) if own else None

    table: Table[Mapping[str, Any]] = Table(
        (
            TableColumn("weights", lambda card: f"`{_id(card)}`"),
            TableColumn("other settings", others, undefined="", optional=True),
            TableColumn("command", lambda card: f"`{card['command']}`"),
        )
    )
    yield table.markdown(cards)


def _listed(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"`{name}={value}`" for name, value in settings.items())
