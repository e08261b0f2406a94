"""A local web server that sends its first response byte by byte without end, and all others at once."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

HEADERS = (b"HTTP/1.1 200 OK\r\nA: ", b"b")
"""The first bytes, and the bytes that are repeated until the client disconnects: an endless header."""
BODY = (b"HTTP/1.1 200 OK\r\n\r\n", b" ")
"""The same for an endless body."""


@contextmanager
def dripping(begins: bytes, piece: bytes, *, then: bytes = b"") -> Iterator[str]:
    """Yield the server's URL; `then` is the body of later responses. Fails if the client never disconnects."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def drip() -> None:
            connection, _ = listening.accept()
            with connection, suppress(OSError):  # the client disconnects
                connection.recv(65_536)
                connection.sendall(begins)
                while True:
                    connection.sendall(piece)
                    time.sleep(0.01)

        def serve() -> None:
            drip()
            while True:
                connection, _ = listening.accept()
                with connection, suppress(OSError):
                    if not connection.recv(65_536).startswith(b"GET "):
                        return
                    size = f"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {len(then)}\r\n\r\n"
                    connection.sendall(size.encode() + then)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
        finally:  # also when a test fails: a thread in accept() would keep pytest from exiting
            with socket.create_connection(listening.getsockname()) as goodbye:
                goodbye.sendall(b"END ")
            thread.join(20)
        assert not thread.is_alive(), "the client never disconnected"
