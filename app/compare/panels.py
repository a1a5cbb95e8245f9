"""The parts of the page that are text, tables and one plot. What came from a person or a model's author is escaped
here; nothing is computed that is not in the comparison."""

from html import escape
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from app import plain_text
from app.compare import drawing_options, sheet_rows, stored_results
from app.compare.runs import Run
from app.compare.state import CompareState, compare_state
from app.session import changes as changes_of
from app.session import noun_of, undoable
from explainers.methods.registry import method_spec
from explainers.metrics.agreement import AGREEMENTS, Agreement
from explainers.report import colours, document, summary, wording

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison


BARS_SHOWN = 8
# of what Undo takes back, where the parameter's name does not say it
NOUNS = {"removed": "removal", "opened": "sentence", "picture": "image", "own_image": "image", "erase": "operator"}
PAIR_ABLATED = (
    "The prediction with one of the texts erased, and with both swapped. If it stays the same without a text, the "
    "model did not need that text."
)
IMAGE_ABLATED = (
    "The prediction with the image erased, and with the text erased. If it stays the same without one of them, the "
    "model did not need it."
)
PREDICTED = ' class="predicted"'
UNSIGNED = "Unsigned methods: the deeper, the more important. They say nothing about for or against."
OUTLINED = "Outlined: the units with the highest scores, as many in every row. What speaks against is never outlined."
BAND = "Grey bands: 95 % of the random orders. They are drawn to compare; the one test is that of the answer."
STYLE = """<style>
.bars { display: grid; grid-template-columns: minmax(5rem, max-content) 1fr 7.5rem; gap: 0.15rem 0.75rem;
        align-items: center; max-width: 44rem; min-height: 3.2rem; align-content: center; }
.bars .track { background: rgba(128, 128, 128, 0.2); border-radius: 3px; height: 0.8rem; }
.bars .track div { background: var(--st-primary-color, #2166ac); height: 100%; border-radius: 3px; }
.bars .predicted { font-weight: 600; }
.bars span { overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
.keys { display: flex; flex-wrap: wrap; gap: 0.1rem 1.1rem; font-size: 0.8rem; opacity: 0.85; }
.keys span { cursor: help; white-space: nowrap; }
.keys i { display: inline-block; width: 1.1rem; height: 0.8rem; border-radius: 2px; margin-right: 0.35rem;
        vertical-align: -0.1rem; }
.metrics .wide { overflow-x: auto; }
.metrics table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.92rem; width: 100%; }
.metrics th, .metrics td { text-align: right; padding: 0.3rem 0.6rem; border: none;
        border-bottom: 1px solid rgba(128, 128, 128, 0.3); white-space: nowrap; }
.metrics th:first-child, .metrics td:first-child { text-align: left; }
.metrics .best { font-weight: 700; }
.metrics .group td { font-size: 0.85rem; opacity: 0.8; padding-top: 0.7rem; border-bottom: none; text-align: left; }
.metrics .pale { opacity: 0.72; }
.metrics .note { font-size: 0.85rem; opacity: 0.8; margin: 0.5rem 0 0; }
</style>"""


