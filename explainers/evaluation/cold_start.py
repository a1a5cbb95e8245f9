"""Seconds from the start of the app's process to a usable page, to its first and to its last column; and its memory."""

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
        page = browser.new_page()
        port = free_port()
        started = time.perf_counter()
        app = start(port)
        try:
            wait_for(port)
            page.goto(f"http://127.0.0.1:{port}/")
            page.get_by_role("textbox", name="Text").wait_for(timeout=TIMEOUT * 1000)
            usable = time.perf_counter() - started
            page.locator('.card[data-status="done"]').first.wait_for(timeout=TIMEOUT * 1000)
            first = time.perf_counter() - started
            page.get_by_role("button", name="Compute again").wait_for(timeout=TIMEOUT * 1000)
            last = time.perf_counter() - started
            return {
                "page usable after": usable,
                "first column after": first,
                "all columns after": last,
                "peak memory, GB": peak_memory(app.pid),
            }
        finally:
            app.terminate()
            app.wait()
            browser.close()
