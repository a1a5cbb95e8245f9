"""Everything that the app takes from Streamlit besides its documented interface, in one place.

A new version of Streamlit may move any of it without a word. `python -m app.streamlit_shims` says what has moved since
`TRIED_WITH`, and for what it is needed; `make lint` runs it, and the server writes the same sentences into its log.
"""

import inspect
import os
import re
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import streamlit

TRIED_WITH = "1.67.0"

try:
    from streamlit import runtime
    from streamlit.delta_generator import DeltaGenerator as Container  # what `st.columns` and `st.container` return
    from streamlit.proto.Alert_pb2 import Alert
    from streamlit.proto.BackMsg_pb2 import BackMsg
    from streamlit.proto.Element_pb2 import Element
    from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
    from streamlit.runtime.app_session import AppSession
    from streamlit.runtime.pages_manager import PagesManager
    from streamlit.runtime.scriptrunner import get_script_run_ctx
    from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests, ScriptRequestType
    from streamlit.runtime.scriptrunner_utils.script_run_context import FragmentThreadState, ThreadState
except ImportError as error:
    raise ImportError(
        f"Crosslight was tried with Streamlit {TRIED_WITH}, and in the installed {streamlit.__version__} a part "
        f"has moved: {error}. Install streamlit=={TRIED_WITH}, or change app/streamlit_shims.py."
    ) from error

__all__ = ["Alert", "BackMsg", "Container", "Element", "ForwardMsg"]  # passed on as they are

# The addresses of the server and the scripts of its page.
STREAM = "/_stcore/stream"  # of the WebSocket
METRICS = "/_stcore/metrics"
SUBPROTOCOLS = ("streamlit", "PLACEHOLDER_AUTH_TOKEN")  # as the browser sends them for the WebSocket
INDEX = Path(streamlit.__file__).parent / "static" / "index.html"
SCRIPTS = INDEX.parent / "static" / "js"
SCRIPT_IMPORT = re.compile(r"""(?:from|import)\s*["']\./([\w.-]+\.js)["']""")
SCRIPT_IN_PAGE = re.compile(r"static/js/([\w.-]+\.js)")
DRAWING = ("BidiComponent", "Html")  # the scripts that draw what shows results

# The kinds of messages of a browser, and those of the operations in a message of the kind `OPERATION`.
OPERATION = "backend_operation_request"
ALLOWED = frozenset({"rerun_script", "stop_script", "file_urls_request", "app_heartbeat", OPERATION})
REFUSED = frozenset(
    {"clear_cache", "set_run_on_save", "load_git_info", "debug_disconnect_websocket", "debug_shutdown_runtime"}
)
ALLOWED_OPERATIONS = frozenset({"deferred_file", "dataframe_chunk"})
REFUSED_OPERATIONS = frozenset({"install_skills", "dismiss_skills_nudge"})

DESCRIPTORS = Path("/dev/fd")  # of this process, on Linux and macOS


def is_history_navigation() -> bool:
    """Return whether the browser's Back or Forward has caused this run of the script."""
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation


def is_of_other_fragment() -> bool:
    """Return whether a widget's callback runs in the run of a fragment that does not hold the widget.

    A person's change asks for the run of the widget's own fragment, or of the whole page. What a timer's run brings of
    other widgets is what the browser showed when it asked: possibly a value that has been replaced since.
    """
    context = get_script_run_ctx()
    fragments = context.fragment_ids_this_run if context is not None else None
    return fragments is not None and ThreadState.get().fragment_id not in fragments


def page_hash() -> str:
    """Return how Streamlit calls the page that runs; empty outside of a session."""
    context = get_script_run_ctx()
    return context.page_script_hash if context is not None else ""


def connection() -> Callable[[], bool]:
    """Return a function that tells, from any thread, whether the browser's tab of this session is still there."""
    context = get_script_run_ctx()
    if context is None or not runtime.exists():  # in a test
        return lambda: True
    server, session = runtime.get_instance(), context.session_id
    return lambda: server.is_active_session(session)


def leave_pages_directory() -> bool:
    """Stop running the files of the folder `pages` without the entry; return whether Streamlit did so until now."""
    before = bool(PagesManager.uses_pages_directory)
    PagesManager.uses_pages_directory = False
    return before


def keep_page_changes() -> None:
    """Keep a click on another page while the page before still draws itself, in all sessions of this process.

    Streamlit folds a request to run again into the one that waits, and the newer one decides which page is run. So a
    page that asks to be drawn again, by `st.rerun` or by the timer of a fragment, takes back a click on another page
    that has just arrived. So does what is pressed in a fragment of the page that is left, as long as that page stands
    there: Streamlit has forgotten its widgets by then, and draws its fragment in place of the new page.
    """
    request = ScriptRequests._request_rerun_locked
    if hasattr(request, "__wrapped__"):
        return

    @wraps(request)
    def request_unless_late(self: ScriptRequests, new_data: RerunData) -> bool:
        late = _is_late(self._state, self._rerun_data, new_data)
        return True if late else request(self, new_data)

    ScriptRequests._request_rerun_locked = request_unless_late  # type: ignore[method-assign]


