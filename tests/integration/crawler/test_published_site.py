"""Crawls of a published site compared with the original."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mkdocs_roaming.cli import main
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.library.validate import validate_site
from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest
from roaming_crawler.config import DiscoveryConfig, ScopeConfig

pytestmark = pytest.mark.slow

WAYS: dict[str, dict[str, Any]] = {
    "by llms.txt": {"discovery": DiscoveryConfig(manifest=False, sitemap=False), "links": False},
    "by the sitemap": {"discovery": DiscoveryConfig(manifest=False, llms=False), "links": False},
    "by navigation": {"discovery": DiscoveryConfig(False, False, False)},
}


def _url(sample: Path) -> str:
    return load_manifest((sample / MANIFEST_PATH).read_bytes()).site.url


def _without_pointer(markdown: str) -> str:
    first, rest = markdown.split("\n", 1)
    assert first.startswith("> This ")
    return rest


def _link_to_pages(markdown: str) -> str:
    """Replace links to the Markdown of pages by links to the pages."""
    return re.sub(r"(\]\(http[^)\s]*/)(?:index|([\w-]+))\.md(?=[)#])", lambda link: link[1] + (link[2] or ""), markdown)


@pytest.mark.parametrize("way", WAYS)
def test_crawl_reproduces_published_site(way: str, site: Any, sample: Path, run_crawl: Any) -> None:
    site.folder(sample, "/docs/", url=_url(sample))
    output = run_crawl(site.url + "docs/", source="markdown", **WAYS[way])
    published = load_manifest((sample / MANIFEST_PATH).read_bytes())
    unlisted = {"contribute/house-style/"}  # excluded from llms.txt, but listed in the sitemap and the nav
    assert set(output.paths) - unlisted == {page.path for page in published.pages}
    for page in published.pages:
        want = (sample / page.markdown).read_text("utf-8").replace(_url(sample), site.url + "docs/")
        assert _without_pointer(output.text(page.path)) == _link_to_pages(_without_pointer(want))
    ids = {page.path: [section.id for section in page.sections] for page in published.pages}
    assert {
        page.path: [section.id for section in page.sections] for page in output.manifest.pages if page.path in ids
    } == ids
    assert validate_site(open_library(output.folder)).faults == ()


def test_site_with_manifest_is_mirrored(site: Any, sample: Path, run_crawl: Any) -> None:
    site.folder(sample)
    output = run_crawl(site.url)
    published = load_manifest((sample / MANIFEST_PATH).read_bytes())
    assert [(page.id, page.digest) for page in output.manifest.pages] == [
        (page.id, page.digest) for page in published.pages
    ]
    assert (output.manifest.nav, output.manifest.nav_source) == (published.nav, published.nav_source)
    assert [request.path for request in site.requests if request.status == 200] == [
        "/",
        "/roaming/manifest.json",
        "/llms-full.txt",
    ]


def test_mirror_drops_rules(site: Any, sample: Path, run_crawl: Any) -> None:
    data = json.loads((sample / MANIFEST_PATH).read_text("utf-8"))
    assert data["rules"]
    site.folder(sample)
    output = run_crawl(site.url)
    assert output.manifest.rules == ()
    assert any("rules are dropped" in note for note in output.result.notes)


def _rewrite(site: Any, sample: Path, count: int, status: int = 200) -> None:
    """Serve a number of pages with a Markdown that a server has rewritten, or with an error."""
    for page in load_manifest((sample / MANIFEST_PATH).read_bytes()).pages[:count]:
        text = (sample / page.markdown).read_text("utf-8").replace("https://", "https://cdn.example/")
        site.put(f"/{page.markdown}", text + "\n", kind="text/markdown", status=status)
    site.put("/llms-full.txt", "rewritten", kind="text/plain")


def test_manifest_with_wrong_digests_falls_back_to_html(
    site: Any, sample: Path, run_crawl: Any, read_files: Callable[[Path], dict[str, bytes]]
) -> None:
    site.folder(sample, url=_url(sample))
    _rewrite(site, sample, 1000)
    output = run_crawl(site.url)
    published = load_manifest((sample / MANIFEST_PATH).read_bytes())
    assert {page.path for page in published.pages} <= set(output.paths)
    assert any("does not match its manifest; its HTML is crawled instead" in note for note in output.result.notes)
    retries = [path for path in site.paths() if "?v=" in path]
    assert len(retries) <= 8  # a few requests show that the manifest is wrong
    before = read_files(output.folder)
    run_crawl(site.url)
    assert read_files(output.folder) == before


@pytest.mark.parametrize(
    ("count", "status", "is_mirror"), [(1, 200, True), (2, 200, False), (2, 404, False), (3, 403, True)]
)
def test_manifest_is_used_while_at_most_a_twentieth_of_the_pages_is_wrong(
    count: int, status: int, is_mirror: bool, site: Any, sample: Path, run_crawl: Any
) -> None:
    """One page of 29 is within the limit, two are not; pages that a server refuses do not count."""
    site.folder(sample)
    _rewrite(site, sample, count, status)
    output = run_crawl(site.url)
    assert any("its HTML is crawled instead" in note for note in output.result.notes) != is_mirror
    assert (len(output.paths) == 29 - count) == is_mirror


def test_outdated_cache_of_page_is_bypassed(site: Any, sample: Path, run_crawl: Any) -> None:
    site.folder(sample)
    _rewrite(site, sample, 3)
    pages = load_manifest((sample / MANIFEST_PATH).read_bytes()).pages
    for page in pages[:3]:
        address = f"/{page.markdown}?v={page.digest.removeprefix('sha256:')[:16]}"
        site.put(address, (sample / page.markdown).read_bytes(), kind="text/markdown")
    output = run_crawl(site.url)
    assert [page.digest for page in output.manifest.pages] == [page.digest for page in pages]


def test_mirror_names_other_languages(site: Any, sample: Path, run_crawl: Any, tmp_path: Path) -> None:
    data = json.loads((sample / MANIFEST_PATH).read_text("utf-8"))
    other = {"manifest": "../de/roaming/manifest.json", "language": "de"}
    old = {"manifest": "../old/roaming/manifest.json", "version": "1.0"}
    data["site"]["alternates"] = [other, old, old | {"language": "fr"}, {"manifest": "../mirror/roaming/manifest.json"}]
    site.folder(sample)
    site.put(f"/{MANIFEST_PATH}", json.dumps(data), kind="application/json")
    left_out = run_crawl(site.url).result.left_out
    assert [(other.option, other.name) for other in left_out] == [("language", "de")]
    crawl = partial(CliRunner().invoke, main)
    done = crawl(["crawl", site.url, "-o", str(tmp_path / "cli"), "--delay", "0", "--allow-private", "--json"])
    assert '{"event":"publish","pages":29}' in done.stdout.replace(" ", "").splitlines()
    done = crawl(["crawl", site.url, "-o", str(tmp_path / "cli"), "--delay", "0", "--allow-private"])
    assert "  left out: de; --language de\n" in done.stdout


def test_patterns_apply_to_mirrored_site(site: Any, sample: Path, run_crawl: Any) -> None:
    site.folder(sample)
    paths = run_crawl(site.url, scope=ScopeConfig(include=("guide/**",))).paths
    assert "" in paths
    assert len(paths) > 3
    assert all(path.startswith("guide/") for path in paths if path)
