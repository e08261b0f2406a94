"""The number of connections that `roaming serve` keeps, and what it logs about them."""

from __future__ import annotations

import signal
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from serving import process


@contextmanager
def limited_process(*arguments: object) -> Iterator[tuple[Any, str, Callable[..., list[socket.socket]]]]:
    """Start an endpoint that may open 200 files; also yield a function that opens idle connections to it."""
    pytest.importorskip("resource")
    code = (
        "import resource, runpy; resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200)); "
        "runpy.run_module('mkdocs_roaming', run_name='__main__')"
    )
    with process(*arguments, interpreter_options=("-c", code)) as (running, url), ExitStack() as stack:

        def connect(number: int, source: str = "127.0.0.1") -> list[socket.socket]:
            address = ("127.0.0.1", int(url.rpartition(":")[2]))
            return [
                stack.enter_context(socket.create_connection(address, timeout=10, source_address=(source, 0)))
                for _ in range(number)
            ]

        yield running, url, connect


def stop(running: Any) -> str:
    """Stop an endpoint and return what it has logged since it listened."""
    running.send_signal(signal.SIGTERM)
    logged: str = running.stderr.read()
    return logged


def count_open(connections: Sequence[socket.socket]) -> int:
    """Return the number of connections that the server has not closed."""
    number = 0
    for connection in connections:
        connection.setblocking(False)
        try:
            number += connection.recv(1) != b""
        except BlockingIOError:
            number += 1
        except ConnectionError:
            pass
    return number


def test_idle_connections_beyond_limit_of_files_are_closed(folder: Path) -> None:
    """A server with 200 files answers while one client holds 400 connections, and logs little."""
    with limited_process(folder) as (running, url, connect):
        connections = []
        for _ in range(4):
            connections += connect(100)
            assert httpx2.get(f"{url}/healthz", timeout=10).status_code == 200
        assert 40 <= count_open(connections) <= 50
        logged = stop(running)
    assert logged.count("more than 50 connections of one client; the longest idle ones are closed") == 1
    assert len(logged) < 2_000


def test_idle_connections_of_one_client_do_not_close_those_of_another(folder: Path) -> None:
    with limited_process(folder) as (_, url, connect):
        (other,) = connect(1)
        connect(300, "127.0.0.2")
        assert httpx2.get(f"{url}/healthz", timeout=10).status_code == 200
        other.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert other.recv(1_000).startswith(b"HTTP/1.1 200 OK")


def test_connections_of_trusted_proxy_are_limited_in_total_only(folder: Path) -> None:
    with limited_process(folder, "--proxies", "1") as (running, url, connect):
        connections = connect(90)
        assert httpx2.get(f"{url}/healthz", timeout=10).status_code == 200
        assert count_open(connections) == 90
        connections += connect(60)
        assert httpx2.get(f"{url}/healthz", timeout=10).status_code == 200
        assert 80 <= count_open(connections) <= 100
        logged = stop(running)
    assert logged.count("more than 100 connections; the longest idle ones are closed") == 1


@pytest.mark.skipif(sys.platform != "linux", reason="needs prlimit and /proc")
def test_server_without_free_files_closes_idle_connections_and_logs_one_line(folder: Path) -> None:
    import resource

    with limited_process(folder) as (running, url, connect):
        connect(20)
        httpx2.get(f"{url}/healthz", timeout=10)
        open_files = len(list(Path(f"/proc/{running.pid}/fd").iterdir()))
        resource.prlimit(running.pid, resource.RLIMIT_NOFILE, (open_files, 200))
        connect(40)
        assert httpx2.get(f"{url}/healthz", timeout=30).status_code == 200
        logged = stop(running)
    assert logged.count("cannot accept connections: too many open files; idle ones are closed") == 1
    assert len(logged) < 2_000