def _is_late(state: ScriptRequestType, latest: RerunData, new: RerunData) -> bool:
    """Return whether a page asks for itself after a person has asked for another one."""
    pages = latest.page_script_hash, new.page_script_hash
    if state == ScriptRequestType.STOP or "" in pages or pages[0] == pages[1]:
        return False
    of_script = new.widget_states is None
    waits = state == ScriptRequestType.RERUN and latest.widget_states is not None
    of_fragment = bool(new.fragment_id or new.fragment_id_queue)
    return of_fragment or (of_script and waits)


def deliver_finished_runs() -> None:
    """Deliver what a finished run has drawn before the next one begins, in all sessions of this process.

    A run draws in a thread of its own, and its messages wait for the event loop. Where a request arrives after the
    run's end and before its last messages were handled, Streamlit replaces the runner and drops them (the comment in
    `AppSession.request_rerun` tells of it). The browser is left with half a page whose timers have stopped, or is told
    of elements whose place it has never heard of, and shows nothing any more.
    """
    request = AppSession.request_rerun
    if hasattr(request, "__wrapped__"):
        return
    waiting: WeakKeyDictionary[AppSession, int] = WeakKeyDictionary()

    @wraps(request)
    def request_in_order(self: AppSession, client_state: Any) -> None:
        def later() -> None:
            waiting[self] -= 1
            try:
                request(self, client_state)
            except Exception as error:  # as where a request is handled at once
                self.handle_backmsg_exception(error)

        runner = self._scriptrunner
        if waiting.get(self) or (runner is not None and runner._requests._state == ScriptRequestType.STOP):
            waiting[self] = waiting.get(self, 0) + 1
            self._event_loop.call_soon(later)  # behind the messages, all of which were handed over before the end
        else:
            request(self, client_state)

    AppSession.request_rerun = request_in_order  # type: ignore[method-assign]


def refused(frame: bytes) -> str:
    """Return the kind of the message in a browser's frame that must not reach Streamlit; empty if it may.

    The refused kinds serve developers: they clear the caches of all sessions, write files, tell where the code comes
    from, or stop the server. Raises `ValueError` if the frame holds no message.
    """
    message = BackMsg()
    try:
        message.ParseFromString(frame)
    except Exception as error:  # protobuf's own, without types
        raise ValueError("not a message of Streamlit") from error
    kind = message.WhichOneof("type")
    if kind == OPERATION:
        operation = message.backend_operation_request.WhichOneof("payload")
        return "" if operation in ALLOWED_OPERATIONS else f"{kind} {operation}"
    return "" if kind in ALLOWED else str(kind)


def late_scripts() -> list[str]:
    """Return the names of the scripts that draw results, which the page loads only when the first result arrives."""
    return list(with_imports([path.name for kind in DRAWING for path in sorted(SCRIPTS.glob(f"{kind}.*.js"))]))


def with_imports(names: list[str]) -> Iterator[str]:
    """Yield the scripts and all that they import, each once, without what the page names and what is not there."""
    waiting, seen = list(names), set(SCRIPT_IN_PAGE.findall(INDEX.read_text(encoding="utf-8")))
    while waiting:
        name = waiting.pop(0)
        if name not in seen and (SCRIPTS / name).is_file():
            seen.add(name)
            yield name
            waiting += SCRIPT_IMPORT.findall((SCRIPTS / name).read_text(encoding="utf-8"))


def send_at_once() -> None:
    """Switch Nagle's algorithm off for the connections to come, which inherit this from the listening sockets.

    asyncio does so only for sockets that name their protocol, and Streamlit's does not: with it every answer after the
    first one of a connection waits 40 ms for the browser's acknowledgement.
    """
    for name in os.listdir(DESCRIPTORS) if DESCRIPTORS.is_dir() else ():
        with suppress(OSError):  # most are no sockets
            listener = socket.socket(fileno=int(name))
            try:
                if is_listening(listener):
                    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            finally:
                listener.detach()  # it stays open


def is_listening(candidate: socket.socket) -> bool:
    """Return whether the socket accepts connections over TCP."""
    stream = candidate.family in (socket.AF_INET, socket.AF_INET6) and candidate.type == socket.SOCK_STREAM
    return stream and bool(candidate.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))


def rerun_message(
    *, query: str, page: str, fragment: str, texts: dict[str, str], held: list[str], address: str
) -> bytes:
    """Return the frame by which a tab asks for a run of the page, or of one fragment at its interval.

    `texts` are the contents of text boxes by widget id, `held` the hashes of the elements that the tab has.
    """
    message = BackMsg()
    state = message.rerun_script
    state.query_string, state.page_script_hash, state.fragment_id = query, page, fragment
    state.is_auto_rerun = bool(fragment)
    state.cached_message_hashes.extend(held)
    state.context_info.url = address
    for widget, text in texts.items():
        state.widget_states.widgets.add(id=widget, string_value=text)
    content: bytes = message.SerializeToString()
    return content


