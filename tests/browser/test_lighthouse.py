"""Lighthouse's audits of what agents need of a page, with the widget and where the browser offers WebMCP."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from npm import NODE, install
from serving import serve_static

from .conftest import ARGUMENTS, find_chromium

pytestmark = pytest.mark.slow

SAMPLE = Path(__file__).parents[2] / "sample_site"
OWN_URL = "https://docs.ebbkeeper.example/handbook/"
URL = "https://docs.ebbkeeper.example/"
"""The audits look for llms.txt at the root of the host only."""
GOOD = 0.9
"""Lighthouse shows a score from here on in green."""


@pytest.fixture(scope="module")
def lighthouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the program."""
    return install("lighthouse@13.5", tmp_path_factory.mktemp("lighthouse")) / "lighthouse" / "cli" / "index.js"


@pytest.fixture(params=["material", "mkdocs"])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Build the sample site with a theme and the widget, and return its local URL."""
    copy = tmp_path / "copy"
    shutil.copytree(SAMPLE, copy, ignore=shutil.ignore_patterns("site", ".cache"))
    config = (copy / "mkdocs.yml").read_text("utf-8")
    changes = {f"site_url: {OWN_URL}": f"site_url: {URL}", "- roaming:": "- roaming:\n      widget: true"}
    if request.param == "mkdocs":  # Material hides the empty links that this option adds to each line of code
        changes["anchor_linenums: true"] = "anchor_linenums: false"
    for before, after in changes.items():
        assert before in config
        config = config.replace(before, after)
    (copy / "mkdocs.yml").write_text(config, "utf-8")
    folder = tmp_path / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "-q", "-t", request.param, "-d", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}
    subprocess.run(command, cwd=copy, check=True, capture_output=True, env=environment)
    with serve_static(folder, URL) as local_url:
        for file in folder.rglob("*"):
            if file.suffix in (".html", ".md", ".txt", ".xml", ".json"):
                file.write_bytes(file.read_bytes().replace(URL.encode(), local_url.encode()))
        yield local_url


def audit(program: Path, url: str) -> dict[str, Any]:
    """Return the report of Lighthouse on a page."""
    flags = " ".join(
        re.sub("=(.*)", r"='\1'", flag) for flag in (*ARGUMENTS, "--headless=new", "--enable-features=WebMCPTesting")
    )
    command = [*NODE, str(program), url, "--only-categories=agentic-browsing", "--output=json", "--quiet"]
    command += ["--no-enable-error-reporting", f"--chrome-flags={flags}"]
    environment = {**os.environ, "CHROME_PATH": find_chromium()}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240, env=environment)
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    assert "runtimeError" not in report
    return report


@pytest.mark.parametrize("path", ["", "reference/settings/"])
def test_agent_audits_pass(lighthouse: Path, site: str, path: str) -> None:
    report = audit(lighthouse, site + path)
    names = [one["id"] for one in report["categories"]["agentic-browsing"]["auditRefs"]]
    scores = {name: report["audits"][name]["score"] for name in names}
    applicable = {name: score for name, score in scores.items() if score is not None}
    assert {"agent-accessibility-tree", "cumulative-layout-shift", "llms-txt"} <= set(applicable)
    failed = {name: report["audits"][name].get("details") for name, score in applicable.items() if score < GOOD}
    assert failed == {}
    tools = report["audits"]["webmcp-registered-tools"]
    if tools["scoreDisplayMode"] != "notApplicable":  # this Chromium has WebMCP
        assert all(name in json.dumps(tools["details"]) for name in ("search_docs", "read_section"))
        assert scores["webmcp-schema-validity"] == 1
