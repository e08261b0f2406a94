"""The examples and tables of docs/guides/serve.md match the endpoint."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mkdocs_roaming.answer.models.scripted import ScriptedModel, read_script
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.serve.app import ServeTable
from mkdocs_roaming.serve.schemas import OPERATIONS
from mkdocs_roaming.settings import table_keys

DOCS = Path(__file__).parents[3] / "docs/guides/serve.md"
CURL = re.compile(r"^```console\n(\$ curl .*?)^```$", re.MULTILINE | re.DOTALL)
TOOLS = [name for name in ("bash", "curl", "grep", "head", "jq", "uniq") if shutil.which(name) is None]


@pytest.mark.skipif(bool(TOOLS), reason=f"needs {', '.join(TOOLS)}")
def test_curl_examples_print_documented_output(start: Callable[..., Any], sample: Path, tmp_path: Path) -> None:
    endpoint = start(sample, _opening(sample, "ebb drain", tmp_path))
    text = DOCS.read_text("utf-8")
    blocks = CURL.findall(text)
    assert len(blocks) >= 6
    for block in blocks:
        command = block.partition("\n")[0].removeprefix("$ ")
        there = command.replace("localhost:8000", f"127.0.0.1:{endpoint.port}")
        done = subprocess.run(["bash", "-c", there], capture_output=True, text=True, check=True)
        shown = f"$ {command}\n{done.stdout.strip()}\n"
        if os.environ.get("UPDATE"):
            text = text.replace(block, shown)
        else:
            assert block == shown
    DOCS.write_text(text, "utf-8")


def _opening(sample: Path, title: str, folder: Path) -> ScriptedModel:
    """Return a model that opens a section and cites it."""
    section = next(place.id for place in open_library(sample).sections if place.section.title == title)
    sentence = "`--drain-window` is the longest time to wait, 83 s by default."
    script = [
        [
            {"call": {"name": "expand_sections", "arguments": {"ids": [section]}}},
            {"usage": {"input": 9120, "output": 41}},
        ],
        [{"text": f"{sentence} [^{section}]"}, {"usage": {"input": 310, "cache_read": 9100, "output": 35}}],
    ]
    (folder / "script.json").write_text(json.dumps(script), "utf-8")
    return ScriptedModel(read_script(folder / "script.json"))


def test_docs_list_every_operation() -> None:
    table = DOCS.read_text("utf-8").split("## Endpoint")[1].split("\n\n")[1]
    shown: set[tuple[str, str]] = set()
    for cell in re.findall(r"(?m)^\| (`[^|]*) \|", table):
        method = "GET"
        for address in re.findall(r"`([^`]*)`", cell):
            method, path = address.split() if " " in address else (method, address)
            shown.add((method, path.partition("?")[0]))
    assert shown == {(operation.method, operation.path) for operation in OPERATIONS} | {("POST", "/mcp")}


def test_docs_list_every_setting() -> None:
    text = DOCS.read_text("utf-8")
    assert [name for name in table_keys(ServeTable) if not re.search(rf"\b{name}\b", text)] == []
