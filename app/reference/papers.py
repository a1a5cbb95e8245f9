"""The papers' tables on the Methods page: their numbers and ours, and which of their comparisons hold here."""

import plotly.graph_objects as go
import streamlit as st

from app import plain_text
from explainers.evaluation.names import RANDOM
from explainers.report import colours, evaluation_tables, paper_tables, tables

ROW = 26  # pixels of a method in the plot
GREY = "#8a8a8a"
LEGEND = "Hollow diamonds are the paper's values; dots are ours, with the 95 % interval over the inputs."


def show() -> None:
    """Draw nothing where no table was measured."""
    results = paper_tables.table_results()
    if not results:
        return
    st.header("The papers' tables, ours beside theirs", anchor=False)
    plain_text.paragraph(f"{paper_tables.SETTING} {paper_tables.ABOUT}")
    st.dataframe(paper_tables.SUMMARY.cells(paper_tables.summary_rows(results)), hide_index=True, height="content")
    names = {f"{result.table.paper}, {result.table.table}: {result.data_set}": result for result in results}
    chosen = st.selectbox("Table and data set", list(names), key="paper table")
    result = names[chosen or next(iter(names))]
    plain_text.caption(f"{paper_tables.about(result)} {result.table.note} {LEGEND}")
    columns = st.columns(2)
    for place, metric in enumerate(result.table.metrics):
        with columns[place % 2]:
            st.plotly_chart(
                dots(result, metric),
                key=f"paper {metric}",
                config={"displayModeBar": False},
                alt=f"{paper_tables.METRICS[metric].name}: the paper's values and ours",
            )
    for line in paper_tables.outcome_lines(result):
        plain_text.paragraph(plain_text.Bold(line.method), f": {line.text}")
    st.dataframe(paper_tables.value_table(result).cells(result.methods), hide_index=True, height="content")
    with st.expander("Definitions of the metrics"):
        metrics = [paper_tables.METRICS[metric] for metric in result.table.metrics]
        st.dataframe(paper_tables.DEFINITIONS.cells(metrics), hide_index=True, height="content")
    st.code(result.measured["command"], "sh", wrap_lines=True)


def dots(result: paper_tables.TableResult, metric: str) -> go.Figure:
    """Return a row per method, with a hollow diamond for the paper's value and a dot with the interval of ours."""
    figure = go.Figure()
    for method in result.methods[::-1]:
        _add(figure, result, method, metric)
    title = f"{paper_tables.METRICS[metric].name} {'↑' if paper_tables.METRICS[metric].higher_is_better else '↓'}"
    figure.update_xaxes(title_text=title, title_standoff=4)
    figure.update_layout(
        height=70 + ROW * len(result.methods),
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        showlegend=False,
        hovermode="closest",
    )
    return figure


def _add(figure: go.Figure, result: paper_tables.TableResult, method: str, metric: str) -> None:
    name, ours = evaluation_tables.row_name(method), result.ours(method, metric)
    published = result.table.published(result.data_set, method, metric)
    colour = GREY if method == RANDOM else colours.line_of(method).colour
    if ours is not None:
        mean, low, high = tables.bounds_of(ours)
        figure.add_scatter(
            x=[mean],
            y=[name],
            error_x={"type": "data", "symmetric": False, "array": [high - mean], "arrayminus": [mean - low]},
            mode="markers",
            marker={"size": 9, "color": colour},
            hovertemplate=f"%{{y}}, here: {mean:.3f} [{low:.3f}, {high:.3f}]<extra></extra>",
        )
    if published is not None:
        figure.add_scatter(
            x=[published],
            y=[name],
            mode="markers",
            marker={"size": 11, "color": colour, "symbol": "diamond-open", "line": {"width": 2}},
            hovertemplate=f"%{{y}}, paper: {published:.3f}<extra></extra>",
        )
