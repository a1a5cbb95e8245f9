"""A small server that speaks as much of the hub's protocol as a model needs."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from urllib.parse import urlsplit

COMMIT = "c" * 40
BLOCK = 1 << 12  # bytes


class Hub:
    """The model owner/model with the files of a folder. `go` lets files pass their first block; `asked` are all
    requests with their authorization."""

    def __init__(self, folder: Path) -> None:
        self.files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
        self.go, self.asked = Event(), list[tuple[str, str | None]]()
        self.go.set()

    def listing(self) -> list[dict[str, object]]:
        return [
            {"type": "file", "path": name, "rfilename": name, "size": len(content), "oid": self.etag(name)}
            for name, content in self.files.items()
        ]

    def etag(self, name: str) -> str:
        return hashlib.sha1(self.files[name], usedforsecurity=False).hexdigest()


class Handler(BaseHTTPRequestHandler):
    hub: Hub

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def log_message(self, *_args: object) -> None:
        return

    def _answer(self, *, body: bool) -> None:
        path, hub = urlsplit(self.path).path, self.hub
        hub.asked.append((self.path, self.headers.get("Authorization")))
        if path.startswith("/api/models/owner/model/tree/"):
            self._json(hub.listing())
        elif path.startswith("/api/models/owner/model"):
            self._json({"id": "owner/model", "modelId": "owner/model", "sha": COMMIT, "siblings": hub.listing()})
        elif path.startswith("/owner/model/resolve/") and path.rsplit("/", 1)[1] in hub.files:
            self._file(path.rsplit("/", 1)[1], body=body)
        else:
            self.send_error(404)

    def _json(self, content: object) -> None:
        encoded = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(encoded)))
        self.end_headers()
        self.wfile.write(encoded)

    def _file(self, name: str, *, body: bool) -> None:
        content = self.hub.files[name]
        start = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")[0])
        self.send_response(206 if start else 200)
        for header, value in (("ETag", f'"{self.hub.etag(name)}"'), ("X-Repo-Commit", COMMIT)):
            self.send_header(header, value)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        for at in range(start, len(content) if body else start, BLOCK):
            try:
                self.wfile.write(content[at : min(at + BLOCK, len(content))])
                self.wfile.flush()
            except OSError:  # the client has gone
                return
            self.hub.go.wait(20)


@contextmanager
def serving(hub: Hub) -> Iterator[str]:
    """The address of the server while it is there."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("HandlerOfHub", (Handler,), {"hub": hub}))
    server.daemon_threads = True
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        hub.go.set()
        server.shutdown()
        server.server_close()
