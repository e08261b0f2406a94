"""A workflow that `roaming init` has changed is run, with programs that write what the real ones would."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import yaml
from click.testing import CliRunner

from mkdocs_roaming.cli import main

BEFORE = Path(__file__).parents[2] / "golden/init/zensical-workflow/before"
PAGE = "<html><head><title>Willow</title></head><body><main><h1>Willow</h1><p>Willow grows by water.</p></main></body></html>"
PROGRAMS = {
    "pip": "exit 0",
    "zensical": f"mkdir -p site && echo '{PAGE}' > site/index.html",
    "pipx": f'shift 4; exec "{Path(sys.executable).parent}/roaming" "$@"',
}


def deploy(project: Path, programs: Path) -> set[str]:
    """Run the commands of the job, and return the files of the uploaded folder."""
    job = yaml.safe_load((project / ".github/workflows/pages.yml").read_text("utf-8"))["jobs"]["pages"]
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    for step in job["steps"]:
        if "run" in step:
            subprocess.run(["bash", "-e", "-c", step["run"]], cwd=project, env=environment, check=True)
    uploaded = project / job["steps"][-1]["with"]["path"]
    return {file.relative_to(uploaded).as_posix() for file in uploaded.rglob("*") if file.is_file()}


def test_changed_workflow_publishes_what_it_did_and_llms_txt(tmp_path: Path) -> None:
    for name, script in PROGRAMS.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n", "utf-8")
        (tmp_path / name).chmod(0o755)
    project = tmp_path / "osier"
    shutil.copytree(BEFORE, project)
    (project / ".git").mkdir()
    published = deploy(project, tmp_path)
    assert published == {"index.html"}
    shutil.rmtree(project / "site")
    assert CliRunner().invoke(main, ["init", str(project), "--yes"]).exit_code == 0
    assert deploy(project, tmp_path) >= {*published, "index.md", "llms.txt"}
