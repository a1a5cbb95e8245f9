"""Streamlit's messages as a browser tab reads and writes them (`ForwardMsg` to the tab, `BackMsg` to the server).

Large elements are sent once: the tab names the hashes of those that it still holds, and the server refers to them. A
held element is forgotten when it was not used in the last script runs, as in the browser.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

SHEET = "crosslight_sheet"  # the component that draws the score sheet
MOST_RUNS = 2  # script runs for which an unused element is held; Streamlit's own default


@dataclass
class HeldMessage:
    payload: bytes
    fragment: str
    last_used: int  # number of the script run


class HeldMessages:
    """The large messages that a tab holds, by hash."""

    def __init__(self) -> None:
        self.held: dict[str, HeldMessage] = {}
        self.runs = 0

    def read(self, payload: bytes) -> ForwardMsg:
        """The message, with the held element in place of a reference. Raises `KeyError` if it is not held."""
        message: ForwardMsg = ForwardMsg.FromString(payload)
        if message.metadata.cacheable and message.hash not in self.held:
            self.held[message.hash] = HeldMessage(payload, message.delta.fragment_id, self.runs)
        if not message.ref_hash:
            return message
        held = self.held[message.ref_hash]
        held.last_used = self.runs
        original: ForwardMsg = ForwardMsg.FromString(held.payload)
        original.metadata.CopyFrom(message.metadata)
        return original

    def run_ended(self, fragments: Iterable[str]) -> None:
        """Forgets what was not used lately; after a run of fragments only what belongs to them."""
        self.runs += 1
        names = set(fragments)
        self.held = {
            key: each
            for key, each in self.held.items()
            if (names and each.fragment not in names) or self.runs - each.last_used <= MOST_RUNS
        }


@dataclass(frozen=True)
class Sheet:
    """What the score sheet says. `text` is what is explained, `failures` are the sentences of failed methods."""

    time: float
    text: str
    statuses: tuple[str, ...]
    failures: tuple[str, ...]

    @property
    def settled(self) -> bool:
        return bool(self.statuses) and all(status in ("done", "failed") for status in self.statuses)


def sheet_of(element: Element) -> Sheet | None:
    """The score sheet, if the element draws it."""
    component = element.bidi_component
    if element.WhichOneof("type") != "bidi_component" or not component.component_name.endswith(SHEET):
        return None
    data: dict[str, Any] = json.loads(component.mixed.json if component.HasField("mixed") else component.json)
    rows = data["rows"]
    return Sheet(
        data.get("time", 0.0),
        "".join(piece for segment in data["segments"][:1] for piece, _ in segment),
        tuple(row["status"] for row in rows),
        tuple(f"{row['name']}: {row['problem']}" for row in rows if row["status"] == "failed"),
    )


def rerun(
    *,
    query: str,
    page: str = "",
    fragment: str = "",
    widgets: Mapping[str, str] | None = None,
    held: Iterable[str] = (),
    address: str = "",
) -> bytes:
    """Asks for a run of the page, or of one fragment at its interval. `widgets` are text boxes by id."""
    message = BackMsg()
    state = message.rerun_script
    state.query_string, state.page_script_hash, state.fragment_id = query, page, fragment
    state.is_auto_rerun = bool(fragment)
    state.cached_message_hashes.extend(held)
    state.context_info.url = address
    for key, value in (widgets or {}).items():
        state.widget_states.widgets.add(id=key, string_value=value)
    content: bytes = message.SerializeToString()
    return content
