"""The owner's results, closed until the owner opens them.

They are agreement among people, and methods against people: their marks, what they prefer, what they guess from, how
they rate and check it.
"""

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

import streamlit as st

from app import plain_text
from app.annotate import adjudication, intermission, people, preparation, projects, results, session
from app.annotate.projects import Project
from app.annotate.shown_results import GoldResults, ShownResults, Support, gold_results, shown_results
from app.annotate.tables import method_name
from app.compare.kept_inputs import address_of
from app.store import Store
from explainers.annotations import opinions, records
from explainers.annotations.agreement import AgreementValue
from explainers.metrics.bootstrap import Interval
from explainers.report.wording import counted, decimals, one_line

FEWEST = 10  # items from which an interval says enough
PEOPLE = (
    "A method's scores against the gold marks for the model's answer, as means over items, beside the expected value "
    "of a random order. Gold is what you decided below; without a decision, the units that at least half of those "
    "marked who gave the model's answer. The number of their answers stands beside the items; those about items that "
    "you decided do not count in it."
)
SUPPORT = "{same:,} of {answers:,} answers were the model's. "
WITHOUT = "Left out: {count} whose gold marks are for another answer than the model's. "
NOBODY = "No item has marks for the model's answer that tell its units apart, so no method can be compared with people."
FEW_SENTENCES = "Fewer than ten sentences are too few to conclude from."
FEW_ITEMS = "Fewer than ten items are too few to conclude from; their intervals are too short."
SCORES = "In brackets: 95 % of a bootstrap over items; one item has none."
READ_COLUMNS = {
    "grammatical": "grammatical",
    "true": "true of the input",
    "supports": "supports the class",
    "informative": "more than a copy",
    opinions.HOLDS: "holds",
}
REASONS = (
    "The share of sentences with yes, each with the mean of its readers. A reason holds if it is true of the input and "
    "supports the class. In brackets: Wilson's 95 % interval over sentences, not over readers."
)
PREFERRED = (
    "The mean place in people's rankings (1 is the best), beside the mean comprehensiveness (AOPC-C) of the maps. "
    "Everybody ranks the same maps of an item."
)
CLOSED = (
    "Nobody sees the work of others yet, you included. Opening the results shows it to you, computes the agreement, "
    "and says from whom the maps and sentences are. This cannot be undone."
)
STILL_OPEN = (
    "Still open: {open:,} of {items:,} items. Looking at the results may bias what you annotate, and what you tell "
    "the others; open anyway?"
)
UNREAD = (
    "Items with answers that the model still has to read: {count:,}. "
    "Tables about methods and marks leave them out until then."
)
UNPREPARED = (
    "Items with answers that are still being prepared: {count:,}. Differences between people leave them out until then."
)
NOTHING = "Nothing has been confirmed yet."
FEW = "Agreement needs an item that at least two people have answered."
INTERVALS = (
    "In brackets 95 % of a bootstrap over items; without them the items are too few, or too much alike, for an "
    "interval; – where a value is not defined, "
    "with the reason below. Agreement is that of people's own answers; decisions do not change it."
)
OTHER = (
    "The model's answer is right, but its most faithful map shares no more with the gold marks than a random order "
    "would. Open the item on Compare to see why."
)
MISSING = "People saw the item without these methods. Results count the items that a method explained."
NO_METHODS = (
    "Methods are compared with people's marks in projects with a task that shows maps, such as ranking them. This one "
    "has none."
)
NO_OTHER = "No item of this kind. It needs marks, maps of a method, and the true class in the data."


def score_tables(shown: ShownResults, gold: GoldResults) -> None:
    _table("Methods against people", f"{_support(gold.support)}{PEOPLE}", gold.against_people)
    explained = any(state.prepared.maps for state in shown.states.values())
    if not gold.against_people and gold.support.answers and explained:
        st.subheader("Methods against people", anchor=False)
        st.caption(_support(gold.support) + NOBODY)
    elif not explained and any(state.marks for state in shown.states.values()):
        st.caption(NO_METHODS)
    _table("Preferred maps", PREFERRED, shown.preferred)
    follows = shown.follows.interval if shown.preferred else None
    if follows is not None:
        interval = f"{decimals(follows.low)} … {decimals(follows.high)}"
        plain_text.caption(
            f"Does preference follow faithfulness? Spearman's ρ {decimals(follows.mean)} ({interval}), "
            f"the mean over {follows.texts:,} items; 0 means not at all."
        )
    _table(
        "Guesses of the model's answer",
        "How many of the guesses were the model's answer, as a mean over items.",
        shown.simulations,
    )
    _table("Ratings of sentences", "From 1 to 5, as means over items.", shown.ratings)
    verdicts = (
        "How often each was accepted, corrected and rejected, and the share that was accepted, as a mean over items."
    )
    _table("Suggestions", verdicts, shown.verdicts)


