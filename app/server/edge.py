"""What a request passes before Streamlit sees it: allowed names only, no foreign pages, no messages for developers.

The style of every page is written into Streamlit's own page, at the end of the body, where it follows the styles that
Streamlit adds to the head: the browser has it before the page's script runs, so nothing moves when that draws.

A page of another site can make its own name point at this machine (DNS rebinding), and a page on another port of this
machine can open connections; both are told apart by Host and Origin.
"""

import base64
import hashlib
import logging
import os
import re
import sys
from functools import cache
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.server.lifetime import link_header
from app.streamlit_shims import INDEX, METRICS, refused
from explainers.errors import ExplanationError
from explainers.installation import ASSETS

HOSTS_VARIABLE = "CROSSLIGHT_HOSTS"
LOCAL = ("localhost", "127.0.0.1", "[::1]")
LOCAL_ONLY = (
    "Other devices cannot open this address: the app answers on this machine only. assets/docs/operations.md says how "
    "to run it for a group."
)
NAME = re.compile(r"(\*\.)?[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?|\[[0-9a-f:.]+\]")
HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?")
INLINE_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)
PROTOCOL_ERROR = 1002  # the code of a WebSocket's end
HOST_REFUSED = (
    "This server does not answer to the name in the request. Open it as localhost or 127.0.0.1, "
    f"or let its owner add the name to {HOSTS_VARIABLE}.\n"
)
ORIGIN_REFUSED = (
    "The request was sent by a page of another address. Open the app's own address; a proxy must pass on the Host "
    "header as it came.\n"
)
CLOSED_REFUSED = "This address is closed.\n"
END = b"</body>"
OF_THE_FILE = ("etag", "last-modified", "accept-ranges")  # headers that do not hold for the file with the style


def allowed_hosts() -> tuple[str, ...]:
    """Return the names of this machine and of CROSSLIGHT_HOSTS; raises `ExplanationError` for what is no name."""
    given = [part.strip().lower() for part in os.environ.get(HOSTS_VARIABLE, "").split(",")]
    for name in filter(None, given):
        if not NAME.fullmatch(name):
            raise ExplanationError(
                f"{HOSTS_VARIABLE} contains {name!r}. Give names without scheme, port and path, separated by commas, "
                "such as app.example.org,*.example.net."
            )
    return (*LOCAL, *filter(None, given))


def is_local(address: str) -> bool:
    """Return whether only this machine can open the address."""
    return (urlsplit(address).hostname or "localhost") in (*LOCAL, "::1")


def is_allowed(host: str | None, allowed: tuple[str, ...]) -> bool:
    """Return whether a Host header, with any port or none, names one of the allowed hosts."""
    match = HOST.fullmatch((host or "").lower())
    name = match["name"].rstrip(".") if match is not None else ""
    return any(name.endswith(pattern[1:]) if pattern.startswith("*.") else name == pattern for pattern in allowed)


def is_same_origin(origin: str, host: str | None) -> bool:
    """Return whether the page that sends the request came from the very address that it asks, port included."""
    scheme, separator, authority = origin.lower().partition("://")
    return scheme in ("http", "https") and bool(separator) and authority == (host or "").lower()


log = logging.getLogger(__name__)


def middleware() -> list[Middleware]:
    """Return the middleware of the app; end the process with a sentence if the settings are wrong."""
    try:
        return [Middleware(Edge, hosts=allowed_hosts())]
    except ExplanationError as error:
        sys.exit(str(error))


class Edge:
    """An ASGI middleware around the whole app, which refuses requests and messages that no user needs."""

    def __init__(self, app: ASGIApp, hosts: tuple[str, ...]) -> None:
        self.app = app
        self.hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        send = _with_headers(send)
        status, sentence = self.refusal(scope)
        if status:
            log.warning("refused with %d: %s %.100r", status, scope["type"], scope["path"])
            await PlainTextResponse(sentence, status)(scope, receive, send)
        elif scope["type"] == "websocket":
            await self.app(scope, _filtered(receive, send), send)
        elif is_visit(scope):
            await self.app(plainly(scope), receive, with_style(send))
        else:
            await self.app(scope, receive, send)

    def refusal(self, scope: Scope) -> tuple[int, str]:
        """Return status and sentence, 0 if the request may pass; a WebSocket needs an Origin, as browsers send it."""
        headers = Headers(scope=scope)
        host, origin = headers.get("host"), headers.get("origin")
        if len(headers.getlist("host")) != 1 or not is_allowed(host, self.hosts):
            return 400, HOST_REFUSED
        if not is_same_origin(origin, host) if origin is not None else scope["type"] == "websocket":
            return 403, ORIGIN_REFUSED
        if scope["path"].rstrip("/").endswith(METRICS):
            return 404, CLOSED_REFUSED
        return 0, ""


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] in ("http.response.start", "websocket.http.response.start"):
            headers = MutableHeaders(scope=message)
            headers.update(security_headers())
            if headers.get("content-type", "").startswith("text/html") and "content-disposition" not in headers:
                headers["Link"] = ", ".join(filter(None, [headers.get("link"), link_header()]))
        await send(message)

    return send_with_headers


