"""What every method and figure means, from the registries: the page has no text of its own about them."""

import json
from typing import Any

import streamlit as st

from app import learned
from app.engine import Engine
from app.safe import markdown
from explainers.entry import Entry
from explainers.methods import METHODS
from explainers.metrics.faithfulness import METRICS
from explainers.models.cards import BUNDLES, bundled
from explainers.narrative.entries import NarratorEntry
from explainers.report.evaluation import EVALUATION, NOTE, cells, evidence_cells, name_of


def title() -> None:
    st.title("Methods and figures", anchor=False)
    st.write(
        "No explanation is the truth about a model. Each answers its own question; "
        "here is which, and when its answer should not be believed."
    )


def methods(engine: Engine) -> None:
    for group in dict.fromkeys(entry.group for entry in METHODS):
        st.header(group, anchor=False)
        for entry in (each for each in METHODS if each.group == group):
            with st.expander(entry.name):
                described(entry)
                if entry.group == "Learned":
                    learned.weights(engine, entry.id)
                st.caption(f"{'Signed' if entry.signed else 'Unsigned'} scores, {entry.kind}. {markdown(entry.source)}")


def described(entry: Entry | NarratorEntry) -> None:
    """What an expander says of a method or a narrator."""
    st.write(markdown(entry.idea))
    st.latex(entry.formula)
    st.write(f"**When not to believe it.** {markdown(entry.caution)}")
    if entry.differs:
        st.write("**Where the paper, its code and this differ.**")
        st.write("\n".join(f"- {markdown(each)}" for each in entry.differs))


def metrics() -> None:
    st.header("Figures", anchor=False)
    for metric in METRICS:
        better = "higher" if metric.higher_is_better else "lower"
        st.write(f"**{metric.name}** ({better} is better). {markdown(metric.meaning)}")
    st.caption(
        "The figures erase words and ask the model again. A text with holes can be unlike everything the model was "
        "trained on, so a fall of the probability may come from the hole and not from the missing word. Compare with "
        "the random orders, and try another way of erasing."
    )


def evaluated() -> None:
    """The tables of the embedded models, as the command beside them wrote them."""
    for model in bundled():
        path = BUNDLES / model / EVALUATION
        if path.is_file():
            found = json.loads(path.read_text(encoding="utf-8"))
            st.header(f"On {found['data']['texts']} held-out texts of {model}", anchor=False)
            erasures = list(dict.fromkeys(row["erasure"] for row in found["rows"]))
            erasure = st.segmented_control("Erased by", erasures, default=erasures[0], required=True, key=f"of {model}")
            st.dataframe(cells(found["rows"], erasure or erasures[0]), hide_index=True, height="content")
            fewer = [
                row for row in found["rows"] if row["texts"] < found["data"]["texts"] and row["erasure"] == erasures[0]
            ]
            if fewer:
                st.caption("; ".join(f"{name_of(row['method'])}: {row['texts']} of them" for row in fewer))
            _evidence(found["rows"], erasures[0])
            st.caption(markdown(NOTE))
            st.code(found["command"], "sh", wrap_lines=True)


def _evidence(rows: list[dict[str, Any]], erasure: str) -> None:
    """How well each method found what the label follows from, where that is known."""
    known = evidence_cells(rows, erasure)
    if known:
        st.subheader("Did it find the evidence?", anchor=False)
        st.write(
            "The generator of these scenes knows which things and which words the answer follows from. AUC is the "
            "chance that a piece of evidence has a higher score than another unit; pointing, how often the highest "
            "score is evidence; IOU, the overlap of as many top units as there are evidence. Random is exact chance. "
            "Only scenes on which the model is right count, and only those in which there is something to find."
        )
        st.dataframe(known, hide_index=True, height="content")
