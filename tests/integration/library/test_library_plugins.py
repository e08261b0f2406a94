"""Libraries of other distributions (entry-point group `roaming.libraries`), installed in a temporary folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PLUGIN = """\
from mkdocs_roaming.library.targets import library_from_markdown
from mkdocs_roaming.library.targets import SiteTarget


def open_note(where, **options):
    if not where.startswith("note://"):
        return None
    text = f"# {where.removeprefix('note://')}\\n\\nThe pump is red.\\n"
    return SiteTarget(where, opener=lambda where: library_from_markdown(text, name="Note"))
"""


def install(folder: Path, code: str) -> None:
    """Install a distribution `note-library` with a module `note_library` in a folder."""
    (folder / "note_library.py").write_text(code, "utf-8")
    metadata = folder / "note_library-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: note-library\nVersion: 1.0\n", "utf-8")
    (metadata / "entry_points.txt").write_text("[roaming.libraries]\nnotes = note_library:open_note\n", "utf-8")


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=folder, timeout=60)


def test_plugin_opens_target_of_commands_and_open_library(tmp_path: Path) -> None:
    install(tmp_path, PLUGIN)
    (hit,) = json.loads(run(tmp_path, "-m", "mkdocs_roaming", "search", "note://Pump", "red pump", "--json").stdout)
    assert hit["title"] == "Pump"
    opened = run(tmp_path, "-m", "mkdocs_roaming", "expand", "note://Pump", hit["id"])
    assert "The pump is red." in opened.stdout
    answer = run(
        tmp_path, "-m", "mkdocs_roaming", "ask", "note://Pump", "What colour is the pump?", "--model", "offline"
    )
    assert "The pump is red." in answer.stdout
    code = "import mkdocs_roaming; print(mkdocs_roaming.open_library('note://Lamp').search('red')[0].title)"
    assert run(tmp_path, "-c", code).stdout == "Lamp\n"


def test_address_that_no_plugin_knows_raises_error(tmp_path: Path) -> None:
    install(tmp_path, PLUGIN)
    done = run(tmp_path, "-m", "mkdocs_roaming", "search", "ftp://docs.example/", "pump")
    assert done.returncode == 1
    assert "only http:// and https:// addresses, folders and Markdown files can be opened" in done.stderr


def test_folder_of_one_site_does_not_load_plugins(tmp_path: Path) -> None:
    install(tmp_path, "raise RuntimeError('loaded')\n")
    (tmp_path / "README.md").write_text("# Pump\n\nThe pump is red.\n", "utf-8")
    done = run(tmp_path, "-m", "mkdocs_roaming", "search", "README.md", "pump")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("target", ["note://Pump", "."])
def test_broken_plugin_raises_error_that_names_distribution(tmp_path: Path, target: str) -> None:
    install(tmp_path, "import a_missing_module\n")
    done = run(tmp_path, "-m", "mkdocs_roaming", "search", target, "pump")
    assert done.returncode == 1
    assert done.stderr == (
        "roaming: the plugin 'notes' of the package note-library (roaming.libraries = note_library:open_note) "
        "cannot be loaded: ModuleNotFoundError: No module named 'a_missing_module'; "
        "update note-library or uninstall it\n"
    )
