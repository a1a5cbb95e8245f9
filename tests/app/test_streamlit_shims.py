"""What the app takes from Streamlit besides its documented interface: that it is there, and what is made of it."""

import asyncio
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import streamlit
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests, ScriptRequestType
from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState
from streamlit.testing.v1 import AppTest

from app import streamlit_shims
from app.streamlit_shims import INDEX, SCRIPTS, PrivatePart, moved, refused, with_imports

ROOT = Path(__file__).parents[2]
OLD, NEW = "old page", "new page"


def test_nothing_has_moved() -> None:
    assert moved() == (), "\n".join(moved())


def test_the_version_is_the_one_that_is_pinned() -> None:
    """Whoever pins another one tries the app with it, and says so."""
    assert f"streamlit=={streamlit_shims.TRIED_WITH}" in (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert streamlit.__version__ == streamlit_shims.TRIED_WITH


def test_a_part_that_has_changed_or_is_gone_is_named_with_what_needs_it() -> None:
    def gone() -> bool:
        raise AttributeError("no such part")

    parts = (
        PrivatePart("A", "a is drawn", lambda: True),
        PrivatePart("B", "b is kept", lambda: False),
        PrivatePart("C", "c is closed", gone),
    )
    changed, missing = moved(parts)
    assert "has changed B since" in changed
    assert "so that b is kept" in changed
    assert "has changed C since" in missing


@pytest.mark.parametrize(
    ("owner", "name", "part"),
    [
        (ScriptRequests, "_request_rerun_locked", "the queue of reruns"),
        (PagesManager, "uses_pages_directory", "PagesManager.uses_pages_directory"),
        (streamlit_shims.runtime.Runtime, "is_active_session", "Runtime.is_active_session"),
    ],
)
def test_a_method_that_is_renamed_is_noticed(
    monkeypatch: pytest.MonkeyPatch, owner: type, name: str, part: str
) -> None:
    monkeypatch.delattr(owner, name)
    (sentence,) = moved()
    assert part in sentence


def test_a_method_with_other_parameters_and_scripts_with_other_names_are_noticed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(ScriptRequests, "_request_rerun_locked", lambda self, data, urgent: True)
    monkeypatch.setattr(streamlit_shims, "SCRIPTS", tmp_path)
    assert ["queue of reruns" in sentence or "scripts of the page" in sentence for sentence in moved()] == [True, True]


def test_a_message_that_nobody_has_judged_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streamlit_shims, "REFUSED", streamlit_shims.REFUSED - {"clear_cache"})
    (sentence,) = moved()
    assert "ALLOWED or REFUSED" in sentence


def test_the_command_ends_without_a_word_where_nothing_has_moved() -> None:
    command = [sys.executable, "-m", "app.streamlit_shims"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_the_names_that_styles_and_probes_ask_for_are_in_the_scripts() -> None:
    """Such as `.stMain` and `[data-testid="stApp"]`; a style for a name that is gone does nothing, without an error."""
    files = [
        path
        for folder in ("app", "assets", "explainers/studies", "tests/browser")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".css", ".js")
    ]
    pattern = re.compile(r"""(?:(?<![\w)])\.|data-testid[\^*]?=["']?)(st[A-Z][A-Za-z]+)""")
    names = {name for path in files for name in pattern.findall(path.read_text(encoding="utf-8"))}
    scripts = "".join(path.read_text(encoding="utf-8") for path in SCRIPTS.glob("*.js"))
    assert {"stMain", "stApp", "stBaseButton"} <= names
    assert sorted(name for name in names if name not in scripts) == []


# Which request decides the page that is run next


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ScriptRequests, "_request_rerun_locked", ScriptRequests._request_rerun_locked)
    streamlit_shims.keep_page_changes()
    streamlit_shims.keep_page_changes()  # once is enough


def click(page: str) -> RerunData:
    return RerunData(widget_states=WidgetStates(), page_script_hash=page)


def drawn_again(page: str) -> RerunData:
    return RerunData(page_script_hash=page)


def tick(page: str) -> RerunData:
    return RerunData(widget_states=WidgetStates(), page_script_hash=page, fragment_id="curves", is_auto_rerun=True)


