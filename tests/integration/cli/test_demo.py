"""`roaming demo`: what it prints, and the site that it serves on a terminal."""

from __future__ import annotations

import os
import pty
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from click.testing import CliRunner, Result

from mkdocs_roaming.cli import main


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory, sample: Path) -> Path:
    """A bundle of the sample site."""
    folder = tmp_path_factory.mktemp("bundle") / "docs"
    licence = folder.parent / "LICENSE"
    licence.write_text("Free.\n")
    assert roaming("bundle", sample, "-o", folder, "--license", licence).exit_code == 0
    return folder


@pytest.fixture
def port() -> int:
    """A free port."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def roaming(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_demo_prints_what_was_written_and_what_a_question_finds(bundle: Path, port: int) -> None:
    result = roaming("demo", "--bundle", bundle, "--port", port)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert len(lines) <= 25
    assert re.search(r"llms\.txt +\d+\.\d KB", result.stdout)
    assert re.search(r"manifest\.json .* \d{2,} sections", result.stdout)
    assert "without a model:" in result.stdout
    assert len([line for line in lines if " › " in line]) == 3
    assert lines[-1] == "On your own documentation: roaming init"


def test_port_in_use_is_an_error(bundle: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        result = roaming("demo", "--bundle", bundle, "--port", port)
    assert result.exit_code == 1
    assert f"port {port} is in use; choose another with --port" in result.stderr


def test_installation_without_documentation_is_an_error(tmp_path: Path, port: int) -> None:
    result = roaming("demo", "--bundle", tmp_path, "--port", port)
    assert result.exit_code == 1
    assert "run `make bundle` first" in result.stderr


@contextmanager
def on_terminal(*arguments: object) -> Iterator[int]:
    """Run a command on a terminal until the end of the block; yield its file descriptor."""
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "mkdocs_roaming", *map(str, arguments)]
    process = subprocess.Popen(
        command, stdin=follower, stdout=follower, stderr=subprocess.DEVNULL, start_new_session=True
    )
    os.close(follower)
    try:
        yield leader
    finally:
        os.killpg(process.pid, signal.SIGINT)
        process.wait(20)
        os.close(leader)


def read_until(descriptor: int, end: str) -> str:
    text = ""
    while end not in text:
        text += os.read(descriptor, 4096).decode("utf-8", "replace")
    return text


def test_on_a_terminal_the_site_is_served_with_the_widget_and_an_endpoint(bundle: Path, port: int) -> None:
    with on_terminal("demo", "--bundle", bundle, "--port", port) as terminal:
        assert f"http://127.0.0.1:{port}/" in read_until(terminal, "Ctrl-C stops the server.")
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}") as client:
            for _ in range(300):
                try:
                    health = client.get("/healthz").json()
                    break
                except httpx2.TransportError:
                    time.sleep(0.1)
            page = client.get("/").text
    assert health["model"] == "offline"
    assert "<roaming-ask" in page
    assert "docs.ebbkeeper.example" not in page
