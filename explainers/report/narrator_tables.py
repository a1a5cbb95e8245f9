"""The evaluation of narrators as tables: classes, sentences, reasons, and the tournament; and pages of sentences.

Below the narrators stand what they are compared with: random training sentences and the given reasons. An earlier
evaluation lacks some columns, which are then left out.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from explainers.methods.narrator_specs import NARRATORS, narrator_spec
from explainers.methods.registry import method_spec
from explainers.models.inputs.requirements import display_input_names
from explainers.report.tables import Table, TableColumn, bounds, key_column, plus_minus
from explainers.report.wording import join_names, sampled

Row = Mapping[str, Any]
RIGHT = "reason_right"
MEAN, SIGNED = plus_minus(), bounds(sign="+")
TRUTH = (
    ("reason_true", "reason true of the input ↑"),
    ("reason_on_topic", "on topic ↑"),
    (RIGHT, "right: true and on topic ↑"),
    ("reason_undecided", "cannot be told"),
    ("reason_true_of_other", "control: true of another input"),
)
MEANING = (
    ("own_words", "content words in its own input"),
    ("other_words", "in another input of its class"),
    ("own_minus_other", "difference ↑"),
    ("picked_of_ten", "picks its input of ten ↑"),
    ("copies_input", "longest run of words from its input ↓"),
    ("distinct_per_100", "different sentences per 100 ↑"),
)
SCORES = (
    ("bertscore_precision", "BERTScore with MiniLM: precision ↑"),
    ("bertscore_recall", "recall ↑"),
    ("bertscore_f1", "F1 ↑"),
)
USE = (
    ("names_words", "names words of the input"),
    ("word_effect", "p falls further without these than without random words ↑"),
    ("content_word_effect", "than without random content words ↑"),
)
READER = (
    ("c2_agreement", "agreement F1 of C2 ↑"),
    ("ccmr_c2", "CCMR read by C2 ↑"),
    ("reader_directions", "directions of F(c)"),
    ("reader_followed", "hidden exchanges that C2 follows ↑"),
)
EFFECTS = ("word_effect", "content_word_effect")


def row_name(row: Row) -> str:
    """The name of a narrator, or of what narrators are compared with."""
    return str(row["name"]) if "name" in row else narrator_spec(row["method"]).name


NAME: TableColumn[Row] = TableColumn("method", row_name)


def sentence_markdown(rows: Sequence[Row], baselines: Sequence[Row] = ()) -> list[str]:
    """The tables of which there are metrics."""
    return [table.markdown(lines) for table, lines in _sentence_tables(rows, baselines)]


def sentence_cells(rows: Sequence[Row], baselines: Sequence[Row] = ()) -> list[list[dict[str, str]]]:
    """The same tables, each as a dictionary per row."""
    return [table.cells(lines) for table, lines in _sentence_tables(rows, baselines)]


def truth_markdown(rows: Sequence[Row], baselines: Sequence[Row] = ()) -> str:
    """How often the reasons are true, on topic and right, also by class; empty where that was not checked."""
    every, columns = [*rows, *baselines], truth_columns(rows)
    return _table(columns).markdown(every) if _measured(every, columns) else ""


def truth_columns(rows: Sequence[Row]) -> list[tuple[str, str]]:
    classes = dict.fromkeys(name for row in rows for name in row if _of_class(name))
    return [*TRUTH[:3], *((name, f"right: {name.removeprefix(f'{RIGHT}_')}") for name in classes), *TRUTH[3:]]


def _of_class(name: str) -> bool:
    return name.startswith(f"{RIGHT}_") and not name.endswith("_gain")


def _sentence_tables(rows: Sequence[Row], baselines: Sequence[Row]) -> list[tuple[Table[Row], list[Row]]]:
    """Each table with its rows, without those of which no row has a value."""
    every, readers = [*rows, *baselines], [row for row in rows if "reader_directions" in row]
    tables = [(columns, every) for columns in (truth_columns(rows), MEANING, SCORES, USE)] + [(READER, readers)]
    return [(_table(columns), lines) for columns, lines in tables if _measured(lines, columns)]


def _measured(rows: Sequence[Row], columns: Sequence[tuple[str, str]]) -> bool:
    return any(row.get(name) is not None for row in rows for name, _ in columns)


def _table(columns: Sequence[tuple[str, str]]) -> Table[Row]:
    """A table of metrics by id and title; those that no row has are left out."""
    return Table((NAME, *(key_column(name, title, _written(name), optional=True) for name, title in columns)))


def _written(name: str) -> Callable[[Any], str]:
    """Whole sets have a number, single sentences a mean with its interval; that of an effect has a sign."""
    places = 3 if name == "reader_followed" else 1
    of_sentences = SIGNED if name in EFFECTS else MEAN
    return lambda value: of_sentences(value) if isinstance(value, Mapping) else f"{value:.{places}f}"


NARRATOR: TableColumn[str] = TableColumn("narrator", lambda method: narrator_spec(method).name)
CHECKS = (("true", "reason true"), ("on_topic", "on topic"))
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
CLASSES: Table[Row] = Table((NAME, *(key_column(name, title, MEAN) for name, title in COLUMNS)))
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
    return Table((*CLASSES.columns, *text_columns(rows))).cells(rows)


def text_columns(rows: Sequence[Row]) -> list[TableColumn[Row]]:
    """The metrics of all sentences together that every row has."""
    return [
        key_column(name, title, ".1f" if name == "words" else ".3f")
        for name, title in TEXTS
        if all(name in row for row in rows)
    ]


def narrator_markdown(rows: Sequence[Row], baselines: Sequence[Row] = ()) -> str:
    """All tables for model card and terminal, and the gains over the first narrator, which come last.

    `baselines` stand below the narrators in the tables of sentences.
    """
    every = [*rows, *baselines]
    texts = Table((NAME, *text_columns(every))).markdown(every)
    gains = "\n".join(gain_lines(rows))
    return "\n\n".join([CLASSES.markdown(rows), texts, *sentence_markdown(rows, baselines), gains])


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
    figures = (f"{title} {SIGNED(gain)}" for name, title in GAINS if (gain := gains.get(name)))
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
        parts.append(example_table(row, labels).markdown(methods))
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


def example_table(row: Row, labels: Sequence[str]) -> Table[str]:
    """Narrators' sentences about an input, by method id, and what is known of each."""

    def checked(name: str, header: str) -> TableColumn[str]:
        return TableColumn(header, lambda method: TRUTHS[row[name][method]])

    return Table(
        (
            NARRATOR,
            TableColumn("states", lambda method: stated_name(method, row, labels)),
            *(checked(name, header) for name, header in CHECKS if name in row),
            TableColumn("sentence", row.__getitem__),
        )
    )


