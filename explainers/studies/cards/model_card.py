"""The model card of a bundle as Markdown, generated from the JSON files that the commands wrote.

card.json                  what the model is, its data, recipe and accuracy     (train-model)
evaluation.json            faithfulness metrics and known evidence              (evaluation)
published_metrics.json     the papers' own metrics                              (published-metrics)
consistency.json           whether similar inputs are explained alike           (consistency)
simulatability.json        whether explanations help a student                  (simulatability)
plausibility.json          agreement with people's rationales                   (plausibility)
tuning.json                the search for AML's λ                              (tune)
learned/*.json             weights of the methods that learn                    (fit)
narrative/evaluation.json  agreement, CCMR and the like                         (narratives)
narrative/*.json           weights of the narrators                             (fit)
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from explainers.methods.registry import METHODS
from explainers.models.bundle_cards import BUNDLES, bundle_names, input_names_of, read_card
from explainers.report import evaluation_tables, narrator_overview, quantities
from explainers.report.tables import Table, TableColumn, as_percent, command_block, key_column, markdown_table
from explainers.studies import criteria, plausibility, published_metrics, tuning
from explainers.studies.cards.weights import learned_weights, narrator_weights

METHOD, ERASURE = "ivra", "mask"
COLUMNS = {"sim": "SIM, accuracy ↑", "comp": "AOPC-C ↑", "suff": "AOPC-S ↓", "cons": "CONS ↑"}
LOWER_IS_BETTER = ("suff",)
CRITERIA_NOTE = (
    "In brackets the relative gain over weights of the same norm that were trained for the column's criterion alone "
    f"(cf. Xie et al., 2024, Fig. 5). AOPC-C and AOPC-S are those of the operator `{ERASURE}`. "
    "The columns were measured on different numbers of inputs, as the sections above say."
)


def criteria_section(folder: Path) -> Iterator[str]:
    """What IvRA's weights for one or several criteria reach in each (Xie et al., Fig. 5); nothing where weights or
    measurements for several criteria are missing."""
    recipes = _recipes(folder / "learned")
    measured = _measured(folder)
    rows = {
        (recipe["criterion"], recipe["norm"]): measured[id]
        for id, recipe in recipes.items()
        if set(measured.get(id, ())) == set(COLUMNS)
    }
    if len({criterion for criterion, _ in rows}) < 2:
        return
    yield "## Criteria against each other"
    yield _criteria_table(rows).markdown(rows)
    yield CRITERIA_NOTE


def _criteria_table(rows: Mapping[tuple[str, str], Mapping[str, float]]) -> Table[tuple[str, str]]:
    """A row for each criterion (several are joined by "+") and norm that weights were trained for."""

    def reached(column: str) -> TableColumn[tuple[str, str]]:
        def cell(trained: tuple[str, str]) -> str:
            criterion, norm = trained
            return _with_gain(rows[trained][column], column, rows.get((column, norm)) if column != criterion else None)

        return TableColumn(COLUMNS[column], cell)

    trained_for: TableColumn[tuple[str, str]] = TableColumn(
        "trained for", lambda row: ", ".join((*row[0].split("+"), row[1]))
    )
    return Table((trained_for, *map(reached, COLUMNS)))


def _with_gain(value: float, criterion: str, alone: Mapping[str, float] | None) -> str:
    """A value with its relative gain over weights that were trained for the criterion alone."""
    if alone is None or alone[criterion] <= 0:
        return f"{value:.3f}"
    gain = value / alone[criterion] - 1
    percent = f"{100 * (-gain if criterion in LOWER_IS_BETTER else gain):+.0f}"
    return f"{value:.3f} ({'0' if percent in ('+0', '-0') else percent} %)"


def _recipes(folder: Path) -> dict[str, Mapping[str, Any]]:
    """Recipes by method id, without the baseline that weighs heads only."""
    cards = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob(f"{METHOD}-*.json"))]
    default = METHODS.get(METHOD).default_variant
    ids = [METHOD if card["variant"] == default else f"{METHOD}:{card['variant']}" for card in cards]
    return {id: card["recipe"] for id, card in zip(ids, cards, strict=True) if not card["recipe"]["smat"]}


def _measured(folder: Path) -> dict[str, dict[str, float]]:
    """Map each method id to the criteria that were measured."""
    values: dict[str, dict[str, float]] = {}
    for row in _rows(folder / evaluation_tables.EVALUATION):
        if row["erasure"] == ERASURE:
            values.setdefault(row["method"], {}).update(comp=row["aopc_c"]["mean"], suff=row["aopc_s"]["mean"])
    for row in _rows(folder / quantities.CONSISTENCY):
        if "cons" in row:
            values.setdefault(row["method"], {})["cons"] = row["cons"]["mean"]
    for row in _rows(folder / quantities.SIMULATABILITY):
        if "accuracy" in row:
            values.setdefault(row["method"], {})["sim"] = row["accuracy"]
    return values


def _rows(path: Path) -> list[dict[str, Any]]:
    return list(json.loads(path.read_text(encoding="utf-8"))["rows"]) if path.is_file() else []


MODEL_CARD = "README.md"  # in a bundle's folder
SPLITS = {
    "train": "training",
    "validation": "validation",
    "test": "test",
    "warm_up": "warm-up, in the first epoch",
    "explainer": "unlabelled, for the methods that learn",
    "nlvr": "NLVR",
}
NOT_SETTINGS = ("method", "full")  # in a recipe, beside the settings
EVIDENCE_NOTE = (
    "The generator of these inputs knows which units the answer follows from. AUC is the probability that a unit of "
    "the evidence scores higher than another unit of its kind; pointing, how often the highest score lies on evidence; "
    "IOU, the overlap of as many top units as there are evidence. Only inputs that the model classifies correctly "
    "count, and only those with evidence of that kind ({counts}). The row of random orders is their exact expectation."
)


def write_model_cards(bundles: Path = BUNDLES) -> tuple[Path, ...]:
    """Writes the card of every bundle. Returns the files that changed."""
    changed = differing_model_cards(bundles)
    for path in changed:
        path.write_text(model_card(path.parent), encoding="utf-8")
    return changed


def differing_model_cards(bundles: Path = BUNDLES) -> tuple[Path, ...]:
    """The cards on disk that are missing or differ from what the JSON files say."""
    paths = [bundles / name / MODEL_CARD for name in bundle_names(bundles)]
    return tuple(path for path in paths if not path.is_file() or path.read_text("utf-8") != model_card(path.parent))


def model_card(folder: Path) -> str:
    """The Markdown page of one bundle. Raises `ModelUnavailable` if its card.json is missing or damaged."""
    card = read_card(folder)
    parts = [
        f"# {card['name']}",
        "Generated by `python -m explainers study cards` from the JSON files in this folder; do not edit it. "
        f"[What the embedded models are](../../docs/models.md#{card['name']}).",
        *_identity(card),
        *_accuracy(card),
        *_training(card),
        "## Faithfulness",
        *_faithfulness(folder / evaluation_tables.EVALUATION),
        *_published_metrics(folder / published_metrics.PUBLISHED_METRICS),
        *_consistency(folder / quantities.CONSISTENCY),
        *_simulatability(folder / quantities.SIMULATABILITY),
        *criteria_section(folder),
        *plausibility.plausibility_section(folder / plausibility.PLAUSIBILITY_FILE),
        *learned_weights(folder / "learned"),
        *tuning.tuning_section(folder / tuning.TUNING),
        *narrator_overview.narrator_evaluation(folder / "narrative"),
        *narrator_weights(folder / "narrative"),
    ]
    return "\n\n".join(parts) + "\n"


def _identity(card: dict[str, Any]) -> Iterator[str]:
    inputs = " and ".join((*input_names_of(card), *(["image"] if card.get("pictures") else [])))
    facts = {"inputs": inputs, "classes": ", ".join(card["labels"])}
    if "base" in card:
        base = card["base"]
        facts["encoder"] = f"{base['id']} ({base['licence']}), SHA-256 `{base['sha256']}`"
    if "on" in card:
        facts["trained from"] = f"[`{card['on']['name']}`](../{card['on']['name']}/{MODEL_CARD})"
    facts |= {"data": card["data"]["name"], "licence of the data": card["data"]["licence"]}
    yield markdown_table([{"": name, "value": value} for name, value in facts.items()])
    splits = {name: size for name, size in card["splits"].items() if name != "rule"}
    yield "## Splits"
    yield SIZES.markdown(_sizes(splits))
    yield _sentence(card["splits"]["rule"])


def _sizes(splits: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Every part with its size, in the order of `SPLITS`; a part with sizes of its own gives a row each."""
    for name in sorted(splits, key=lambda name: list(SPLITS).index(name) if name in SPLITS else len(SPLITS)):
        size = splits[name]
        if isinstance(size, Mapping):
            yield from ((f"{SPLITS.get(name, name)}: {part}", number) for part, number in size.items())
        elif size:
            yield SPLITS.get(name, name), size


