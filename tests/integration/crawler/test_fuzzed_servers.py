"""Crawls of servers whose answers are made up: none ends a crawl, and each page fails by itself."""

from __future__ import annotations

import gzip
import socket
import threading
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import anyio.lowlevel
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest
from roaming_crawler.config import CrawlConfig, CrawlLimits, Politeness
from roaming_crawler.crawl import crawl
from roaming_crawler.fetch import Clock

pytestmark = pytest.mark.slow

QUICK = Politeness(delay=0, seconds=0.5, tries=1)
LINKS = "".join(f'<a href="/{name}">{name}</a> ' for name in "abc")
HOME = f"<html><head><title>Home</title></head><body><main><h1>Home</h1><p>The pump is red. {LINKS}</p></main></body></html>"
GOOD = "<html><head><title>Good</title></head><body><main><h1>Good</h1><p>This page is fine and says so.</p></main></body></html>"

texts = st.text(st.characters(codec="latin-1", exclude_characters="\r\n"), max_size=40)
addresses = st.one_of(
    st.sampled_from(
        ["http://[::1", "//", "///a", "?", "#", "\\", "http://", "/b", "javascript:1", "http://x:99999/", "%"]
    ),
    texts,
)
codings = st.sampled_from(["gzip", "deflate", "br", "identity", "", "gzip, gzip", "x", "GZIP"])
kinds = st.one_of(
    st.sampled_from(
        ["text/html", "text/html; charset=utf-16", "text/html; charset=", "text/markdown", "image/png", ";", ""]
    ),
    texts,
)
headers = st.lists(
    st.one_of(
        st.tuples(st.just("Content-Type"), kinds),
        st.tuples(st.just("Content-Encoding"), codings),
        st.tuples(st.just("Location"), addresses),
        st.tuples(st.just("Content-Length"), st.sampled_from(["0", "5", "-1", "99999", "x", "5, 6", "1" * 40])),
        st.tuples(st.just("Transfer-Encoding"), st.sampled_from(["chunked", "gzip, chunked", "x"])),
        st.tuples(st.sampled_from(["ETag", "Last-Modified", "Link", "Retry-After", "Set-Cookie", "X"]), texts),
    ),
    max_size=5,
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
    st.builds(zlib.compress, pages),
    st.builds(lambda page, cut: gzip.compress(page)[:cut], pages, st.integers(0, 200)),
    st.builds(lambda page: b"%x\r\n%b\r\n0\r\n\r\n" % (len(page), page), pages),
    st.builds(lambda page: b"ffff\r\n%b" % page, pages),
)
statuses = st.one_of(
    st.sampled_from([b"HTTP/1.1 200 OK"]),
    st.builds(lambda code: b"HTTP/1.1 %d x" % code, st.integers(0, 1_000)),
    st.sampled_from(
        [b"HTTP/1.1 302 x", b"HTTP/1.1 308 x", b"HTTP/1.0 200", b"HTTP/9.9 200 x", b"", b"ICY 200", b"\0\xff"]
    ),
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


def fuzz(examples: int) -> settings:
    """Return the settings for a number of servers, which are the same in each run."""
    return settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=[HealthCheck.too_slow],
    )


@contextmanager
def serve(answers: Mapping[str, bytes]) -> Iterator[str]:
    """Serve bytes by path; all other paths are missing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def run() -> None:
            with suppress(OSError):  # the listener is closed
                while True:
                    connection, _ = listener.accept()
                    threading.Thread(target=answer, args=(connection,), daemon=True).start()

        def answer(connection: socket.socket) -> None:
            with suppress(OSError), connection:
                request = b""
                while b"\r\n\r\n" not in request:
                    if not (data := connection.recv(65_536)):
                        return
                    request += data
                path = request.split(b" ", 2)[1].decode("latin-1")
                connection.sendall(
                    answers.get(path, b"HTTP/1.1 404 x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                )

        threading.Thread(target=run, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        listener.shutdown(socket.SHUT_RDWR)


def respond(body: str) -> bytes:
    data = body.encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%b" % (
        len(data),
        data,
    )


class SkippingClock:
    """A clock that is set forward instead of waiting."""

    def __init__(self) -> None:
        self._skipped = 0.0

    def now(self) -> float:
        return time.monotonic() + self._skipped

    async def sleep(self, seconds: float) -> None:
        self._skipped += seconds
        await anyio.lowlevel.checkpoint()


def crawl_fuzzed(fuzzed: Mapping[str, bytes]) -> None:
    """Crawl a server; a page that is not fuzzed is published unless the home page is fuzzed."""
    config = CrawlConfig(politeness=QUICK, workers=0, allow_private=True, limits=CrawlLimits(pages=20, seconds=60))
    with TemporaryDirectory() as folder, serve({"/": respond(HOME), "/c": respond(GOOD), **fuzzed}) as url:
        out, clock = Path(folder, "out"), SkippingClock()
        try:
            result = anyio.run(lambda: crawl(url, out, config, clock=Clock(clock.now, time.time, clock.sleep)))
        except RoamingError:
            if "/" in fuzzed or "/robots.txt" in fuzzed:
                return  # there is nothing to crawl
            raise
        paths = {page.path for page in load_manifest((out / MANIFEST_PATH).read_bytes()).pages}
        assert all(reason.strip() for _, reason in result.skipped)
        if fuzzed.keys() <= {"/a", "/b"}:
            assert {"", "c"} <= paths


@fuzz(1_000)
@given(servers)
def test_no_answer_of_a_thousand_servers_ends_a_crawl(fuzzed: Mapping[str, bytes]) -> None:
    crawl_fuzzed(fuzzed)
