"""The complete examples of docs/guides/extending.md work when they are installed."""

from __future__ import annotations

import ast
import json
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from serving import serve_requests

from mkdocs_roaming.library.targets import open_library

pytestmark = pytest.mark.slow

GUIDE = (Path(__file__).parents[3] / "docs/guides/extending.md").read_text("utf-8")
BLOCK = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
PYTHON = re.compile(r"^```python[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DOTTED_NAME = re.compile(r"`(mkdocs_roaming(?:\.\w+)+)`")


@pytest.fixture
def plugins(tmp_path: Path) -> Path:
    """Return a folder for PYTHONPATH with all examples of the guide, installed as one package."""
    folder = tmp_path / "plugins"
    info = folder / "examples-1.0.dist-info"
    info.mkdir(parents=True)
    groups: dict[str, list[str]] = {}
    for name, text in BLOCK.findall(GUIDE):
        if name.endswith(".py"):
            (folder / name).write_text(text, "utf-8")
        for group, entry in re.findall(r'entry-points\."([^"]+)"\]\n(.*)', text):
            groups.setdefault(group, []).append(entry.replace('"', ""))
    lines = [f"[{group}]\n" + "\n".join(dict.fromkeys(entries)) + "\n" for group, entries in groups.items()]
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: examples\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text("\n".join(lines), "utf-8")
    return folder


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    file = tmp_path / "notes.md"
    file.write_text("# Notes\n\nHello.\n\n## Keel\n\nThe keel weighs 812 kg.\n", "utf-8")
    return file


def roaming(plugins: Path, *arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs_roaming", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(plugins), **variables}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", sorted(set(DOTTED_NAME.findall(GUIDE))))
def test_every_dotted_name_of_guide_exists(name: str) -> None:
    pkgutil.resolve_name(name)


def test_imports_of_every_python_block_run(plugins: Path) -> None:
    nodes = [node for block in PYTHON.findall(GUIDE) for node in ast.walk(ast.parse(block))]
    imports = [ast.unparse(node) for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    assert len(imports) > 5
    environment = {**os.environ, "PYTHONPATH": str(plugins)}
    command = [sys.executable, "-c", "\n".join(imports)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_command_example_is_listed_and_runs(plugins: Path, notes: Path) -> None:
    assert "Print the number of sections." in roaming(plugins, "--help").stdout
    done = roaming(plugins, "count", notes)
    assert (done.stdout, done.stderr, done.returncode) == ("2\n", "", 0)


def test_broken_command_does_not_break_other_commands(plugins: Path, notes: Path) -> None:
    (plugins / "count_sections.py").write_text("import no_such_module\n", "utf-8")
    assert roaming(plugins, "search", notes, "keel").returncode == 0
    assert "  search " in roaming(plugins, "--help").stdout
    done = roaming(plugins, "count", notes)
    assert "the package examples" in done.stderr
    assert "no_such_module" in done.stderr
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)


def test_model_example_answers(plugins: Path, notes: Path) -> None:
    done = roaming(plugins, "ask", notes, "What is it?", "--model", "first:plain")
    assert done.stdout.startswith("Notes [1]\n\nSources\n")
    assert "answered · plain" in done.stderr


@pytest.fixture
def failing_once(notes: Path) -> Iterator[tuple[str, list[int]]]:
    """Return the URL and the statuses of a server that refuses its first request and answers the next ones."""
    id_ = next(place.id for place in open_library(notes).sections if place.section.title == "Keel")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            statuses.append(503 if not statuses else 200)
            self.send_response(statuses[-1])
            self.end_headers()
            self.wfile.write(json.dumps({"text": f"It weighs 812 kg. [^{id_}]"}).encode())

        def log_message(self, *arguments: Any) -> None:
            pass

    statuses: list[int] = []
    with serve_requests(Handler) as url:
        yield url.removesuffix("/"), statuses


def test_provider_example_repeats_request_after_temporary_failure(
    plugins: Path, notes: Path, failing_once: tuple[str, list[int]]
) -> None:
    url, statuses = failing_once
    done = roaming(plugins, "ask", notes, "How heavy is the keel?", "--model", "second:plain", SECOND_BASE_URL=url)
    assert done.stdout.startswith("It weighs 812 kg. [1]\n"), done.stderr
    assert statuses == [503, 200]


def test_lint_rule_example_passes_its_test(plugins: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_house_rules.py"]
    environment = {**os.environ, "PYTHONPATH": str(plugins)}
    done = subprocess.run(command, cwd=plugins, env=environment, capture_output=True, text=True, check=False)
    assert "1 passed" in done.stdout, done.stdout


def test_library_example_opens_archive(plugins: Path, sample: Path, tmp_path: Path) -> None:
    archive = shutil.make_archive(str(tmp_path / "docs"), "zip", sample)
    done = roaming(plugins, "search", f"zip://{archive}", "power cut", "--limit", 1)
    assert "What a power cut costs" in done.stdout, done.stderr
