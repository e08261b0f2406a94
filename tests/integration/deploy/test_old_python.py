"""The wheel on Debian 12's Python 3.11.2, which is older than the one for development."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest
import serving

ROOT = Path(__file__).parents[3]
PYTHON = ROOT / ".cache/python3.11/bin/python"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON.exists(), reason="needs Python 3.11 of the system: make debian"),
]


def run(*command: object, cwd: Path) -> str:
    """Run a command without this environment's packages, and return its output."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(list(map(str, command)), cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site that MkDocs has built with the installed wheel."""
    folder = tmp_path_factory.mktemp("project")
    uv = Path(sys.executable).with_name("uv")
    run(uv, "build", "--quiet", "--wheel", "--no-build-isolation", "--python", sys.executable, "-o", folder, cwd=ROOT)
    install = (uv, "pip", "install", "--offline", "--no-deps", "--reinstall", "--python", PYTHON)
    run(*install, *folder.glob("*.whl"), cwd=folder)
    run(uv, "pip", "check", "--python", PYTHON, cwd=folder)
    (folder / "mkdocs.yml").write_text("site_name: Lamp\nsite_url: https://lamp.example/\nplugins: [roaming]\n")
    (folder / "docs").mkdir()
    text = (
        "# Lamp\n\nThe lamp burns 83 h; `--wick-length` is 1,200 µm.\n\n## Oil\n\nFill the lamp with whale-free oil.\n"
    )
    (folder / "docs/index.md").write_text(text, "utf-8")
    run(PYTHON, "-m", "mkdocs", "build", "--quiet", cwd=folder)
    return folder / "site"


def roaming(*arguments: object, cwd: Path) -> str:
    return run(PYTHON, "-m", "mkdocs_roaming", *arguments, cwd=cwd)


def test_commands_search_ask_index_and_crawl(site: Path) -> None:
    folder = site.parent
    assert "https://lamp.example/#oil" in roaming("search", site, "whale-free oil", cwd=folder)
    assert "1,200 µm" in roaming("ask", site, "What is the default of --wick-length?", cwd=folder)
    assert "no faults" in roaming("validate", site, cwd=folder)
    assert "2 sections" in roaming("index", site, "--overwrite", cwd=folder)
    assert "2 sections" in roaming("crawl", site, "-o", "crawled", cwd=folder)
    assert "whale-free" in roaming("grep", "crawled", "whale-free", cwd=folder)


def test_server_answers(site: Path) -> None:
    with serving.process(site, interpreter=PYTHON, env={"PYTHONPATH": ""}) as (_, url):
        answer = httpx2.post(f"{url}/v1/ask", json={"question": "How long does the lamp burn?"})
    assert answer.status_code == 200
    assert "83 h" in answer.text
