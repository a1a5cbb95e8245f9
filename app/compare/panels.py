"""The parts of the page that are text and tables. What came from a person or a model's author is escaped here."""

from html import escape

import streamlit as st

from app import plain_text
from app.compare import history, row_order, url_state
from app.compare.drawing_options import EVIDENCE
from app.compare.runs import Run
from explainers.metrics.agreement import AGREEMENTS
from explainers.report.ablated_inputs import ablated_inputs_line
from explainers.report.sections import metrics_table
from explainers.report.summary import agreement_sentence
from explainers.report.text import one_line

BARS_SHOWN = 8
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
.bars { display: grid; grid-template-columns: minmax(5rem, max-content) 1fr 7.5rem; gap: 0.15rem 0.75rem;
        align-items: center; max-width: 44rem; min-height: 3.2rem; align-content: center; }
.bars .track { background: rgba(128, 128, 128, 0.2); border-radius: 3px; height: 0.8rem; }
.bars .track div { background: var(--st-primary-color, #2166ac); height: 100%; border-radius: 3px; }
.bars .predicted { font-weight: 600; }
.bars span { overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
.stMain .st-key-state.st-key-state { height: 5.2rem; min-height: 5.2rem; }
.metrics .wide { overflow-x: auto; }
.metrics table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.92rem; width: 100%; }
.metrics th, .metrics td { text-align: right; padding: 0.3rem 0.6rem; border: none;
        border-bottom: 1px solid rgba(128, 128, 128, 0.3); white-space: nowrap; }
.metrics th:first-child, .metrics td:first-child { text-align: left; }
.metrics .best { font-weight: 700; }
.metrics .pale { opacity: 0.72; }
.metrics .note { font-size: 0.85rem; opacity: 0.8; margin: 0.5rem 0 0; }
</style>"""


def prediction(run: Run) -> None:
    """Every class with its probability, the strongest first; after words were removed also what it was before."""
    shown = run if run.probabilities or run.previous is None else run.previous
    if shown.whole is None or not shown.probabilities:
        st.html(STYLE + '<div class="bars"><span>…</span><div class="track"></div><span></span></div>')
        return
    labels = shown.whole.model.labels
    before = shown.whole_probabilities or shown.probabilities
    order = sorted(range(len(labels)), key=lambda index: -before[index])  # so that removing a word moves no class
    predicted = max(range(len(labels)), key=lambda index: shown.probabilities[index])
    rows = [
        _bar(
            labels[index],
            before[index] if shown.request.removed else None,
            shown.probabilities[index],
            predicted=index == predicted,
        )
        for index in order[:BARS_SHOWN]
    ]
    st.html(f'{STYLE}<div class="bars" role="img" aria-label="Probabilities">{"".join(rows)}</div>')
    if len(labels) > BARS_SHOWN:
        st.caption(f"The {BARS_SHOWN} likeliest of {len(labels)} classes.")


def about_prediction(run: Run, correct: int | None) -> None:
    """The prediction without parts of the input; and the number of the `correct` class, where it is known."""
    shown = run if run.probabilities or run.previous is None else run.previous
    if shown.whole is None or not shown.probabilities:
        return
    labels, before = shown.whole.model.labels, shown.whole_probabilities or shown.probabilities
    now = max(range(len(labels)), key=lambda index: shown.probabilities[index])
    lines, tooltip = [], ""
    if shown.question is not None and shown.question.label != now:
        explained = one_line(labels[shown.question.label])
        lines.append(f"The model predicts {one_line(labels[now])}; the explanations are for {explained}.")
    if shown.ablated_inputs is not None:
        tooltip = IMAGE_ABLATED if shown.request.example.image is not None else PAIR_ABLATED
        lines.append(f"{ablated_inputs_line(shown.ablated_inputs)}.")
    if correct is not None:
        predicted = max(range(len(labels)), key=lambda index: before[index])
        agrees = "The model agrees." if predicted == correct else f"The model predicts {labels[predicted]}."
        lines.append(f"Correct answer (from the generator's rules): {labels[correct]}. {agrees}")
    if lines:
        plain_text.caption(" ".join(lines), tooltip=tooltip)


def _bar(label: str, before: float | None, now: float, *, predicted: bool) -> str:
    change = f"{now:.3f}" if before is None else f"{before:.3f} → {now:.3f}"
    return (
        f"<span{PREDICTED if predicted else ''}>{escape(label)}</span>"
        f'<div class="track"><div style="width: {100 * now:.1f}%"></div></div><span>{change}</span>'
    )


def changes(run: Run, sort: str) -> None:
    """What has been removed so far, and the way back. Always as high, so that nothing below it moves."""
    count = len(run.request.removed)
    multimodal = run.request.example.image is not None
    with st.container(horizontal=True, vertical_alignment="center"):
        unit = "a word or patch" if multimodal else "a word"
        if count:
            erased = f"{count} removed ({run.request.settings.erasure}). Press {unit} again to restore it."
            st.caption(erased)
        else:
            st.caption(f"Press {unit} to remove it everywhere. Point at it for its exact score in every row.")
        st.button("Undo", on_click=history.undo, disabled=not history.can_undo(), key="undo")
        st.button("Restore all", on_click=url_state.restore_all, disabled=not count, key="back")
        if sort == EVIDENCE:
            st.button(
                "Sort again",
                on_click=row_order.sort_again,
                disabled=row_order.is_sorted(run, sort),
                key="sort again",
                help="The rows stay where they are while words are removed. Sorts them by the present evidence.",
            )


def table(run: Run) -> None:
    """Methods by metrics, as in the exported page: bold where a method leads, pale where it is within chance."""
    html = run.view("table", run.settled, lambda: metrics_table(run.comparison()))
    st.html(f'<div class="metrics">{html}</div>')


def agreement(run: Run) -> None:
    """Who ranks what first, and on demand the matrix, whose script is large, with a choice of the measure."""
    if len(run.comparison().results) < 2:
        st.caption("Agreement needs two finished methods.")
        return
    plain_text.paragraph(run.view("who agrees", run.settled, lambda: agreement_sentence(run.comparison())))
    if not st.toggle("Show the matrix", key="agree", bind="query-params", persist_state="session"):
        return
    from app.compare import charts  # brings Plotly

    measures = {measure.name: measure for measure in AGREEMENTS}
    with st.container(width=720):
        name = st.selectbox(
            "Agreement by", list(measures), key="agreement", bind="query-params", persist_state="session"
        )
        measure = measures[name or AGREEMENTS[0].name]
        figure = run.view("agreement", (run.settled, measure.id), lambda: charts.agreement(run.comparison(), measure))
        st.plotly_chart(figure, key="matrix", config={"displaylogo": False})
