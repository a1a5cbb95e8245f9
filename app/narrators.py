"""In words: what every narrator is, and its figures, from the registry; the Methods page has no text of its own."""

import json

import streamlit as st

from app.handbook import described
from app.safe import markdown
from explainers.models.cards import BUNDLES, bundled
from explainers.narrative.entries import NARRATORS
from explainers.narrative.report import cells, gains

EVALUATION = "narrative/evaluation.json"
NOTE = (
    "Every example is put into words five times; a vote says which class was stated. Agreement and CCMR are F1 over "
    "the sentences that state a class, so the share that does stands beside them. BLEU and the other figures of the "
    "words say how people-like the sentences are, not how true. ± is half of the 95 % bootstrap interval over examples."
)


def cards() -> None:
    st.header("In words", anchor=False)
    st.write(
        "Narrators say a sentence instead of scoring words. They were trained to, and the sentence is generated: it "
        "can sound right and be wrong."
    )
    for entry in NARRATORS:
        with st.expander(entry.name):
            described(entry)
            st.caption(f"A generated sentence. {markdown(entry.source)}")


def evaluated() -> None:
    """The tables of the embedded models' narrators, as the command beside them wrote them."""
    for model in bundled():
        path = BUNDLES / model / EVALUATION
        if path.is_file():
            found = json.loads(path.read_text(encoding="utf-8"))
            st.header(f"In words, on {found['data']['pairs']:,} held-out examples of {model}", anchor=False)
            st.dataframe(cells(found["rows"]), hide_index=True, height="content")
            st.write("\n".join(f"- {markdown(each)}" for each in gains(found["rows"])))
            st.caption(markdown(NOTE))
            st.code(found["command"], "sh", wrap_lines=True)
