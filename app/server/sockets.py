"""The server's own sockets."""

import os
import socket
from contextlib import suppress
from pathlib import Path

DESCRIPTORS = Path("/dev/fd")  # of this process, on Linux and macOS


def send_at_once() -> None:
    """Switches Nagle's algorithm off for the connections to come, which inherit this from the listening sockets.

    asyncio does so only for sockets that name their protocol, and Streamlit's does not: with it every answer after the
    first one of a connection waits 40 ms for the browser's acknowledgement.
    """
    for name in os.listdir(DESCRIPTORS) if DESCRIPTORS.is_dir() else ():
        with suppress(OSError):  # most are no sockets
            each = socket.socket(fileno=int(name))
            try:
                if is_listening(each):
                    each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            finally:
                each.detach()  # it stays open


def is_listening(each: socket.socket) -> bool:
    """Whether it accepts connections over TCP."""
    stream = each.family in (socket.AF_INET, socket.AF_INET6) and each.type == socket.SOCK_STREAM
    return stream and bool(each.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
