"""A site that MkDocs builds with the plugin, and Zensical with `roaming build`, from the same sources."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.library.validate import validate_site
from mkdocs_roaming.manifest.io import load_manifest

ROOT = Path(__file__).parents[3]
ZENSICAL = shutil.which("zensical", path=os.environ.get("ZENSICAL_BIN"))

pytestmark = [pytest.mark.slow, pytest.mark.skipif(ZENSICAL is None, reason="needs zensical, in ZENSICAL_BIN or PATH")]


def test_sample_site_of_zensical_equals_that_of_mkdocs(tmp_path: Path) -> None:
    project = tmp_path / "project"
    shutil.copytree(ROOT / "sample_site", project, ignore=shutil.ignore_patterns("site", ".cache"))
    config = project / "mkdocs.yml"
    # Zensical has no `!relative`, and mkdocstrings is not installed next to it.
    text = config.read_text("utf-8").replace("!relative $config_dir/snippets", "[snippets]")
    text = re.sub(r"  - mkdocstrings:\n(?:    .*\n)+", "", text)
    config.write_text(text, "utf-8")
    path = os.pathsep.join(filter(None, (os.environ.get("ZENSICAL_BIN"), os.environ["PATH"])))
    environment = {**os.environ, "PATH": path, "NO_MKDOCS_2_WARNING": "1"}
    for command in (
        ["mkdocs", "build", "-q", "-d", str(tmp_path / "mkdocs")],
        ["mkdocs_roaming", "build", "--", "zensical", "build"],
    ):
        subprocess.run([sys.executable, "-m", *command], cwd=project, env=environment, check=True, capture_output=True)
    ours, theirs = (
        load_manifest((folder / "roaming/manifest.json").read_bytes())
        for folder in (project / "site", tmp_path / "mkdocs")
    )
    assert validate_site(open_library(project / "site")).faults == ()
    assert (ours.nav, ours.site, ours.rules) == (theirs.nav, theirs.site, theirs.rules)
    assert ours.pages == theirs.pages
