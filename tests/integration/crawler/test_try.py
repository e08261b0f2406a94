"""`roaming try`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2


def run(site: Any, cache: Path, *arguments: str) -> tuple[str, list[str], list[Any]]:
    """Return the output of the command, the paths of the pages in the preview, and what its search finds."""
    options = ["--allow-private", "--delay", "0", "--port", "0", "--no-open", *arguments]
    command = [sys.executable, "-m", "mkdocs_roaming", "try", f"{site.url}docs/", *options]
    environment = {**os.environ, "ROAMING_CACHE_DIR": str(cache)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        output = ""
        try:
            while "Ctrl-C" not in (line := process.stdout.readline()):
                assert line, output
                output += line
            url = line.split()[0]
            shown = httpx2.get(f"{url}data/site.json").json()
            found = httpx2.get(f"{url}search", params={"q": "harbour gauge"}).json()
        finally:
            process.terminate()
    return output, [page["path"] for page in shown["pages"]], found


def test_try_crawls_a_part_and_serves_the_preview(site: Any, tmp_path: Path) -> None:
    site.page("/docs/", "Home", links=[f"p{number}/" for number in range(5)])
    for number in range(5):
        site.page(f"/docs/p{number}/", f"Page {number}")
    output, paths, found = run(site, tmp_path, "--max-pages", "3")
    assert "3 pages" in output
    assert len(paths) == 3
    assert found
    assert [folder.name for folder in (tmp_path / "try").iterdir()] == [f"http-127-0-0-1-{site.server_port}-docs"]


def test_try_again_updates_the_pages(site: Any, tmp_path: Path) -> None:
    site.page("/docs/", "Home")
    run(site, tmp_path)
    site.page("/docs/", "Home", links=["new/"])
    site.page("/docs/new/", "New")
    _, paths, _ = run(site, tmp_path)
    assert paths == ["", "new/"]
