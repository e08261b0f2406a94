"""How long a page's conversion takes, as a multiple of a bare parse of the same HTML.

    python benchmarks/conversion.py SITE_DIR [--rounds N] [--slowest N]

Every page's article is converted and parsed by turns, so that whatever else the machine does meets both. Times are CPU
times; of each page the medians of all rounds are compared. What counts are articles of 12 to 30 KB: in smaller ones the
fixed cost shows, larger ones are rare.
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

LEAST, MOST = 12_000, 30_000
"""Sizes in bytes between which articles count."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A page's article: its size in bytes, the CPU milliseconds of a conversion and of a bare parse."""

    page: str
    size: int
    conversion: float
    parse: float

    @property
    def ratio(self) -> float:
        """Give the conversion as a multiple of the parse."""
        return self.conversion / self.parse


def articles(site: Path) -> Iterator[tuple[str, str]]:
    """Give the pages of a built site and the HTML of their articles."""
    for file in sorted(site.rglob("*.html")):
        article = find_article(file.read_text("utf-8", "replace"))
        yield file.relative_to(site).as_posix(), etree.tostring(article, encoding="unicode", method="html")


def measure(pages: list[tuple[str, str]], rounds: int) -> list[Measured]:
    """Measure all pages, in as many rounds."""
    taken: dict[str, tuple[list[float], list[float]]] = {page: ([], []) for page, _ in pages}
    for _ in range(rounds):
        for page, html in pages:
            conversions, parses = taken[page]
            data = html.encode("utf-8", "replace")
            parses.append(timed(bare, data))
            conversions.append(timed(to_markdown, html))
    return [
        Measured(page, len(html.encode("utf-8", "replace")), *map(statistics.median, taken[page]))
        for page, html in pages
    ]


def bare(data: bytes) -> None:
    """Parse, and nothing else."""
    etree.fromstring(data, etree.HTMLParser(encoding="utf-8"))


def to_markdown(html: str) -> None:
    """Convert, as a build does."""
    convert(html, title="Title")


def timed(run: Callable[[Any], None], page: object) -> float:
    """Give the CPU milliseconds that something takes for a page."""
    start = process_time_ns()
    run(page)
    return (process_time_ns() - start) / 1e6


def lines(measured: list[Measured], slowest: int) -> Iterator[str]:
    """Give the figures as lines of text."""
    yield f"{'':16}{'pages':>7}{'mean':>8}{'median':>8}{'worst':>8}{'total':>8}{'conversion':>13}{'parse':>10}"
    counted = [page for page in measured if LEAST <= page.size <= MOST]
    for name, pages in (("all", measured), (f"{LEAST // 1000}-{MOST // 1000} KB", counted)):
        if not pages:
            yield f"{name:16}{0:7}"
            continue
        ratios = [page.ratio for page in pages]
        conversion, parse = sum(page.conversion for page in pages), sum(page.parse for page in pages)
        yield (
            f"{name:16}{len(pages):7}{statistics.mean(ratios):7.2f}x{statistics.median(ratios):7.2f}x"
            f"{max(ratios):7.2f}x{conversion / parse:7.2f}x{conversion:10.1f} ms{parse:7.1f} ms"
        )
    for page in sorted(counted, key=lambda page: page.ratio, reverse=True)[:slowest]:
        yield f"  {page.ratio:5.2f}x  {page.conversion:6.2f} ms  {page.size:6}  {page.page}"


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site_dir", type=Path)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--slowest", type=int, default=5, metavar="N", help="print N pages of 12-30 KB")
    options = parser.parse_args(arguments)
    pages = [(page, html) for page, html in articles(options.site_dir) if html.strip()]
    if not pages:
        print(f"{options.site_dir}: no HTML pages; name the folder of a built site", file=sys.stderr)
        return 1
    print("\n".join(lines(measure(pages, options.rounds), options.slowest)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
