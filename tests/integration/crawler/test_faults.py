"""Sites with faults: each skipped page has a reason."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import socket
import struct
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Any

import pytest
import zstandard
from click.testing import CliRunner

from mkdocs_roaming.cli import main
from roaming_crawler.config import CrawlLimits, Politeness
from roaming_crawler.fetch import Clock

PAGE = b"<html>" + bytes(range(256)) * 9
QUICK = Politeness(delay=0, seconds=1.5, tries=1)
FAST = ("--allow-private", "--delay", "0", "--workers", "0")


def _suggest(reply: Any, html: Any) -> Any:
    """Return a responder for missing pages that echoes their URL, and suggests other pages for each."""

    def respond(handler: Any) -> Any:
        seed = hashlib.sha256(handler.path.encode()).hexdigest()
        names = "".join(f"<li>{seed[at : at + 6]} {seed[at + 6 : at + 12]}" for at in range(0, 60, 12))
        text = (
            f"<h1>Page not found</h1><p>Sorry, {handler.path} is not here. Perhaps one of these helps:</p><ul>{names}"
        )
        return reply(f"<title>Docs</title><main>{text}</ul></main>", etag=False)

    return respond


def test_crawl_skips_soft_404_pages_with_suggestions(site: Any, run_crawl: Any, html: Any, reply: Any) -> None:
    site.page("/", "Home", links=("/guide/", "/codes/", "/dead/"))
    site.page("/guide/", "Guide", "How to use the pump.")
    site.page("/codes/", "404 Not Found", "This status says that there is no such page.")
    site.default = _suggest(reply, html)
    output = run_crawl(site.url)
    assert output.paths == ["", "codes/", "guide/"]
    assert "page for missing pages" in output.skip_reason("/dead/")


@pytest.mark.parametrize(("text", "names"), [("Red.", "ab"), ("Red, at {path}.", "ab"), ("{path}", "a"), ("", "abc")])
def test_relative_links_on_a_page_at_any_address_end_soon(
    text: str, names: str, site: Any, run_crawl: Any, html: Any, reply: Any
) -> None:
    links = tuple(f"{name}/" for name in names)

    def respond(handler: Any) -> Any:
        is_trap = set(handler.path) <= {"/", *names}
        page = html("Colours", text.format(path=handler.path.replace("/", " ")), links)
        return reply(page) if is_trap else reply("", 404)

    site.default = respond
    site.page("/", "Home", links=links)
    output = run_crawl(site.url)
    assert {"", "a/"} <= set(output.paths)
    assert len({path for path in site.paths() if set(path) <= {"/", *names}}) < 50
    assert output.result.stopped == ""


UNPARSABLE = f'<title>Deep</title><ul class="navbar-nav">{"<li><a href=/deep/x>a</a><ul>" * 900}</ul><main>Deep.</main>'
"""The levels of its navigation exceed the call stack."""


@pytest.mark.parametrize("workers", [0, 2])
def test_crawl_skips_page_that_cannot_be_parsed(workers: int, site: Any, run_crawl: Any, html: Any) -> None:
    site.page("/", "Home", links=("/deep", "/odd", "/guide"))
    site.put("/deep", UNPARSABLE)
    site.put("/odd", html("Odd").replace(" lang=en", " lang='&#1;'"))
    site.page("/guide", "Guide")
    output = run_crawl(site.url, workers=workers)
    assert output.paths == ["", "guide"]
    assert output.skip_reason("/deep").startswith("cannot be parsed (RecursionError: ")
    assert output.skip_reason("/odd").startswith("cannot be parsed (ValueError: ")


@pytest.mark.parametrize("options", [(), ("--language", "pt")])
def test_start_page_that_cannot_be_parsed_is_an_error_of_one_line(
    options: tuple[str, ...], site: Any, tmp_path: Path
) -> None:
    site.put("/", UNPARSABLE)
    result = CliRunner().invoke(main, ["crawl", site.url, "-o", str(tmp_path / "out"), *FAST, *options])
    assert result.exit_code != 0
    assert isinstance(result.exception, SystemExit)
    assert "cannot be parsed (RecursionError: " in result.stderr
    assert len(result.stderr.splitlines()) == 1


THEME = """
from mkdocs_roaming.html.themes import Theme

