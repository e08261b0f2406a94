"""Updates of an unchanged site, at the size of a real one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow


def _play(site: Any, pages: int) -> None:
    site.page("/", "Home", links=tuple(f"/p{at}/" for at in range(0, pages, 10)))
    for at in range(pages):
        start = at - at % 10
        links = tuple(f"/p{to}/" for to in range(start, min(start + 10, pages)))
        site.page(f"/p{at}/", f"Page {at}", f"Number {at} of them. " * 20, links)


def _file_identities(folder: Path) -> dict[str, tuple[int, int]]:
    """Return inode and time of every published file, which change when it is written."""
    found = {}
    for file in folder.rglob("*"):
        path = file.relative_to(folder)
        if file.is_file() and path.parts[0] != ".roaming":
            found[path.as_posix()] = (file.stat().st_ino, file.stat().st_mtime_ns)
    return found


@pytest.mark.parametrize("pages", [100, pytest.param(500, marks=pytest.mark.slow)])
def test_second_crawl_revalidates_pages_and_writes_only_changed_files(pages: int, site: Any, run_crawl: Any) -> None:
    _play(site, pages)
    first = run_crawl(site.url)
    assert len(first.paths) == pages + 1
    stood = _file_identities(first.folder)
    site.requests.clear()

    second = run_crawl(site.url)
    assert [request.path for request in site.requests if not request.conditional] == []
    assert {request.status for request in site.requests} == {304}
    assert len(site.requests) <= pages + 1 + 3  # three also for their Markdown
    assert second.result.written == 0
    assert (second.result.same, second.result.changed) == (pages + 1, ())
    assert _file_identities(first.folder) == stood

    site.page("/p7/", "Page 7", "Nothing is as it was. " * 20, ("/p0/",))
    site.requests.clear()
    changed = run_crawl(site.url)
    assert [request.path for request in site.requests if request.status == 200] == ["/p7/"]
    assert changed.result.changed == ("p7/",)
    page = next(page for page in changed.manifest.pages if page.path == "p7/")
    own = {"p7/index.md", "p7.md", *(f"roaming/sections/{section.id}.md" for section in page.sections)}
    of_all = {"llms.txt", "llms-2.txt", "llms-full.txt", "roaming/manifest.json", "roaming/outline.md"}
    stand = _file_identities(first.folder)
    written = {path for path in stand if stand[path] != stood.get(path)}
    assert {"p7/index.md", "p7.md", "roaming/manifest.json"} <= written <= own | of_all
    assert stood.keys() == stand.keys()
