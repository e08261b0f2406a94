"""Measure the time of a page's conversion as a multiple of a bare parse of the same HTML.

    python benchmarks/conversion.py SITE_DIR [--rounds N] [--slowest N]

The article of each page is converted and parsed alternately, so that other load affects both. Times are CPU times; the
medians of all rounds are compared. The figures are for articles of 12 to 30 KB: fixed costs dominate smaller articles,
and larger ones are rare.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import process_time_ns
from typing import Any

from lxml import etree

from mkdocs_roaming.html.converter import convert
from mkdocs_roaming.html.document import find_article

MIN_BYTES, MAX_BYTES = 12_000, 30_000
"""Size range of the counted articles."""


@dataclass(frozen=True, slots=True)
class ArticleTimes:
    """Article of a page: size in bytes, CPU milliseconds of a conversion and of a bare parse."""

    page: str
    size: int
    conversion: float
    parse: float

    @property
    def ratio(self) -> float:
        """Time of the conversion as a multiple of the parse."""
        return self.conversion / self.parse


def iter_articles(site: Path) -> Iterator[tuple[str, str]]:
    """Yield the pages of a built site with the HTML of their articles."""
    for file in sorted(site.rglob("*.html")):
        article = find_article(file.read_text("utf-8", "replace"))
        yield file.relative_to(site).as_posix(), etree.tostring(article, encoding="unicode", method="html")


def measure(pages: list[tuple[str, str]], rounds: int) -> list[ArticleTimes]:
    """Return the median times of each article."""
    times: dict[str, tuple[list[float], list[float]]] = {page: ([], []) for page, _ in pages}
    for _ in range(rounds):
        for page, html in pages:
            conversions, parses = times[page]
            data = html.encode("utf-8", "replace")
            parses.append(measure_milliseconds(parse_html, data))
            conversions.append(measure_milliseconds(convert_article, html))
    return [
        ArticleTimes(page, len(html.encode("utf-8", "replace")), *map(statistics.median, times[page]))
        for page, html in pages
    ]


def parse_html(data: bytes) -> None:
    """Parse HTML with lxml."""
    etree.fromstring(data, etree.HTMLParser(encoding="utf-8"))


def convert_article(html: str) -> None:
    """Convert an article as in a build."""
    convert(html, title="Title")


def measure_milliseconds(run: Callable[[Any], None], page: object) -> float:
    """Return the CPU milliseconds of a call."""
    start = process_time_ns()
    run(page)
    return (process_time_ns() - start) / 1e6


def format_table(articles: list[ArticleTimes], slowest: int) -> Iterator[str]:
    """Yield the lines of the table."""
    yield f"{'':16}{'articles':>9}{'mean':>8}{'median':>8}{'worst':>8}{'total':>8}{'conversion':>13}{'parse':>10}"
    counted = [page for page in articles if MIN_BYTES <= page.size <= MAX_BYTES]
    for name, pages in (("all", articles), (f"{MIN_BYTES // 1000}-{MAX_BYTES // 1000} KB", counted)):
        if not pages:
            yield f"{name:16}{0:9}"
            continue
        ratios = [page.ratio for page in pages]
        conversion, parse = sum(page.conversion for page in pages), sum(page.parse for page in pages)
        yield (
            f"{name:16}{len(pages):9}{statistics.mean(ratios):7.2f}x{statistics.median(ratios):7.2f}x"
            f"{max(ratios):7.2f}x{conversion / parse:7.2f}x{conversion:10.1f} ms{parse:7.1f} ms"
        )
    for page in sorted(counted, key=lambda page: page.ratio, reverse=True)[:slowest]:
        yield f"  {page.ratio:5.2f}x  {page.conversion:6.2f} ms  {page.size:6}  {page.page}"


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site_dir", type=Path, help="Folder of a built site.")
    parser.add_argument("--rounds", type=int, default=15, help="Number of rounds (default: 15).")
    parser.add_argument(
        "--slowest", type=int, default=5, metavar="N", help="Number of slowest articles to print (default: 5)."
    )
    options = parser.parse_args(arguments)
    pages = [(page, html) for page, html in iter_articles(options.site_dir) if html.strip()]
    if not pages:
        print(f"{options.site_dir}: no HTML pages found. Pass the folder of a built site.", file=sys.stderr)
        return 1
    print("\n".join(format_table(measure(pages, options.rounds), options.slowest)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
