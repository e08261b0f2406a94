"""Repeated `roaming build` and `roaming index`: the output is that of a first run."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from tables import read_tables

from mkdocs_roaming.cli import main

TABLES = read_tables(__file__)

CONFIG = TABLES["config"]
GENERATOR = '''\
"""Writes a page for each source into an empty folder, as Zensical does."""
import pathlib, re, shutil, sys
shutil.rmtree("site", ignore_errors=True)
for source in pathlib.Path("docs").glob("*.md"):
    text = re.sub(r"\\A---.*?---\\n", "", source.read_text(), flags=re.DOTALL)
    title, _, body = text.lstrip("# ").partition("\\n")
    stem = source.stem
    page = pathlib.Path("site", "index.html" if stem == "index" else f"{stem}/index.html")
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(f"<html lang='en'><head><title>{title}</title></head><body><main><h1>{title}</h1>"
                    f"<p>{body}</p><p><a href='/gates/'>Gates</a></p></main></body></html>")
pathlib.Path("site/404.html").write_text("<html><head></head><body>Nothing here</body></html>")
'''


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Enter and return a project of three pages."""
    folder = tmp_path / "project"
    (folder / "docs").mkdir(parents=True)
    for name, text in (("index", "# Home\nStart."), ("pumps", "# Pumps\nThree."), ("gates", "# Gates\nTwo.")):
        (folder / f"docs/{name}.md").write_text(text, "utf-8")
    (folder / "zensical.toml").write_text(CONFIG, "utf-8")
    (folder / "generate.py").write_text(GENERATOR, "utf-8")
    monkeypatch.chdir(folder)
    return folder


def build(*options: str) -> str:
    result = CliRunner().invoke(main, ["build", *options, "--", sys.executable, "generate.py"])
    assert result.exit_code == 0, result.output
    return result.output


def read(folder: Path) -> dict[str, bytes]:
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def fresh(project: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Return the files that a first build of the project writes."""
    copy = project.parent / "fresh"
    shutil.copytree(project, copy, ignore=shutil.ignore_patterns("site", ".cache"))
    with monkeypatch.context() as context:
        context.chdir(copy)
        build()
    return read(copy / "site")


def test_repeated_build_reuses_conversions(project: Path) -> None:
    build()
    files = read(project / "site")
    assert "3 pages reused" in build()
    assert read(project / "site") == files
    html = (project / "site/pumps/index.html").read_text("utf-8")
    assert html.count('type="text/markdown"') == 2


CHANGES: dict[str, Callable[[Path], object]] = {
    "page edited": lambda project: (project / "docs/pumps.md").write_text("# Pumps\nFour."),
    "heading renamed": lambda project: (project / "docs/gates.md").write_text("# Sluices\nTwo."),
    "page removed": lambda project: (project / "docs/gates.md").unlink(),
    "page added": lambda project: (project / "docs/cranes.md").write_text("# Cranes\nOne."),
    "page excluded by front matter": lambda project: (project / "docs/gates.md").write_text(
        "---\nllms: false\n---\n# Gates\nTwo."
    ),
    "description in front matter": lambda project: (project / "docs/gates.md").write_text(
        "---\ndescription: Water.\n---\n# Gates\nTwo."
    ),
    "nav": lambda project: (project / "zensical.toml").write_text(CONFIG.replace('"Gates" =', '"Sluices" =')),
    "option": lambda project: (project / "zensical.toml").write_text(CONFIG + 'exclude = ["gates.md"]\n'),
    "widget": lambda project: (project / "zensical.toml").write_text(CONFIG.replace("widget = true", "")),
    "site name": lambda project: (project / "zensical.toml").write_text(CONFIG.replace("Harbour", "Haven")),
    "template": lambda project: (project / "generate.py").write_text(GENERATOR.replace("<main>", "<p>New</p><main>")),
    "published file edited": lambda project: (project / "site/pumps.md").write_text("edited"),
    "published file removed": lambda project: (project / "site/llms.txt").unlink(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_build_after_change_equals_first_build(project: Path, monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    build()
    build()
    CHANGES[change](project)
    build(*(["--overwrite"] if change == "published file edited" else []))
    assert read(project / "site") == fresh(project, monkeypatch)


def test_option_on_command_line_is_not_taken_from_last_build(project: Path) -> None:
    build()
    build("--exclude", "gates.md")
    assert not (project / "site/gates.md").exists()
    build()
    assert (project / "site/gates.md").exists()


def test_rules_on_command_line_are_relative_to_working_directory(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build()
    (project.parent / "rules.yml").write_text("- {when: {any: [tide]}, open: pumps/}\n", "utf-8")
    monkeypatch.chdir(project.parent)
    result = CliRunner().invoke(main, ["index", "project/site", "--rules", "rules.yml"])
    assert (result.exit_code, "tide" in (project / "site/roaming/manifest.json").read_text("utf-8")) == (0, True)


def test_cache_option_disables_cache(project: Path) -> None:
    (project / "zensical.toml").write_text(CONFIG + "cache = false\n", "utf-8")
    build()
    assert not (project / ".cache").exists()
