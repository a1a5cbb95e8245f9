"""The owner's results, closed until the owner opens them: agreement, methods against people, what people prefer."""

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

import streamlit as st

from app import plain_text
from app.annotate import assignment, items, projects
from app.annotate.actions import attempt
from app.annotate.adjudication import adjudicate
from app.annotate.downloads import downloads
from app.annotate.method_names import method_name
from app.annotate.preparation import MOST_WAITING, Preparer
from app.annotate.projects import Project
from app.annotate.results import ItemState, TaskAgreement
from app.annotate.score_tables import score_tables
from app.annotate.shown_results import gold_results, shown_results
from app.compare.url_state import LONGEST_IN_ADDRESS
from app.store import Store
from explainers.annotations.agreement import AgreementValue
from explainers.annotations.preference import DifferentUnits
from explainers.annotations.records import Annotation
from explainers.report.text import decimals, one_line

CLOSED = (
    "Nobody sees the work of others yet, you included. Opening the results shows it to you, computes the agreement, "
    "and names the methods. This cannot be undone."
)
STILL_OPEN = (
    "{open:,} of {items:,} items are still open. Looking at the results may bias what you annotate, and what you tell "
    "the others; open anyway?"
)
UNREAD = (
    "The model still has to read {count:,} items with answers. "
    "Tables about methods and marks leave them out until then."
)
NOTHING = "Nothing has been confirmed yet."
FEW = "Agreement needs an item that at least two people have answered."
INTERVALS = (
    "In brackets 95 % of a bootstrap over items; – where a value is not defined, with the reason below. Agreement is "
    "that of people's own answers; decisions do not change it."
)
OTHER = (
    "The model's answer is right, but its most faithful map shares no more with the gold marks than a random order "
    "would. Open the item on Compare to see why."
)
MISSING = (
    "These methods failed in every attempt, so people saw the item without them. Results count the items that a method "
    "explained."
)
NO_OTHER = "No item of this kind. It needs marks, maps of a method, and the true class in the data."


def results_view(store: Store, preparer: Preparer, project: Project, by: str) -> None:
    """`by` is the name under which this owner decides."""
    if project.opened is None:
        _open(store, project)
        return
    shown = shown_results(store, project)
    if not shown.annotations:
        st.caption(NOTHING)
        return
    _waiting(store, preparer, project)
    _agreement(shown.agreements)
    gold = gold_results(store, project, shown)
    score_tables(shown, gold)
    if "mark" in project.tasks:
        _other_reasons(project, gold.other_reasons)
    st.subheader("Decide where people differ", anchor=False)
    adjudicate(store, project, shown.disputes, by)
    _flagged(shown.annotations)
    _failures(items.failures(store, project.id))
    downloads(store, project)


def _open(store: Store, project: Project) -> None:
    """The button that opens the results; while items are open, behind a question."""
    st.info(CLOSED)
    still_open = assignment.open_items(store, project.id, project.spec.overlap)
    label, place, action = "Open the results", st.container(), (projects.open_results, store, project.id)
    if still_open:
        place = st.popover(label)
        place.write(STILL_OPEN.format(open=still_open, items=project.items))
        label = "Open anyway"
    place.button(label, type="primary", key="open results", on_click=attempt, args=action)


def _waiting(store: Store, preparer: Preparer, project: Project) -> None:
    """Items with answers that the model has not read, such as those of a download, are read now."""
    unread = items.answered_unprepared(store, project.id)
    if unread:
        preparer.want(unread[:MOST_WAITING])
        plain_text.warning(UNREAD.format(count=len(unread)))
        st.button("Look again", key="look again at results")


def _failures(failed: Mapping[str, Mapping[str, str]]) -> None:
    """Methods without an explanation of an item, after the last attempt."""
    if not failed:
        return
    st.subheader("Explanations that are missing", anchor=False)
    rows = [
        {"item": item, "method": method_name(method), "why": reason}
        for item, own in failed.items()
        for method, reason in own.items()
    ]
    st.dataframe(rows, hide_index=True, width="stretch")
    st.caption(MISSING)


def _agreement(agreed: Sequence[TaskAgreement]) -> None:
    st.subheader("Agreement", anchor=False)
    if not agreed:
        st.caption(FEW)
        return
    measures = dict.fromkeys(value.name for each in agreed for value in each.overall)  # marks have more of them
    rows = [
        {
            "task": each.title,
            **dict.fromkeys(measures, ""),
            **{value.name: _short(value) for value in each.overall},
        }
        for each in agreed
    ]
    st.dataframe(rows, hide_index=True, width="stretch")
    st.caption(INTERVALS)
    for each in agreed:
        if each.note:
            plain_text.caption(each.note)
        with st.expander(f"{each.title}: by pair and by item", key=f"agreement {each.title}"):
            st.dataframe([_value(value) for value in each.overall], hide_index=True, width="stretch")
            pairs = [
                {"pair": f"{one} and {other}", **_value(value)}
                for (one, other), values in each.pairs.items()
                for value in values
            ]
            st.dataframe(pairs, hide_index=True, width="stretch")
            single = [
                {"item": name, **{value.name: decimals(value.value) for value in values}}
                for name, values in each.items.items()
            ]
            st.dataframe(single, hide_index=True, width="stretch")


def _short(value: AgreementValue) -> str:
    if value.value is None or value.low is None:
        return decimals(value.value)
    return f"{decimals(value.value)} ({decimals(value.low)} … {decimals(value.high)})"


def _value(value: AgreementValue) -> dict[str, str]:
    interval = f"{decimals(value.low)} … {decimals(value.high)}" if value.low is not None else ""
    return {
        "measure": value.name,
        "value": decimals(value.value) if value.value is not None else value.reason,
        "95 % interval": interval,
        "items": f"{value.items:,}",
    }


def _other_reasons(project: Project, listed: Sequence[tuple[ItemState, str, DifferentUnits]]) -> None:
    st.subheader("Right for other reasons", anchor=False)
    if not listed:
        st.caption(NO_OTHER)
        return
    rows = [
        {
            "item": state.item.id,
            "text": one_line(state.item.example.text, 80),
            "answer": state.prepared.labels[state.prepared.label],
            "map": method_name(method),
            "shared": decimals(each.shared),
            "random order": decimals(each.random_order),
            "open": compare_address(project, state),
        }
        for state, method, each in listed
    ]
    columns = {"open": st.column_config.LinkColumn("Compare", display_text="open")}
    st.dataframe(rows, hide_index=True, width="stretch", column_config=columns)
    st.caption(OTHER)


def compare_address(project: Project, state: ItemState) -> str | None:
    """Of the Compare page with this item; None for what an address cannot hold: an image, or a long text."""
    example = state.item.example
    texts = {"text": example.text, **({"pair": example.pair} if example.pair else {})}
    if example.image is not None or any(len(text) > LONGEST_IN_ADDRESS for text in texts.values()):
        return None
    page = str(st.context.url or "").partition("?")[0].removesuffix("/").removesuffix("annotate")
    return f"{page or '/'}?{urlencode({'model': project.spec.model, **texts})}"


def _flagged(annotations: Sequence[Annotation]) -> None:
    noted = [each for each in annotations if each.flagged or each.comment]
    if noted:
        st.subheader("Flags and comments", anchor=False)
        rows = [
            {
                "item": each.item,
                "person": each.annotator,
                "flag": "yes" if each.flagged else "",
                "comment": each.comment,
            }
            for each in noted
        ]
        st.dataframe(rows, hide_index=True, width="stretch")
