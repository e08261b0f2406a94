"""Crawls of a published site compared with the original."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.library.validate import validate_site
from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest
from roaming_crawler.config import DiscoveryConfig

WAYS: dict[str, dict[str, Any]] = {
    "by llms.txt": {"discovery": DiscoveryConfig(manifest=False, sitemap=False), "links": False},
    "by the sitemap": {"discovery": DiscoveryConfig(manifest=False, llms=False), "links": False},
    "by navigation": {"discovery": DiscoveryConfig(False, False, False)},
}


def _url(sample: Path) -> str:
    return load_manifest((sample / MANIFEST_PATH).read_bytes()).site.url


@pytest.mark.parametrize("way", WAYS)
def test_crawl_reproduces_published_site(way: str, site: Any, sample: Path, crawled: Any) -> None:
    site.folder(sample, "/docs/", url=_url(sample))
    done = crawled(site.url + "docs/", **WAYS[way])
    published = load_manifest((sample / MANIFEST_PATH).read_bytes())
    unlisted = {"contribute/house-style/"}  # it asks to stay out of llms.txt, but the sitemap and the nav name it
    assert set(done.paths) - unlisted == {page.path for page in published.pages}
    for page in published.pages:
        want = (sample / page.markdown).read_text("utf-8").replace(_url(sample), site.url + "docs/")
        assert done.text(page.path) == want
    ids = {page.path: [section.id for section in page.sections] for page in published.pages}
    assert {
        page.path: [section.id for section in page.sections] for page in done.manifest.pages if page.path in ids
    } == ids
    assert validate_site(open_library(done.folder)).faults == ()


def test_site_with_manifest_is_mirrored(site: Any, sample: Path, crawled: Any) -> None:
    site.folder(sample)
    done = crawled(site.url)
    published = load_manifest((sample / MANIFEST_PATH).read_bytes())
    assert [(page.id, page.digest) for page in done.manifest.pages] == [
        (page.id, page.digest) for page in published.pages
    ]
    assert (done.manifest.nav, done.manifest.nav_source) == (published.nav, published.nav_source)
    assert [asked.path for asked in site.requests if asked.status == 200] == [
        "/",
        "/roaming/manifest.json",
        "/llms-full.txt",
    ]


def test_mirror_drops_rules(site: Any, sample: Path, crawled: Any) -> None:
    data = json.loads((sample / MANIFEST_PATH).read_text("utf-8"))
    assert data["rules"]
    site.folder(sample)
    done = crawled(site.url)
    assert done.manifest.rules == ()
    assert any("rules are dropped" in note for note in done.result.notes)


@pytest.mark.parametrize("way", WAYS)
def test_update_of_unchanged_site_writes_no_file(
    way: str, site: Any, sample: Path, crawled: Any, read_files: Callable[[Path], dict[str, bytes]]
) -> None:
    site.folder(sample, "/docs/", url=_url(sample))
    first = crawled(site.url + "docs/", **WAYS[way])
    before = {name: (first.folder / name).stat().st_mtime_ns for name in read_files(first.folder)}
    site.requests.clear()
    again = crawled(site.url + "docs/", **WAYS[way])
    assert site.requests
    assert [asked.path for asked in site.requests if not asked.conditional] == []
    assert {asked.status for asked in site.requests} == {304}
    assert (again.result.written, again.result.same) == (0, len(again.manifest.pages))
    assert {name: (again.folder / name).stat().st_mtime_ns for name in read_files(again.folder)} == before


def test_crawl_of_built_folder_matches_site(sample: Path, crawled: Any) -> None:
    for given in (str(sample), (sample / "llms.txt").as_uri()):
        done = crawled(given, sample.parent / re.sub(r"\W", "", given)[-12:], discovery=DiscoveryConfig(manifest=False))
        published = load_manifest((sample / MANIFEST_PATH).read_bytes())
        assert done.manifest.site.url == published.site.url
        assert {page.path for page in published.pages} <= set(done.paths)