def _accuracy(card: Mapping[str, Any]) -> Iterator[str]:
    yield "## Accuracy"
    loss, base = card.get("accuracy_loss", {}), card.get("on", {}).get("name")
    accuracy: Table[str] = Table(
        (
            TableColumn("split", str),
            TableColumn("inputs", card["splits"].__getitem__, ","),
            TableColumn("accuracy", card["accuracy"].__getitem__, as_percent),
            TableColumn(
                f"points below `{base}`", lambda split: 100 * loss[split] if loss else None, ".1f", optional=True
            ),
        )
    )
    yield accuracy.markdown(("test", "validation"))
    for part, kinds in card.get("per_kind", {}).items():
        yield f"### {_capitalised(part)}"
        yield KINDS.markdown({"kind": kind, **measured} for kind, measured in kinds.items())
    yield "Measured by the training command below, on the bundle as it is shipped."
    metrics = card.get("validation", {})
    if metrics:
        yield f"The method that was trained with the model, on validation inputs (`agreement`: same class as `{base}`):"
        yield markdown_table([{f"`{name}`": f"{value:.3f}" for name, value in metrics.items()}])


KINDS: Table[Mapping[str, Any]] = Table(
    (
        key_column("kind"),
        key_column("n", "inputs", ","),
        key_column("accuracy", written=as_percent),
        key_column("text only", "with the image erased", as_percent, optional=True),
    )
)
SIZES: Table[tuple[str, int]] = Table(
    (TableColumn("split", lambda row: row[0]), TableColumn("inputs", lambda row: row[1], ","))
)


