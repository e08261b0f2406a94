"""`mkdocs serve` publishes edits."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.library.validate import validate_site
from mkdocs_roaming.manifest.io import load_manifest

if TYPE_CHECKING:
    from .conftest import Project, Serving

HOME = "# Welcome\n\nSee [quiet mode](guide/install.md#quiet-mode). Grüße.\n"
INSTALL = "# Install\n\n```runql\nRun it.\n```\n\n## Quiet mode\n\nUse `--hush`.\n"
SOURCES = {"index.md": HOME, "guide/install.md": INSTALL, "other.md": "# Other\n"}
REBUILT = "Reloading browsers"


def test_rebuild_publishes_edits_and_reuses_other_pages(mkdocs: Project, tmp_path: Path, serving: Serving) -> None:
    """All links stay on the development server."""
    mkdocs.write(SOURCES, markdown_extensions=["pymdownx.superfences"])
    with serving(tmp_path) as server:
        home, kind = server.get("index.md")
        assert kind.startswith(("text/markdown", "text/plain"))
        assert "Grüße" in home
        assert f"[quiet mode]({server.url}guide/install/index.md#quiet-mode)" in home
        assert f"{server.url}guide/install/index.md" in server.get("llms.txt")[0]
        html, _ = server.get("guide/install/")
        assert 'href="index.md" data-roaming' in html
        assert "docs.example" not in home + server.get("llms-full.txt")[0] + server.get("roaming/manifest.json")[0]
        assert validate_site(open_library(server.url)).faults == ()

        (tmp_path / "docs/guide/install.md").write_text(INSTALL.replace("--hush", "--silent"))
        server.wait(REBUILT)
        assert "`--silent`" in server.get("guide/install/index.md")[0]
        assert "```runql" in server.get("guide/install/index.md")[0]
        assert "2 pages reused" in server.messages()[-1]

        (tmp_path / "docs/other.md").unlink()
        server.wait(REBUILT, 2)
        paths = [page.path for page in load_manifest(server.get("roaming/manifest.json")[0]).pages]
        assert paths == ["", "guide/install/"]
        assert validate_site(open_library(server.url)).faults == ()


def test_rebuild_keeps_no_file_that_was_deleted_below_roaming(
    mkdocs: Project, tmp_path: Path, serving: Serving
) -> None:
    mkdocs.write({**SOURCES, "roaming/own.txt": "zanzibar\n", "roaming/tours.md": "# Tours\n\nTo zanzibar.\n"})
    (tmp_path / "temporary").mkdir()
    with serving(tmp_path, TMPDIR=str(tmp_path / "temporary")) as server:
        assert len(_find_word(tmp_path, "zanzibar")) > 2
        shutil.rmtree(tmp_path / "docs/roaming")
        server.wait(REBUILT)
        assert _find_word(tmp_path, "zanzibar") == []


def test_failed_rebuild_publishes_no_page_that_is_hidden_now(mkdocs: Project, tmp_path: Path, serving: Serving) -> None:
    mkdocs.write({**SOURCES, "plan.md": "# Plan\n\nOn to zanzibar.\n"})
    hooks = (
        "import pathlib\ndef on_post_page(output, page, config):\n    if 'fail' in output: raise ValueError('fail')\n"
    )
    (tmp_path / "hooks.py").write_text(hooks)
    with (tmp_path / "mkdocs.yml").open("a") as file:
        file.write("\nhooks: [hooks.py]\n")
    (tmp_path / "temporary").mkdir()
    with serving(tmp_path, TMPDIR=str(tmp_path / "temporary")) as server:
        assert "plan.md" in _find_word(tmp_path, "zanzibar")
        (tmp_path / "docs/plan.md").write_text("---\nllms: false\n---\n# Plan\n\nNow fail.\n")
        server.wait("An error happened during the rebuild")
        assert _find_word(tmp_path, "zanzibar") == []


def test_interrupted_server_exits(mkdocs: Project, tmp_path: Path, serving: Serving) -> None:
    mkdocs.write(SOURCES)
    with serving(tmp_path) as server:
        server.process.send_signal(signal.SIGINT)
        server.process.wait(timeout=30)


def _find_word(project: Path, word: str) -> list[str]:
    """Return the files of the site that contain a word."""
    (site,) = (project / "temporary").glob("mkdocs_*")
    files = [file for file in site.rglob("*") if file.is_file() and word.encode() in file.read_bytes()]
    return sorted(file.relative_to(site).as_posix() for file in files)


def test_dirty_rebuild_keeps_published_files(mkdocs: Project, tmp_path: Path, serving: Serving) -> None:
    mkdocs.write(SOURCES)
    with serving(tmp_path, "--dirty") as server:
        before = server.get("roaming/manifest.json")
        (tmp_path / "docs/guide/install.md").write_text(INSTALL.replace("--hush", "--silent"))
        server.wait(REBUILT)
        html, _ = server.get("guide/install/")
        assert "--silent" in html
        assert server.get("roaming/manifest.json") == before
        assert "nothing is published, because a dirty build reads only edited pages" in server.messages()[-1]


def test_failed_build_does_not_affect_the_next(mkdocs: Project, tmp_path: Path, serving: Serving) -> None:
    file = mkdocs.write(SOURCES, plugins=[{"roaming": {"include": ["*"]}}])
    good = file.read_text()
    with serving(tmp_path) as server:
        file.write_text(good.replace("'*'", "nothing.md"))
        server.wait("no page to publish")
        file.write_text(good)
        server.wait("3 pages, 4 sections", 2)
        assert validate_site(open_library(server.url)).faults == ()
        assert "3 pages, 4 sections" in server.messages()[-1]


def test_edit_of_a_translation_is_published_in_its_folder(mkdocs: Project, tmp_path: Path, serving: Serving) -> None:
    languages = [{"locale": "en", "default": True, "name": "English"}, {"locale": "fr", "name": "Français"}]
    sources = {"index.md": "# Welcome\n", "index.fr.md": "# Bienvenue\n"}
    mkdocs.write(sources, plugins=[{"i18n": {"languages": languages}}, "roaming"])
    with serving(tmp_path) as server:
        assert "# Bienvenue" in server.get("fr/index.md")[0]
        (tmp_path / "docs/index.fr.md").write_text("# Bonjour\n")
        server.wait(REBUILT)
        assert "# Bonjour" in server.get("fr/index.md")[0]
        assert "# Welcome" in server.get("index.md")[0]
        assert validate_site(open_library(f"{server.url}fr/")).faults == ()
        assert f"{server.url}fr/roaming/manifest.json" in server.get("roaming/manifest.json")[0]