def _reasons(shown: Sequence[opinions.ReasonShares]) -> None:
    """Draw by writer how often people said yes about given reasons; nothing where nobody has read any."""
    if not shown:
        return
    st.subheader("Reasons that were read", anchor=False)
    written = any(row.writer for row in shown)
    rows = [
        {
            **({"written by": row.writer or "–"} if written else {}),
            "sentences": row.shares[opinions.HOLDS].texts,
            "readers": row.readers,
            **{READ_COLUMNS[question]: _percent(share) for question, share in row.shares.items()},
        }
        for row in shown
    ]
    st.dataframe(rows, hide_index=True, width="stretch")
    few = any(row.shares[opinions.HOLDS].texts < FEWEST for row in shown)
    st.caption(f"{REASONS} {FEW_SENTENCES}" if few else REASONS)


def _percent(share: Interval) -> str:
    return f"{share.mean:.0%} [{100 * share.low:.0f}, {100 * share.high:.0f}]".replace("%", " %")


def _support(rests_on: Support) -> str:
    """Say on how many answers the gold marks rest."""
    known = SUPPORT.format(same=rests_on.same, answers=rests_on.answers) if rests_on.answers else ""
    return known + (WITHOUT.format(count=counted(rests_on.without, "item")) if rests_on.without else "")


def _table(title: str, caption: str, rows: Sequence[Mapping[str, object]]) -> None:
    """Draw a table; nothing where there are no rows."""
    if not rows:
        return
    st.subheader(title, anchor=False)
    st.dataframe([_shown(row) for row in rows], hide_index=True, width="stretch")
    intervals = [value for row in rows for value in row.values() if isinstance(value, Interval)]
    few = any(interval.texts < FEWEST for interval in intervals)
    st.caption(" ".join(filter(None, (caption, SCORES if intervals else "", FEW_ITEMS if few else ""))))


def _shown(row: Mapping[str, object]) -> dict[str, object]:
    named = {**row, "method": method_name(str(row["method"]))}
    return {
        name.replace("auc", "ROC-AUC").replace("iou", "IOU").replace("aopc_c", "AOPC-C").replace("f1", "F1"): _cell(
            value
        )
        for name, value in named.items()
    }


def _cell(value: object) -> object:
    if isinstance(value, Interval):
        bounds = f" ({decimals(value.low)} … {decimals(value.high)})" if value.texts > 1 else ""
        return f"{decimals(value.mean)}{bounds}"
    return decimals(value) if isinstance(value, float) or value is None else value


def results_view(store: Store, preparer: preparation.Preparer, project: Project, by: str) -> None:
    """Draw the results; `by` is the name under which this owner decides."""
    if project.opened is None:
        _open(store, project)
        return
    # Before the results: an item whose preparation ends in between would be missing from both.
    unread = projects.answered_unprepared(store, project.id)
    shown = shown_results(store, project)
    if not shown.annotations:
        st.caption(NOTHING)
        return
    _waiting(preparer, project, unread)
    _agreement(shown.agreements, results.without_agreement(project, shown.agreements, shown.annotations))
    _reasons(shown.reasons)
    gold = gold_results(store, project, shown)
    score_tables(shown, gold)
    if "mark" in project.tasks:
        _other_reasons(project, gold.other_reasons)
    st.subheader("Decide where people differ", anchor=False)
    adjudication.adjudicate(store, project, shown.disputes, by)
    _flagged(shown.annotations)
    _failures(results.missing_explanations(project, shown.states, projects.failures(store, project.id)))
    intermission.downloads(store, project)


