"""Other people's llms.txt and llms-full.txt: what lists pages is found, what is odd is told, nothing crashes."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from roaming_crawler.fulltext import split_full
from roaming_crawler.llms import read_index
from roaming_crawler.looking import text_of

GOLDEN = Path(__file__).parents[1] / "golden" / "crawler"
BASE = "https://docs.example/llms.txt"
INDEXES = sorted((GOLDEN / "llms").glob("*.txt"))
FULLS = sorted((GOLDEN / "full").glob("*.txt"))


def _fits(found: Any, file: Path) -> None:
    expected = file.with_suffix(".json")
    if os.environ.get("UPDATE_GOLDEN"):
        expected.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", "utf-8")
    assert json.loads(json.dumps(found)) == json.loads(expected.read_text("utf-8"))


@pytest.mark.parametrize("file", INDEXES, ids=lambda file: file.stem)
def test_lists_are_read(file: Path) -> None:
    """Several titles or none, no summary, no links, a BOM, CRLF, relative and broken addresses, lists of lists."""
    _fits(asdict(read_index(text_of(file.read_bytes()), BASE)), file)


@pytest.mark.parametrize("file", FULLS, ids=lambda file: file.stem)
def test_texts_are_split_into_pages(file: Path) -> None:
    """By each convention in use; what stands in code splits nothing, front matter in the middle does."""
    pieces = split_full(text_of(file.read_bytes()), "https://docs.example/llms-full.txt")
    _fits({**asdict(pieces), "by_url": sorted(pieces.by_url())}, file)


@given(st.text("#>-[]()` \n\r\tab:/.<>=\"'~|\\\ufeff", max_size=200))
def test_nothing_crashes_the_readers(text: str) -> None:
    """Whatever is served under the name is read to its end."""
    read_index(text, BASE)
    split_full(text, BASE)


def test_three_megabytes_come_to_an_end() -> None:
    """Long lists, long lines and brackets without end cost no more than their length: its square would be hours."""
    for text in (
        "".join(f"- [Page {at}](p{at}.md): about it\n" for at in range(60_000)),
        "- " + "[" * 1_500_000 + "]" * 1_500_000,
        "- [a](" + "(" * 3_000_000,
        "> " + "x " * 1_500_000,
        "<!--" * 700_000,
        "## a\n> b\n" * 200_000,
        "---\n" * 300_000,
    ):
        began = time.process_time()
        read_index(text, BASE)
        split_full(text, BASE)
        assert time.process_time() - began < 60


def test_lists_of_lists_end(site: Any, crawled: Any) -> None:
    """Lists that name each other in a circle are read once each; of hundreds, fifty are, and a note says so."""
    from roaming_crawler.discover import Sources

    own = site.url
    site.put("/llms.txt", f"# S\n\n> S.\n\n- [a]({own}0/llms.txt)\n", kind="text/plain")
    for at in range(80):
        further = f"- [next]({own}{at + 1}/llms.txt)\n- [first]({own}llms.txt)\n"
        site.put(f"/{at}/llms.txt", f"# L{at}\n\n{further}- [p]({own}p{at}.md)\n", kind="text/plain")
        site.put(f"/p{at}.md", f"# Page {at}\n\nWords of page {at}.\n", kind="text/markdown")
    done = crawled(own, sources=Sources(manifest=False, sitemap=False), links=False, anchors=False)
    lists = [path for path in site.paths() if path.endswith("llms.txt") and path != "/docs/llms.txt"]
    assert len(lists) == len(set(lists)) == 51
    assert any("more than 50 other llms.txt" in note for note in done.outcome.notes)
    assert sum(path.startswith("p") for path in done.paths) == 50


def test_pages_are_taken_from_the_full_text_where_it_holds_all(site: Any, crawled: Any) -> None:
    """One request then stands for all pages; where one is missing, every page is fetched and a note says so."""
    own = site.url
    site.put("/llms.txt", f"# S\n\n> S.\n\n- [A]({own}a.md)\n- [B]({own}b.md)\n", kind="text/plain")
    texts = {name: f"# {name.upper()}\n\nThe text of {name}, as it is.\n" for name in ("a", "b")}
    for name, text in texts.items():
        site.put(f"/{name}.md", text, kind="text/markdown")
    both = "".join(f"Source: {own}{name}\n\n{text}\n" for name, text in texts.items())
    site.put("/llms-full.txt", both, kind="text/plain")
    whole = crawled(own, links=False)
    assert not [path for path in site.paths() if path in ("/a.md", "/b.md")]
    assert whole.text("a").endswith(texts["a"])
    site.put("/llms-full.txt", both.partition(f"Source: {own}b")[0], kind="text/plain")
    part = crawled(own, links=False)
    assert {"/a.md", "/b.md"} <= set(site.paths())
    assert any("1 of the 2 that llms.txt lists" in note for note in part.outcome.notes)
    assert [page.digest for page in part.manifest.pages] == [page.digest for page in whole.manifest.pages]


def test_addresses_of_another_host_are_told(site: Any, crawled: Any) -> None:
    """A list that leads elsewhere is not followed there; the note says where to."""
    site.put("/llms.txt", f"# S\n\n- [A]({site.url}a.md)\n- [B](https://elsewhere.example/b.md)\n", kind="text/plain")
    site.put("/a.md", "# A\n\nWords.\n", kind="text/markdown")
    done = crawled(site.url, links=False)
    assert done.paths == ["a"]
    assert any("https://elsewhere.example" in note for note in done.outcome.notes)
