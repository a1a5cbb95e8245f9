"""The narrators' figures as a table, and what they say of unselected items as a page."""

from collections.abc import Sequence
from typing import Any

from explainers.models.asking import text_names
from explainers.narrative.entries import narrator

Row = dict[str, Any]
LABELS = ("entailment", "neutral", "contradiction")
PICTURES = "examples"  # the folder of the page's pictures
COLUMNS = (
    ("agreement", "agreement F1 ↑"),
    ("states_class", "states a class ↑"),
    ("ccmr", "CCMR ↑"),
    ("ccmr_states_class", "of counterfactuals, states a class ↑"),
    ("composite", "composite ↑"),
    ("ccmr_c2", "CCMR read by C2 ↑"),
)
TEXTS = (
    ("true_reason", "a given reason, word for word ↑"),
    ("bleu_1", "BLEU-1 ↑"),
    ("bleu_4", "BLEU-4 ↑"),
    ("distinct_1", "distinct-1 ↑"),
    ("distinct_2", "distinct-2 ↑"),
    ("copied", "copied ↓"),
    ("mentioned", "words of the input"),
    ("simulatability", "simulatability without class names ↑"),
    ("words", "words"),
)


def cells(rows: Sequence[Row]) -> list[dict[str, str]]:
    """A dictionary per narrator: means with half of the 95 % interval, then the figures of the sentences."""
    found = []
    for row in rows:
        line = {"method": narrator(row["method"]).name}
        line |= {title: with_interval(row[name]) if name in row else "–" for name, title in COLUMNS}
        line |= {
            title: "–" if row[name] is None else f"{row[name]:.{1 if name == 'words' else 3}f}"
            for name, title in TEXTS
            if name in row  # a later figure is not in earlier evaluations
        }
        found.append(line)
    return found


def with_interval(value: dict[str, float]) -> str:
    return f"{value['mean']:.3f} ± {(value['high'] - value['low']) / 2:.3f}"


def markdown(rows: Sequence[Row]) -> str:
    """Both tables for README and terminal, and the gains over the first narrator."""
    ready = cells(rows)
    return "\n\n".join(
        [
            _table([{name: line[name] for name in ("method", *(title for _, title in COLUMNS))} for line in ready]),
            _table([{name: line[name] for name in ("method", *titles(TEXTS, ready))} for line in ready]),
            "\n".join(gains(rows)),
        ]
    )


def titles(columns: Sequence[tuple[str, str]], ready: Sequence[dict[str, str]]) -> list[str]:
    """Those that every line has."""
    return [title for _, title in columns if all(title in line for line in ready)]


def gains(rows: Sequence[Row]) -> list[str]:
    """Composite and agreement of each narrator against the first one, with paired intervals."""
    first = narrator(rows[0]["method"]).name
    met = rows[0]["constraint_met"]["mean"]
    lines = [
        f"{narrator(row['method']).name} against {first}: "
        + ", ".join(
            f"{title} {row[name]['mean']:+.3f} [{row[name]['low']:+.3f}, {row[name]['high']:+.3f}]"
            for name, title in (("composite_gain", "composite"), ("agreement_gain", "agreement F1"))
        )
        for row in rows[1:]
    ]
    return [*lines, f"The counterfactual class was reached for {met:.1%} of the items; CCMR is over these."]


def examples_page(
    shown: Sequence[Row], command: str, asks: Sequence[str], labels: Sequence[str] = LABELS, reasons: str = "People"
) -> str:
    """Unselected items with the model's class, the class each sentence states, and the sentence.

    `reasons` says whose the given ones are.
    """
    methods = [name for name in shown[0] if name.startswith("cause")] if shown else []
    parts = [
        "# What the narrators say",
        f"The first {len(shown)} items of the shuffled test part (seed 0), none left out. The sentences are generated "
        "from the model's state alone and are not edited. The stated class is in bold where it is not the model's.",
        f"`{command}`",
    ]
    for number, row in enumerate(shown, start=1):
        parts.append(
            f"## {number}. {row['predicted']}"
            + ("" if row["predicted"] == row["label"] else f" (the data say {row['label']})")
        )
        if row["pictured"]:
            parts.append(f"![the picture]({PICTURES}/{number}.png)")
        texts = [each for each in (row["text"], row["pair"]) if each]
        names = text_names(asks, len(texts))
        parts += [f"{name or 'Text'}: {text}" for name, text in zip(names, texts, strict=True)]
        parts.append(_table([_said(method, row, labels) for method in methods]))
        parts.append(f"{reasons}: {' · '.join(row['people'])}")
    return "\n\n".join(parts) + "\n"


def _said(method: str, row: Row, labels: Sequence[str]) -> dict[str, str]:
    from explainers.narrative.texts import stated  # brings torch, which the tables do not need

    found = stated(row[method], labels)
    named = "none" if found is None else labels[found]
    return {
        "narrator": narrator(method).name,
        "states": named if named == row["predicted"] else f"**{named}**",
        "sentence": row[method],
    }


def _table(lines: Sequence[dict[str, str]]) -> str:
    head = list(lines[0]) if lines else []
    cells = [[value.replace("|", "\\|") for value in line.values()] for line in lines]
    ready = [f"| {' | '.join(row)} |" for row in cells]
    return "\n".join([f"| {' | '.join(head)} |", "|" + "---|" * len(head), *ready])
