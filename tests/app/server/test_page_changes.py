"""Which request decides the page that is run next."""

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests, ScriptRequestType

from app.server.page_changes import keep_page_changes

OLD, NEW = "old page", "new page"


@pytest.fixture(autouse=True)
def kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ScriptRequests, "_request_rerun_locked", ScriptRequests._request_rerun_locked)
    keep_page_changes()
    keep_page_changes()  # once is enough


def click(page: str) -> RerunData:
    return RerunData(widget_states=WidgetStates(), page_script_hash=page)


def drawn_again(page: str) -> RerunData:
    return RerunData(page_script_hash=page)


def tick(page: str) -> RerunData:
    return RerunData(widget_states=WidgetStates(), page_script_hash=page, fragment_id="curves", is_auto_rerun=True)


@pytest.mark.parametrize("own", [drawn_again, tick])
def test_a_click_on_another_page_waits_until_it_is_followed(own) -> None:
    requests = ScriptRequests()
    assert requests.request_rerun(click(NEW))
    assert requests.request_rerun(own(OLD))
    request = requests.on_scriptrunner_yield()
    assert request is not None
    assert (request.rerun_data.page_script_hash, request.rerun_data.fragment_id_queue) == (NEW, [])


def test_a_timer_of_the_page_before_does_not_go_back() -> None:
    requests = ScriptRequests()
    requests.request_rerun(click(NEW))
    assert requests.on_scriptrunner_yield() is not None  # the new page runs
    assert requests.request_rerun(tick(OLD))
    assert requests.on_scriptrunner_ready().type == ScriptRequestType.STOP  # nothing waits


def test_a_page_draws_itself_again_and_its_timers_run() -> None:
    requests = ScriptRequests()
    requests.request_rerun(click(OLD))
    assert requests.on_scriptrunner_yield() is not None
    requests.request_rerun(tick(OLD))
    assert requests.on_scriptrunner_ready().rerun_data.fragment_id_queue == ["curves"]
    requests.request_rerun(drawn_again(OLD))
    assert requests.on_scriptrunner_ready().rerun_data.page_script_hash == OLD


def test_the_last_of_two_clicks_counts_and_a_page_may_lead_to_another() -> None:
    requests = ScriptRequests()
    requests.request_rerun(click(OLD))
    requests.request_rerun(click(NEW))
    assert requests.on_scriptrunner_ready().rerun_data.page_script_hash == NEW
    requests.request_rerun(drawn_again(OLD))  # st.switch_page
    assert requests.on_scriptrunner_ready().rerun_data.page_script_hash == OLD


def test_a_session_that_has_ended_runs_nothing() -> None:
    requests = ScriptRequests()
    requests.request_rerun(click(NEW))
    requests.request_stop()
    assert not any(requests.request_rerun(each) for each in (click(NEW), tick(OLD), drawn_again(OLD)))
