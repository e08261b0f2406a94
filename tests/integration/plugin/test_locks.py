"""Two builds into one folder at the same time, in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.library.validate import validate_site
from mkdocs_roaming.locks import hold_folder

if TYPE_CHECKING:
    from .conftest import Project

SOURCES = {"index.md": "# Home\n\nSee [the guide](guide.md).\n", "guide.md": "# Guide\n\n## Start\n\nDrain it.\n"}
NESTED = """
import subprocess, sys

def on_post_build(config):
    subprocess.run([sys.executable, "-m", "mkdocs_roaming", "index", config.site_dir, "--overwrite"], check=True)
"""


def start(folder: Path) -> subprocess.Popen[str]:
    """Start a build that does not count as a part of one in this process."""
    env = {name: value for name, value in os.environ.items() if name != "ROAMING_PROCESSES"}
    command = [sys.executable, "-m", "mkdocs", "build"]
    return subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_second_build_waits_before_it_empties_the_folder(mkdocs: Project) -> None:
    mkdocs.write(SOURCES)
    folder = mkdocs.folder / "site"
    folder.mkdir()
    (folder / "page.html").write_text("<p>Written by the first build.</p>")
    with hold_folder(folder):
        second = start(mkdocs.folder)
        assert second.stderr is not None
        message = next(line for line in second.stderr if "in progress" in line)
        assert f"process {os.getpid()} on " in message
        assert (folder / "page.html").exists()
    _, errors = second.communicate(timeout=60)
    assert second.returncode == 0, errors
    assert not (folder / "page.html").exists()
    assert validate_site(open_library(folder)).faults == ()


def test_command_of_a_hook_publishes_into_the_folder_of_the_build(mkdocs: Project) -> None:
    (mkdocs.folder / "hook.py").write_text(NESTED)
    mkdocs.write(SOURCES, hooks=[str(mkdocs.folder / "hook.py")])
    build = start(mkdocs.folder)
    _, errors = build.communicate(timeout=60)
    assert build.returncode == 0, errors
    assert json.loads((mkdocs.folder / "site/roaming/manifest.json").read_bytes())["pages"]
