"""The cold start of the app in seconds: until the server answers, until the page is there, until it is complete.

The page is there with its first heading. It is complete when every method is done and there is a verdict.
"""

import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from explainers.errors import ExplanationError

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", "streamlit", "run", "streamlit_app.py", "--server.headless=true")
TIMEOUT = 180  # seconds
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]

PROBE = """
(() => {
  const moments = (window.moments = {});
  const shadows = (node) => [...node.querySelectorAll("*")].map((each) => each.shadowRoot).filter(Boolean);
  const roots = (node) => [node, ...shadows(node).flatMap(roots)];
  const all = (selector) => roots(document).flatMap((root) => [...root.querySelectorAll(selector)]);
  const look = () => {
    const methods = all("[data-method][data-status]");
    const done = methods.length > 0 && methods.every((each) => each.dataset.status === "done");
    const verdict = all(".verdict:is(.clear, .tied, .refused)").length > 0;
    const states = {
      "main part": all("[data-testid=stMain]").length > 0,
      "page there": all("[data-testid=stMain] :is(h1, h2)").length > 0,
      "verdict": verdict,
      "first method": methods.some((each) => each.dataset.status === "done"),
      "complete": done && verdict,
    };
    for (const [name, holds] of Object.entries(states)) if (holds) moments[name] ??= performance.now();
    if (!moments.complete) setTimeout(look, 10);
  };
  document.addEventListener("DOMContentLoaded", look);
})()
"""  # milliseconds since the navigation, by name


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def start(port: int) -> "subprocess.Popen[bytes]":
    """The app, started as by hand but without opening a browser."""
    return subprocess.Popen(
        [*COMMAND, f"--server.port={port}"],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def wait_for(port: int) -> None:
    """Returns when the server answers. Raises `ExplanationError` if it does not."""
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=1)
            return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.02)
    raise ExplanationError("The app did not start.")


def chromium() -> str | None:
    """The path of the system's browser; None for the one installed by playwright."""
    return next((path for path in ("/usr/bin/chromium", "/usr/bin/chromium-browser") if os.path.exists(path)), None)


def peak_memory(process: int) -> float | None:
    """GB; None on systems without /proc."""
    status = Path(f"/proc/{process}/status")
    match = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
    return int(match.group(1)) / 1e6 if match else None


def cold_start() -> dict[str, float | None]:
    """By name. Raises `ExplanationError` without playwright; needs Chromium."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        raise ExplanationError(
            "The cold start is measured in a browser: run `pip install -r tests/requirements.txt`, "
            "or omit it with --no-browser."
        ) from error
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.add_init_script(PROBE)
        port = free_port()
        started = time.perf_counter()
        app = start(port)
        try:
            wait_for(port)
            answering = time.perf_counter() - started
            page.goto(f"http://127.0.0.1:{port}/")
            page.wait_for_function("() => window.moments?.complete", timeout=TIMEOUT * 1000)
            seen = {name: moment / 1000 for name, moment in page.evaluate("() => window.moments").items()}
            return {
                "server answers after": answering,
                **{f"{name}, after opening": seconds for name, seconds in seen.items()},
                "complete, after the page is there": seen["complete"] - seen["page there"],
                "peak memory, GB": peak_memory(app.pid),
            }
        finally:
            app.terminate()
            app.wait()
            browser.close()
