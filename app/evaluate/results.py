"""What an evaluation says: the sentence, the table of methods, statuses, words, the trust map, and the files."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from app import plain_text
from app.compare.kept_inputs import address_of
from app.evaluate.charts import cascade_chart, cost_chart, curve_chart, evidence_dots, trust_map
from app.evaluate.state import SetResult, evaluate_state
from explainers.evaluation import sanity_summary, set_frames, set_summary
from explainers.evaluation.names import FEWEST
from explainers.methods.registry import method_spec
from explainers.report import set_tables, tables, wording
from explainers.results.manifest import strict_json

WORDS_SHOWN = 25
LISTED = 20  # inputs with a word
VIEWS = ("Evidence", "Against cost", "Curves")
CHART_BUTTONS = {  # one: a picture to take along
    "displaylogo": False,
    "modeBarButtons": [["toImage"]],
    "toImageButtonOptions": {"format": "png", "scale": 2, "filename": "crosslight-evaluation"},
}
ABOUT_MAP = (
    "Every point is an input: how far the methods agree on its first words, and how much evidence the best method has. "
    "Choose a point to see its input."
)
Chosen = Callable[[str], None]


def draw(result: SetResult, number: int) -> None:
    """Draw the result of evaluation `number`, or what there is of it."""
    so_far = "" if result.finished else f"After {wording.counted(len(result.rows), 'input')} so far. "
    plain_text.paragraph(so_far, plain_text.Bold(result.advice.sentence))
    _methods(result, number)
    left, right = st.columns(2)
    with left:
        _statuses(result, number)
        _words(result, number)
    with right:
        _trust(result, number)
    _sanity(result, number)
    _left_out(result)
    if result.finished:
        _files(result, number)


def compare_link(result: SetResult, row: "pd.Series[Any]", key: str) -> None:
    """Draw an input with its classes, and a link that explains it on the Compare page with the same settings."""
    settings, label = result.manifest["settings"], row["label"]
    truth = "" if not isinstance(label, str) else f", labelled {label}"
    plain_text.caption(f"{name_of(row, result.manifest['data'])}: predicted {row['predicted']}{truth}, {row['status']}")
    plain_text.paragraph(" / ".join(filter(lambda part: isinstance(part, str), (row["text"], row["pair"]))))
    if isinstance(row.get("image"), str):
        plain_text.caption(f"Image: {row['image']}. Give it with the text on the Compare page to see more.")
        return
    query = {"model": result.manifest["model"]["name"], "seed": str(row["seed"])}
    query |= address_of((row["text"], row["pair"] if isinstance(row["pair"], str) else ""))
    query |= {name: str(settings[name]) for name in ("samples", "steps", "unit")} | {"erase": settings["erasure"]}
    with st.container(key=key):
        st.page_link("pages/compare.py", label="Open on Compare", icon=":material/arrow_forward:", query_params=query)


def name_of(row: "pd.Series[Any]", data: Mapping[str, Any]) -> str:
    """Return the id that a table gave to the input; where it gave none, its line. `data` are those of the manifest."""
    has_ids = "columns" not in data or "id" in data["columns"]
    return str(row["id"]) if has_ids else f"Line {row['line']:,}"


def _methods(result: SetResult, number: int) -> None:
    st.subheader("Methods", anchor=False)
    left, right = st.columns([2, 3])
    with left:
        by_method, by_cost, by_share = st.tabs(VIEWS)
        by_method.plotly_chart(
            evidence_dots(result.table, result.operators[0]),
            key=f"dots {number}",
            config=CHART_BUTTONS,
            alt="Evidence by method",
        )
        by_cost.plotly_chart(
            cost_chart(result.table, result.operators[0]),
            key=f"cost {number}",
            config=CHART_BUTTONS,
            alt="Evidence by method against passes per input",
        )
        if result.curves:
            by_share.plotly_chart(
                curve_chart(result.curves, result.operators[0]),
                key=f"curves {number}",
                config=CHART_BUTTONS,
                alt="Mean erasure curves by method",
            )
        else:
            by_share.caption("No input of this evaluation has stored curves.")
    with right:
        cells = pd.DataFrame(set_tables.method_columns(result.operators).cells(result.table))
        st.dataframe(cells, hide_index=True, key=f"methods {number}", alt="Methods and their metrics")
        st.caption(set_tables.table_note(result.methods))


def _statuses(result: SetResult, number: int) -> None:
    st.subheader("How often an answer is supported", anchor=False)
    st.dataframe(
        pd.DataFrame(set_tables.STATUSES.cells(result.shares)),
        hide_index=True,
        key=f"statuses {number}",
        alt="Supported answers by group",
    )
    st.caption("Agreement is the mean share of their first words that two methods have in common.")


def _words(result: SetResult, number: int) -> None:
    st.subheader("Words over the set", anchor=False)
    state = evaluate_state()
    methods = set_tables.word_methods(result.methods, result.operators[0])
    classes = sorted(result.rows["predicted"].dropna().unique())
    if not methods or not classes:
        st.caption("None yet.")
        return
    names = {method_spec(method).name: method for method in methods}
    first, second = st.columns(2)
    with first:
        predicted = st.selectbox(
            "Class", classes, **state.widget("words_class", options=classes, listed=classes, default=classes[0])
        )
    with second:
        name = st.selectbox(
            "Method",
            list(names),
            **state.widget("words_method", options=names, listed=list(names), default=next(iter(names))),
        )
    words = result.words(names[name or next(iter(names))])
    rows = set_tables.top_words(words, str(predicted or classes[0]), WORDS_SHOWN)
    event = st.dataframe(
        pd.DataFrame(set_tables.WORDS.cells(rows)),
        hide_index=True,
        key=f"words {number}",
        on_select="rerun",
        selection_mode="single-row",
        height=320,
        alt="Words by mean score",
    )
    st.caption(
        f"In the order of the lower bound of the mean score's 95 % interval, which is lower for rare words; where the "
        f"class has fewer than {FEWEST} inputs, of the mean score itself. "
        "Choose a row to see the inputs with the word."
    )
    for place in event["selection"]["rows"][:1]:
        if place < len(rows):
            _inputs_with(result, rows[place], str(predicted or classes[0]), number)


def _inputs_with(result: SetResult, word: Mapping[str, Any], predicted: str, number: int) -> None:
    named = set_summary.inputs_with(result.rows, word["word"], predicted)
    _one_of(result, named, wording.counted(len(named), "input"), f"with {number} {word['word']}")


def _one_of(result: SetResult, rows: pd.DataFrame, label: str, key: str) -> None:
    """Draw the first of the inputs as a box, and the chosen one with its link."""
    titles = {
        f"{name_of(row, result.manifest['data'])}: {wording.one_line(row['text'], 60)}": place
        for place, row in rows.head(LISTED).iterrows()
    }
    title = st.selectbox(label, list(titles), key=key)
    if title:
        compare_link(result, result.rows.loc[titles[title]], f"link {key}")


def _trust(result: SetResult, number: int) -> None:
    st.subheader("Trust map", anchor=False)
    if result.points.empty:
        st.caption("No input with an answer yet.")
        return
    event = st.plotly_chart(
        trust_map(result.points),
        key=f"map {number}",
        on_select="rerun",
        selection_mode="points",
        config=CHART_BUTTONS,
        alt="Agreement and evidence of every input",
    )
    st.caption(ABOUT_MAP)
    chosen = [point["customdata"] for point in event["selection"]["points"] if point.get("customdata")]
    for data in chosen[:1]:
        id = data[0] if isinstance(data, list) else next(iter(data.values())) if isinstance(data, dict) else data
        for _, row in result.rows[result.rows["id"] == id].iterrows():
            compare_link(result, row, f"point link {number}")
    _lists(result, number)


def _lists(result: SetResult, number: int) -> None:
    """Draw what is worth a look: lists of inputs, each with a link to the Compare page."""
    lists = {
        f"{title} ({len(rows):,})": rows for title, rows in set_summary.worth_a_look(result.rows).items() if len(rows)
    }
    if not lists:
        return
    chosen = st.selectbox("Worth a look", list(lists), key=f"list {number}", index=None, placeholder="a list of inputs")
    rows = lists.get(chosen or "")
    if rows is None:
        return
    _one_of(result, rows, "Input", f"listed {number} {chosen}")


def _sanity(result: SetResult, number: int) -> None:
    """Draw what the sanity checks found; nothing without them."""
    if result.sanity.empty:
        return
    st.subheader("Sanity checks", anchor=False)
    inputs = result.sanity[result.sanity["check"] != ""]["id"].nunique()
    plain_text.paragraph(
        f"On {wording.counted(inputs, 'input')}: does an explanation change when the weights of the model are random, "
        "stay with another seed, differ for another class, put a planted word first, and order the units better than "
        "its reverse?"
    )
    if not result.checks:
        _inapplicable(result)
        return
    st.dataframe(
        pd.DataFrame(set_tables.sanity_table().cells(result.checks.items())),
        hide_index=True,
        height="content",
        key=f"sanity {number}",
        column_config={
            column.header: st.column_config.Column(help=column.meaning) for column in set_tables.sanity_table().columns
        },
        alt="Sanity checks by method",
    )
    st.caption(set_tables.SANITY_NOTE)
    left, right = st.columns(2)
    with left:
        curves = {method: steps for method in result.checks if (steps := sanity_summary.cascade(result.sanity, method))}
        if curves:
            st.plotly_chart(
                cascade_chart(curves), key=f"cascade {number}", config=CHART_BUTTONS, alt="Random weights, step by step"
            )
            st.caption("Weights are random from the head down to the part on the axis.")
    with right:
        plain_text.bullets([sanity_summary.sentence(method, results) for method, results in result.checks.items()])
        _inapplicable(result)


def _inapplicable(result: SetResult) -> None:
    """Draw why methods have no value in a check, and inputs that were not checked."""
    lines = sanity_summary.notes(result.sanity)
    if lines:
        with st.expander("What could not be checked, and why"):
            plain_text.bullets(lines)


def _left_out(result: SetResult) -> None:
    data, failed = result.manifest["data"], result.rows[result.rows["status"] == "failed"]
    if data["left_out"] or len(failed):
        with st.expander(f"{wording.counted(data['left_out'], 'row')} left out, {len(failed):,} not explained"):
            unexplained = (f"{name_of(row, result.manifest['data'])}: {row['failed']}" for _, row in failed.iterrows())
            plain_text.bullets([*data["problems"], *unexplained])


def _files(result: SetResult, number: int) -> None:
    """Draw the downloads; a file is made when it is asked for."""
    st.subheader("Take it with you", anchor=False)
    page = partial(set_tables.set_document, result.manifest, result.rows, result.methods, result.sanity)
    files: list[tuple[str, Callable[[], str | bytes], str, str]] = [
        ("Inputs, CSV", lambda: tables.csv_text(set_frames.without_lists(result.rows)), "inputs.csv", "text/csv"),
        ("Methods, CSV", lambda: tables.csv_text(set_frames.without_lists(result.methods)), "methods.csv", "text/csv"),
        ("Inputs, Parquet", lambda: result.rows.to_parquet(index=False), "inputs.parquet", "application/octet-stream"),
        (
            "Methods, Parquet",
            lambda: result.methods.to_parquet(index=False),
            "methods.parquet",
            "application/octet-stream",
        ),
        (
            "Methods, LaTeX",
            lambda: set_tables.method_columns(result.operators).latex(
                result.table, set_tables.latex_caption(result.manifest)
            ),
            "methods.tex",
            "application/x-tex",
        ),
        ("Manifest, JSON", lambda: strict_json(result.manifest), "manifest.json", "application/json"),
        ("Page, HTML", page, "evaluation.html", "text/html"),
    ]
    if len(result.sanity):
        files.insert(2, ("Sanity checks, CSV", lambda: tables.csv_text(result.sanity), "sanity.csv", "text/csv"))
    with st.container(horizontal=True, key=f"files {number}"):
        for label, make, name, kind in files:
            st.download_button(label, make, name, kind, key=f"file {number} {name}", on_click="ignore")
