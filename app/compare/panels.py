"""The parts of the page that are text and tables. What came from a person or a model's author is escaped here."""

from collections.abc import Callable
from html import escape

import streamlit as st

from app import plain_text
from app.compare import charts
from app.compare.runs import Run
from explainers.metrics.agreement import AGREEMENTS
from explainers.report.ablated_inputs import ablated_inputs_line
from explainers.report.sections import metrics_table
from explainers.report.summary import summary as summary_sentences

BARS_SHOWN = 8
NO_METHOD = "No method is chosen. Choose at least one in the sidebar."
PAIR_ABLATED = (
    "The prediction with one of the texts erased, and with both swapped. If it stays the same without a text, the "
    "model did not need that text."
)
IMAGE_ABLATED = (
    "The prediction with the image erased, and with the text erased. If it stays the same without one of them, the "
    "model did not need it."
)
PREDICTED = ' class="predicted"'
STYLE = """<style>
.bars { display: grid; grid-template-columns: minmax(5rem, max-content) 1fr 6.5rem; gap: 0.25rem 0.75rem;
        align-items: center; max-width: 44rem; min-height: 3.2rem; }
.bars .track { background: rgba(128, 128, 128, 0.2); border-radius: 3px; height: 0.8rem; }
.bars .track div { background: #2166ac; height: 100%; border-radius: 3px; }
.bars .predicted { font-weight: 600; }
.bars span { overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
.metrics .wide { overflow-x: auto; }
.metrics table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.92rem; width: 100%; }
.metrics th, .metrics td { text-align: right; padding: 0.3rem 0.6rem; border: none;
        border-bottom: 1px solid rgba(128, 128, 128, 0.3); white-space: nowrap; }
.metrics th:first-child, .metrics td:first-child { text-align: left; }
.metrics .best { font-weight: 700; }
.metrics .pale { opacity: 0.6; }
.metrics .note { font-size: 0.85rem; opacity: 0.75; margin: 0.5rem 0 0; }
.summary { max-width: 70rem; font-size: 1.05rem; min-height: 3.2rem; margin: 0; }
</style>"""


def prediction(run: Run, correct: int | None = None) -> None:
    """Every class with its probability, the strongest first; after words were removed also what it was before.

    `correct` is the number of the correct class, where it is known.
    """
    if run.whole is None or not run.probabilities:
        st.html(STYLE + '<div class="bars"><span>…</span><div class="track"></div><span></span></div>')
        return
    labels = run.whole.model.labels
    before = run.whole_probabilities or run.probabilities
    order = sorted(range(len(labels)), key=lambda index: -run.probabilities[index])
    rows = [
        _bar(labels[index], before[index] if run.request.removed else None, run.probabilities[index], first=rank == 0)
        for rank, index in enumerate(order[:BARS_SHOWN])
    ]
    st.html(f'{STYLE}<div class="bars" role="img" aria-label="Probabilities">{"".join(rows)}</div>')
    if run.ablated_inputs is not None:
        multimodal = run.request.example.image is not None
        ablated = ablated_inputs_line(run.ablated_inputs)
        plain_text.caption(ablated, tooltip=IMAGE_ABLATED if multimodal else PAIR_ABLATED)
    if correct is not None and not run.request.removed:
        verdict = "The model agrees." if order[0] == correct else f"The model predicts {labels[order[0]]}."
        plain_text.caption(f"Correct answer (from the generator's rules): {labels[correct]}. {verdict}")
    if len(labels) > BARS_SHOWN:
        st.caption(f"The {BARS_SHOWN} likeliest of {len(labels)} classes.")


def _bar(label: str, before: float | None, now: float, *, first: bool) -> str:
    change = f"{now:.3f}" if before is None else f"{before:.3f} → {now:.3f}"
    return (
        f"<span{PREDICTED if first else ''}>{escape(label)}</span>"
        f'<div class="track"><div style="width: {100 * now:.1f}%"></div></div><span>{change}</span>'
    )


def removed(run: Run, restore: Callable[[], None]) -> None:
    """How to remove units, or what has been removed so far."""
    count = len(run.request.removed)
    multimodal = run.request.example.image is not None
    with st.container(horizontal=True, vertical_alignment="center"):
        if not count:
            unit = "a word or a patch of the image" if multimodal else "a word"
            st.caption(f"Click {unit} to remove it. Hover to read its score in every card.")
            return
        unit = "a struck word or a hatched patch" if multimodal else "a struck word"
        st.caption(f"{count} removed ({run.request.settings.erasure}). Click {unit} to restore it.")
        st.button("Restore all", on_click=restore, key="back")


def summary(run: Run, *, finished: bool) -> None:
    """What follows from the metrics, in words, once all of them are there."""
    text = run.view("summary", (finished, run.settled), lambda: _summary(run, finished))
    st.html(f'<p class="summary">{escape(text)}</p>')


def _summary(run: Run, finished: bool) -> str:
    if not finished or run.question is None:
        return "…"
    comparison = run.comparison()
    if comparison.results:
        return summary_sentences(comparison)
    return "No method has finished yet." if run.columns else NO_METHOD


def table(run: Run) -> None:
    """Methods by metrics, as in the exported page: bold where a method leads, pale where it is within chance."""
    html = run.view("table", run.settled, lambda: metrics_table(run.comparison()))
    st.html(f'<div class="metrics">{html}</div>')


def agreement(run: Run) -> None:
    """The matrix, with a choice of the measure."""
    if len(run.comparison().results) < 2:
        st.caption("Agreement needs two finished methods.")
        return
    measures = {measure.name: measure for measure in AGREEMENTS}
    with st.container(width=720):
        name = st.selectbox(
            "Agreement by", list(measures), key="agreement", bind="query-params", persist_state="session"
        )
        measure = measures[name or AGREEMENTS[0].name]
        figure = run.view("agreement", (run.settled, measure.id), lambda: charts.agreement(run.comparison(), measure))
        st.plotly_chart(figure, key="matrix", config={"displaylogo": False})
