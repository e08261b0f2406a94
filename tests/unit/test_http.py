"""Total timeouts, and shutting down a client's connections from another thread."""

from __future__ import annotations

import select
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest
from certificates import self_signed

from mkdocs_roaming._http import ApiConfig, GuardedConnections, run_with_timeout


@pytest.fixture
def silent_server() -> Iterator[socket.socket]:
    """A listening socket that accepts connections and sends nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(20)
        yield server


def url_of(server: socket.socket) -> str:
    return f"http://127.0.0.1:{server.getsockname()[1]}/"


def test_run_with_timeout_ends_connection_of_abandoned_call(silent_server: socket.socket) -> None:
    """The blocked thread wakes up, and the server sees the connection close."""
    connections, was_interrupted = GuardedConnections(url_of(silent_server)), threading.Event()
    with httpx2.Client(timeout=None, trust_env=False) as client:

        def send() -> None:
            try:
                client.get(url_of(silent_server), extensions={"trace": connections.trace})
            except httpx2.RemoteProtocolError:
                was_interrupted.set()

        with pytest.raises(TimeoutError):
            run_with_timeout(send, 0.5, connections.shutdown)
        connection, _ = silent_server.accept()
        with connection:
            connection.settimeout(20)
            assert connection.recv(65_536).startswith(b"GET / ")
            assert connection.recv(65_536) == b""
        assert was_interrupted.wait(20)


def test_shutdown_closes_connections_opened_later(silent_server: socket.socket) -> None:
    """A slow name lookup leaves no request running."""
    connections = GuardedConnections(url_of(silent_server))
    connections.shutdown()
    with httpx2.Client(timeout=None, trust_env=False) as client, pytest.raises(httpx2.TransportError):
        client.get(url_of(silent_server), extensions={"trace": connections.trace})


def test_connection_reset_before_address_check_is_closed_and_reported(silent_server: socket.socket) -> None:
    """A server that stops resets the connections that it has not accepted."""
    url, sockets = url_of(silent_server), list[socket.socket]()
    connections = GuardedConnections(url)

    def trace(event: str, info: Mapping[str, Any]) -> None:
        if event == "connection.connect_tcp.complete":
            sockets.append(info["return_value"].get_extra_info("socket"))
            silent_server.close()
            select.select(sockets, [], [], 20)
        connections.trace(event, info)

    hooks = {"request": [connections.check_request]}
    with httpx2.Client(timeout=None, trust_env=False, event_hooks=hooks) as client:
        with pytest.raises(httpx2.ConnectError):
            client.get(url, extensions={"trace": trace})
        assert sockets[0].fileno() == -1


def test_shutdown_closes_tls_connection(silent_server: socket.socket, tmp_path: Path) -> None:
    """The TLS socket is another object than the TCP socket."""
    connections, certificate, is_closed = (
        GuardedConnections(url_of(silent_server)),
        self_signed(tmp_path / "own.pem"),
        threading.Event(),
    )
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_context.load_cert_chain(certificate)

    def serve() -> None:
        connection, _ = silent_server.accept()
        connection.settimeout(20)
        with server_context.wrap_socket(connection, server_side=True, suppress_ragged_eofs=True) as server:
            assert server.recv(65_536).startswith(b"GET / ")
            if server.recv(65_536) == b"":
                is_closed.set()

    client_context = ssl.create_default_context(cafile=certificate)
    threading.Thread(target=serve, daemon=True).start()
    with httpx2.Client(timeout=None, trust_env=False, verify=client_context) as client:
        url = url_of(silent_server).replace("http:", "https:")
        with pytest.raises(TimeoutError):
            run_with_timeout(
                lambda: client.get(url, extensions={"trace": connections.trace}), 0.5, connections.shutdown
            )
        assert is_closed.wait(20)


def test_api_config_repr_and_address_hide_secrets() -> None:
    config = ApiConfig("m", "https://user:secret@host:8443/v1/?token=secret", "key", "KEY", "BASE_URL")
    assert config.address == "https://host:8443/v1"
    assert "secret" not in repr(config)
    assert "key" not in repr(config)
