"""The tutorial's files and commands produce the documented output."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


TUTORIAL = Path(__file__).parents[3] / "docs/tutorial.md"
BLOCK = re.compile(r'^(`{3,})(\w+)(?: title="([^"]+)")?\n(.*?)^\1$', re.MULTILINE | re.DOTALL)
SERVE = "mkdocs serve"
# The last column of an evaluation: it is there only where a machine took a tenth of a second and more.
SECONDS = re.compile(r"^((?:mode|search|offline) .*?) +(?:seconds|\d+\.\d)$", re.MULTILINE)
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith(("ROAMING_", "ANTHROPIC_", "OPENAI_"))},
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    "COLUMNS": "120",
    "LC_ALL": "C.UTF-8",
    "NO_MKDOCS_2_WARNING": "1",  # a banner about another project
}


def run(command: str, folder: Path) -> str:
    """Return the output of a command: standard error, then standard output."""
    done = subprocess.run(command, shell=True, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    shown = "\n\n".join(one for one in (done.stderr.strip(), done.stdout.strip()) if one)
    return SECONDS.sub(r"\g<1>", shown)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Run `mkdocs serve` on a free port and yield its URL after the first build."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [*SERVE.split(), "--quiet", "--dev-addr", f"127.0.0.1:{port}"]
    process = subprocess.Popen(command, cwd=folder, env=ENVIRONMENT)
    try:
        for _ in range(300):
            with socket.socket() as there:
                if there.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/"
    finally:
        process.terminate()
        process.wait(10)


def test_tutorial_commands_print_documented_output(tmp_path: Path) -> None:
    text = TUTORIAL.read_text("utf-8")
    for fence, language, title, body in BLOCK.findall(text):
        if title:
            (tmp_path / title).parent.mkdir(exist_ok=True)
            (tmp_path / title).write_text(body, "utf-8")
        elif language == "console" and body.startswith(f"$ {SERVE}"):
            with served(tmp_path) as address:
                check_widget_and_endpoint(address)
        elif language == "console":
            commands = re.findall(r"^\$ (.*)$", body, re.MULTILINE)
            shown = "\n\n".join(f"$ {command}\n{run(command, tmp_path)}".strip() for command in commands) + "\n"
            if os.environ.get("UPDATE"):
                text = text.replace(f"{fence}console\n{body}", f"{fence}console\n{shown}", 1)
            else:
                assert body == shown
    if os.environ.get("UPDATE"):
        TUTORIAL.write_text(text, "utf-8")


def check_widget_and_endpoint(address: str) -> None:
    """The page brings the widget along, and the same address answers."""
    with urllib.request.urlopen(address) as page:
        assert b"<roaming-ask" in page.read()
    body = json.dumps({"question": "How long does it run without a network?"}).encode()
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(f"{address}v1/ask", body, headers)) as answer:
        assert "14 days" in json.load(answer)["answer"]


def test_last_configuration_of_tutorial_builds(tmp_path: Path) -> None:
    pieces = [body for _, language, title, body in BLOCK.findall(TUTORIAL.read_text("utf-8")) if language == "yaml"]
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/index.md").write_text("# Osier\n", "utf-8")
    (tmp_path / "mkdocs.yml").write_text(pieces[0].replace("  - roaming\n", pieces[-1]), "utf-8")
    assert run("mkdocs build --quiet --strict", tmp_path) == ""
    assert "https://ask.osier.example/" in (tmp_path / "site/index.html").read_text("utf-8")
