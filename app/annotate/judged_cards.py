"""What was judged, as people saw it, for the component of assets/judged.js, which writes all of it as text.

labels, segments, image   the input, as in app/annotate/payload.py
cards                     title, and `cells`, the colours of a map
"""

from typing import Any

import streamlit as st

from app.annotate.disputes import Dispute, title, values
from app.annotate.payload import cells, image, segments
from app.components import component, newest

Card = dict[str, Any]


def judged_cards(dispute: Dispute) -> bool:
    """Draws the maps; false where the task is about none."""
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
    if dispute.task not in ("rank", "simulate"):
        return []
    return [{"title": title(method), "cells": cells(scored)} for method, scored in maps.items() if scored is not None]
