"""Files of authors and of other plugins at the paths of published files, in any order of the plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from mkdocs.exceptions import Abort

if TYPE_CHECKING:
    from .conftest import Project

SOURCES = {"index.md": "# Home\n\nSee [the guide](guide.md).\n", "guide.md": "# Guide\n\n## Start\n\nDrain it.\n"}
AUTHOR = "# Ours\n\n> By hand.\n\n## Start here\n\n- [Guide](https://docs.example/sub/guide/)\n"
OTHER_PLUGIN = """
from pathlib import Path
from mkdocs.plugins import event_priority

@event_priority({priority})
def on_post_build(config):
    for path in {paths}:
        Path(config.site_dir, path).write_text("Another plugin wrote this.\\n")
"""
BEFORE = -999
AFTER = -2000


def add_hook(mkdocs: Project, *paths: str, priority: int = 0) -> dict[str, Any]:
    """Add a script that writes files, as other plugins do after the build."""
    (mkdocs.folder / "hook.py").write_text(OTHER_PLUGIN.format(priority=priority, paths=paths))
    return {"hooks": [str(mkdocs.folder / "hook.py")]}


def add_llms_txt(mkdocs: Project, text: str = AUTHOR) -> None:
    (mkdocs.folder / "docs").mkdir(exist_ok=True)
    (mkdocs.folder / "docs/llms.txt").write_text(text)


def test_llms_txt_of_author_stops_build_before_rendering(mkdocs: Project, caplog: pytest.LogCaptureFixture) -> None:
    add_llms_txt(mkdocs)
    mkdocs.write({**SOURCES, "index.md": "# Home\n\n[broken](nowhere.md)\n"})
    with pytest.raises(Abort):
        mkdocs.build()
    assert f"{mkdocs.folder / 'docs'}: publishing would overwrite llms.txt, which something else wrote" in caplog.text
    assert "nowhere.md" not in caplog.text
    assert not (mkdocs.folder / "site/index.html").exists()


def test_llms_txt_of_author_is_kept_above_the_list_or_alone_or_replaced(mkdocs: Project) -> None:
    add_llms_txt(mkdocs)
    for _ in range(2):
        built = mkdocs(SOURCES, plugin={"llms_txt": "preamble"})
        assert built.text("llms.txt").startswith(f"{AUTHOR}\n## All pages\n\nLinks to pages")
        assert built.text("llms.txt").count("Links to pages") == 1
        assert built.faults == ()
    built = mkdocs(SOURCES, plugin={"llms_txt": False})
    assert built.text("llms.txt") == AUTHOR
    assert "[llms.txt](https://docs.example/sub/llms.txt)" in built.text("guide/index.md").split("\n")[0]
    assert built.text("guide/index.html").count("../llms.txt") == 2
    assert built.faults == ()
    built = mkdocs(SOURCES, plugin={"overwrite": True})
    assert "By hand" not in built.text("llms.txt")
    assert built.faults == ()


def test_llms_txt_false_without_another_one_points_nowhere(mkdocs: Project) -> None:
    pages = {**SOURCES, "guide.md": "# Guide\n\n## Start\n\nDrain it.\n"}
    built = mkdocs(pages, plugin={"llms_txt": False})
    assert built.files_with("llms.txt") == ["roaming/manifest.schema.json"]
    assert "llms.txt" not in built.text("guide/index.html")
    assert 'href="index.md"' in built.text("guide/index.html")
    assert built.text("index.md").startswith("# Home\n")
    assert built.text("guide/index.md").startswith("# Guide\n")
    assert built.faults == ()


@pytest.mark.parametrize(
    ("priority", "paths"),
    [(100, ("llms.txt",)), (0, ("guide/index.md", "guide.md")), (BEFORE, ("llms-full.txt", "index.md"))],
)
def test_files_of_plugin_that_runs_earlier_stop_build(
    mkdocs: Project, caplog: pytest.LogCaptureFixture, priority: int, paths: tuple[str, ...]
) -> None:
    mkdocs.write(SOURCES, **add_hook(mkdocs, *paths, priority=priority))
    with pytest.raises(Abort):
        mkdocs.build()
    assert f"would overwrite {', '.join(sorted(paths))}, which something else wrote" in caplog.text
    assert (mkdocs.folder / "site" / paths[0]).read_text() == "Another plugin wrote this.\n"
    assert not (mkdocs.folder / "site/roaming").exists()


def test_plugin_may_write_llms_txt_later_if_none_is_published(mkdocs: Project) -> None:
    hook = add_hook(mkdocs, "llms.txt", priority=AFTER)
    assert mkdocs(SOURCES, plugin={"llms_txt": False}, **hook).text("llms.txt") == "Another plugin wrote this.\n"
