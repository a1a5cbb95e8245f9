"""A browser tab on the Compare page, without a browser: connects, runs the page, and ticks as the page asks it to.

A fragment with `run_every` costs the server one run per interval and tab, because it is the tab that asks for each of
them. Large elements are sent once: the tab names the hashes of those that it still holds, and the server refers to
them; a held element is forgotten when it was not used in the last script runs. Static files are not loaded.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from html import unescape
from typing import Any
from urllib.parse import urlencode, urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.typing import Origin, Subprotocol

from app.streamlit_shims import STREAM, SUBPROTOCOLS, Alert, Element, ForwardMsg, is_text_box, rerun_message

ERROR_BOX = re.compile(r'<div class="plain-error"[^>]*>(.*?)</div>', re.DOTALL)  # of app/plain_text.py
OPENING = 60  # seconds
SHEET = "crosslight_sheet"  # the component that draws the score sheet
MOST_RUNS = 2  # script runs for which an unused element is held; Streamlit's own default


class ConnectionLost(Exception):
    """The server refused or closed the connection."""


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
            key: value
            for key, value in self.held.items()
            if (names and value.fragment not in names) or self.runs - value.last_used <= MOST_RUNS
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


class Tab:
    """What one tab knows. Since the last text: `errors` are exceptions, `error_boxes` and `sentences` texts."""

    def __init__(self, connection: ClientConnection, address: str, query: str) -> None:
        self.connection, self.address, self.query = connection, address, query
        self.held = HeldMessages()
        self.page, self.text_box, self.typed = "", "", ""
        self.timers: dict[str, tuple[float, asyncio.Task[None]]] = {}
        self.sheet: Sheet | None = None
        self.errors: list[str] = []
        self.error_boxes: list[str] = []
        self.sentences: list[str] = []
        self.received = 0  # bytes

    async def type(self, text: str) -> None:
        """Replaces the text, as a person does who types into the box and presses Control+Enter."""
        self.errors, self.error_boxes, self.sentences, self.typed = [], [], [], text
        await self._rerun()

    async def idle(self, seconds: float) -> None:
        """Leaves the tab open for that long. Raises `ConnectionLost`."""
        clock = asyncio.get_running_loop().time
        end = clock() + seconds
        while (left := end - clock()) > 0:
            await self.hear(left)

    async def hear(self, seconds: float) -> None:
        """Waits for the next message and reads it; returns also when none comes. Raises `ConnectionLost`."""
        try:
            async with asyncio.timeout(seconds):
                payload = await self.connection.recv()
        except TimeoutError:
            return
        except ConnectionClosed as error:
            raise ConnectionLost(f"The server closed the connection ({error}).") from error
        content = payload if isinstance(payload, bytes) else payload.encode()
        self.received += len(content)
        self._read(self.held.read(content))

    def _read(self, message: ForwardMsg) -> None:
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self.page = message.new_session.page_script_hash
            if not message.metadata.run.fragment_ids:
                self.stop_ticking()
        elif kind == "delta":
            self._see(message)
        elif kind == "page_info_changed":
            self.query = message.page_info_changed.query_string
        elif kind == "auto_rerun":
            self._tick(message.auto_rerun.fragment_id, message.auto_rerun.interval)
        elif kind == "stop_auto_rerun":
            for fragment in message.stop_auto_rerun.fragment_ids:
                self._stop(fragment)
        elif kind == "script_finished" and message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
            self.held.run_ended(message.metadata.run.fragment_ids)
        elif kind == "session_event" and message.session_event.HasField("script_compilation_exception"):
            self.errors.append(message.session_event.script_compilation_exception.message)

    def _see(self, message: ForwardMsg) -> None:
        element = message.delta.new_element
        kind = element.WhichOneof("type")
        if kind == "exception":
            self.errors.append(f"{element.exception.type}: {element.exception.message}")
        elif kind == "alert":
            self.sentences.append(element.alert.body)
            if element.alert.format == Alert.ERROR:
                self.error_boxes.append(element.alert.body)
        elif kind == "html" and (match := ERROR_BOX.search(element.html.body)) is not None:
            self.sentences.append(unescape(match[1]))
            self.error_boxes.append(unescape(match[1]))
        elif kind == "text":
            self.sentences.append(element.text.body)
        elif is_text_box(element, "text"):
            self.text_box = element.text_area.id
        sheet = sheet_of(element)
        if sheet is not None and (self.sheet is None or sheet.time >= self.sheet.time):
            self.sheet = sheet

    def _tick(self, fragment: str, seconds: float) -> None:
        if self.timers.get(fragment, (0.0, None))[0] != seconds:
            self._stop(fragment)
            self.timers[fragment] = (seconds, asyncio.create_task(self._ticking(fragment, seconds)))

    async def _ticking(self, fragment: str, seconds: float) -> None:
        while True:
            await asyncio.sleep(seconds)
            await self._rerun(fragment)

    def _stop(self, fragment: str) -> None:
        _, timer = self.timers.pop(fragment, (0.0, None))
        if timer is not None:
            timer.cancel()

    def stop_ticking(self) -> None:
        for fragment in list(self.timers):
            self._stop(fragment)

    async def _rerun(self, fragment: str = "") -> None:
        texts = {self.text_box: self.typed} if self.typed and self.text_box else {}
        message = rerun_message(
            query=self.query,
            page=self.page,
            fragment=fragment,
            texts=texts,
            held=list(self.held.held),
            address=self.address,
        )
        try:
            await self.connection.send(message)
        except ConnectionClosed as error:
            if not fragment:  # a timer's end is noticed by whoever listens
                raise ConnectionLost(f"The server closed the connection ({error}).") from error

    async def first_run(self) -> None:
        await self._rerun()


@asynccontextmanager
async def opened(url: str, query: dict[str, str | list[str]]) -> AsyncIterator[Tab]:
    """A tab at the address of the app with this query, which has asked for its first run. Raises `ConnectionLost`."""
    parts, encoded = urlsplit(url), urlencode(query, doseq=True)
    try:
        connection = await connect(
            f"ws{'s' if parts.scheme == 'https' else ''}://{parts.netloc}{STREAM}",
            origin=Origin(f"{parts.scheme}://{parts.netloc}"),
            subprotocols=[Subprotocol(name) for name in SUBPROTOCOLS],
            max_size=None,
            max_queue=None,  # unread messages must not hold up the end of the connection
            open_timeout=OPENING,
            ping_interval=None,  # a browser sends none
            proxy=None,
        )
    except (OSError, TimeoutError, WebSocketException) as error:
        raise ConnectionLost(f"The server does not answer ({error}).") from error
    tab = Tab(connection, f"{url.rstrip('/')}/?{encoded}", encoded)
    try:
        await tab.first_run()
        yield tab
    finally:
        tab.stop_ticking()
        await connection.close()