def _open(store: Store, project: Project) -> None:
    """Draw the button that opens the results; while items are open, behind a question."""
    st.info(CLOSED)
    still_open = people.open_items(store, project.id, project.spec.overlap)
    label, place, action = "Open the results", st.container(), (projects.open_results, store, project.id)
    if still_open:
        place = st.popover(label)
        place.write(STILL_OPEN.format(open=still_open, items=project.items))
        label = "Open anyway"
    place.button(label, type="primary", key="open results", on_click=session.attempt, args=action)


def _waiting(preparer: preparation.Preparer, project: Project, unread: Sequence[int]) -> None:
    """Prepare items with answers that are not prepared yet, such as those of a download."""
    if unread:
        preparer.want(unread[: preparation.MOST_WAITING])
        sentence = UNREAD if project.spec.asks_model else UNPREPARED
        plain_text.warning(sentence.format(count=len(unread)))
        st.button("Look again", key="look again at results")


def _failures(missing: Sequence[tuple[str, str, str]]) -> None:
    """Draw the methods without an explanation of an item, and why."""
    if not missing:
        return
    st.subheader("Explanations that are missing", anchor=False)
    rows = [{"item": item, "method": method_name(method), "why": reason} for item, method, reason in missing]
    st.dataframe(rows, hide_index=True, width="stretch")
    st.caption(MISSING)


def _agreement(agreed: Sequence[results.TaskAgreement], others: Sequence[Mapping[str, object]]) -> None:
    """Draw how far people agree, by task; `others` are the rows of tasks about which nothing can be said."""
    st.subheader("Agreement", anchor=False)
    if agreed:
        _measures(agreed)
    if others:
        st.dataframe(others, hide_index=True, width="stretch", key="no agreement")
    if others or not agreed:
        st.caption(FEW)


def _measures(agreed: Sequence[results.TaskAgreement]) -> None:
    measures = dict.fromkeys(
        value.name for agreement in agreed for value in agreement.overall
    )  # marks have more of them
    rows = [
        {
            "task": agreement.title,
            **dict.fromkeys(measures, ""),
            **{value.name: _short(value) for value in agreement.overall},
        }
        for agreement in agreed
    ]
    st.dataframe(rows, hide_index=True, width="stretch")
    st.caption(INTERVALS)
    for agreement in agreed:
        if agreement.note:
            plain_text.caption(agreement.note)
        with st.expander(f"{agreement.title}: by pair and by item", key=f"agreement {agreement.title}"):
            st.dataframe([_value(value) for value in agreement.overall], hide_index=True, width="stretch")
            pairs = [
                {"pair": f"{one} and {other}", **_value(value)}
                for (one, other), values in agreement.pairs.items()
                for value in values
            ]
            st.dataframe(pairs, hide_index=True, width="stretch")
            single = [
                {"item": name, **{value.name: decimals(value.value) for value in values}}
                for name, values in agreement.items.items()
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


def _other_reasons(project: Project, listed: Sequence[tuple[results.ItemState, str, opinions.DifferentUnits]]) -> None:
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
            "shared": decimals(value.shared),
            "random order": decimals(value.random_order),
            "open": compare_address(project, state),
        }
        for state, method, value in listed
    ]
    columns = {"open": st.column_config.LinkColumn("Compare", display_text="open")}
    st.dataframe(rows, hide_index=True, width="stretch", column_config=columns)
    st.caption(OTHER)


def compare_address(project: Project, state: results.ItemState) -> str | None:
    """Return the address of the Compare page with this item; None for an image, which an address cannot hold."""
    example = state.item.example
    if example.image is not None:
        return None
    texts = address_of((example.text, example.pair or ""))
    page = str(st.context.url or "").partition("?")[0].removesuffix("/").removesuffix("annotate")
    return f"{page or '/'}?{urlencode({'model': project.spec.model, **texts})}"


def _flagged(annotations: Sequence[records.Annotation]) -> None:
    noted = [annotation for annotation in annotations if annotation.flagged or annotation.comment]
    if noted:
        st.subheader("Flags and comments", anchor=False)
        rows = [
            {
                "item": annotation.item,
                "person": annotation.annotator,
                "flag": "yes" if annotation.flagged else "",
                "comment": annotation.comment,
            }
            for annotation in noted
        ]
        st.dataframe(rows, hide_index=True, width="stretch")
