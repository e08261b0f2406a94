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


FASTAPI_SHAPE = {
    "base.yml": """\
site_name: Tide
theme: {name: material, variant: classic, custom_dir: overrides, features: [navigation.tabs]}
plugins:
  search: {}
  roaming: {widget: true, page_menu: true}
""",
    "en/mkdocs.yml": """\
INHERIT: ../base.yml
site_url: https://tide.example/
theme: {language: en}
plugins:
  roaming: {exclude: [drafts/]}
nav:
- index.md
- Guide: [guide/index.md, guide/gauges.md]
markdown_extensions:
  pymdownx.superfences:
    custom_fences:
    - {name: mermaid, class: mermaid, format: !!python/name:pymdownx.superfences.fence_code_format ''}
""",
    "en/overrides/main.html": '{% extends "base.html" %}\n',
    "en/docs/drafts/next.md": "# Next\n\nA draft.\n",
}


def test_site_set_up_like_a_large_project_is_published(tmp_path: Path) -> None:
    pages = {"index": "Tide", "guide/index": "Guide", "guide/gauges": "Gauges"}
    texts = {f"en/docs/{page}.md": f"# {title}\n\n```py\nread()\n```\n\nText.\n" for page, title in pages.items()}
    for name, text in (FASTAPI_SHAPE | texts).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    path = os.pathsep.join(filter(None, (os.environ.get("ZENSICAL_BIN"), os.environ["PATH"])))
    command = [sys.executable, "-m", "mkdocs_roaming", "build", "--strict", "--", "zensical", "build"]
    subprocess.run(command, cwd=tmp_path / "en", env={**os.environ, "PATH": path}, check=True, capture_output=True)
    site = tmp_path / "en/site"
    manifest = load_manifest((site / "roaming/manifest.json").read_bytes())
    assert validate_site(open_library(site)).faults == ()
    assert [(page.path, page.title) for page in manifest.pages] == [
        ("", "Tide"),
        ("guide/", "Guide"),
        ("guide/gauges/", "Gauges"),
    ]
    assert [entry.title for entry in manifest.nav] == ["Tide", "Guide"]
    for page in (site / "index.html", site / "guide/gauges/index.html"):
        html = page.read_text("utf-8")
        assert html.count("<roaming-ask ") == html.count("<roaming-menu ") == 1
