"""How much of a published site a crawl brings back, by each way of finding and taking its pages.

    python benchmarks/crawl_sites.py SITE_DIR [SITE_DIR …] [--plain DIR] [--diff]

Each SITE_DIR is a site built with the plugin. It is served on this machine under its own path, its own address replaced
by the server's, and crawled five times: its pages found by llms.txt alone, by the sitemap alone, by navigation alone,
then converted from HTML alone; and last the same site built without the plugin, which lies in DIR under the same name.
A page is equal if its Markdown is the published one byte for byte; “but for languages”, if it is so once the languages
of fences are taken away: where a theme's HTML does not name it, only the source does. `--diff` shows what else differs.
"""

from __future__ import annotations

import argparse
import difflib
import mimetypes
import re
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import anyio
from roaming_crawler.config import CrawlConfig, DiscoveryConfig, Politeness
from roaming_crawler.crawl import crawl

from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest
from mkdocs_roaming.manifest.models import Manifest

HASTE = Politeness(delay=0, seconds=30)
WAYS = {
    "llms.txt": CrawlConfig(discovery=DiscoveryConfig(manifest=False, sitemap=False), links=False),
    "sitemap": CrawlConfig(discovery=DiscoveryConfig(manifest=False, llms=False), links=False),
    "navigation": CrawlConfig(discovery=DiscoveryConfig(False, False, False)),
    "HTML alone": CrawlConfig(discovery=DiscoveryConfig(manifest=False, llms=False), prefer_markdown=False),
}
_LANGUAGE = re.compile(rb"(?m)^([ >]*(?:```+|~~~+))[ ]?[\w+-]+(?=[ \n])")
PLAIN = "built without the plugin"


@dataclass(frozen=True, slots=True)
class Row:
    """What came back of a site by one way. `extra` are pages that the site does not publish as Markdown."""

    way: str
    published: int
    found: int
    equal: int
    alike: int
    anchors: int
    extra: int
    requests: int


class Served(ThreadingHTTPServer):
    """A built site under its own path; its address stands wherever the site's own one stood."""

    daemon_threads = True

    def __init__(self, folder: Path, own: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder, self.own = folder, own
        self.path = urlsplit(own).path or "/"
        self.url = f"http://127.0.0.1:{self.server_address[1]}{self.path}"

    def translated(self, data: bytes) -> bytes:
        """Give bytes of the site with the server's address."""
        return data.replace(self.own.encode(), self.url.encode())


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Served

    def log_message(self, *_: object) -> None: ...

    def do_GET(self) -> None:
        path, below = unquote(urlsplit(self.path).path), self.server.path
        file = self.server.folder / path[len(below) :]
        moved = file.is_dir() and not path.endswith("/")
        file = file / "index.html" if file.is_dir() else file
        found = path.startswith(below) and file.is_file()
        data = self.server.translated(file.read_bytes()) if found and not moved else b"Nothing here."
        self.send_response(301 if moved else 200 if found else 404)
        if moved:
            self.send_header("Location", self.path + "/")
        self.send_header("Content-Type", mimetypes.guess_type(file.name)[0] or "text/markdown")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def measured(folder: Path, site: Path, way: str, how: CrawlConfig, *, diff: bool, kept: Path) -> Row:
    """Crawl the site in `site`; compare it with what `folder` publishes."""
    manifest = load_manifest((folder / MANIFEST_PATH).read_bytes())
    server = Served(site, manifest.site.url)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    how = CrawlConfig(
        politeness=HASTE,
        discovery=how.discovery,
        links=how.links,
        prefer_markdown=how.prefer_markdown,
        allow_private=True,
        workers=0,
    )
    outcome = anyio.run(lambda: crawl(server.url, kept, how))
    server.shutdown()
    came = load_manifest((kept / MANIFEST_PATH).read_bytes())
    there = {page.path: page for page in came.pages}
    equal = alike = anchors = 0
    for page in manifest.pages:
        if page.path not in there:
            continue
        want = server.translated((folder / page.markdown).read_bytes())
        got = (kept / there[page.path].markdown).read_bytes()
        equal += want == got
        alike += (same := _LANGUAGE.sub(rb"\1", want) == _LANGUAGE.sub(rb"\1", got))
        ids = {section.id for section in there[page.path].sections}
        anchors += {section.id for section in page.sections} == ids
        if diff and not same:
            print(f"--- {way}: {page.path or '(home)'}")
            print("\n".join(_differences(want.decode(), got.decode())))
    known = {page.path for page in manifest.pages}
    found, extra = len(known & there.keys()), len(there.keys() - known)
    return Row(way, len(known), found, equal, alike, anchors, extra, outcome.requests)


def _differences(want: str, got: str) -> Iterator[str]:
    lines = list(difflib.unified_diff(want.splitlines(), got.splitlines(), "published", "crawled", n=0, lineterm=""))
    yield from (line[:200] for line in lines[2:22])
    if len(lines) > 22:
        yield f"… {len(lines) - 22} lines more"


def named(manifest: Manifest) -> str:
    """Give what a site is called in the table."""
    return manifest.site.name


def main() -> None:
    """Crawl each site in all ways, and print a table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("sites", nargs="+", type=Path)
    options.add_argument("--plain", type=Path)
    options.add_argument("--diff", action="store_true")
    options.add_argument("--keep", type=Path, help="Leave what was crawled in this folder.")
    given = options.parse_args()
    print(
        "| site | pages found or taken by | found | equal | but for languages | all section ids | others | requests |"
    )
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as below:
        for folder in given.sites:
            name = named(load_manifest((folder / MANIFEST_PATH).read_bytes()))
            sites = {way: (folder, how) for way, how in WAYS.items()}
            if given.plain and (given.plain / folder.name).is_dir():
                sites[PLAIN] = (given.plain / folder.name, CrawlConfig())
            for way, (site, how) in sites.items():
                kept = (given.keep or Path(below)) / folder.name / way.replace(" ", "-")
                row = measured(folder, site, way, how, diff=given.diff, kept=kept)
                cells = (f"{count} of {row.published}" for count in (row.found, row.equal, row.alike, row.anchors))
                print(f"| {name} | {way} | {' | '.join(cells)} | {row.extra} | {row.requests} |", flush=True)


if __name__ == "__main__":
    main()
