"""Lists of addresses take linear time, whatever the addresses are."""

from __future__ import annotations

import gc
import time
import uuid
from collections.abc import Callable, Sequence
from datetime import date, timedelta

import anyio
import pytest

from mkdocs_roaming.html.boilerplate import learn_boilerplate, remove_boilerplate
from mkdocs_roaming.manifest.models import NavItem
from mkdocs_roaming.sources import site_nav
from mkdocs_roaming.text.llms_index import LlmsIndex
from roaming_crawler.config import ScopeConfig
from roaming_crawler.discover import DiscoveredPages, parse_sitemap
from roaming_crawler.duplicates import find_copies, find_print_views, summarize_text
from roaming_crawler.page import FetchedPage, PageBody, PageRef, make_page_ref
from roaming_crawler.parser import ParsedPage
from roaming_crawler.scope import Scope, canonical_url, disambiguate_paths, storage_path
from roaming_crawler.variants import VariantFilter, find_language_start

pytestmark = pytest.mark.slow

BASE = "https://docs.example/"
SIZE = 1_000
MAX_RATIO = 9.0
"""Four times the size may take four times the time, and some noise; a quadratic function takes 16 times as long."""
FLOOR_SECONDS = 0.02

LISTS: dict[str, Callable[[int], str]] = {
    "numbers": lambda n: f"kb/{n}/",
    "files": lambda n: f"page-{n}.html",
    "dates": lambda n: (date(1990, 1, 1) + timedelta(n)).strftime("%Y/%m/%d/"),
    "dates with dashes": lambda n: f"{date(1990, 1, 1) + timedelta(n)}/news/",
    "uuids": lambda n: f"{uuid.UUID(int=n * 0x9E3779B97F4A7C15F39CC0605CEDC834 % 2**128)}/",
    "languages": lambda n: f"{chr(97 + n % 26)}{chr(97 + n // 26 % 26)}-{n // 676 % 900 + 100}/guide/",
    "versions": lambda n: f"v{n // 2}.{n % 7}/page-{n % 2}/",
    "versions and numbers": lambda n: f"{n}/v{n}/",
    "few versions": lambda n: f"1.{n % 40}/2.{n // 40}/page",
    "depth": lambda n: f"{'a/' * (n % 600)}{n}/",
    "case": lambda n: "".join(c.upper() if n >> at & 1 else c for at, c in enumerate("abcdefghijklmnop")),
    "spellings": lambda n: f"page-{n // 4}" + ("", "/", ".html", "/index.md")[n % 4],
}


def _select(paths: Sequence[str]) -> None:
    async def read(ref: PageRef) -> ParsedPage:
        return ParsedPage()

    variants = VariantFilter(Scope(BASE), BASE, ScopeConfig(), "en", read)

    async def run() -> None:
        later = [PageRef(BASE + path) for path in paths]
        while later:
            _, later = await variants.select(later)

    anyio.run(run)
    variants.summary()


def _discover(paths: Sequence[str]) -> None:
    discovered = DiscoveredPages(Scope(BASE))
    for path in paths:
        discovered.add(make_page_ref(canonical_url(path, BASE) or ""))


def _merge(paths: Sequence[str]) -> None:
    """Merge sidebars, each of which shows its page alone in one of a few groups."""
    navs = [(NavItem("Group", children=(NavItem("Page", path),)), NavItem(path, path + "x")) for path in paths]
    site_nav.merge_navs(navs, [], lambda path: ())


def _compare(paths: Sequence[str]) -> None:
    pages = [FetchedPage(BASE + path, path, "Page not found", key=path) for path in dict.fromkeys(paths)]
    shared = "".join(f"<p>The line with the number {at} is on each of the pages.</p>" for at in range(10))
    bodies = {page.key: PageBody(f"{shared}<p>This line is on the page {page.path} alone.</p>") for page in pages}
    texts = {path: summarize_text(body) for path, body in bodies.items()}
    find_copies(pages, texts, BASE)
    find_print_views(pages, texts, bodies)


def _clean(paths: Sequence[str]) -> None:
    menu = "".join(f"<li><a href='{path}'>{path}</a></li>" for path in paths)
    pages = [f"<ul>{menu}</ul><h1>Rope {at}</h1><p>Rope {at} is red.</p>" for at in range(8)]
    remove_boilerplate(pages[0], learn_boilerplate(pages))


STEPS: dict[str, Callable[[Sequence[str]], object]] = {
    "variants": _select,
    "language of start": lambda paths: find_language_start(
        "xx", ParsedPage(links=tuple(BASE + path for path in paths)), BASE
    ),
    "discovered pages": _discover,
    "paths": lambda paths: disambiguate_paths(map(storage_path, paths)),
    "folders": lambda paths: site_nav.from_folders({storage_path(path): "Title" for path in paths}),
    "sidebars": _merge,
    "duplicates": _compare,
    "boilerplate": _clean,
    "llms.txt": lambda paths: LlmsIndex.from_text("".join(f"- [Page]({BASE}{path})\n" for path in paths), BASE, str),
    "sitemap": lambda paths: parse_sitemap(
        ("<urlset>" + "".join(f"<url><loc>{BASE}{path}</loc></url>" for path in paths) + "</urlset>").encode()
    ),
}


def _measure(step: Callable[[Sequence[str]], object], paths: Sequence[str]) -> float:
    gc.collect()
    gc.disable()  # a collection takes time that grows with what other tests have left
    try:
        started = time.process_time()
        step(paths)
        return time.process_time() - started
    finally:
        gc.enable()


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("kind", LISTS)
def test_step_takes_linear_time(kind: str, step: str) -> None:
    paths = [LISTS[kind](number) for number in range(4 * SIZE)]
    for _ in range(3):  # other processes may delay one measurement
        single = max(_measure(STEPS[step], paths[:SIZE]), FLOOR_SECONDS)
        if _measure(STEPS[step], paths) <= MAX_RATIO * single:
            return
    pytest.fail(f"{step} takes more than linear time on {kind}")
