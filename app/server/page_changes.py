"""A click on another page is kept while the page before still draws itself.

Streamlit folds a request to run again into the one that waits, and the newer one decides which page is run. So a page
that asks to be drawn again, by `st.rerun` or by the timer of a fragment, takes back a click on another page that has
just arrived.
"""

from functools import wraps

from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests, ScriptRequestType


def keep_page_changes() -> None:
    """For all sessions of this process."""
    request = ScriptRequests._request_rerun_locked
    if hasattr(request, "__wrapped__"):
        return

    @wraps(request)
    def request_unless_late(self: ScriptRequests, new_data: RerunData) -> bool:
        late = _is_late(self._state, self._rerun_data, new_data)
        return True if late else request(self, new_data)

    ScriptRequests._request_rerun_locked = request_unless_late  # type: ignore[method-assign]


def _is_late(state: ScriptRequestType, latest: RerunData, new: RerunData) -> bool:
    """Whether a page asks for itself after a person has asked for another one."""
    if state == ScriptRequestType.STOP or latest.page_script_hash in ("", new.page_script_hash):
        return False
    of_script = new.widget_states is None
    waits = state == ScriptRequestType.RERUN and latest.widget_states is not None
    return new.is_auto_rerun or (of_script and waits)
