"""The style of every page, which the browser has before the page's script runs, so that nothing moves when that draws.

Streamlit's own page comes from a file; the style is written into its answer, at the end of the body, where it follows
the styles that Streamlit adds to the head.
"""

from functools import cache

from starlette.datastructures import MutableHeaders
from starlette.types import Message, Scope, Send

from explainers.installation import ASSETS

END = b"</body>"
OF_THE_FILE = ("etag", "last-modified", "accept-ranges")  # headers that do not hold for the file with the style


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
