"""Web servers that run with the configuration of a recipe, on local ports."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

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
