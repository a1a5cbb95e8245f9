"""What was judged, as people saw it, for the component of assets/judged.js, which writes all of it as text.

labels, segments, image   the input, as in app/annotate/payload.py
cards                     title, and either `cells`, the colours of a map, or `marked`, numbers of units
"""

from typing import Any

import streamlit as st

from app.annotate.disputes import Dispute, title, values
from app.annotate.payload import cells, image, segments, suggestion
from app.components import component, newest
from explainers.annotations.records import Inspected, one_method_answers
from explainers.annotations.units import marked_units

Card = dict[str, Any]


def judged_cards(dispute: Dispute) -> bool:
    """Draws the maps or suggestions with people's corrections; false where the task is about neither."""
    listed = _cards(dispute)
    if not listed:
        return False
    prepared = dispute.state.prepared
    content = {
        "labels": list(prepared.names) if len(prepared.texts) > 1 else [""],
        "segments": segments(prepared),
        "image": image(dispute.state.item, prepared),
        "cards": listed,
    }
    last = st.session_state.get("judged cards")
    if last != content:
        last = st.session_state["judged cards"] = content
    component("judged")(key="judged", data=newest("judged", last))
    return True


def _cards(dispute: Dispute) -> list[Card]:
    maps = {method: dispute.state.prepared.maps.get(method) for method in values(dispute)}
    known = {method: scored for method, scored in maps.items() if scored is not None}
    if dispute.task in ("rank", "simulate"):
        return [{"title": title(method), "cells": cells(scored), "marked": []} for method, scored in known.items()]
    if dispute.task != "inspect":
        return []
    return [
        card
        for method, scored in known.items()
        for card in (_marks(f"{title(method)}: suggested", suggestion(scored)), *_corrections(dispute, method))
    ]


def _corrections(dispute: Dispute, method: str) -> list[Card]:
    encoding = dispute.state.prepared.encoding
    return [
        _marks(f"{title(method)}: corrected by {name}", sorted(marked_units(each.marked, encoding)))
        for name, answer in dispute.answers.items()
        for each in one_method_answers(answer)
        if isinstance(each, Inspected) and each.method == method and each.marked is not None
    ]


def _marks(name: str, units: list[int]) -> Card:
    return {"title": name, "cells": None, "marked": units}
