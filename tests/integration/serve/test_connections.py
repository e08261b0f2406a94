"""The number of connections that `roaming serve` keeps, and what it logs about them."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner
from serving import load_cases, process

from mkdocs_roaming.cli import main

pytestmark = pytest.mark.slow
LIMITED = (
    "import resource, runpy; resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200)); "
    "runpy.run_module('mkdocs_roaming', run_name='__main__')"
)


@contextmanager
def limited_process(*arguments: object) -> Iterator[tuple[Any, str, Callable[..., list[socket.socket]]]]:
    """Start an endpoint that may open 200 files; also yield a function that opens idle connections to it."""
    pytest.importorskip("resource")
    with process(*arguments, interpreter_options=("-c", LIMITED)) as (running, url), ExitStack() as stack:

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
    assert logged.count("cannot accept connections: too many open files; idle ones are closed. Allow more: Limit") == 1
    assert len(logged) < 2_000


@pytest.mark.parametrize(("host", "advice"), load_cases("addresses that cannot be bound"))
def test_bind_error_names_the_option_to_change(folder: Path, host: str, advice: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        options = ["serve", str(folder), "--metrics", "off", "--host", host, "--port", str(taken.getsockname()[1])]
        result = CliRunner().invoke(main, options)
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1), result.stderr
    assert f"cannot bind to {host}:" in result.stderr
    assert advice in result.stderr


def test_connections_in_settings_are_the_limits(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "roaming.toml").write_text("[limits]\nconnections = 30\nconnections_each = 10\n")
    with limited_process(folder, "--config", tmp_path / "roaming.toml") as (running, url, connect):
        connections = connect(15)
        assert httpx2.get(f"{url}/healthz", timeout=10).status_code == 200
        assert 5 <= count_open(connections) <= 10
        for number in range(2, 6):
            connections += connect(9, f"127.0.0.{number}")
        assert httpx2.get(f"{url}/healthz", timeout=10).status_code == 200
        assert 20 <= count_open(connections) <= 30
        logged = stop(running)
    assert "more than 10 connections of one client;" in logged
    assert "more than 30 connections;" in logged


def test_low_limit_of_files_is_logged_at_start_with_its_remedy(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "roaming.toml").write_text("[limits]\nconnections = 100\n")
    for arguments, number in (((), 1), (("--config", str(tmp_path / "roaming.toml")), 0)):
        with subprocess.Popen(
            [sys.executable, "-c", LIMITED, "serve", str(folder), "--port", "0", "--metrics", "off", *arguments],
            stderr=subprocess.PIPE,
            text=True,
        ) as running:
            assert running.stderr is not None
            logged = ""
            while "listening on" not in logged:
                line = running.stderr.readline()
                assert line, logged
                logged += line
            running.kill()
        warning = "at most 100 connections, because only 200 files may be open. Allow more"
        assert logged.count(warning) == number


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_connection_of_client_that_reads_nothing_is_aborted(folder: Path, tmp_path: Path) -> None:
    """To close it would wait until the client has read what is in the buffer of the server."""
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "large.txt").write_bytes(b"a" * 30_000_000)
    (tmp_path / "roaming.toml").write_text("[limits]\nsend_seconds = 0.5\n", "utf-8")
    arguments = (folder, "--site", tmp_path / "files", "--config", "roaming.toml")
    with process(*arguments, cwd=tmp_path) as (running, url), ExitStack() as stack:
        files = Path(f"/proc/{running.pid}/fd")
        before = len(list(files.iterdir()))
        for _ in range(20):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))))
            client.sendall(b"GET /large.txt HTTP/1.1\r\nHost: localhost\r\n\r\n")
        end = time.monotonic() + 20
        time.sleep(1)
        while len(list(files.iterdir())) > before + 2 and time.monotonic() < end:
            time.sleep(0.1)
        assert len(list(files.iterdir())) <= before + 2
        logged = stop(running)
    assert "without completing" not in logged
