"""The edge as a browser meets it: the policy stops nothing that the pages need, and pages of other addresses get in
nowhere."""

import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import PATIENCE

pytestmark = pytest.mark.browser

STREAM = """address => new Promise(resolve => {
    const socket = new WebSocket(address, ["streamlit"]);
    socket.onopen = () => resolve("open");
    socket.onerror = () => resolve("refused");
})"""
READ = "address => fetch(address).then(answer => answer.text(), () => 'refused')"
FRAME = """address => new Promise(resolve => {
    const frame = document.createElement("iframe");
    frame.onload = () => resolve(frame.contentDocument === null ? "refused" : "shown");
    frame.src = address;
    document.body.append(frame);
})"""


class OtherPage(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<body>another page")

    def log_message(self, *_arguments: object) -> None:
        pass


@pytest.fixture
def other_port() -> Iterator[int]:
    """A page on another port of this machine."""
    with HTTPServer(("127.0.0.1", 0), OtherPage) as server:
        thread = threading.Thread(target=partial(server.serve_forever, 0.01))
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def test_plots_and_components_are_drawn(visit: Callable[..., Any]) -> None:
    """`visit` fails where the console names a violation of the policy."""
    window = visit(text="good", perturbation=["Occlusion", "LIME"], agree="true").done()
    expect(window.page.locator(".js-plotly-plot .main-svg").first).to_be_attached()
    expect(window.page.locator(".crosslight-curves .trace").first).to_be_attached()
    expect(window.page.locator(".crosslight-sheet .unit").first).to_be_visible()


def test_a_page_of_another_port_gets_nothing(chromium: Browser, server: str, other_port: int) -> None:
    context = chromium.new_context(reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(f"http://127.0.0.1:{other_port}/")
    assert page.evaluate(STREAM, f"{server.replace('http', 'ws')}_stcore/stream") == "refused"
    assert page.evaluate(READ, f"{server}_stcore/host-config") == "refused"
    page.evaluate(FRAME, server)
    assert page.frames[1].url.startswith("chrome-error:")
    page.goto(server)
    assert page.evaluate(STREAM, f"{server.replace('http', 'ws')}_stcore/stream") == "open"
    context.close()


def test_script_from_elsewhere_is_not_run(chromium: Browser, server: str, other_port: int) -> None:
    context = chromium.new_context(reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(server)
    expect(page.get_by_role("heading").first).to_be_visible()
    refused = page.evaluate(
        """address => new Promise(resolve => {
            const names = [];
            document.addEventListener("securitypolicyviolation", event => {
                names.push(event.effectiveDirective);
                if (names.length === 4) resolve(names.sort());
            });
            const part = (name, values) => document.body.append(Object.assign(document.createElement(name), values));
            part("script", {textContent: "window.__obeyed = 1"});
            part("script", {src: address});
            part("img", {src: address});
            fetch(address).catch(() => {});
        })""",
        f"http://127.0.0.1:{other_port}/",
    )
    assert refused == ["connect-src", "img-src", "script-src-elem", "script-src-elem"]
    assert page.evaluate("window.__obeyed") is None
    context.close()
