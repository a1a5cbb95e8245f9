"""The tournament of narrators as tables: points from word overlap with an attribution, beside chance."""

from collections.abc import Mapping
from typing import Any

from explainers.methods.narrator_specs import narrator_spec
from explainers.methods.registry import method_spec
from explainers.report.markdown_table import markdown_table
from explainers.report.sentence_tables import with_bounds, with_interval
from explainers.report.text import join_names, sampled

Table = Mapping[str, Any]
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
    """By title the lines of each table; none for an evaluation without a tournament."""
    return {_title(table): _cells(table) for table in tournament.get("tables", ())}


def tournament_parts(tournament: Mapping[str, Any]) -> list[str]:
    """Markdown for model card and terminal: each title and table, and what they are; empty without a tournament."""
    tables = tournament_tables(tournament).items()
    parts = [part for title, cells in tables for part in (f"{title}:", markdown_table(cells))]
    return [tournament_note(tournament), *parts] if parts else []


def _title(table: Table) -> str:
    """Such as "Judged by LIME, among φ, φ + TS and CAuSE (all equal on 40% of the inputs)"."""
    names = [narrator_spec(row["method"]).name for row in table["rows"]]
    which = join_names(names) if table["narrators"] == "paper" else f"all {len(names)} narrators"
    return (
        f"Judged by {method_spec(table['judge']).name}, among {which} (all equal on {table['tied']:.0%} of the inputs)"
    )


def _cells(table: Table) -> list[dict[str, str]]:
    most = len(table["rows"]) - 1
    return [
        {
            "method": narrator_spec(row["method"]).name,
            f"points, 0 to {most} ↑": with_interval(row["points"]),
            "by chance": with_interval(row["chance"]),
            "above chance ↑": with_bounds(row["above_chance"]),
            "F1 with the top words ↑": with_interval(row["overlap"]),
        }
        for row in table["rows"]
    ]
