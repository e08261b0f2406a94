"""Sites that are down in whole or in part: failures, pauses and ages."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mkdocs_roaming.cli import main
from roaming_fleet.buckets.folder import FolderBucket
from roaming_fleet.records import SiteRecord, parse_record, read_record, write_record

NAMES = [f"/p{at}/" for at in range(6)]
FAST = ("--allow-private", "--delay", "0", "--workers", "0")
Crawl = Callable[..., Result]


@pytest.fixture
def whole(site: Any) -> Any:
    """A site of seven pages."""
    site.page("/", "Home", links=tuple(NAMES))
    for name in NAMES:
        site.page(name, name, "First edition.")
    return site


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
        found = read_record(FolderBucket(tmp_path / "store"), "demo")
        assert found
        assert found.entry
        return found

    return read


def _forbid(site: Any, reply: Any) -> None:
    """Answer 403 for everything but robots.txt."""
    site.responses.clear()
    site.put("/robots.txt", "User-agent: *\nAllow: /\n", kind="text/plain")
    site.default = reply("no", 403)


def _as_pages(site: Any, built: Path, html: Any) -> None:
    site.page("/", "Home", links=tuple(NAMES))
    for name in NAMES:
        site.page(name, name)


def _as_one_text(site: Any, built: Path, html: Any) -> None:
    own = site.url.rstrip("/")
    listed = "".join(f"- [Page {name}]({own}{name}): about {name}\n" for name in NAMES)
    texts = "".join(f"# Page {name}\n\nSource: {own}{name}\n\nWhat {name} says of tides.\n\n" for name in NAMES)
    site.put("/llms.txt", f"# Demo\n\n> A demo.\n\n## Pages\n\n{listed}", kind="text/plain")
    site.put("/llms-full.txt", texts, kind="text/plain")


def _as_mirror(site: Any, built: Path, html: Any) -> None:
    for name in ("/", *NAMES):
        (built / name.strip("/")).mkdir(parents=True, exist_ok=True)
        (built / name.strip("/") / "index.html").write_text(html(name))
    done = CliRunner().invoke(main, ["index", str(built), "--url", site.url])
    assert done.exit_code == 0, done.output
    site.folder(built)


@pytest.mark.parametrize("built", [_as_pages, _as_one_text, _as_mirror])
def test_unreachable_site_fails(
    built: Any, site: Any, crawl: Crawl, record: Callable[[], SiteRecord], reply: Any, html: Any, tmp_path: Path
) -> None:
    built(site, tmp_path / "built", html)
    assert crawl().exit_code == 0
    crawled = record().entry.crawled
    _forbid(site, reply)
    done = crawl("--refresh")
    assert "failed  demo" in done.stderr
    assert "none of its pages could be fetched; " in done.stderr
    assert "status 403" in done.stderr
    assert "robots.txt" not in done.stderr
    assert (record().state, record().tries) == ("failed", 1)
    assert record().entry.crawled == crawled


def test_unreachable_site_with_limit_fails(
    whole: Any, crawl: Crawl, record: Callable[[], SiteRecord], reply: Any
) -> None:
    crawl()
    _forbid(whole, reply)

    def slow(handler: Any) -> Any:
        time.sleep(0.4)
        return reply("no", 403)

    whole.default = slow
    crawl("--refresh", "--max-seconds", "0.3")
    assert "/" in whole.paths()
    assert record().state == "failed"


def test_site_with_markdown_but_no_html_is_current(whole: Any, crawl: Crawl, record: Callable[[], SiteRecord]) -> None:
    listed = "".join(f"- [Page {name}]({name}index.md): about {name}\n" for name in ("/", *NAMES))
    whole.put("/llms.txt", f"# Demo\n\n> A demo.\n\n## Pages\n\n{listed}", kind="text/plain")
    for edition in ("First", "Second"):
        for name in ("/", *NAMES):
            whole.put(f"{name}index.md", f"# Page {name}\n\n{edition} edition, as Markdown.\n", kind="text/markdown")
        started = time.time()
        done = crawl("--refresh")
        for name in ("/", *NAMES):
            whole.put(name, "no", status=403)
    assert "changed demo: 7 pages" in done.stderr
    assert (record().state, record().changed) == ("done", 7)
    assert record().entry.crawled >= started


def test_removed_page_counts_as_response(
    whole: Any, crawl: Crawl, record: Callable[[], SiteRecord], reply: Any
) -> None:
    crawl()
    _forbid(whole, reply)
    whole.put("/p3/", status=404)
    done = crawl("--refresh")
    assert (record().state, record().gone) == ("done", 1), done.output


def _fail_six(site: Any) -> None:
    for name in NAMES:
        site.put(name, "no", status=403)


def _expire(store: Path) -> None:
    """End the pause of the site."""
    bucket = FolderBucket(store)
    found = read_record(bucket, "demo")
    assert found
    write_record(bucket, replace(found, next_try=time.time() - 1))


def test_stale_pages_are_reported(whole: Any, crawl: Crawl, record: Callable[[], SiteRecord], tmp_path: Path) -> None:
    crawl()
    assert record().kept == 0
    crawled = record().entry.crawled
    _fail_six(whole)
    done = crawl("--refresh")
    why = f"6 pages kept from before ({whole.url}p0/: status 403)"
    assert re.search(rf"same    demo: 7 pages, [\d.]+ s; {re.escape(why)}\n", done.stderr)
    assert "0 pages new, 0 changed, 0 gone, 6 kept from before; " in done.stdout
    assert (record().state, record().kept) == ("done", 6)
    assert record().entry.crawled == crawled
    reports = [json.loads(file.read_text()) for file in (tmp_path / "store" / ".fleet" / "runs").iterdir()]
    assert sorted(report["pages_kept"] for report in reports) == [0, 6]
    listed = CliRunner().invoke(main, ["sites", str(tmp_path / "store")]).stdout
    assert f"\n  tried just now: {why}; tried again after 20" in listed


def test_pause_grows_with_permanently_failing_page(
    whole: Any, crawl: Crawl, record: Callable[[], SiteRecord], tmp_path: Path
) -> None:
    crawl()
    whole.put("/p4/", "no", status=403)
    pauses = []
    for _ in range(3):
        crawl("--refresh-older-than", "0s")
        pauses.append(round((record().next_try - record().at) / 3600))
        whole.requests.clear()
        assert "1 wait for their next try" in crawl("--refresh-older-than", "0s").stderr
        assert not whole.requests
        _expire(tmp_path / "store")
    assert pauses == [1, 4, 16]
    whole.page("/p4/", "/p4/", "First edition.")
    started = time.time()
    assert "1 of 1 sites to crawl" in crawl().stderr
    assert (record().kept, record().tries, record().next_try, record().error) == (0, 0, 0.0, "")
    assert record().entry.crawled >= started
    assert "0 of 1 sites to crawl; 1 are done" in crawl().stderr


def test_pause_grows_from_partial_to_full_failure(
    whole: Any, crawl: Crawl, record: Callable[[], SiteRecord], reply: Any
) -> None:
    crawl()
    _fail_six(whole)
    crawl("--refresh")
    _forbid(whole, reply)
    crawl("--refresh")
    assert (record().state, record().tries) == ("failed", 2)


def test_site_stopped_by_limit_is_continued_without_pause(
    whole: Any, crawl: Crawl, record: Callable[[], SiteRecord], reply: Any
) -> None:
    crawl()
    crawled = record().entry.crawled

    def slow(handler: Any) -> Any:
        time.sleep(0.6)
        return reply("no", 403)

    whole.responses["/p0/"] = slow
    done = crawl("--refresh", "--max-seconds", "0.5", "--connections", "1")
    assert "; stopped after 0.5 seconds (--max-seconds); " in done.stderr
    assert record().kept
    assert record().entry.crawled == crawled
    whole.page("/p0/", "/p0/", "First edition.")
    assert "1 of 1 sites to crawl" in crawl().stderr
    assert record().kept == 0


def test_parse_record_accepts_older_record() -> None:
    data = {"key": "demo", "url": "u", "state": "done", "config": "", "run": "", "at": 1.0}
    assert parse_record(data).kept == 0