def _filtered(receive: Receive, send: Send) -> Receive:
    """Return a `receive` that passes on what a user needs, and logs what it refuses once per kind and connection."""
    logged: set[str] = set()

    async def receive_filtered() -> Message:
        while True:
            message = await receive()
            if message["type"] != "websocket.receive":
                return message
            try:
                kind = refused(message.get("bytes") or b"")  # a frame of text is as empty as a message without a kind
            except ValueError:
                await send({"type": "websocket.close", "code": PROTOCOL_ERROR})
                return {"type": "websocket.disconnect", "code": PROTOCOL_ERROR}
            if not kind:
                return message
            if kind not in logged:
                logged.add(kind)
                log.warning("refused a message: %s", kind)

    return receive_filtered


@cache
def security_headers() -> dict[str, str]:
    """Return the headers by name; the policy is the strictest with which Streamlit's pages and components work."""
    policy = {
        "default-src": "'none'",
        # Components are loaded from blob: addresses that the page itself makes.
        "script-src": f"'self' blob: {' '.join(inline_scripts())}".strip(),
        "style-src": "'self' 'unsafe-inline'",  # Streamlit styles with elements made at run time
        "img-src": "'self' data: blob:",
        "font-src": "'self' data:",  # formulas bring theirs along
        "connect-src": "'self'",
        "manifest-src": "'self'",
        "frame-ancestors": "'none'",
        "object-src": "'none'",
        "base-uri": "'self'",
        "form-action": "'self'",
    }
    return {
        "Content-Security-Policy": "; ".join(f"{name} {sources}" for name, sources in policy.items()),
        "X-Frame-Options": "DENY",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",  # the address of a page contains typed texts
        "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
    }


def inline_scripts() -> tuple[str, ...]:
    """Return the hashes by which the policy allows the scripts in Streamlit's own page, and no others."""
    digests = (hashlib.sha256(script).digest() for script in INLINE_SCRIPT.findall(INDEX.read_bytes()))
    return tuple(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


@cache
def style() -> bytes:
    """Return the element of the style."""
    return b"<style>\n" + (ASSETS / "page.css").read_bytes() + b"</style>\n"


def is_visit(scope: Scope) -> bool:
    """Return whether a browser asks for a page to show."""
    accepted = dict(scope["headers"]).get(b"accept", b"")
    return scope["type"] == "http" and scope["method"] == "GET" and b"text/html" in accepted


def plainly(scope: Scope) -> Scope:
    """Return the request without what would have the file compressed, or answered by "not modified" or in parts."""
    left_out = (b"accept-encoding", b"if-none-match", b"if-modified-since", b"range")
    return {**scope, "headers": [header for header in scope["headers"] if header[0] not in left_out]}


def with_style(send: Send) -> Send:
    """Return a `send` that adds the style to a page, and passes on everything else as it is."""
    start: Message = {}
    body = bytearray()

    async def send_with_style(message: Message) -> None:
        nonlocal start
        if message["type"] == "http.response.start" and _is_page(message):
            start = message
        elif start and message["type"] == "http.response.body":
            body.extend(message.get("body", b""))
            if not message.get("more_body", False):
                whole = bytes(body).replace(END, style() + END, 1)
                headers = MutableHeaders(scope=start)
                for name in OF_THE_FILE:
                    del headers[name]
                headers["content-length"] = str(len(whole))
                await send(start)
                await send({"type": "http.response.body", "body": whole})
        else:
            await send(message)

    return send_with_style


def _is_page(message: Message) -> bool:
    headers = MutableHeaders(scope=message)
    kind, encoded = headers.get("content-type", ""), "content-encoding" in headers
    return kind.startswith("text/html") and "content-disposition" not in headers and not encoded
