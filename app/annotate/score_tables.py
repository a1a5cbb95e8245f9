"""Tables of the results about methods: against people's marks, preferred, guessed from, rated and checked."""

from collections.abc import Mapping, Sequence

import streamlit as st

from app import plain_text
from app.annotate.gold import Support
from app.annotate.method_names import method_name
from app.annotate.shown_results import GoldResults, ShownResults
from explainers.metrics.intervals import Interval
from explainers.report.text import decimals

FEWEST = 10  # items from which an interval says enough
PEOPLE = (
    "A method's scores against the gold marks for the model's answer, as means over items, beside the expected value "
    "of a random order. Gold is what you decided below; without a decision, the units that at least half of those "
    "marked who gave the model's answer. The number of their answers stands beside the items."
)
SUPPORT = "{same:,} of {answers:,} answers were the model's. "
WITHOUT = "Left out: {count:,} items with marks, of which none counts for the model's answer. "
NOBODY = "No item has marks for the model's answer that tell its units apart, so no method can be compared with people."
FEW_ITEMS = "Fewer than ten items are too few to conclude from; their intervals are too short."
SCORES = "In brackets: 95 % of a bootstrap over items; one item has none."
PREFERRED = (
    "The mean place in people's rankings (1 is the best), beside the mean comprehensiveness (AOPC-C) of the maps. "
    "Everybody ranks the same maps of an item."
)


def score_tables(shown: ShownResults, gold: GoldResults) -> None:
    _table("Methods against people", f"{_support(gold.support)}{PEOPLE}", gold.against_people)
    if not gold.against_people and gold.support.answers and any(each.prepared.maps for each in shown.states.values()):
        st.subheader("Methods against people", anchor=False)
        st.caption(_support(gold.support) + NOBODY)
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


def _support(rests_on: Support) -> str:
    """On how many answers the gold marks rest."""
    known = SUPPORT.format(same=rests_on.same, answers=rests_on.answers) if rests_on.answers else ""
    return known + (WITHOUT.format(count=rests_on.without) if rests_on.without else "")


def _table(title: str, caption: str, rows: Sequence[Mapping[str, object]]) -> None:
    """Nothing where there are no rows."""
    if not rows:
        return
    st.subheader(title, anchor=False)
    st.dataframe([_shown(row) for row in rows], hide_index=True, width="stretch")
    intervals = [value for row in rows for value in row.values() if isinstance(value, Interval)]
    few = any(each.texts < FEWEST for each in intervals)
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
