"""The Methods page about explanations in words: what every narrator is, and its metrics, from the registry."""

from functools import partial
from typing import Any

import streamlit as st

from app import plain_text
from app.reference.methods import DIFFERENCES, describe, folded
from explainers.methods import narrator_specs
from explainers.methods.narrator_specs import NARRATORS, NarratorSpec
from explainers.models.bundle_cards import BUNDLES, bundle_names
from explainers.report import narrator_overview, narrator_tables

NOTE = (
    "Each example is put into words five times; the majority decides which class was stated. Agreement and CCMR are F1 "
    "over the sentences that state a class, so the share that does stands beside them. BLEU and the other text metrics "
    "say how similar the sentences are to people's, not how true. ± is half of the 95 % bootstrap interval over "
    "examples."
)


def cards() -> None:
    st.header("In words", anchor=False)
    st.write(
        "Narrators generate a sentence instead of scoring words. They were trained to do so, and the sentence can "
        "sound right and be wrong."
    )
    tables = {model: tables[0]["rows"] for model, tables in _tables().items()}
    st.dataframe(narrator_overview.overview_cells(tables), hide_index=True, height="content")
    plain_text.bullets(narrator_overview.advice(tables))
    for spec in NARRATORS:
        folded(spec, partial(_about, spec))


def _about(spec: NarratorSpec) -> None:
    describe(spec)
    plain_text.caption(f"A generated sentence. {spec.source}")


def metric() -> None:
    """Draw the metric of narrators whose protocol differs from the published one."""
    with st.expander(narrator_specs.NAME):
        plain_text.paragraph(narrator_specs.MEANING)
        st.write(DIFFERENCES)
        plain_text.bullets(narrator_specs.DEVIATIONS)


def evaluations() -> None:
    """Draw the tables of the embedded models' narrators, as the command below each of them wrote them."""
    for model, tables in _tables().items():
        for number, table in enumerate(tables):
            _evaluation(model, table, further=number > 0)


def _evaluation(model: str, table: dict[str, Any], *, further: bool) -> None:
    which = f": {narrator_overview.names_of(table['rows'])}" if further else ""
    st.header(f"In words, on {table['data']['pairs']:,} held-out examples of {model}{which}", anchor=False)
    for cells in (
        narrator_tables.narrator_cells(table["rows"]),
        *narrator_tables.sentence_cells(table["rows"], table.get("baselines", ())),
    ):
        st.dataframe(cells, hide_index=True, height="content")
    plain_text.bullets(narrator_tables.gain_lines(table["rows"]))
    judged = f"Reasons are judged on {narrator_overview.judged_reasons(table['data']):,} examples."
    plain_text.caption(" ".join([NOTE, judged, *narrator_overview.notes(table["rows"])]))
    _tournament(table.get("tournament", {}))
    st.code(table["command"], "sh", wrap_lines=True)


def _tables() -> dict[str, list[dict[str, Any]]]:
    """Return the stored evaluations by model."""
    tables = {model: narrator_overview.stored_evaluations(BUNDLES / model / "narrative") for model in bundle_names()}
    return {model: found for model, found in tables.items() if found}


def _tournament(tournament: dict[str, Any]) -> None:
    """Draw the tournament; nothing for an evaluation without one."""
    tables = narrator_tables.tournament_tables(tournament)
    if tables:
        st.subheader(narrator_tables.TITLE, anchor=False)
        plain_text.caption(narrator_tables.tournament_note(tournament))
    for title, cells in tables.items():
        plain_text.paragraph(title)
        st.dataframe(cells, hide_index=True, height="content")
