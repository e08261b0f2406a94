"""Sites that are down in whole or in part: failures, pauses and ages."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from mkdocs_roaming.cli import main
from mkdocs_roaming.manifest.io import MANIFEST_PATH
from roaming_fleet.folder import StoreFolder
from roaming_fleet.records import SiteRecord, read_record, write_record

NAMES = [f"/p{at}/" for at in range(6)]
FAST = ("--allow-private", "--delay", "0", "--workers", "0")
Crawl = Callable[..., Result]


@pytest.fixture
def crawl(site: Any, tmp_path: Path) -> Crawl:
    """Crawl the site into a store."""
    (tmp_path / "sites.txt").write_text(f"{site.url} demo\n")
    command = ["crawl", "--many", str(tmp_path / "sites.txt"), "-o", str(tmp_path / "store"), *FAST]
    return lambda *more: CliRunner().invoke(main, [*command, *more])


@pytest.fixture
def record(tmp_path: Path) -> Callable[[], SiteRecord]:
    """Return the record of the site."""

    def read() -> SiteRecord:
        found = read_record(StoreFolder(tmp_path / "store"), "demo")
        assert found
        assert found.entry
        return found

    return read


def _forbid(site: Any, reply: Any) -> None:
    """Answer 403 for everything but robots.txt."""
    site.responses.clear()
    site.put("/robots.txt", "User-agent: *\nAllow: /\n", kind="text/plain")
    site.default = reply("no", 403)


def _add_html_pages(site: Any, built: Path, html: Any) -> None:
    site.page("/", "Home", links=tuple(NAMES))
    for name in NAMES:
        site.page(name, name)


def _add_llms_full(site: Any, built: Path, html: Any) -> None:
    own = site.url.rstrip("/")
    listed = "".join(f"- [Page {name}]({own}{name}): about {name}\n" for name in NAMES)
    texts = "".join(f"# Page {name}\n\nSource: {own}{name}\n\nWhat {name} says of tides.\n\n" for name in NAMES)
    site.put("/llms.txt", f"# Demo\n\n> A demo.\n\n## Pages\n\n{listed}", kind="text/plain")
    site.put("/llms-full.txt", texts, kind="text/plain")


def _add_mirror(site: Any, built: Path, html: Any) -> None:
    for name in ("/", *NAMES):
        (built / name.strip("/")).mkdir(parents=True, exist_ok=True)
        (built / name.strip("/") / "index.html").write_text(html(name))
    result = CliRunner().invoke(main, ["index", str(built), "--url", site.url])
    assert result.exit_code == 0, result.output
    site.folder(built)


@pytest.mark.parametrize("built", [_add_html_pages, _add_llms_full, _add_mirror])
def test_unreachable_site_fails(
    built: Any, site: Any, crawl: Crawl, record: Callable[[], SiteRecord], reply: Any, html: Any, tmp_path: Path
) -> None:
    built(site, tmp_path / "built", html)
    assert crawl().exit_code == 0
    run_crawl = record().entry.crawled
    _forbid(site, reply)
    result = crawl("--refresh")
    assert "failed  demo" in result.stderr
    assert "none of its pages could be fetched; " in result.stderr
    assert "status 403" in result.stderr
    assert "robots.txt" not in result.stderr
    assert (record().state, record().tries) == ("failed", 1)
    assert record().entry.crawled == run_crawl
    assert (tmp_path / "store" / "demo" / MANIFEST_PATH).exists()


def test_site_with_markdown_but_no_html_is_current(
    seven_pages: Any, crawl: Crawl, record: Callable[[], SiteRecord]
) -> None:
    listed = "".join(f"- [Page {name}]({name}index.md): about {name}\n" for name in ("/", *NAMES))
    seven_pages.put("/llms.txt", f"# Demo\n\n> A demo.\n\n## Pages\n\n{listed}", kind="text/plain")
    for revision in ("First", "Second"):
        for name in ("/", *NAMES):
            seven_pages.put(name, "no", status=403)
            seven_pages.put(
                f"{name}index.md", f"# Page {name}\n\n{revision} revision, as Markdown.\n", kind="text/markdown"
            )
        started = time.time()
        result = crawl("--refresh")
    assert "changed demo: 7 pages" in result.stderr
    assert (record().state, record().changed) == ("done", 7)
    assert record().entry.crawled >= started


def test_removed_page_counts_as_response(
    seven_pages: Any, crawl: Crawl, record: Callable[[], SiteRecord], reply: Any
) -> None:
    crawl()
    _forbid(seven_pages, reply)
    seven_pages.put("/p3/", status=404)
    result = crawl("--refresh")
    assert (record().state, record().gone) == ("done", 1), result.output


def _forbid_six_pages(site: Any) -> None:
    for name in NAMES:
        site.put(name, "no", status=403)


def _expire(store: Path) -> None:
    """End the pause of the site."""
    bucket = StoreFolder(store)
    found = read_record(bucket, "demo")
    assert found
    write_record(bucket, replace(found, next_try=time.time() - 1))


def test_stale_pages_are_reported(
    seven_pages: Any, crawl: Crawl, record: Callable[[], SiteRecord], tmp_path: Path
) -> None:
    crawl()
    assert record().kept == 0
    run_crawl = record().entry.crawled
    _forbid_six_pages(seven_pages)
    result = crawl("--refresh")
    reason = f"6 pages not fetched ({seven_pages.url}p0/: status 403)"
    assert re.search(rf"same    demo: 7 pages, [\d.]+ s; {re.escape(reason)}\n", result.stderr)
    assert "0 pages new, 0 changed, 0 gone, 6 not fetched; " in result.stdout
    assert (record().state, record().kept) == ("done", 6)
    assert record().entry.crawled == run_crawl
    reports = [json.loads(file.read_text()) for file in (tmp_path / "store" / ".fleet" / "runs").iterdir()]
    assert sorted(report["pages_kept"] for report in reports) == [0, 6]
    listed = CliRunner().invoke(main, ["sites", str(tmp_path / "store")]).stdout
    assert f"\n  tried just now: {reason}; tried again after 20" in listed


def test_pause_grows_with_permanently_failing_page(
    seven_pages: Any, crawl: Crawl, record: Callable[[], SiteRecord], tmp_path: Path
) -> None:
    crawl()
    seven_pages.put("/p4/", "no", status=403)
    pauses = []
    for _ in range(3):
        crawl("--refresh-older-than", "0s")
        pauses.append(round((record().next_try - record().at) / 3600))
        seven_pages.requests.clear()
        assert "1 wait for their next try" in crawl("--refresh-older-than", "0s").stderr
        assert not seven_pages.requests
        _expire(tmp_path / "store")
    assert pauses == [1, 4, 16]
    seven_pages.page("/p4/", "/p4/", "First revision.")
    started = time.time()
    assert "1 of 1 sites to crawl" in crawl().stderr
    assert (record().kept, record().tries, record().next_try, record().error) == (0, 0, 0.0, "")
    assert record().entry.crawled >= started
    assert "0 of 1 sites to crawl; 1 are done" in crawl().stderr
