"""A browser tab on the Compare page, without a browser: connects, runs the page, and ticks as the page asks it to.

A fragment with `run_every` costs the server one run per interval and tab, because it is the tab that asks for each of
them. Static files are not loaded.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import unescape
from urllib.parse import urlencode, urlsplit

from streamlit.proto.Alert_pb2 import Alert
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.typing import Origin, Subprotocol

from app.load.messages import HeldMessages, Sheet, rerun, sheet_of

ERROR_BOX = re.compile(r'<div class="plain-error"[^>]*>(.*?)</div>', re.DOTALL)  # of app/plain_text.py
TEXT_BOX = "-text"  # how Streamlit ends the id of the widget with the key "text"
PROTOCOLS = [Subprotocol("streamlit"), Subprotocol("PLACEHOLDER_AUTH_TOKEN")]  # as the browser sends them
OPENING = 60  # seconds


class ConnectionLost(Exception):
    """The server refused or closed the connection."""


class Tab:
    """What one tab knows; since the last text: `errors` are exceptions, `alarms` red boxes, `sentences` all texts."""

    def __init__(self, connection: ClientConnection, address: str, query: str) -> None:
        self.connection, self.address, self.query = connection, address, query
        self.held = HeldMessages()
        self.page, self.text_box, self.typed = "", "", ""
        self.timers: dict[str, tuple[float, asyncio.Task[None]]] = {}
        self.sheet: Sheet | None = None
        self.errors: list[str] = []
        self.alarms: list[str] = []
        self.sentences: list[str] = []
        self.received = 0  # bytes

    async def type(self, text: str) -> None:
        """Replaces the text, as a person does who types into the box and presses Control+Enter."""
        self.errors, self.alarms, self.sentences, self.typed = [], [], [], text
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
                self.alarms.append(element.alert.body)
        elif kind == "html" and (match := ERROR_BOX.search(element.html.body)) is not None:
            self.sentences.append(unescape(match[1]))
            self.alarms.append(unescape(match[1]))
        elif kind == "text":
            self.sentences.append(element.text.body)
        elif kind == "text_area" and element.text_area.id.endswith(TEXT_BOX):
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
        widgets = {self.text_box: self.typed} if self.typed and self.text_box else {}
        message = rerun(
            query=self.query,
            page=self.page,
            fragment=fragment,
            widgets=widgets,
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
            f"ws{'s' if parts.scheme == 'https' else ''}://{parts.netloc}/_stcore/stream",
            origin=Origin(f"{parts.scheme}://{parts.netloc}"),
            subprotocols=PROTOCOLS,
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
