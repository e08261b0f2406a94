"""Tests of themes in other packages (entry points `roaming.themes`), and of a site's own CSS classes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

THEME = """
from mkdocs_roaming.html.themes import Tabs, Theme

ACME = Theme(
    "acme",
    articles=(".acme-page",),
    navs=(".acme-menu",),
    roles={"skip": ".acme-bar", "admonition": "div.acme-box", "admonition-title": ".acme-title", "tabs": ".acme-tabs"},
    admonitions={"CAUTION": "acme-stop"},
    tabs=(Tabs(":scope > .acme-tab", ":scope > .acme-panel"),),
)
"""
MENU = '<ul class="acme-menu"><li><a href="/guide/">The guide</a></li><li><a href="/">Start</a></li></ul>'
PAGE = f"""<!doctype html><html lang="en"><head><title>Acme</title><link rel="canonical" href="https://acme.example/">
</head><body>{MENU}<main>Menu<div class="acme-page"><h1>Acme</h1><p class="acme-bar">Edit</p>
<div class="acme-box acme-stop"><p class="acme-title">Stop</p><p>Do not.</p></div>
<div class="acme-tabs"><b class="acme-tab">One</b><div class="acme-panel"><p>First.</p></div></div>
<div class="our-tip">Press twice.</div></div></main></body></html>"""
WITH_PLUGIN = "# Acme\n\n> [!CAUTION]\n> **Stop**\n>\n> Do not.\n\n**One**\n\nFirst.\n\nPress twice.\n"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return a built site of two pages in a theme that is not built in."""
    folder = tmp_path / "site"
    (folder / "guide").mkdir(parents=True)
    (folder / "index.html").write_text(PAGE, "utf-8")
    guide = PAGE.replace("acme.example/", "acme.example/guide/").replace("<h1>Acme", "<h1>Guide")
    (folder / "guide/index.html").write_text(guide, "utf-8")
    return folder


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """Return a folder for PYTHONPATH with an installed package that has a theme."""
    folder = tmp_path / "plugins"
    info = folder / "acme_docs-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "acme_docs.py").write_text(THEME, "utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-docs\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text("[roaming.themes]\nacme = acme_docs:ACME\n", "utf-8")
    return folder


def run(*command: str, path: Path | None = None, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}
    if path:
        environment["PYTHONPATH"] = str(path)
    return subprocess.run(
        [sys.executable, "-m", *command], env=environment, cwd=cwd, capture_output=True, text=True, check=False
    )


def index(site: Path, *options: str, path: Path | None = None) -> str:
    """Index the site with a cache and return the Markdown of its home page without the pointer line."""
    done = run("mkdocs_roaming", "index", str(site), "--cache", str(site.parent / "cache"), *options, path=path)
    assert done.returncode == 0, done.stderr
    return (site / "index.md").read_text("utf-8").partition("\n\n")[2]


def test_theme_of_installed_package_converts_its_article_admonitions_and_tabs(site: Path, plugin: Path) -> None:
    assert index(site, path=plugin) == WITH_PLUGIN
    assert '"nav_source":"sidebar"' in (site / "roaming/manifest.json").read_text("utf-8")


def test_cached_conversions_are_discarded_when_the_themes_change(site: Path, plugin: Path) -> None:
    before = index(site)
    assert "Edit" in before
    assert index(site, path=plugin) == WITH_PLUGIN
    assert index(site) == before


def test_classes_of_configuration_are_converted_as_their_role(site: Path, plugin: Path) -> None:
    (site.parent / "roaming.toml").write_text('[publish.classes]\nour-tip = "tip"\n"div.acme-tabs" = "skip"\n', "utf-8")
    markdown = index(site, path=plugin)
    assert markdown == "# Acme\n\n> [!CAUTION]\n> **Stop**\n>\n> Do not.\n\n> [!TIP]\n> Press twice.\n"


def test_unknown_role_in_configuration_exits_with_the_known_roles(site: Path) -> None:
    (site.parent / "roaming.toml").write_text('[publish.classes]\nour-tip = "note-box"\n', "utf-8")
    done = run("mkdocs_roaming", "index", str(site), cwd=site.parent)
    assert done.returncode == 1
    assert "admonition, tabs" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("theme", "message"),
    [
        ("ACME = {}", "expected a Theme, got dict"),
        (
            "from mkdocs_roaming.html.themes import Theme\nACME = Theme('a', roles={'tab': '.a'})",
            "unknown role 'tab'. Did you mean 'tabs'?",
        ),
        (
            "from mkdocs_roaming.html.themes import Theme\nACME = Theme('a', navs=('.a >> b',))",
            "'.a >> b' is not a valid",
        ),
        ("import nothing_of_this_name", "nothing_of_this_name"),
    ],
    ids=["other object", "unknown role", "invalid selector", "broken import"],
)
def test_broken_theme_plugin_exits_with_the_name_of_its_entry_point(
    site: Path, plugin: Path, theme: str, message: str
) -> None:
    (plugin / "acme_docs.py").write_text(theme, "utf-8")
    done = run("mkdocs_roaming", "index", str(site), path=plugin)
    assert done.returncode != 0
    assert message in done.stderr
    assert "acme" in done.stderr
    assert "Traceback" not in done.stderr


def mkdocs(project: Path, classes: str, *, cache: bool = True) -> subprocess.CompletedProcess[str]:
    (project / "mkdocs.yml").write_text(
        "site_name: Acme\nsite_url: https://acme.example/\nmarkdown_extensions: [attr_list, md_in_html]\n"
        f"plugins:\n  - roaming:\n      classes: {classes}\n",
        "utf-8",
    )
    return run("mkdocs", "build", "-q", "--strict", cwd=project)


def test_plugin_option_classes_converts_own_classes_and_discards_cached_conversions(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/index.md").write_text("# Acme\n\n<div class='our-tip'>Press twice.</div>\n", "utf-8")
    for classes, expected in (("{}", "Press twice."), ("{our-tip: admonition}", "> [!NOTE]\n> Press twice.")):
        done = mkdocs(tmp_path, classes)
        assert done.returncode == 0, done.stderr
        text = (tmp_path / "site/index.md").read_text("utf-8")
        assert text.partition("# Acme\n\n")[2] == expected + "\n"


@pytest.mark.parametrize("classes", ["{our-tip: tipp}", "{our-tip: [tip]}"])
def test_plugin_option_classes_with_unknown_role_fails_the_build(tmp_path: Path, classes: str) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/index.md").write_text("# Acme\n", "utf-8")
    done = mkdocs(tmp_path, classes)
    assert done.returncode != 0
    assert re.search("roaming: classes: |option 'classes': ", done.stderr)
    assert "Traceback" not in done.stderr
