"""llms.txt as authors write them."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mkdocs_roaming.sources import decode_text
from mkdocs_roaming.text.llms_index import LlmsIndex
from roaming_crawler.scope import canonical_url

GOLDEN = Path(__file__).parents[2] / "golden" / "crawler"
BASE = "https://docs.example/llms.txt"
INDEXES = sorted((GOLDEN / "llms").glob("*.txt"))


def _assert_matches(found: Any, file: Path) -> None:
    expected = file.with_suffix(".json")
    if os.environ.get("UPDATE"):
        expected.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", "utf-8")
    assert json.loads(json.dumps(found)) == json.loads(expected.read_text("utf-8"))


@pytest.mark.parametrize("file", INDEXES, ids=lambda file: file.stem)
def test_parse_llms_txt_matches_golden_file(file: Path) -> None:
    index = LlmsIndex.from_text(decode_text(file.read_bytes()), BASE, partial(canonical_url, base=BASE))
    found = {name: getattr(index, name) for name in ("base", "title", "summary", "entries", "nested", "full")}
    found["entries"] = {url: link._asdict() for url, link in index.entries.items()}
    _assert_matches(found, file)


@given(st.text("#>-[]()` \n\r\tab:/.<>=\"'~|\\\ufeff", max_size=200))
def test_parse_llms_txt_accepts_any_text(text: str) -> None:
    LlmsIndex.from_text(text, BASE, partial(canonical_url, base=BASE))


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
    assert any("more than 251 lists" in note for note in output.result.notes)
    assert sum(path.startswith("p") for path in output.paths) == 250
