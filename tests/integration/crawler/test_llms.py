"""llms.txt and llms-full.txt as authors write them."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mkdocs_roaming.sources import decode_text
from roaming_crawler.llms import parse_llms_txt, split_llms_full

GOLDEN = Path(__file__).parents[2] / "golden" / "crawler"
BASE = "https://docs.example/llms.txt"
INDEXES = sorted((GOLDEN / "llms").glob("*.txt"))
FULLS = sorted((GOLDEN / "full").glob("*.txt"))


def _assert_matches(found: Any, file: Path) -> None:
    expected = file.with_suffix(".json")
    if os.environ.get("UPDATE_GOLDEN"):
        expected.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", "utf-8")
    assert json.loads(json.dumps(found)) == json.loads(expected.read_text("utf-8"))


@pytest.mark.parametrize("file", INDEXES, ids=lambda file: file.stem)
def test_parse_llms_txt_matches_golden_file(file: Path) -> None:
    _assert_matches(asdict(parse_llms_txt(decode_text(file.read_bytes()), BASE)), file)


@pytest.mark.parametrize("file", FULLS, ids=lambda file: file.stem)
def test_split_llms_full_matches_golden_file(file: Path) -> None:
    _assert_matches(split_llms_full(decode_text(file.read_bytes()), "https://docs.example/llms-full.txt"), file)


@given(st.text("#>-[]()` \n\r\tab:/.<>=\"'~|\\\ufeff", max_size=200))
def test_parsers_accept_any_text(text: str) -> None:
    parse_llms_txt(text, BASE)
    split_llms_full(text, BASE)


def test_nested_llms_txt_files_are_limited(site: Any, run_crawl: Any) -> None:
    from roaming_crawler.config import DiscoveryConfig

    own = site.url
    site.put("/llms.txt", f"# S\n\n> S.\n\n- [a]({own}0/llms.txt)\n", kind="text/plain")
    for at in range(260):
        further = f"- [next]({own}{at + 1}/llms.txt)\n- [first]({own}llms.txt)\n"
        site.put(f"/{at}/llms.txt", f"# L{at}\n\n{further}- [p]({own}p{at}.md)\n", kind="text/plain")
        site.put(f"/p{at}.md", f"# Page {at}\n\nWords of page {at}.\n", kind="text/markdown")
    output = run_crawl(own, discovery=DiscoveryConfig(manifest=False, sitemap=False), links=False, source="markdown")
    lists = [path for path in site.paths() if path.endswith("llms.txt") and path != "/docs/llms.txt"]
    assert len(lists) == len(set(lists)) == 251
    assert any("more than 250 other llms.txt" in note for note in output.result.notes)
    assert sum(path.startswith("p") for path in output.paths) == 250


def test_complete_llms_full_replaces_page_requests(site: Any, run_crawl: Any) -> None:
    own = site.url
    site.put("/llms.txt", f"# S\n\n> S.\n\n- [A]({own}a.md)\n- [B]({own}b.md)\n", kind="text/plain")
    texts = {name: f"# {name.upper()}\n\nThe text of {name}, as it is.\n" for name in ("a", "b")}
    for name, text in texts.items():
        site.put(f"/{name}.md", text, kind="text/markdown")
    both = "".join(f"Source: {own}{name}\n\n{text}\n" for name, text in texts.items())
    site.put("/llms-full.txt", both, kind="text/plain")
    whole = run_crawl(own, links=False)
    assert not [path for path in site.paths() if path in ("/a.md", "/b.md")]
    assert whole.text("a").endswith(texts["a"])
    site.put("/llms-full.txt", both.partition(f"Source: {own}b")[0], kind="text/plain")
    part = run_crawl(own, links=False)
    assert {"/a.md", "/b.md"} <= set(site.paths())
    assert any("of the 2 pages that llms.txt lists" in note for note in part.result.notes)
    assert [page.digest for page in part.manifest.pages] == [page.digest for page in whole.manifest.pages]


LIST = "# Kettle\n\n> Boils.\n\n- [Boil](/docs/boil.md): how to\n"


@pytest.mark.parametrize(
    ("path", "given"),
    [
        ("/docs/llms.txt", ""),
        ("/llms.txt", "docs/"),
        ("/.well-known/llms.txt", ""),
        ("/lists/for-models.txt", "lists/for-models.txt"),
    ],
)
def test_llms_txt_is_found_at_usual_urls(path: str, given: str, site: Any, run_crawl: Any) -> None:
    from roaming_crawler.config import ScopeConfig

    site.put(path, LIST, kind="text/plain")
    site.put("/docs/boil.md", "# Boil\n\nPress the lever.\n", kind="text/markdown")
    output = run_crawl(site.url + given, links=False, scope=ScopeConfig(same_host=given.endswith(".txt")))
    assert [page.title for page in output.manifest.pages] == ["Boil"]


def test_listed_text_file_is_a_page(site: Any, run_crawl: Any) -> None:
    site.put(
        "/llms.txt",
        "# S\n\n> S.\n\n- [Boil](/boil)\n- [All calls](/api.txt)\n- [Guide](/guide.txt)\n",
        kind="text/plain",
    )
    site.put("/boil", "# Boil\n\nPress the lever.\n", kind="text/markdown")
    site.put("/api.txt", "# Calls\n\n`kettle.boil()`\n", kind="text/plain")
    both = "".join(f"Source: {site.url}{name}\n\n# {name}\n\nWords.\n\n" for name in ("boil", "api.txt"))
    site.put("/guide.txt", both, kind="text/plain")
    output = run_crawl(site.url)
    assert output.paths == ["api.txt", "boil"]
    assert "several pages" in output.skip_reason("/guide.txt")
    assert "Press the lever." in output.text("boil")


def test_pages_missing_in_llms_full_are_fetched(site: Any, run_crawl: Any) -> None:
    own, names = site.url, [f"p{at}" for at in range(12)]
    listed = "".join(f"- [{name}]({own}{name}.md)\n" for name in ("first", *names))
    site.put("/llms.txt", f"# S\n\n> S.\n\n{listed}", kind="text/plain")
    site.put("/first.md", "# First\n\nIts own words.\n", kind="text/markdown")
    whole = "".join(f"# {name}\n\nSource: {own}{name}\n\nWords of {name}.\n\n" for name in names)
    site.put("/llms-full.txt", whole, kind="text/plain")
    output = run_crawl(own, links=False)
    assert output.paths == sorted(["first", *names])
    assert [path for path in site.paths() if path.endswith(".md") and "roaming" not in path] == ["/first.md"]


def test_llms_txt_with_whole_pages_is_split(site: Any, run_crawl: Any) -> None:
    own = site.url
    site.put(
        "/llms.txt", "# S\n\n> S.\n\n- [A](/a.md)\n- [B](/b.md)\n- [All](/llms-everything.txt)\n", kind="text/plain"
    )
    both = "".join(f"Source: {own}{name}\n\n# {name.upper()}\n\nWords of {name}.\n\n" for name in ("a", "b"))
    site.put("/llms-everything.txt", both, kind="text/plain")
    output = run_crawl(own, links=False)
    assert output.paths == ["a", "b"]
    assert not {"/a.md", "/b.md"} & set(site.paths())


def test_abridged_llms_files_are_ignored(site: Any, run_crawl: Any) -> None:
    own = site.url
    site.put("/llms.txt", "# S\n\n> S.\n\n- [A](/a.md)\n- [Small](/llms-small.txt)\n", kind="text/plain")
    site.put("/llms-small.txt", f"Source: {own}a\n\n# A\n\nIn short.\n", kind="text/plain")
    site.put("/a.md", "# A\n\nAt length.\n", kind="text/markdown")
    output = run_crawl(own, links=False)
    assert "At length." in output.text("a")
    assert "/llms-small.txt" not in site.paths()
