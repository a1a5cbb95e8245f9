"""The parts of the page that are text and tables. What came from a person or a model's author is escaped here."""

from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING

import streamlit as st

from app import charts
from app.engine import Run
from app.safe import markdown
from explainers.metrics.agreement import AGREEMENTS

if TYPE_CHECKING:
    from explainers.api import Comparison

BARS_SHOWN = 8
NO_METHOD = "No method is chosen. Choose at least one in the sidebar."
ALONE = (
    "What the model answers when the other text is erased, and when both change places. An answer that stays the same "
    "without a text did not need it."
)
PART_ALONE = (
    "What the model answers when the picture is erased, and when the text is. An answer that stays the same without "
    "one of them did not need it."
)
STYLE = """<style>
.bars { display: grid; grid-template-columns: minmax(5rem, max-content) 1fr 6.5rem; gap: 0.25rem 0.75rem;
        align-items: center; max-width: 44rem; min-height: 3.2rem; }
.bars .track { background: rgba(128, 128, 128, 0.2); border-radius: 3px; height: 0.8rem; }
.bars .track div { background: #2166ac; height: 100%; border-radius: 3px; }
.bars .predicted { font-weight: 600; }
.bars span { overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
.figures .wide { overflow-x: auto; }
.figures table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.92rem; width: 100%; }
.figures th, .figures td { text-align: right; padding: 0.3rem 0.6rem; border: none;
        border-bottom: 1px solid rgba(128, 128, 128, 0.3); white-space: nowrap; }
.figures th:first-child, .figures td:first-child { text-align: left; }
.figures .best { font-weight: 700; }
.figures .pale { opacity: 0.6; }
.figures .note { font-size: 0.85rem; opacity: 0.75; margin: 0.5rem 0 0; }
.said { max-width: 70rem; font-size: 1.05rem; min-height: 3.2rem; margin: 0; }
.stMainBlockContainer { padding: 3.5rem 2rem 4rem; }
</style>"""


def plain(text: str) -> str:
    """For Streamlit's own boxes, which read Markdown."""
    return markdown(text)


def prediction(run: Run, right: int | None = None) -> None:
    """Every class with its probability, the strongest first; after words were removed also what it was before.

    `right` is the number of the right class, where it is known.
    """
    if run.whole is None or not run.probabilities:
        st.html(STYLE + '<div class="bars"><span>…</span><div class="track"></div><span></span></div>')
        return
    labels = run.whole.model.labels
    before = run.whole_probabilities or run.probabilities
    order = sorted(range(len(labels)), key=lambda index: -run.probabilities[index])
    rows = []
    for place, index in enumerate(order[:BARS_SHOWN]):
        now = run.probabilities[index]
        change = f"{before[index]:.3f} → {now:.3f}" if run.request.removed else f"{now:.3f}"
        kind = ' class="predicted"' if place == 0 else ""
        rows.append(
            f"<span{kind}>{escape(labels[index])}</span>"
            f'<div class="track"><div style="width: {100 * now:.1f}%"></div></div><span>{change}</span>'
        )
    st.html(f'{STYLE}<div class="bars" role="img" aria-label="Probabilities">{"".join(rows)}</div>')
    if run.one_text_alone is not None:
        st.caption(plain(f"{run.one_text_alone}"), help=PART_ALONE if run.request.picture is not None else ALONE)
    if right is not None and not run.request.removed:
        verdict = "and so the model says" if order[0] == right else "the model is wrong here"
        st.caption(plain(f"By the rules that made this picture the right answer is {labels[right]}; {verdict}."))
    if len(labels) > BARS_SHOWN:
        st.caption(f"The {BARS_SHOWN} likeliest of {len(labels)} classes.")


def removed(run: Run, bring_back: Callable[[], None]) -> None:
    """How to play with words, or what has been removed so far."""
    gone = run.request.removed
    with st.container(horizontal=True, vertical_alignment="center"):
        pictured = run.request.picture is not None
        if not gone:
            what = "a word or a patch of the picture" if pictured else "a word"
            st.caption(f"Click {what} to take it away and see what happens. Hover to read its score in every card.")
            return
        what = "a struck word or a hatched patch" if pictured else "a struck word"
        st.caption(f"{len(gone)} removed ({run.request.settings.erasure}). Click {what} to restore it.")
        st.button("Bring all back", on_click=bring_back, key="back")


def summary(run: Run, *, finished: bool) -> None:
    """What follows from the figures, in plain words; it waits until they are all there."""
    said = "…"
    if finished and run.question is not None:
        from explainers.summary import summary as sentence

        comparison = run.comparison()
        nothing = "No method has finished yet." if run.columns else NO_METHOD
        said = sentence(comparison) if comparison.results else nothing
    st.html(f'<p class="said">{escape(said)}</p>')


def table(comparison: "Comparison") -> None:
    """Methods by figures, as in the exported page: bold where a method really leads, pale where it is within chance."""
    from explainers.report.sections import table as as_html

    st.html(f'<div class="figures">{as_html(comparison)}</div>')


def agreement(comparison: "Comparison") -> None:
    """The matrix, with a choice of the measure."""
    if len(comparison.results) < 2:
        st.caption("Agreement needs two finished methods.")
        return
    names = {measure.name: measure for measure in AGREEMENTS}
    with st.container(width=720):
        chosen = st.selectbox(
            "Agreement by", list(names), key="agreement", bind="query-params", persist_state="session"
        )
        figure = charts.agreement(comparison, names[chosen or AGREEMENTS[0].name])
        st.plotly_chart(figure, key="matrix", config={"displaylogo": False})
