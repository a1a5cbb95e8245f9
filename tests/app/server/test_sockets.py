import os
import socket
from contextlib import closing

import pytest

from app.server import sockets

pytestmark = pytest.mark.skipif(not sockets.DESCRIPTORS.is_dir(), reason="this system does not list open files")


def test_connections_to_come_send_at_once() -> None:
    with closing(socket.socket()) as server, closing(socket.socket()) as client:  # as Streamlit's, without a protocol
        server.bind(("127.0.0.1", 0))
        server.listen()
        sockets.send_at_once()
        client.connect(server.getsockname())
        connection, _ = server.accept()
        with closing(connection):
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        assert not client.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_other_files_and_sockets_stay_as_they_are() -> None:
    reading, writing = os.pipe()
    one, other = socket.socketpair()
    sockets.send_at_once()
    one.send(b"a")
    os.write(writing, b"b")
    assert (other.recv(1), os.read(reading, 1)) == (b"a", b"b")
    for each in (one, other):
        assert not sockets.is_listening(each)
        each.close()
    for number in (reading, writing):
        os.close(number)