def pressed(page: str) -> RerunData:
    return RerunData(widget_states=WidgetStates(), page_script_hash=page, fragment_id="sheet")


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("own", [drawn_again, tick, pressed])
def test_a_click_on_another_page_waits_until_it_is_followed(own: Callable[[str], RerunData]) -> None:
    requests = ScriptRequests()
    assert requests.request_rerun(click(NEW))
    assert requests.request_rerun(own(OLD))
    request = requests.on_scriptrunner_yield()
    assert request is not None
    assert (request.rerun_data.page_script_hash, request.rerun_data.fragment_id_queue) == (NEW, [])


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("own", [tick, pressed])
def test_a_fragment_of_the_page_before_does_not_go_back(own: Callable[[str], RerunData]) -> None:
    requests = ScriptRequests()
    requests.request_rerun(click(NEW))
    assert requests.on_scriptrunner_yield() is not None  # the new page runs
    assert requests.request_rerun(own(OLD))
    assert requests.on_scriptrunner_ready().type == ScriptRequestType.STOP  # nothing waits


@pytest.mark.usefixtures("kept")
def test_a_page_draws_itself_again_and_its_timers_run() -> None:
    requests = ScriptRequests()
    requests.request_rerun(click(OLD))
    assert requests.on_scriptrunner_yield() is not None
    requests.request_rerun(tick(OLD))
    assert requests.on_scriptrunner_ready().rerun_data.fragment_id_queue == ["curves"]
    requests.request_rerun(drawn_again(OLD))
    assert requests.on_scriptrunner_ready().rerun_data.page_script_hash == OLD


@pytest.mark.usefixtures("kept")
def test_the_last_of_two_clicks_counts_and_a_page_may_lead_to_another() -> None:
    requests = ScriptRequests()
    requests.request_rerun(click(OLD))
    requests.request_rerun(click(NEW))
    assert requests.on_scriptrunner_ready().rerun_data.page_script_hash == NEW
    requests.request_rerun(drawn_again(OLD))  # st.switch_page
    assert requests.on_scriptrunner_ready().rerun_data.page_script_hash == OLD


@pytest.mark.usefixtures("kept")
def test_a_session_that_has_ended_runs_nothing() -> None:
    requests = ScriptRequests()
    requests.request_rerun(click(NEW))
    requests.request_stop()
    assert not any(requests.request_rerun(data) for data in (click(NEW), tick(OLD), drawn_again(OLD)))


# What a browser may send


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (BackMsg(), "None"),
        *((BackMsg(**{kind: True}), kind) for kind in sorted(streamlit_shims.REFUSED)),
        (BackMsg(backend_operation_request={"install_skills": {}}), "backend_operation_request install_skills"),
        (BackMsg(backend_operation_request={}), "backend_operation_request None"),
        (BackMsg(backend_operation_request={"deferred_file": {"file_id": "1"}}), ""),
        (BackMsg(backend_operation_request={"dataframe_chunk": {"source_id": "1"}}), ""),
        (BackMsg(rerun_script={}), ""),
        (BackMsg(stop_script=True), ""),
        (BackMsg(app_heartbeat=True), ""),
        (BackMsg(file_urls_request={"request_id": "1"}), ""),
    ],
)
def test_only_what_a_user_of_the_app_needs_is_passed_on(message: BackMsg, kind: str) -> None:
    assert refused(message.SerializeToString()) == kind


def test_a_tick_names_its_fragment_and_what_the_tab_holds() -> None:
    frame = streamlit_shims.rerun_message(
        query="text=a", page="p", fragment="f", texts={"id-text": "b"}, held=["h"], address="http://127.0.0.1/"
    )
    state = BackMsg.FromString(frame).rerun_script
    assert (state.fragment_id, state.is_auto_rerun, list(state.cached_message_hashes)) == ("f", True, ["h"])
    assert [(widget.id, widget.string_value) for widget in state.widget_states.widgets] == [("id-text", "b")]


# The session that runs, as Streamlit's own test runner plays it


def test_a_text_box_is_known_by_its_key_and_a_page_has_a_name() -> None:
    def page() -> None:
        import streamlit as st

        from app import streamlit_shims

        st.text_area("Text", key="text")
        st.text_area("Text", key="other")
        st.text(f"{streamlit_shims.page_hash() != ''} {streamlit_shims.is_history_navigation()}")

    at = AppTest.from_function(page, default_timeout=60).run()
    assert not at.exception
    elements = [streamlit_shims.Element(text_area=box.proto) for box in at.text_area]
    assert [streamlit_shims.is_text_box(element, "text") for element in elements] == [True, False]
    assert at.text[0].value == "True False"


def test_outside_of_a_session_a_page_has_no_name_and_no_tab_is_gone() -> None:
    assert (streamlit_shims.page_hash(), streamlit_shims.is_history_navigation()) == ("", False)
    assert streamlit_shims.connection()()