def stated_name(method: str, row: Row, labels: Sequence[str]) -> str:
    """The class that the narrator's sentence states; bold where it is not the model's."""
    from explainers.narrative.sentences import stated_class  # brings torch, which the tables do not need

    number = stated_class(row[method], labels)
    name = "none" if number is None else labels[number]
    return name if name == row["predicted"] else f"**{name}**"


TITLE = "Tournament, judged by word overlap"
NOTE = (
    "A stand-in for the paper's tournament (Table 7). There a large multimodal language model ranks the sentences, "
    "given the model's class and its LIME attribution; no such judge is small and repeatable enough to be part of "
    "this project. Here, on {inputs} inputs, a sentence is ranked by F1 between the words of the input that it "
    "mentions and the top 20 % of the input's words by {judges} for the model's class ({sampled}, operator "
    "{erasure}). Naming many words lowers F1, unless they are top words. Of k narrators the best for an input gets k "
    "- 1 points and the worst 0; equal ones share the mean. Chance is what the narrator would get if each sentence "
    "mentioned as many random content words, against the same rivals. This judge sees neither the image, nor whether "
    "a sentence makes sense, nor the class that it states. ± is half of the 95 % bootstrap interval over inputs; "
    "brackets hold the paired interval."
)


def tournament_note(tournament: Mapping[str, Any]) -> str:
    judges = join_names(list(dict.fromkeys(method_spec(table["judge"]).name for table in tournament["tables"])))
    settings = tournament["settings"]
    return NOTE.format(
        inputs=f"{tournament['inputs']:,}",
        judges=judges,
        sampled=sampled(settings["samples"]),
        erasure=settings["erasure"],
    )


def tournament_tables(tournament: Mapping[str, Any]) -> dict[str, list[dict[str, str]]]:
    """Map each title to the lines of its table; none for an evaluation without a tournament."""
    return {_title(points): _points_table(points).cells(points["rows"]) for points in tournament.get("tables", ())}


def tournament_parts(tournament: Mapping[str, Any]) -> list[str]:
    """Markdown for model card and terminal: each title and table, and what they are; empty without a tournament."""
    tables = tournament.get("tables", ())
    parts = [part for table in tables for part in (f"{_title(table)}:", _points_table(table).markdown(table["rows"]))]
    return [tournament_note(tournament), *parts] if parts else []


def _title(table: Row) -> str:
    """Such as "Judged by LIME, among φ, φ + TS and CAuSE (all equal on 40% of the inputs)"."""
    names = [narrator_spec(row["method"]).name for row in table["rows"]]
    which = join_names(names) if table["narrators"] == "paper" else f"all {len(names)} narrators"
    return (
        f"Judged by {method_spec(table['judge']).name}, among {which} (all equal on {table['tied']:.0%} of the inputs)"
    )


def _points_table(table: Row) -> Table[Row]:
    return Table(
        (
            NAME,
            key_column("points", f"points, 0 to {len(table['rows']) - 1} ↑", MEAN),
            key_column("chance", "by chance", MEAN),
            key_column("above_chance", "above chance ↑", SIGNED),
            key_column("overlap", "F1 with the top words ↑", MEAN),
        )
    )
