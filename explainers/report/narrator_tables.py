"""The evaluation of the narrators as tables, and their sentences on unselected items as a page."""

from collections.abc import Mapping, Sequence
from typing import Any

from explainers.methods.narrator_specs import NARRATORS, narrator_spec
from explainers.models.inputs.requirements import display_input_names
from explainers.report.markdown_table import markdown_table
from explainers.report.sentence_tables import row_name, sentence_markdown, with_interval
from explainers.report.text import UNDEFINED

Row = dict[str, Any]
TRUTHS = {True: "yes", False: "no", None: "cannot be told"}
LABELS = ("entailment", "neutral", "contradiction")
IMAGE_FOLDER = "examples"  # of the page's images
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


GAINS = (
    ("composite", "composite"),
    ("agreement", "agreement F1"),
    ("reason_right", "right reasons"),
    ("own_minus_other", "own words minus another input's"),
)


def narrator_cells(rows: Sequence[Row]) -> list[dict[str, str]]:
    """A dictionary per narrator: means with half of the 95 % interval, then the metrics of the sentences."""
    return [
        {
            "method": narrator_spec(row["method"]).name,
            **{title: with_interval(row[name]) if name in row else UNDEFINED for name, title in COLUMNS},
            **text_cells(row),
        }
        for row in rows
    ]


def text_cells(row: Row) -> dict[str, str]:
    """The metrics of all sentences together, by title; earlier evaluations lack some."""
    return {
        title: UNDEFINED if row[name] is None else f"{row[name]:.{1 if name == 'words' else 3}f}"
        for name, title in TEXTS
        if name in row
    }


def narrator_markdown(rows: Sequence[Row], baselines: Sequence[Row] = ()) -> str:
    """All tables for model card and terminal, and the gains over the first narrator, which come last.

    `baselines` stand below the narrators in the tables of sentences.
    """
    cells = narrator_cells(rows)
    titles = _complete(TEXTS, cells)
    classes = markdown_table([{name: line[name] for name in ("method", *(t for _, t in COLUMNS))} for line in cells])
    compared = [*cells, *({"method": row_name(row), **text_cells(row)} for row in baselines)]
    texts = markdown_table([{name: line[name] for name in ("method", *titles)} for line in compared])
    return "\n\n".join([classes, texts, *sentence_markdown(rows, baselines), "\n".join(gain_lines(rows))])


def _complete(columns: Sequence[tuple[str, str]], cells: Sequence[dict[str, str]]) -> list[str]:
    """The titles of the columns that every line has."""
    return [title for _, title in columns if all(title in line for line in cells)]


def gain_lines(rows: Sequence[Row]) -> list[str]:
    """Metrics of each narrator minus those of the first one and of its controls, with paired intervals."""
    first = rows[0]["method"]
    reached = rows[0]["constraint_met"]["mean"]
    lines = []
    for row in rows[1:]:
        lines.append(_gain_line(row["method"], first, {name: row.get(f"{name}_gain") for name, _ in GAINS}))
        others = row.get("controls", {}).items()  # an earlier evaluation has none
        lines += [_gain_line(row["method"], other, gains) for other, gains in others if other != first]
    return [*lines, f"The counterfactual class was reached for {reached:.1%} of the items; CCMR is over these."]


def _gain_line(method: str, other: str, gains: Mapping[str, Any]) -> str:
    figures = (
        f"{title} {gain['mean']:+.3f} [{gain['low']:+.3f}, {gain['high']:+.3f}]"
        for name, title in GAINS
        if (gain := gains.get(name))
    )
    return f"{narrator_spec(method).name} against {narrator_spec(other).name}: " + ", ".join(figures)


def examples_page(
    rows: Sequence[Row],
    command: str,
    input_names: Sequence[str],
    labels: Sequence[str] = LABELS,
    reasons: str = "People",
) -> str:
    """Markdown: per item the model's class, the input, and each narrator's sentence with the class that it states.

    `reasons` says who gave the reasons of the data set.
    """
    methods = [name for name in rows[0] if name in NARRATORS.ids] if rows else []
    parts = [
        "# What the narrators say",
        f"The first {len(rows)} items of the shuffled test part (seed 0), none left out. The sentences are generated "
        "freely and are not edited. The stated class is in bold where it is not the model's.",
        f"`{command}`",
    ]
    for number, row in enumerate(rows, start=1):
        parts += [f"## {number}. {class_title(row)}", *input_parts(number, row, input_names)]
        parts.append(markdown_table([example_cells(method, row, labels) for method in methods]))
        parts.append(f"{reasons}: {' · '.join(row['people'])}")
    return "\n\n".join(parts) + "\n"


def class_title(row: Row) -> str:
    """The model's class, and that of the data where it is another."""
    other = "" if row["predicted"] == row["label"] else f" (the data say {row['label']})"
    return f"{row['predicted']}{other}"


def input_parts(number: int, row: Row, input_names: Sequence[str]) -> list[str]:
    """The texts of an input and its image, which has the input's number, from 1."""
    texts = [text for text in (row["text"], row["pair"]) if text]
    names = display_input_names(input_names, len(texts))
    image = [f"![the image]({IMAGE_FOLDER}/{number}.png)"] if row["pictured"] else []
    return image + [f"{name or 'Text'}: {text}" for name, text in zip(names, texts, strict=True)]


def example_cells(method: str, row: Row, labels: Sequence[str]) -> dict[str, str]:
    """A narrator's sentence about an input, and what is known of it; a class that is not the model's is bold."""
    from explainers.narrative.sentences import stated_class  # brings torch, which the tables do not need

    stated = stated_class(row[method], labels)
    name = "none" if stated is None else labels[stated]
    return {
        "narrator": narrator_spec(method).name,
        "states": name if name == row["predicted"] else f"**{name}**",
        **({"reason true": TRUTHS[row["true"][method]]} if "true" in row else {}),
        **({"on topic": TRUTHS[row["on_topic"][method]]} if "on_topic" in row else {}),
        "sentence": row[method],
    }