def _training(card: Mapping[str, Any]) -> Iterator[str]:
    yield "## Training"
    yield command_block(card["command"])
    settings = {name: value for name, value in card["recipe"].items() if name not in NOT_SETTINGS}
    yield markdown_table([{"setting": f"`{name}`", "value": f"{value}"} for name, value in settings.items()])
    log = [
        {name: f"{value}" for name, value in row.items() if not isinstance(value, list)} for row in card.get("log", [])
    ]
    if log:
        yield markdown_table(log)


def _published_metrics(path: Path) -> Iterator[str]:
    if not path.is_file():
        return
    table = json.loads(path.read_text(encoding="utf-8"))
    yield "## The papers' own metrics"
    yield command_block(table["command"])
    data = table["data"]
    yield (
        f"{data['inputs']:,} inputs of the split `{data['split']}`, taken at random (seed {data['seed']}). Half the "
        "95 % bootstrap interval stands behind each mean. Metrics of one name differ between the papers."
    )
    yield published_metrics.published_markdown(table)


def _consistency(path: Path) -> Iterator[str]:
    if not path.is_file():
        return
    table = json.loads(path.read_text(encoding="utf-8"))
    yield "## Consistency"
    yield command_block(table["command"])
    data = table["data"]
    yield f"{data['inputs']:,} inputs of the split `{data['split']}`, taken at random (seed {data['seed']})."
    yield criteria.consistency_markdown(table)


def _simulatability(path: Path) -> Iterator[str]:
    if not path.is_file():
        return
    table = json.loads(path.read_text(encoding="utf-8"))
    shown, students = table["shown"], table["students"]
    yield "## Simulatability"
    yield command_block(table["command"])
    yield (
        f"{students} students learn from {shown} inputs each; {table['data']['inputs'] - shown * students:,} inputs of "
        f"the split `{table['data']['split']}` are held out (seed {table['data']['seed']})."
    )
    yield criteria.simulatability_markdown(table)


def _faithfulness(path: Path) -> Iterator[str]:
    if not path.is_file():
        yield "No evaluation of this model is stored here. This command measures one:"
        yield command_block(f"python -m explainers study evaluation --model {path.parent.name} --data DATA")
        return
    table = json.loads(path.read_text(encoding="utf-8"))
    rows, data = table["rows"], table["data"]
    erasures = tuple(dict.fromkeys(row["erasure"] for row in rows))
    yield command_block(table["command"])
    yield (
        f"{data['texts']:,} inputs of the split `{data['split']}`, taken at random (seed {data['seed']}). "
        f"{evaluation_tables.NOTE}"
    )
    if table.get("sensitive"):
        yield f"AvgSen was measured on {table['sensitive']} inputs."
    fewer = [row for row in rows if row["erasure"] == erasures[0] and row["texts"] < data["texts"]]
    if fewer:
        yield (
            "Measured on fewer inputs: "
            + ", ".join(f"{evaluation_tables.row_name(row['method'])} {row['texts']}" for row in fewer)
            + "."
        )
    for erasure in erasures:
        yield f"### Scored with the operator `{erasure}`"
        yield evaluation_tables.evaluation_markdown(rows, erasure)
    if evaluation_tables.evidence_cells(rows, erasures[0]):
        yield "### Known evidence"
        yield EVIDENCE_NOTE.format(counts=_evidence_counts(rows))
        yield evaluation_tables.evidence_markdown(rows, erasures[0])


def _evidence_counts(rows: Sequence[Mapping[str, Any]]) -> str:
    kinds = {"patches": "patch_auc", "words": "word_auc"}
    counts = {kind: max((row[name]["texts"] for row in rows if name in row), default=0) for kind, name in kinds.items()}
    return ", ".join(f"{count} for {kind}" for kind, count in counts.items())


def _sentence(text: str) -> str:
    return f"{_capitalised(text)}."


def _capitalised(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"
