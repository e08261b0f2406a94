"""Small sites in test_sites.yml: which pages are published with which text, which are skipped and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from mkdocs_roaming.errors import RoamingError
from roaming_crawler.config import CrawlLimits, ScopeConfig

CASES = yaml.safe_load(Path(__file__).with_suffix(".yml").read_text("utf-8"))
KINDS = {".md": "text/markdown", ".txt": "text/plain", ".xml": "application/xml"}


def _put(site: Any, html: Any, path: str, page: str | dict[str, Any]) -> None:
    page = (
        page if isinstance(page, dict) else {"body" if page.startswith(("<", "#")) or "\n" in page else "title": page}
    )
    twin = site.url.replace("http:", "https:").rstrip("/")
    page = {
        name: value.replace("{site}", site.url).replace("{twin}", twin) if isinstance(value, str) else value
        for name, value in page.items()
    }
    if "to" in page:
        site.redirect(path, page["to"], page.get("status", 301))
        return
    links = tuple(link.replace("{twin}", twin) for link in page.get("links", ()))
    body = (
        html(page["title"], page.get("text", ""), links, page.get("head", ""))
        if "title" in page
        else page.get("body", "")
    )
    body = body.replace(" lang=en", f" lang={page.get('lang', 'en')}")
    kind = page.get("kind") or KINDS.get(Path(path).suffix, "text/html; charset=utf-8")
    site.put(path, body, kind=kind, status=page.get("status", 200), headers=page.get("headers", {}))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_crawl_of_site(case: dict[str, Any], site: Any, run_crawl: Any, html: Any) -> None:
    for step in (case, *case.get("then", ())):
        _check({**case, **step}, site, run_crawl, html)


def _check(case: dict[str, Any], site: Any, run_crawl: Any, html: Any) -> None:
    site.requests.clear()
    for path, page in case["site"].items():
        _put(site, html, path, page)
    options = {**case.get("options", {})}
    start = site.url + options.pop("start", "")
    options["scope"] = ScopeConfig(**options.get("scope", {}))
    options["limits"] = CrawlLimits(**options.get("limits", {}))
    if case.get("error"):
        with pytest.raises(RoamingError) as error:
            run_crawl(start, **options)
        assert case["error"].replace("{site}", site.url) in str(error.value)
        return
    output = run_crawl(start, **options)
    pages = {page.path: page for page in output.manifest.pages}
    assert sorted(pages) == case.get("paths", sorted(pages)), output.result.skipped
    for end, reason in case.get("skipped", {}).items():
        assert reason in output.skip_reason(end), end
    for path, parts in case.get("texts", {}).items():
        assert [part for part in parts if part.replace("{site}", site.url) not in output.text(path)] == []
    for path, parts in case.get("lacks", {}).items():
        assert [part for part in parts if part in output.text(path)] == []
    for name, values in case.get("fields", {}).items():
        assert {path: getattr(page, name) for path, page in pages.items()} == values
    assert set(case.get("requested", ())) <= set(site.paths())
    assert not set(case.get("unrequested", ())) & set(site.paths())
    notes = [note.replace("{site}", site.url) for note in case.get("notes", ())]
    assert [note for note in notes if not any(note in found for found in output.result.notes)] == []
    for name, value in case.get("published", {}).items():
        assert getattr(output.manifest.site, name) == value.replace("{site}", site.url)
    urls = sorted((page.url or page.path).removeprefix(site.url) for page in pages.values())
    assert urls == case.get("urls", urls)
    for name, value in case.get("manifest", {}).items():
        assert getattr(output.manifest, name) == value
    for name, value in case.get("result", {}).items():
        assert sorted(getattr(output.result, name)) == [item.replace("{site}", site.url) for item in value]
    left_out = [[variant.option, variant.name, variant.pages] for variant in output.result.left_out]
    assert left_out == case.get("left_out", left_out)
    if "skipped" not in case and "/" in case["site"]:
        assert output.result.skipped == ()
    assert len(site.requests) == case.get("requests", len(site.requests))
    if "same" in case:
        assert run_crawl(start, **options).result.same == case["same"]
