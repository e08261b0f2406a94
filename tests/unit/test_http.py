"""How a server's answer is waited for."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from certificates import self_signed

from mkdocs_roaming._http import ConnectionTracker, run_with_timeout


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """A server that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(20)
        yield listening


def address(listening: socket.socket) -> str:
    return f"http://127.0.0.1:{listening.getsockname()[1]}/"


def test_who_is_given_up_hears_of_it_at_once_and_so_does_who_reads(silent: socket.socket) -> None:
    """A thread that waits without an end is woken, and the server sees its connection end."""
    connections, ended = ConnectionTracker(), threading.Event()
    with httpx2.Client(timeout=None, trust_env=False) as client:

        def ask() -> None:
            try:
                client.get(address(silent), extensions={"trace": connections.trace})
            except httpx2.RemoteProtocolError:
                ended.set()

        with pytest.raises(TimeoutError):
            run_with_timeout(ask, 0.5, connections.shutdown)
        server, _ = silent.accept()
        with server:
            server.settimeout(20)
            assert server.recv(65_536).startswith(b"GET / ")
            assert server.recv(65_536) == b""
        assert ended.wait(20)


def test_what_connects_after_it_was_given_up_is_hung_up_too(silent: socket.socket) -> None:
    """A slow lookup of a name does not leave a request that runs on."""
    connections = ConnectionTracker()
    connections.shutdown()
    with httpx2.Client(timeout=None, trust_env=False) as client, pytest.raises(httpx2.TransportError):
        client.get(address(silent), extensions={"trace": connections.trace})


def test_a_connection_with_tls_is_hung_up(silent: socket.socket, tmp_path: Path) -> None:
    """The socket that speaks TLS is another one than the one that was connected."""
    connections, certificate, over = ConnectionTracker(), self_signed(tmp_path / "own.pem"), threading.Event()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    def serve() -> None:
        connected, _ = silent.accept()
        connected.settimeout(20)
        with context.wrap_socket(connected, server_side=True, suppress_ragged_eofs=True) as server:
            assert server.recv(65_536).startswith(b"GET / ")
            if server.recv(65_536) == b"":
                over.set()

    trusting = ssl.create_default_context(cafile=certificate)
    threading.Thread(target=serve, daemon=True).start()
    with httpx2.Client(timeout=None, trust_env=False, verify=trusting) as client:
        url = address(silent).replace("http:", "https:")
        with pytest.raises(TimeoutError):
            run_with_timeout(
                lambda: client.get(url, extensions={"trace": connections.trace}), 0.5, connections.shutdown
            )
        assert over.wait(20)