def prediction(run: Run) -> None:
    """Every class with its probability, the strongest first; after words were removed also what it was before."""
    shown = run if run.probabilities or run.previous is None else run.previous
    if shown.whole is None or not shown.probabilities:
        st.html(STYLE + '<div class="bars"><span>…</span><div class="track"></div><span></span></div>')
        return
    labels = shown.whole.card.labels
    before = shown.whole_probabilities or shown.probabilities
    order = sorted(range(len(labels)), key=lambda index: -before[index])  # so that removing a word moves no class
    predicted = max(range(len(labels)), key=lambda index: shown.probabilities[index])
    bold = wording.labels_on(shown.whole.card, shown.probabilities) or [predicted]
    rows = [
        _bar(
            labels[index],
            before[index] if shown.request.removed else None,
            shown.probabilities[index],
            predicted=index in bold,
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
    labels, before = shown.whole.card.labels, shown.whole_probabilities or shown.probabilities
    lines, tooltip = [explained_line(shown)], ""
    if shown.current is not None and shown.current.ablated_inputs is not None:
        tooltip = IMAGE_ABLATED if shown.request.example.image is not None else PAIR_ABLATED
        lines.append(f"{wording.ablated_inputs_line(shown.current.ablated_inputs)}.")
    lines += filter(
        None, (wording.labels_line(shown.whole.card, shown.probabilities), wording.class_words_line(shown.whole))
    )
    if correct is not None:
        predicted = max(range(len(labels)), key=lambda index: before[index])
        agrees = "The model agrees." if predicted == correct else f"The model predicts {labels[predicted]}."
        lines.append(f"Correct answer (from the generator's rules): {labels[correct]}. {agrees}")
    text = " ".join(filter(None, lines))
    if text:
        plain_text.caption(text, tooltip=tooltip)


def explained_line(run: Run) -> str:
    """Return what is explained where it is not the present prediction: what was chosen, or where nothing was, the
    predicted class of the whole input, from which units were removed. Empty where it is."""
    if run.current is None or run.current.explains_predicted:
        return ""
    predicted = wording.one_line(run.current.decision.card.labels[run.current.predicted])
    explained = wording.target_name(run.current.decision)
    if run.request.label is None and run.request.versus is None and run.request.removed:
        stays = f"the explanations stay with {explained}, predicted for the whole input"
        return f"The model now predicts {predicted}; {stays}."
    return f"The model predicts {predicted}; the explanations are for {explained}."


def _bar(label: str, before: float | None, now: float, *, predicted: bool) -> str:
    change = f"{now:.3f}" if before is None else f"{before:.3f} → {now:.3f}"
    return (
        f"<span{PREDICTED if predicted else ''}>{escape(label)}</span>"
        f'<div class="track"><div style="width: {100 * now:.1f}%"></div></div><span>{change}</span>'
    )


def legend(run: Run, drawing: drawing_options.DrawingOptions) -> None:
    """What colours, outlines and bands of the sheet mean, each with a sentence where the pointer rests."""
    with st.container(key="legend"):
        st.html(STYLE + run.view("legend", (drawing.preset, drawing.percent), lambda: _legend(drawing)))


def _legend(drawing: drawing_options.DrawingOptions) -> str:
    def fill(strength: float, *, signed: bool) -> str:
        return f"background:{colours.colour(strength, preset=drawing.preset, signed=signed)}"

    keys = (
        (fill(0.8, signed=False), "important", UNSIGNED),
        (fill(0.8, signed=True), "for", "Signed methods: the unit speaks for the explained class."),
        (fill(-0.8, signed=True), "against", "Signed methods: the unit speaks against the explained class."),
        ("outline:1px solid currentColor", f"top {drawing.percent} %", OUTLINED),
        ("border-bottom:4px solid currentColor", "strength", "Underlined: the thicker, the larger the score."),
        ("background:rgba(128,128,128,0.3)", "random orders", BAND),
    )
    return f'<div class="keys" role="note" aria-label="Legend">{"".join(_key(*key) for key in keys)}</div>'


def _key(style: str, name: str, meaning: str) -> str:
    return f'<span title="{escape(meaning)}"><i style="{style}"></i>{escape(name)}</span>'


def changes(run: Run, sort: str) -> None:
    """What has been removed so far, and the way back. Always as high, so that nothing below it moves."""
    count, state = len(run.request.removed), compare_state()
    if state.taken_back:
        st.toast(f"Undone: {state.taken_back}.")
        state.taken_back = ""
    multimodal = run.request.example.image is not None
    with st.container(horizontal=True, vertical_alignment="center"):
        name = run.request.settings.name_of_unit
        unit = "a word or patch" if multimodal else f"an {name}" if name == "example" else f"a {name}"
        if count:
            erased = f"{count} removed ({run.request.settings.erasure}). Press {unit} again to restore it."
            plain_text.caption(erased)
        else:
            plain_text.caption(f"Press {unit} to remove it everywhere. Point at it for its exact score in every row.")
        # a tooltip would leave the last Undo pressable, and another label would make it another button
        st.button("Undo", on_click=undo, disabled=not state.steps, key="undo")
        st.button("Restore all", on_click=state.restore_all, disabled=not count, key="back")
        if sort == drawing_options.EVIDENCE:
            st.button(
                "Sort again",
                on_click=sheet_rows.sort_again,
                disabled=sheet_rows.is_sorted(run, sort),
                key="sort again",
                help="The rows stay where they are while words are removed. Sorts them by the present answer.",
            )


def undo() -> None:
    """Take back the last step. What it was is said when the page is drawn: a callback's toast would be lost in that."""
    state = compare_state()
    if state.steps:
        state.taken_back = last_change(state)
        state.undo()


def last_change(state: CompareState) -> str:
    """Return what Undo takes back, such as "text"."""
    changed = changes_of(state.steps[-1], state.controls)
    if (
        state.controls.example == stored_results.OWN_TEXT
    ):  # what was typed, or an image that was given, is what a person changed
        changed -= {"example"}
    names = [name for name in undoable(state.controls) if name in changed]
    return NOUNS.get(names[0], noun_of(state.controls, names[0])) if names else "last change"


def table(run: Run) -> None:
    """Methods by metrics, as in the exported page: bold where supported, pale where not shown to be better than
    random."""
    html = run.view("table", (run.settled, run.status), lambda: document.metrics_table(run.comparison()))
    st.html(f'<div class="metrics">{html}</div>')


def agreement(run: Run) -> None:
    """Who ranks what first, and on demand the matrix, whose script is large, with a choice of the measure."""
    if len(run.comparison().results) < 2:
        st.caption("Agreement needs two finished methods.")
        return
    key = (run.settled, run.status)  # an answer is final only at the end
    plain_text.paragraph(run.view("who agrees", key, lambda: summary.agreement_sentence(run.comparison())))
    state = compare_state()
    if not st.toggle("Show the matrix", **state.widget("agree")):
        return
    measures = {measure.name: measure for measure in AGREEMENTS}
    with st.container(width=720):
        name = st.selectbox(
            "Agreement by", list(measures), **state.widget("agreement", options=measures, listed=measures)
        )
        measure = measures[name or AGREEMENTS[0].name]
        figure = run.view("agreement", (run.settled, measure.id), lambda: agreement_chart(run.comparison(), measure))
        st.plotly_chart(figure, key="matrix", config={"displaylogo": False})


def agreement_chart(comparison: "Comparison", measure: Agreement) -> go.Figure:
    """The matrix of one agreement measure between all pairs of methods; not with a random or a person's order."""
    specs = {result.attribution.method: method_spec(result.attribution.method) for result in comparison.results}
    methods = {method: spec for method, spec in specs.items() if not spec.is_random and not spec.is_given}
    attributions = [
        result.attribution
        for result in comparison.results
        if result.attribution.method in methods and (result.attribution.signed or not measure.signed_only)
    ]
    names = [methods[attribution.method].name for attribution in attributions]
    values = np.array([[measure.score(one.scores, other.scores) for other in attributions] for one in attributions])
    figure = go.Figure(
        go.Heatmap(
            x=names,
            y=names,
            z=values,
            zmin=-1,
            zmax=1,
            colorscale=[[0, "#b35806"], [0.5, "#f7f7f7"], [1, "#2166ac"]],
            text=[["–" if np.isnan(value) else f"{value:.2f}" for value in row] for row in values],
            texttemplate="%{text}",
            hovertemplate="%{y} and %{x}: %{text}<extra></extra>",
            showscale=False,
        )
    )
    figure.update_yaxes(autorange="reversed")
    figure.update_layout(height=420, margin={"l": 10, "r": 10, "t": 10, "b": 10})
    return figure
