"""Crawls of servers whose answers are made up: none ends a crawl, and each page fails by itself."""

from __future__ import annotations

import gzip
import time
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest
from roaming_crawler.config import CrawlConfig, CrawlLimits, Politeness
from roaming_crawler.crawl import crawl
from roaming_crawler.fetch import Clock

QUICK = Politeness(delay=0, seconds=0.5, tries=1)
GOOD = "<title>Good</title><main><h1>Good</h1><p>This page is fine and says so.</p></main>"

texts = st.text(st.characters(codec="latin-1", exclude_characters="\r\n"), max_size=40)
addresses = texts | st.sampled_from(
    ["http://[::1", "//", "///a", "?", "#", "\\", "http://", "/b", "javascript:1", "http://x:99999/", "%"]
)
values = {
    "Content-Type": texts | st.sampled_from(["text/html", "text/html; charset=utf-16", "text/markdown", ";", ""]),
    "Content-Encoding": st.sampled_from(["gzip", "deflate", "br", "identity", "", "gzip, gzip", "x", "GZIP"]),
    "Content-Length": st.sampled_from(["0", "5", "-1", "99999", "x", "5, 6", "1" * 40]),
    "Transfer-Encoding": st.sampled_from(["chunked", "gzip, chunked", "x"]),
    "Location": addresses,
    **dict.fromkeys(["ETag", "Last-Modified", "Link", "Retry-After", "Set-Cookie", "X"], texts),
}
headers = st.lists(
    st.sampled_from(sorted(values)).flatmap(lambda name: st.tuples(st.just(name), values[name])), max_size=5
)
pages = st.one_of(
    st.just(GOOD.encode()),
    st.binary(max_size=300),
    st.builds(lambda data: GOOD.replace("fine", data).encode("utf-8", "surrogatepass"), st.text(max_size=60)),
    st.builds(lambda link: GOOD.replace("fine", f'<a href="{link}">x</a>').encode(), addresses),
    st.sampled_from([b"<" * 5_000, b"<div>" * 2_000, b"\0" * 100, b"<html><base href='http://[::1'>" + GOOD.encode()]),
)
bodies = st.one_of(
    pages,
    st.builds(gzip.compress, pages),
    st.builds(lambda page, cut: gzip.compress(page)[:cut], pages, st.integers(0, 200)),
    st.builds(lambda page: b"%x\r\n%b\r\n0\r\n\r\n" % (len(page), page), pages),
    st.builds(lambda page: b"ffff\r\n%b" % page, pages),
)
statuses = st.builds(lambda code: b"HTTP/1.1 %d x" % code, st.integers(0, 1_000)) | st.sampled_from(
    [b"HTTP/1.1 200 OK", b"HTTP/1.1 302 x", b"HTTP/1.0 200", b"HTTP/9.9 200 x", b"", b"ICY 200", b"\0\xff"]
)
answers = st.builds(
    lambda status, fields, body: b"\r\n".join(
        [status, *(f"{name}: {value}".encode("latin-1") for name, value in fields), b"Connection: close", b"", body]
    ),
    statuses,
    headers,
    bodies,
)
servers = st.dictionaries(
    st.sampled_from(["/", "/a", "/b", "/robots.txt", "/sitemap.xml", "/llms.txt", "/roaming/manifest.json"]), answers
)


@pytest.mark.slow
@settings(
    max_examples=300,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(servers)
def test_no_made_up_answer_ends_a_crawl(site: Any, fuzzed: Mapping[str, bytes]) -> None:
    """A page that is not fuzzed is published unless the home page is fuzzed."""
    site.responses.clear()
    site.page("/", "Home", "The pump is red.", ("/a", "/b", "/c"))
    site.put("/c", GOOD)
    for path, answer in fuzzed.items():
        site.responses[path] = lambda handler, answer=answer: handler.wfile.write(answer) and None
    skipped = [0.0]

    async def skip(seconds: float) -> None:
        skipped[0] += seconds
        await anyio.lowlevel.checkpoint()

    clock = Clock(lambda: time.monotonic() + skipped[0], time.time, skip)
    config = CrawlConfig(politeness=QUICK, workers=0, allow_private=True, limits=CrawlLimits(pages=20, seconds=60))
    with TemporaryDirectory() as folder:
        out = Path(folder, "out")
        try:
            result = anyio.run(lambda: crawl(site.url, out, config, clock=clock))
        except RoamingError:
            assert {"/", "/robots.txt"} & set(fuzzed)  # else there is something to crawl
            return
        paths = {page.path for page in load_manifest((out / MANIFEST_PATH).read_bytes()).pages}
    assert all(reason.strip() for _, reason in result.skipped)
    if fuzzed.keys() <= {"/a", "/b"}:
        assert {"", "c"} <= paths
