"""Web servers that run with the configuration of a recipe, on local ports."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

NGINX, CADDY = (shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin") for name in ("nginx", "caddy"))


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(500):
        assert process.poll() is None, "it ended at once"
        with socket.socket() as line:
            if line.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise AssertionError("it does not listen")


def nginx_command(folder: Path, recipe: Path) -> list[str]:
    """Check a configuration with `nginx -t` as part of one that writes to a folder, and return the command to run it."""
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    types = "types { text/html html; text/plain txt; text/css css; application/json json; }"
    user = "user root; " if os.getuid() == 0 else ""  # its own user cannot read temporary folders
    (folder / "nginx.conf").write_text(
        f"{user}daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log; events {{}}\n"
        f"http {{ access_log {folder}/access.log; {temporary} {types} include {recipe}; }}\n"
    )
    command = [str(NGINX), "-p", str(folder), "-e", str(folder / "error.log"), "-c", str(folder / "nginx.conf")]
    tried = subprocess.run([*command, "-t"], capture_output=True, text=True, check=False)
    assert tried.returncode == 0, tried.stderr
    return command


@contextmanager
def run_web_server(
    kind: str, recipe: str, places: Mapping[str, str], folder: Path, port: int, **environment: str
) -> Iterator[None]:
    """Run nginx or Caddy with a recipe in which some places are replaced; the test is skipped without the program."""
    if {"nginx": NGINX, "caddy": CADDY}[kind] is None:
        pytest.skip(f"needs {kind}")
    for there, here in places.items():
        assert there in recipe
        recipe = recipe.replace(there, here)
    if kind == "caddy" and "admin off" not in recipe:
        recipe = "{\n\tadmin off\n}\n" + recipe
    file = folder / f"{kind}.recipe"
    file.write_text(recipe)
    caddy = [str(CADDY), "run", "--config", str(file), "--adapter", "caddyfile"]
    command = nginx_command(folder, file) if kind == "nginx" else caddy
    homes = dict.fromkeys(("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"), str(folder))
    given = {**os.environ, **homes, **environment}
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(command, env=given, stdout=log, stderr=log) as process,
    ):
        try:
            wait_for(port, process)
            yield
        finally:
            process.terminate()
