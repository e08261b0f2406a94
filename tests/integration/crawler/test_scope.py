"""Scope, patterns, URL normalization and the output of the command."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mkdocs_roaming.cli import main
from mkdocs_roaming.errors import UsageError
from roaming_crawler.cli import CrawlProgress
from roaming_crawler.config import Politeness, ScopeConfig
from roaming_crawler.scope import Scope

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))

ROOT = "https://docs.example/kettle/"
RUN = ("--allow-private", "--delay", "0", "--workers", "0")


def _run(*arguments: str) -> Any:
    return CliRunner().invoke(main, ["crawl", *arguments, *RUN])


def _published(folder: Path) -> list[str]:
    data = json.loads((folder / "roaming" / "manifest.json").read_bytes())
    return sorted(page["path"] for page in data["pages"])


def _add_pages(site: Any) -> None:
    pages = ("guide/boil/", "guide/deep/descale/", "guide/draft/", "blog/", "blog/one/", "api.html")
    site.page("/docs/", "Home", links=(*(f"/docs/{path}" for path in pages), "/about/"))
    for path in pages:
        site.page(f"/docs/{path}", path.strip("/"))
    site.page("/about/", "About", links=("/docs/",))
    site.page("/", "Front", links=("/docs/", "/about/"))


@pytest.mark.parametrize(("pattern", "path", "matches"), TABLES["scope_patterns"])
def test_scope_patterns(pattern: str, path: str, matches: bool) -> None:
    assert Scope(ROOT, include=(pattern,)).allows_path(path) is matches
    assert Scope(ROOT, exclude=(pattern,)).allows_path(path) is not matches


@pytest.mark.parametrize(("own", "url", "localized"), TABLES["other_spellings_of_the_host"])
def test_other_spellings_of_the_host_are_of_the_crawl(own: str, url: str, localized: str) -> None:
    assert Scope(own).localize(url) == localized
    assert Scope(own).is_below_here(url) is localized.startswith(own)


@pytest.mark.parametrize(("options", "paths"), TABLES["patterns_and_prefixes_select_pages"])
def test_patterns_and_prefixes_select_pages(
    options: tuple[str, ...], paths: list[str], site: Any, tmp_path: Any
) -> None:
    _add_pages(site)
    result = _run(f"{site.url}docs/", "-o", str(tmp_path / "out"), *options)
    message = f"--include `nothing/*` matches no page below {site.url}docs/\n"
    assert (result.exit_code, result.stderr) == (0, message if "nothing/*" in options else "")
    assert _published(tmp_path / "out") == paths
    if "--include" in options:
        assert "/docs/blog/" not in site.paths()


def test_strict_crawl_with_unmatched_pattern_publishes_nothing(site: Any, tmp_path: Any) -> None:
    _add_pages(site)
    result = _run(f"{site.url}docs/", "-o", str(tmp_path / "out"), "--exclude", "giude/", "--strict")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(
        f"roaming: --exclude `giude/` matches no page below {site.url}docs/; nearest: guide/"
    )
    assert not (tmp_path / "out/llms.txt").exists()
    assert _run(f"{site.url}docs/", "-o", str(tmp_path / "out"), "--exclude", "guide/", "--strict").exit_code == 0


def test_prefix_option_crawls_above_url(site: Any, tmp_path: Any) -> None:
    _add_pages(site)
    assert _run(f"{site.url}docs/", "-o", str(tmp_path / "out"), "--prefix", "/").exit_code == 0
    assert {"", "about/", "docs/", "docs/guide/boil/"} <= set(_published(tmp_path / "out"))


def test_update_keeps_scope_of_folder(site: Any, tmp_path: Any) -> None:
    _add_pages(site)
    out = str(tmp_path / "out")
    _run(f"{site.url}docs/", "-o", out, "--prefix", "/")
    before = _published(tmp_path / "out")
    assert _run(f"{site.url}docs/", "-o", out).exit_code == 0
    assert _published(tmp_path / "out") == before
    refused = _run(f"{site.url}docs/", "-o", out, "--prefix", "/docs/")
    assert refused.exit_code == 1
    assert refused.stderr.count("\n") == 1
    assert "give another folder" in refused.stderr


def test_prefix_on_other_host_is_refused() -> None:
    with pytest.raises(UsageError, match=r"not on https://docs\.example"):
        ScopeConfig(prefix="https://other.example/").make_scope(ROOT)
    assert ScopeConfig(prefix="/kettle/api").make_scope(ROOT + "start").url == ROOT + "api/"


def test_user_agent_option_is_used_for_requests_and_robots(site: Any, tmp_path: Any) -> None:
    site.put("/robots.txt", "User-agent: teapot\nDisallow: /secret\n\nUser-agent: *\nDisallow: /\n")
    site.page("/", "Home", links=("/secret",))
    result = _run(site.url, "-o", str(tmp_path / "out"), "--user-agent", "Teapot/2 (+https://tea.example)")
    assert "robots.txt forbids" in result.stdout
    assert {request.headers["User-Agent"] for request in site.requests} == {"Teapot/2 (+https://tea.example)"}
    assert "/secret" not in site.paths()
    assert _run(site.url, "-o", str(tmp_path / "out"), "--user-agent", "a\r\nX: y").exit_code == 1


def test_progress_line_shows_numbers_and_waits(capsys: Any) -> None:
    progress = CrawlProgress(redraws=True)
    progress.on_event("found", {"pages": 1000})
    progress.show()
    for at in range(1000):
        progress.on_event("page", {"known": 1000 + at})
    progress.on_event("skipped", {"known": 2000})
    progress.on_event("wait", {"host": "https://docs.example", "seconds": 12.0})
    progress.show()
    progress.clear()
    shown = capsys.readouterr().err
    assert shown.count("\r") == 3
    assert "Crawling: 1001 of 2000 pages, 1 skipped, waits 12 s" in shown
    assert shown.endswith("\r")  # click removes the code that clears the line


def test_json_option_prints_events(site: Any, tmp_path: Any) -> None:
    _add_pages(site)
    site.redirect("/docs/guide/draft/", "https://elsewhere.example/")
    result = _run(f"{site.url}docs/", "-o", str(tmp_path / "out"), "--json")
    events = [json.loads(line) for line in result.stdout.splitlines()]
    assert [events[0]["event"], events[1]["event"], events[-1]["event"]] == ["start", "found", "done"]
    assert sum(event["event"] == "page" for event in events) == events[-1]["pages"] == 6
    assert [event["pages"] for event in events if event["event"] == "publish"] == [6]
    assert [url for url, _ in events[-1]["skipped"]] == [f"{site.url}docs/guide/draft/"]
    assert "out of scope" in events[-1]["skipped"][0][1]


def test_result_table_counts_pages_and_reasons(site: Any, tmp_path: Any) -> None:
    _add_pages(site)
    _run(f"{site.url}docs/", "-o", str(tmp_path / "out"))
    site.page("/docs/guide/boil/", "Boil", "Press the other lever.")
    site.put("/docs/guide/draft/", "", status=404)
    site.page("/docs/new/", "New")
    site.page("/docs/blog/one/", "One", links=("/docs/new/",))
    lines = _run(f"{site.url}docs/", "-o", str(tmp_path / "out")).stdout.splitlines()
    table = dict(line.split()[:2] for line in lines[3:-1] if line.startswith("  ") and not line.startswith("    "))
    assert table == {
        "new": "1",
        "changed": "2",
        "same": "4",
        "gone": "1",
        "skipped": "1",
        "left": "out:",
    }
    assert f"       1  not found: {site.url}docs/guide/draft/" in lines
    assert lines[1] == "  found by links on pages"
    assert "  left out: 1 page in /; --prefix /" in lines


def test_result_table_counts_reasons_that_are_not_shown(site: Any, tmp_path: Any) -> None:
    statuses = range(405, 419)
    paths = [f"/docs/slash{number}{end}" for end in ("/", "") for number in range(3)]
    site.page("/docs/", "Home", links=(*paths, *(f"/docs/{status}/" for status in statuses)))
    for path in paths:
        site.page(path, f"Page {path.strip('/')}", f"Text {path.strip('/')}.")
    for status in statuses:
        site.put(f"/docs/{status}/", "", status=status)
    lines = _run(f"{site.url}docs/", "-o", str(tmp_path / "out")).stdout.splitlines()
    assert any(line.startswith("       3  duplicate: ") for line in lines)
    assert "       3  for 3 more reasons; --json lists all" in lines


def test_user_agent_header_contains_contact() -> None:
    assert "tea@example.org" in Politeness(contact="tea@example.org").user_agent_header
    assert Politeness(contact="tea@example.org", user_agent="Teapot/2").user_agent_header == "Teapot/2"