# The scripts of the page


def test_what_a_script_imports_comes_with_it() -> None:
    (component,) = (path.name for path in SCRIPTS.glob("BidiComponent.*.js"))
    first, *rest = with_imports([component])
    assert first == component
    assert rest
    assert not [name for name in rest if name in INDEX.read_text(encoding="utf-8")]


def test_a_script_that_is_not_there_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streamlit_shims, "SCRIPTS", tmp_path)
    (tmp_path / "first.js").write_text('import "./gone.js";import {a} from "./second.js";')
    (tmp_path / "second.js").write_text("")
    assert list(with_imports(["first.js", "missing.js"])) == ["first.js", "second.js"]


# The server's sockets


@pytest.fixture
def descriptors() -> None:
    if not streamlit_shims.DESCRIPTORS.is_dir():
        pytest.skip("this system does not list open files")


@pytest.mark.usefixtures("descriptors")
def test_connections_to_come_send_at_once() -> None:
    with closing(socket.socket()) as server, closing(socket.socket()) as client:  # as Streamlit's, without a protocol
        server.bind(("127.0.0.1", 0))
        server.listen()
        streamlit_shims.send_at_once()
        client.connect(server.getsockname())
        connection, _ = server.accept()
        with closing(connection):
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        assert not client.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.usefixtures("descriptors")
def test_other_files_and_sockets_stay_as_they_are() -> None:
    reading, writing = os.pipe()
    one, other = socket.socketpair()
    streamlit_shims.send_at_once()
    one.send(b"a")
    os.write(writing, b"b")
    assert (other.recv(1), os.read(reading, 1)) == (b"a", b"b")
    for plug in (one, other):
        assert not streamlit_shims.is_listening(plug)
        plug.close()
    for number in (reading, writing):
        os.close(number)


@pytest.mark.parametrize(
    ("run", "holder", "other"),
    [(None, None, False), (None, "a", False), (["a"], "a", False), (["a"], None, True), (["a"], "b", True)],
)
def test_a_callback_in_the_run_of_a_fragment_without_its_widget_is_noticed(
    run: list[str] | None, holder: str | None, other: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streamlit_shims, "get_script_run_ctx", lambda: SimpleNamespace(fragment_ids_this_run=run))
    ThreadState.initialize()
    with ThreadState.scoped(fragment_id=holder):
        assert streamlit_shims.is_of_other_fragment() is other


# What a finished run has drawn


class Session(AppSession):
    """A session whose runner has ended, and whose messages wait for the event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, *, ended: bool) -> None:
        self.heard: list[str] = []
        self._event_loop = loop
        self._scriptrunner = cast(Any, SimpleNamespace(_requests=ScriptRequests()))
        if ended:
            cast(Any, self._scriptrunner)._requests.on_scriptrunner_ready()
            cast(Any, self._scriptrunner)._requests.on_scriptrunner_ready()
        loop.call_soon(self.heard.append, "drawn")
        loop.call_soon(self.end)

    def __del__(self) -> None:
        pass

    def end(self) -> None:
        self._scriptrunner = None


@pytest.fixture
def delivered(monkeypatch: pytest.MonkeyPatch) -> None:
    def request(self: Session, client_state: str) -> None:
        if client_state == "wrong":
            raise ValueError(client_state)
        self.heard.append(client_state)

    monkeypatch.setattr(AppSession, "request_rerun", request)
    monkeypatch.setattr(AppSession, "handle_backmsg_exception", lambda self, e: self.heard.append(f"told of {e}"))
    streamlit_shims.deliver_finished_runs()
    streamlit_shims.deliver_finished_runs()  # once is enough


async def asked(*, ended: bool) -> list[str]:
    loop = asyncio.get_running_loop()
    session = Session(loop, ended=ended)
    for later in ("second", "wrong") if ended else ():  # by then there is no runner
        loop.call_soon(session.request_rerun, later)
    session.request_rerun(cast(Any, "first"))
    for _ in range(4):
        await asyncio.sleep(0)
    return session.heard


@pytest.mark.usefixtures("delivered")
def test_a_request_after_the_end_of_a_run_waits_for_its_messages() -> None:
    assert asyncio.run(asked(ended=True)) == ["drawn", "first", "second", "told of wrong"]


@pytest.mark.usefixtures("delivered")
def test_a_request_during_a_run_is_heard_at_once() -> None:
    assert asyncio.run(asked(ended=False)) == ["first", "drawn"]
