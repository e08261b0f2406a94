"""Compare crawled sites with their published Markdown, for each way to find and convert pages.

    python benchmarks/crawl_sites.py SITE_DIR [SITE_DIR …] [--plain DIR] [--diff]

Each SITE_DIR is a site built with the plugin. It is served locally under the path of its URL, with the URL replaced in
its files, and crawled with pages found by llms.txt only, by the sitemap only, by links only, and converted from HTML
only; and finally the same site built without the plugin, in DIR under the same name. A page is equal if its Markdown is
the published one byte for byte. “Equal except code languages” ignores the languages of fences, which some themes omit
in HTML. `--diff` prints the other differences.
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

from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest
from roaming_crawler.config import CrawlConfig, DiscoveryConfig, Politeness
from roaming_crawler.crawl import crawl

POLITENESS = Politeness(delay=0, seconds=30)
CONFIGS = {
    "llms.txt": CrawlConfig(discovery=DiscoveryConfig(manifest=False, sitemap=False), links=False),
    "sitemap": CrawlConfig(discovery=DiscoveryConfig(manifest=False, llms=False), links=False),
    "links": CrawlConfig(discovery=DiscoveryConfig(False, False, False)),
    "HTML alone": CrawlConfig(discovery=DiscoveryConfig(manifest=False, llms=False), source="html"),
}
_FENCE_LANGUAGE = re.compile(rb"(?m)^([ >]*(?:```+|~~~+))[ ]?[\w+-]+(?=[ \n])")
PLAIN = "built without the plugin"


@dataclass(frozen=True, slots=True)
class Row:
    """Result of one crawl. `unpublished` pages have no published Markdown."""

    way: str
    published: int
    found: int
    equal: int
    equal_except_languages: int
    equal_ids: int
    unpublished: int
    requests: int


class SiteServer(ThreadingHTTPServer):
    """Serves a built site under its path and replaces the URL of the site with the local one."""

    daemon_threads = True

    def __init__(self, folder: Path, site_url: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder, self.site_url = folder, site_url
        self.path = urlsplit(site_url).path or "/"
        self.url = f"http://127.0.0.1:{self.server_address[1]}{self.path}"

    def localize(self, data: bytes) -> bytes:
        """Replace the URL of the site with the local one."""
        return data.replace(self.site_url.encode(), self.url.encode())


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: SiteServer

    def log_message(self, *_: object) -> None: ...

    def do_GET(self) -> None:
        path, prefix = unquote(urlsplit(self.path).path), self.server.path
        file = self.server.folder / path[len(prefix) :]
        redirects = file.is_dir() and not path.endswith("/")
        file = file / "index.html" if file.is_dir() else file
        exists = path.startswith(prefix) and file.is_file()
        data = self.server.localize(file.read_bytes()) if exists and not redirects else b"Not found."
        self.send_response(301 if redirects else 200 if exists else 404)
        if redirects:
            self.send_header("Location", self.path + "/")
        self.send_header("Content-Type", mimetypes.guess_type(file.name)[0] or "text/markdown")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def measure(folder: Path, site: Path, way: str, config: CrawlConfig, *, diff: bool, out: Path) -> Row:
    """Crawl the site in `site` and compare the result with the published Markdown in `folder`."""
    manifest = load_manifest((folder / MANIFEST_PATH).read_bytes())
    server = SiteServer(site, manifest.site.url)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    config = CrawlConfig(
        politeness=POLITENESS,
        discovery=config.discovery,
        links=config.links,
        source=config.source,
        allow_private=True,
        workers=0,
    )
    result = anyio.run(lambda: crawl(server.url, out, config))
    server.shutdown()
    crawled = load_manifest((out / MANIFEST_PATH).read_bytes())
    crawled_pages = {page.path: page for page in crawled.pages}
    equal = equal_except_languages = equal_ids = 0
    for page in manifest.pages:
        if page.path not in crawled_pages:
            continue
        expected = server.localize((folder / page.markdown).read_bytes())
        actual = (out / crawled_pages[page.path].markdown).read_bytes()
        equal += expected == actual
        equal_except_languages += (same := _FENCE_LANGUAGE.sub(rb"\1", expected) == _FENCE_LANGUAGE.sub(rb"\1", actual))
        ids = {section.id for section in crawled_pages[page.path].sections}
        equal_ids += {section.id for section in page.sections} == ids
        if diff and not same:
            print(f"--- {way}: {page.path or '(home)'}")
            print("\n".join(_format_diff(expected.decode(), actual.decode())))
    known = {page.path for page in manifest.pages}
    found, unpublished = len(known & crawled_pages.keys()), len(crawled_pages.keys() - known)
    return Row(way, len(known), found, equal, equal_except_languages, equal_ids, unpublished, result.requests)


def _format_diff(expected: str, actual: str) -> Iterator[str]:
    lines = list(
        difflib.unified_diff(expected.splitlines(), actual.splitlines(), "published", "crawled", n=0, lineterm="")
    )
    yield from (line[:200] for line in lines[2:22])
    if len(lines) > 22:
        yield f"… {len(lines) - 22} more lines"


def main() -> None:
    """Crawl each site in every way and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", nargs="+", type=Path, help="Folders of sites built with the plugin.")
    parser.add_argument("--plain", type=Path, help="Folder of the same sites built without the plugin.")
    parser.add_argument("--diff", action="store_true", help="Print the differences of pages that are not equal.")
    parser.add_argument("--keep", type=Path, help="Folder in which to keep the crawled sites.")
    options = parser.parse_args()
    print("| site | way | found | equal | equal except code languages | all section ids | unpublished | requests |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as temporary:
        for folder in options.sites:
            name = load_manifest((folder / MANIFEST_PATH).read_bytes()).site.name
            sites = {way: (folder, config) for way, config in CONFIGS.items()}
            if options.plain and (options.plain / folder.name).is_dir():
                sites[PLAIN] = (options.plain / folder.name, CrawlConfig())
            for way, (site, config) in sites.items():
                out = (options.keep or Path(temporary)) / folder.name / way.replace(" ", "-")
                row = measure(folder, site, way, config, diff=options.diff, out=out)
                cells = (
                    f"{count} of {row.published}"
                    for count in (row.found, row.equal, row.equal_except_languages, row.equal_ids)
                )
                print(f"| {name} | {way} | {' | '.join(cells)} | {row.unpublished} | {row.requests} |", flush=True)


if __name__ == "__main__":
    main()
