"""Explanations in words: what every narrator is, and its metrics, from the registry."""

import json

import streamlit as st

from app import plain_text
from app.reference.methods import describe
from explainers.methods.narrator_specs import NARRATORS
from explainers.models.bundle_cards import BUNDLES, bundle_names
from explainers.report.narrator_tables import gain_lines, narrator_cells

EVALUATION = "narrative/evaluation.json"
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
    for spec in NARRATORS:
        with st.expander(spec.name):
            describe(spec)
            plain_text.caption(f"A generated sentence. {spec.source}")


def evaluations() -> None:
    """The tables of the embedded models' narrators, as the command below each of them wrote them."""
    for model in bundle_names():
        path = BUNDLES / model / EVALUATION
        if path.is_file():
            table = json.loads(path.read_text(encoding="utf-8"))
            st.header(f"In words, on {table['data']['pairs']:,} held-out examples of {model}", anchor=False)
            st.dataframe(narrator_cells(table["rows"]), hide_index=True, height="content")
            plain_text.bullets(gain_lines(table["rows"]))
            plain_text.caption(NOTE)
            st.code(table["command"], "sh", wrap_lines=True)