def is_text_box(element: Element, key: str) -> bool:
    """Return whether the element draws the `st.text_area` with this key."""
    return element.WhichOneof("type") == "text_area" and bool(element.text_area.id.endswith(f"-{key}"))


@dataclass(frozen=True)
class PrivatePart:
    """A part of Streamlit that is used as it was in the version `TRIED_WITH`."""

    name: str
    purpose: str
    is_there: Callable[[], bool]


def _takes(function: Callable[..., object], *names: str) -> bool:
    return tuple(inspect.signature(function).parameters) == names


def _kinds(message: Any, group: str) -> set[str]:
    return {field.name for field in message.DESCRIPTOR.oneofs_by_name[group].fields}


def _has_reruns() -> bool:
    requests = ScriptRequests()
    used = {"page_script_hash", "widget_states", "fragment_id", "fragment_id_queue"}
    return (
        _takes(ScriptRequests._request_rerun_locked, "self", "new_data")
        and isinstance(requests._state, ScriptRequestType)
        and isinstance(requests._rerun_data, RerunData)
        and used <= {field.name for field in fields(RerunData)}
        and {"STOP", "RERUN"} <= set(ScriptRequestType.__members__)
    )


def _has_runner() -> bool:
    from streamlit.runtime.scriptrunner import ScriptRunner

    return (
        _takes(AppSession.request_rerun, "self", "client_state")
        and _takes(AppSession.handle_backmsg_exception, "self", "e")
        and "self._event_loop.call_soon_threadsafe(" in inspect.getsource(AppSession)
        and "self._requests = ScriptRequests()" in inspect.getsource(ScriptRunner)
    )


def _has_context() -> bool:
    from streamlit.runtime.scriptrunner import ScriptRunContext

    used = {"session_id", "is_history_navigation", "fragment_ids_this_run"}
    return (
        used <= {field.name for field in fields(ScriptRunContext)}
        and hasattr(ScriptRunContext, "page_script_hash")
        and "fragment_id" in {field.name for field in fields(FragmentThreadState)}
    )


def _has_addresses() -> bool:
    from streamlit.web.server.starlette import starlette_routes, starlette_websocket

    routes = (starlette_websocket._ROUTE_WEBSOCKET_STREAM, starlette_routes.ROUTE_METRICS)
    return routes == (STREAM.strip("/"), METRICS.strip("/"))


def _has_scripts() -> bool:
    return INDEX.is_file() and all(len(list(SCRIPTS.glob(f"{kind}.*.js"))) == 1 for kind in DRAWING)


def _leaves_protocol_open() -> bool:
    from streamlit.web.server.starlette import starlette_server

    with starlette_server._bind_socket("127.0.0.1", 0, 1) as listener:
        return listener.proto == 0 and not listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


PARTS = (
    PrivatePart("the queue of reruns (ScriptRequests)", "a click on another page is kept", _has_reruns),
    PrivatePart(
        "the start of a run (AppSession.request_rerun)",
        "what a finished run has drawn reaches the browser (where it does so by itself: drop `deliver_finished_runs`)",
        _has_runner,
    ),
    PrivatePart(
        "PagesManager.uses_pages_directory",
        "an address of a page opens with the navigation",
        lambda: "uses_pages_directory" in vars(PagesManager),
    ),
    PrivatePart("the context of a run (ScriptRunContext)", "Back and Forward restore the page", _has_context),
    PrivatePart(
        "Runtime.is_active_session",
        "a comparison ends when its tab is closed",
        lambda: _takes(runtime.Runtime.is_active_session, "self", "session_id"),
    ),
    PrivatePart(
        "the list of a browser's messages (BackMsg)",
        "every kind is passed on or refused by decision: put the new one into ALLOWED or REFUSED",
        lambda: _kinds(BackMsg, "type") == ALLOWED | REFUSED,
    ),
    PrivatePart(
        "the list of a browser's operations (BackendOperationRequest)",
        "every kind is passed on or refused by decision: put the new one into one of the two lists",
        lambda: _kinds(type(BackMsg().backend_operation_request), "payload") == ALLOWED_OPERATIONS | REFUSED_OPERATIONS,
    ),
    PrivatePart(
        "the addresses of stream and metrics", "the load test connects and metrics stay closed", _has_addresses
    ),
    PrivatePart("the scripts of the page", "the first results are drawn without another round trip", _has_scripts),
    PrivatePart(
        "the listening socket",
        "answers are sent at once (where it does so by itself: drop `send_at_once`)",
        _leaves_protocol_open,
    ),
)


def moved(parts: tuple[PrivatePart, ...] = PARTS) -> tuple[str, ...]:
    """Return a sentence for every part that is not as it was."""
    return tuple(
        f"Streamlit {streamlit.__version__} has changed {part.name} since {TRIED_WITH}. It is used so that "
        f"{part.purpose}. Change app/streamlit_shims.py."
        for part in parts
        if not _holds(part)
    )


def _holds(part: PrivatePart) -> bool:
    try:
        return part.is_there()
    except (AttributeError, ImportError, KeyError, TypeError, ValueError, OSError):
        return False


if __name__ == "__main__":
    sys.exit("\n".join(moved()) or 0)