ACME = Theme("acme", admonition_prefixes=(7,))
"""
"""A theme that raises a TypeError for each admonition."""


def test_page_that_cannot_be_converted_is_skipped(site: Any, html: Any, tmp_path: Path) -> None:
    info = tmp_path / "plugins/acme_docs-1.0.dist-info"
    info.mkdir(parents=True)
    (info.parent / "acme_docs.py").write_text(THEME, "utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-docs\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text("[roaming.themes]\nacme = acme_docs:ACME\n", "utf-8")
    site.page("/", "Home", links=("/note",))
    note = '<div class="admonition note"><p>Not in the rain.</p></div>'
    site.put("/note", html("Note").replace("</main>", f"{note}</main>"))
    result = subprocess.run(
        [sys.executable, "-m", "mkdocs_roaming", "crawl", site.url, "-o", str(tmp_path / "out"), *FAST],
        env={**os.environ, "PYTHONPATH": str(info.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, "Traceback" in result.stderr) == (0, False)
    assert "skipped      1" in result.stdout
    assert re.search(rf"   1  cannot be converted \(.*\); please report this page: {site.url}note", result.stdout)


@pytest.mark.parametrize("depth", [300, 330])
def test_deep_navigation_does_not_end_crawl(depth: int, site: Any, run_crawl: Any) -> None:
    links = "".join(f'<li><a href="/p{at}">p{at}</a><ul>' for at in range(depth))
    site.put("/", f'<title>Deep</title><ul class="navbar-nav">{links}</ul><main>The home page has a text.</main>')
    site.page("/p1", "One")
    site.page("/guide", "Guide")
    site.put("/sitemap.xml", f"<urlset><url><loc>{site.url}guide</loc></url></urlset>", kind="application/xml")
    assert "guide" in run_crawl(site.url).paths


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ("Größe über Maß".encode("latin-1"), "text/html; charset=iso-8859-1"),
        ("Größe über Maß".encode(), "text/html; charset=iso-8859-1"),  # the header is wrong
        ("\ufeffGröße über Maß".encode(), "text/html"),
        ("Größe über Maß".encode("utf-16"), "text/html; charset=utf-8"),
        ("Größe über Maß".encode("cp1252"), "text/html"),
        ("Größe über Maß".encode(), "text/html; charset=no-such-thing"),
        ("Größe über Maß".encode("latin-1"), "application/octet-stream"),
    ],
)
def test_crawl_detects_text_encoding(data: bytes, kind: str, site: Any, run_crawl: Any, html: Any) -> None:
    mark = b"" if not data.startswith((b"\xff\xfe", b"\xef\xbb\xbf")) else data[:2] if data[0] == 255 else data[:3]
    coding = "utf-16-le" if mark == b"\xff\xfe" else "ascii"
    before, after = html("Page", "WORDS").split("WORDS")
    meta = '<meta charset="iso-8859-1">' if "charset" not in kind else ""
    before = before.replace("<head>", "<head>" + meta)
    body = mark + before.encode(coding) + data[len(mark) :] + after.encode(coding)
    site.put("/", body, kind=kind)
    assert "Größe über Maß" in run_crawl(site.url).text("")


def test_crawl_skips_compression_bombs(site: Any, run_crawl: Any, html: Any, bomb: Any) -> None:
    compressed = bomb(40)
    site.page("/", "Home", links=("/gzip", "/twice", "/brotli", "/zstd", "/fine"))
    site.put("/gzip", compressed, headers={"Content-Encoding": "gzip"})
    site.put("/twice", gzip.compress(compressed), headers={"Content-Encoding": "gzip, gzip"})
    site.put("/brotli", b"\x1b\xff\xff\xff\x00" * 100, headers={"Content-Encoding": "br"})
    site.put("/zstd", zstandard.compress(PAGE), headers={"Content-Encoding": "zstd"})
    site.put("/fine", gzip.compress(html("Fine").encode()), headers={"Content-Encoding": "gzip"})
    output = run_crawl(site.url)
    assert output.paths == ["", "fine"]
    assert "more than 10 MB decompressed" in output.skip_reason("/gzip")
    assert "more than 10 MB decompressed" in output.skip_reason("/twice")
    assert "unrequested content encoding 'br'" in output.skip_reason("/brotli")
    assert "unrequested content encoding 'zstd'" in output.skip_reason("/zstd")
    assert {request.headers["Accept-Encoding"] for request in site.requests} == {"gzip"}


RAW_DEFLATE = zlib.compressobj(wbits=-zlib.MAX_WBITS)


@pytest.mark.parametrize(
    ("coding", "encode"),
    [
        *((name, bytes) for name in ("identity", "none", "UTF-8", "text/html", "x-gzip", "deflate", "br", "gzip, x")),
        *((name, gzip.compress) for name in ("x-gzip", "GZIP", "utf-8, gzip", "none", "")),
        ("gzip", lambda data: gzip.compress(gzip.compress(data))),
        ("gzip, gzip", lambda data: gzip.compress(gzip.compress(data))),
        ("x-deflate", zlib.compress),
        ("deflate", lambda data: RAW_DEFLATE.compress(data) + RAW_DEFLATE.flush()),
        ("deflate, gzip", lambda data: gzip.compress(zlib.compress(data))),
    ],
)
def test_body_tells_its_encoding_whatever_the_header_says(
    coding: str, encode: Any, site: Any, run_crawl: Any, html: Any
) -> None:
    body = encode(html("Home", "How to use the pump.").encode())
    site.put("/", body, headers={"Content-Encoding": coding})
    assert "How to use the pump." in run_crawl(site.url).text("")


def test_crawl_skips_endless_responses(site: Any, run_crawl: Any) -> None:

    def endless(handler: Any) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html><body>")
        while True:
            handler.wfile.write(b"<p>and on and on</p>" * 1000)

    def drip(handler: Any) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n")
        for _ in range(100):
            handler.wfile.write(b".")
            handler.wfile.flush()
            time.sleep(0.1)

    def reset(handler: Any) -> None:
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        handler.connection.close()

    def short(handler: Any) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n<p>half")

    def headers(handler: Any) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n" + b"X-More: and more\r\n" * 8000 + b"Content-Length: 0\r\n\r\n")

    site.page("/", "Home", links=("/endless", "/drip", "/reset", "/short", "/headers"))
    for respond in (endless, drip, reset, short, headers):
        site.responses[f"/{respond.__name__}"] = respond
    output = run_crawl(site.url, politeness=QUICK)
    assert output.paths == [""]
    assert "more than 10 MB" in output.skip_reason("/endless")
    assert "no complete response within 1.5 s" in output.skip_reason("/drip")
    assert "times" in output.skip_reason("/reset")
    assert "times" in output.skip_reason("/short")
    assert "times" in output.skip_reason("/headers")


def test_crawl_stops_if_robots_txt_fails(site: Any, run_crawl: Any) -> None:
    site.page("/", "Home")
    site.put("/robots.txt", "oops", status=500)
    with pytest.raises(Exception, match=r"robots\.txt (has status 500|cannot be fetched)"):
        run_crawl(site.url, politeness=QUICK)
    assert set(site.paths()) == {"/robots.txt"}


def test_crawl_reads_gzipped_and_nested_sitemaps(site: Any, run_crawl: Any, reply: Any, bomb: Any) -> None:
    own = site.url
    site.put("/robots.txt", f"Sitemap: {own}maps/index.xml\n")
    maps = ("one.xml.gz", "bomb.xml.gz", "evil.xml", "broken.xml", "index.xml")
    listed = "".join(f"<sitemap><loc>{own}maps/{name}</loc></sitemap>" for name in maps)
    site.put("/maps/index.xml", f"<?xml version='1.0'?><sitemapindex>{listed}</sitemapindex>", kind="text/xml")
    urls = "".join(f"<url><loc>{own}{name}</loc></url>" for name in ("a", "b", "gone"))
    space = "xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'"
    site.put("/maps/one.xml.gz", gzip.compress(f"<urlset {space}>{urls}</urlset>".encode()), kind="application/gzip")
    site.put("/maps/bomb.xml.gz", bomb(60), kind="application/gzip")
    evil = f'<!DOCTYPE x [<!ENTITY a "{own}a">]><urlset><url><loc>&a;evil</loc></url></urlset>'
    site.put("/maps/evil.xml", evil, kind="text/xml")
    site.put("/maps/broken.xml", "\x00\x01\x02", kind="text/xml")
    for name in ("a", "b"):
        site.page(f"/{name}", name.upper())
    output = run_crawl(site.url)
    assert output.paths == ["a", "b"]
    assert output.skip_reason("/gone") == "not found"
    for name in ("evil.xml", "broken.xml"):
        assert any(name in note for note in output.result.notes), name


def test_changed_etag_with_same_body_is_no_change(site: Any, run_crawl: Any, html: Any, reply: Any) -> None:
    count = iter(range(1000))
    site.responses["/"] = lambda handler: reply(html("Home"), headers={"ETag": f'"{next(count)}"'})
    first = run_crawl(site.url)
    before = (first.folder / "index.md").stat().st_mtime_ns
    second = run_crawl(site.url)
    assert (second.result.same, second.result.changed, second.result.written) == (1, (), 0)
    assert (second.folder / "index.md").stat().st_mtime_ns == before


def test_update_keeps_ids_of_moved_pages_and_files_of_failed_ones(site: Any, run_crawl: Any) -> None:
    site.page("/", "Home", links=("/moves", "/fails"))
    site.page("/moves", "A page that moves")
    site.page("/fails", "Fails")
    first = run_crawl(site.url)
    moved = next(page.id for page in first.manifest.pages if page.path == "moves")
    before = (first.folder / "fails.md").stat().st_mtime_ns
    site.page("/", "Home", links=("/moved", "/fails"))
    site.responses["/moved"] = site.responses.pop("/moves")
    site.put("/fails", "oops", status=403)
    second = run_crawl(site.url)
    assert moved in next(page for page in second.manifest.pages if page.path == "moved").sections[0].aliases
    assert not (second.folder / "moves.md").exists()
    assert (second.folder / "fails.md").stat().st_mtime_ns == before


def test_update_refetches_page_with_missing_body(site: Any, run_crawl: Any) -> None:
    site.page("/", "Home")
    first = run_crawl(site.url)
    for file in (first.folder / ".roaming" / "bodies").glob("*/*"):
        file.unlink()
    site.requests.clear()
    second = run_crawl(site.url)
    assert second.paths == [""]
    assert next(request.status for request in site.requests if request.path == "/") == 200


@pytest.mark.parametrize(
    ("limits", "line"),
    [
        (CrawlLimits(pages=3), "--max-pages"),
        (CrawlLimits(total_bytes=3000), "--max-bytes"),
        (CrawlLimits(seconds=0), "--max-seconds"),
    ],
)
def test_crawl_reports_reached_limit_and_resumes(limits: CrawlLimits, line: str, site: Any, run_crawl: Any) -> None:
    site.page("/", "Home", links=tuple(f"/p{at}" for at in range(20)))
    for at in range(20):
        site.page(f"/p{at}", f"Page {at}")
    if limits.seconds == 0:
        run_crawl(site.url)
        site.requests.clear()
    output = run_crawl(site.url, limits=limits, refresh=True)
    assert line in output.result.stopped
    if limits.seconds == 0:
        assert len(output.paths) == 21  # pages of the last crawl stay
        assert len(site.requests) == 0
    else:
        assert 1 <= len(output.paths) < 21
        whole = run_crawl(site.url)
        assert len(whole.paths) == 21


def test_higher_page_limit_revalidates_old_responses(seven_pages: Any, run_crawl: Any) -> None:
    run_crawl(seven_pages.url, limits=CrawlLimits(pages=4))
    seven_pages.page("/p1/", "/p1/", "Second revision.")
    continued = run_crawl(seven_pages.url, clock=Clock(wall=lambda: time.time() + 24 * 3600 + 1))
    assert len(continued.paths) == 7
    assert continued.result.changed == ("p1/",)


def test_page_with_damaged_body_location_or_addresses_fails_alone(site: Any, run_crawl: Any, html: Any) -> None:
    packed = gzip.compress(PAGE, mtime=0)
    bodies = {
        "/cut": (packed[:-40], "compressed body ends early"),
        "/checksum": (packed[:-8] + b"12345678", "not compressed as"),
    }
    locations = ("http://[::1", "//[", "http://a:b:c/", "\\\\", "http://x\\y/", "/\x7f", "?" * 9_000)
    addresses = ("http://[::1", "//[", "http://a:b:c/", "http://[]")
    moved, odd = [f"/moved{at}" for at in range(len(locations))], [f"/odd{at}" for at in range(len(addresses))]
    site.page("/", "Home", links=("/good", *bodies, *moved, *odd))
    site.page("/good", "Good")
    for path, (body, _) in bodies.items():
        site.put(path, body, headers={"Content-Encoding": "gzip"}, etag=False)
    for path, location in zip(moved, locations, strict=True):
        site.redirect(path, location)
    for path, url in zip(odd, addresses, strict=True):
        head = f'<base href="{url}"><link rel="canonical" href="{url}"><link rel="icon" href="{url}">'
        body = html(f"Page {path}", f'See <a href="{url}">this</a> and <img src="{url}">.', head=head)
        site.put(path, body, headers={"Link": f"<{url}>; rel=alternate; type=text/markdown"})
    output = run_crawl(site.url, politeness=QUICK)
    assert output.paths == ["", "good", *(path[1:] for path in odd)]
    assert all(reason in output.skip_reason(path) for path, (_, reason) in bodies.items())


def test_body_of_several_members_and_padding_is_read_whole(site: Any, run_crawl: Any, html: Any) -> None:
    page = html("Home", "How to use the pump.").encode()
    body = gzip.compress(page[:200]) + gzip.compress(page[200:]) + b"\0\0"
    site.put("/", body, headers={"Content-Encoding": "gzip"}, etag=False)
    assert "How to use the pump." in run_crawl(site.url).text("")


MEGABYTES = 400
_MEASURE = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024, status)
"""


def _measure_peak(url: str, folder: Path) -> int:
    """Return the peak memory of a crawl in MB, measured in its own process."""
    options = ["--allow-private", "--delay", "0", "--workers", "0"]
    command = [sys.executable, "-m", "mkdocs_roaming", "crawl", url, "-o", str(folder), *options]
    shown = subprocess.run([sys.executable, "-c", _MEASURE, *command], capture_output=True, text=True, check=True)
    peak, status = map(int, shown.stdout.split())
    assert status == 0, shown.stderr
    return peak


LISTS = ("/llms.txt", "/llms-full.txt", "/sitemap.xml", "/roaming/manifest.json")


@pytest.mark.slow
@pytest.mark.parametrize(("bombs", "limit"), [(("/p0/", "/p1/", "/p2/", "/p3/", "/p4.md"), 40), (LISTS, 200)])
def test_crawl_stops_decompressing_at_limit(
    bombs: tuple[str, ...], limit: int, site: Any, tmp_path: Path, bomb: Any
) -> None:
    pages = tuple(f"/p{at}/" for at in range(6))
    site.page("/", "Home", links=pages)
    for path in pages:
        site.page(path, f"Page {path[2]}")
    without = _measure_peak(site.url, tmp_path / "without")
    for path in bombs:
        site.put(path, bomb(MEGABYTES), headers={"Content-Encoding": "gzip"}, etag=False)
    with_bombs = _measure_peak(site.url, tmp_path / "with")
    print(f"{without} MB without, {with_bombs} MB with")
    assert with_bombs < without + limit
