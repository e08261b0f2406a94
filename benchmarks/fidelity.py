"""How much of every page of a built site its Markdown says.

    python benchmarks/fidelity.py SITE_DIR [--markdown PATTERN] [--except GLOB] [--worst N] [--json]

Each page's article is read from its HTML, its Markdown is read as CommonMark with GFM's tables and strikethrough, and
what both hold is compared item by item. Nothing of the converter is used, so that it cannot excuse itself; the Markdown
may as well come from another tool (`--markdown '{path}index.md'` says where it is).

What counts:
  words        runs of letters, digits and underscores, in one case, of the visible text; how often each occurs
               on the page. Not: alternative texts of images, formulas, the marks of footnotes, GFM's `[!NOTE]`.
  headings     level and text; H1s after the first may be H2s
  code blocks  to the letter, line ends at both ends aside
  languages    of those blocks whose HTML names one
  tab labels   a line of its own (paragraph or heading) that says the label
  admonitions  a quote marked `[!KIND]` that begins with the same 8 words (title included)
  tables       number of rows and columns, first 8 words; cells: text; alignments: of the first row
  list items   first 8 words, with the number it has in a numbered list; tasks: with their state
  terms        of definition lists: something bold, a heading or a line of its own
  images       address and alternative text; media: films and embedded pages, as a link
  math         the TeX, white space aside, between dollars
  links        where they lead, a page and its Markdown being the same thing
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from urllib.parse import urlsplit

from reading.article import article_of
from reading.items import MEASURES, PART, Items, words
from reading.markdown import read_markdown
from reading.page import address, read_page
from reading.site import Built, SitePage, parse, read_site

LINK_MEASURES = ("internal links to Markdown", "links absolute", "links whole")


@dataclass(slots=True)
class Tally:
    """One measure over a site: how many items there are, and those that were lost or added, with their pages."""

    there: int = 0
    kept: int = 0
    lost: list[tuple[str, str]] = field(default_factory=list)
    added: list[tuple[str, str]] = field(default_factory=list)

    @property
    def share(self) -> float:
        """Give the share that is kept; nothing of nothing is all."""
        return self.kept / self.there if self.there else 1.0

    def count(self, page: str, wanted: Counter[str], found: Counter[str]) -> None:
        """Count the items of a page."""
        lost = wanted - found
        self.there += wanted.total()
        self.kept += wanted.total() - lost.total()
        self.lost.extend((page, item) for item in lost.elements())
        self.added.extend((page, item) for item in (found - wanted).elements())


@dataclass(slots=True)
class Result:
    """What was found on a site."""

    pages: int
    without: list[str]
    skipped: int
    tallies: dict[str, Tally]


def compare_site(site: Built, skip: Sequence[str] = ()) -> Result:
    """Compare every page that has Markdown with it, but for those whose file fits a pattern."""
    tallies = {measure: Tally() for measure in (*MEASURES, *LINK_MEASURES)}
    pages = [page for page in site.pages.values() if not any(fnmatchcase(page.file, glob) for glob in skip)]
    without = [page.file for page in pages if page.markdown is None]
    for page in pages:
        if page.markdown is None:
            continue
        seen = read_page(article_of(parse(site.folder / page.file)), page.url)
        said = read_markdown(page.markdown.read_text("utf-8", "replace"), page.markdown_url, seen.of["math"])
        compare_page(site, page, seen, said, tallies)
    return Result(len(pages) - len(without), without, len(site.pages) - len(pages), tallies)


def compare_page(site: Built, page: SitePage, seen: Items, said: Items, tallies: dict[str, Tally]) -> None:
    """Compare what a page shows with what its Markdown says."""
    _links(site, page, seen, said, tallies)
    _in_parts(seen.of["code spans"], said.of["code spans"])
    _with_signatures(seen.of["headings"], said.of["headings"])
    if not seen.has_headline and said.has_headline:
        _without_headline(said)
    said.of["code blocks"] -= seen.signatures - seen.of["code blocks"]
    said.of["words"] -= seen.spare & (said.of["words"] - seen.of["words"])
    for measure in MEASURES:
        tallies[measure].count(page.file, seen.of[measure], said.of[measure])


def _links(site: Built, page: SitePage, seen: Items, said: Items, tallies: dict[str, Tally]) -> None:
    there = Counter(site.target(address(page.url, href)) for href in seen.hrefs)
    found = Counter(site.target(address(page.markdown_url, href)) for href in said.hrefs)
    # Films and embedded pages are links in Markdown, and are counted as media.
    media = Counter(site.target(url) for url in seen.of["media"].elements())
    seen.of["links"], said.of["links"] = there, found - (media & (found - there))
    in_code = {site.target(address(page.url, href)) for href in seen.code_hrefs}
    seen.of["links in code"] = Counter(in_code)
    said.of["links in code"] = Counter(in_code & found.keys())
    for href in said.hrefs:
        url = address(page.markdown_url, href)
        target = site.target(url)
        _one(tallies["links absolute"], page.file, href, bool(urlsplit(href).scheme))
        if not site.is_internal(url):
            continue
        linked = site.pages.get(target.partition("#")[0])
        if linked is not None and linked.markdown is not None:
            _one(
                tallies["internal links to Markdown"],
                page.file,
                href,
                not url.partition("#")[0].endswith(("/", "html")),
            )
        # A link that is broken on the page may be as broken in its Markdown.
        _one(tallies["links whole"], page.file, href, target in _broken(site, there) or not site.is_broken(target))


def _broken(site: Built, targets: Counter[str]) -> set[str]:
    """Give those targets of a page's links that are not there."""
    return {target for target in targets if "://" not in target and site.is_broken(target)}


def _one(tally: Tally, page: str, item: str, good: bool) -> None:
    tally.there += 1
    tally.kept += good
    if not good:
        tally.lost.append((page, item))


def _without_headline(said: Items) -> None:
    """Leave a title out that the page has outside of its article only."""
    item = next(item for item in said.of["headings"] if item.startswith("H1 "))
    del said.of["headings"][item]
    said.of["words"] -= Counter(words(item[3:]))


def _in_parts(seen: Counter[str], said: Counter[str]) -> None:
    """Take code that is written in parts, for the links in it, for the whole."""
    for item, count in [pair for pair in said.items() if PART in pair[0]]:  # HTML in Markdown
        said["".join(item.split(PART))] += count
    for item, count in [pair for pair in seen.items() if PART in pair[0]]:
        del seen[item]
        whole = "".join(item.split(PART))
        same = next((text for text in said if "".join(text.split()) == "".join(whole.split())), None)
        if same is not None:
            seen[same] += count
        else:
            for part in item.split(PART):
                seen[part] += count


def _with_signatures(seen: Counter[str], said: Counter[str]) -> None:
    """Take a heading that goes on with the object's signature for one that is its name."""
    for item in list((said - seen).elements()):
        name = "".join(re.findall(r"^H\d [\w.]+", item))
        if name != item and seen[name] > said[name]:
            said[item] -= 1
            said[name] += 1


def table(result: Result) -> Iterator[str]:
    """Give a result as lines of text."""
    yield f"{result.pages} pages with Markdown, {len(result.without)} without, {result.skipped} left out"
    yield f"{'':28}{'in HTML':>9}{'kept':>9}{'share':>9}{'added':>9}"
    for measure, tally in result.tallies.items():
        share = f"{100 * tally.share:.2f}%" if tally.there else "-"
        added = str(len(tally.added)) if measure in _ADDED else ""
        yield f"{measure:28}{tally.there:9}{tally.kept:9}{share:>9}{added:>9}"


def worst(result: Result, count: int) -> Iterator[str]:
    """Give what was lost, and added, with its page."""
    for page in result.without[:count]:
        yield f"no Markdown: {page}"
    for measure, tally in result.tallies.items():
        for name, items in (("lost", tally.lost), ("added", tally.added if measure in _ADDED else [])):
            if items:
                yield f"\n{measure} {name}: {len(items)}"
            counted = Counter(items)
            for (page, item), times in counted.most_common(count):
                shown = item if len(item) <= 200 else f"{item[:200]} …"
                yield f"  {page}: {shown!r}{f' x{times}' if times > 1 else ''}"


_ADDED = ("headings", "code blocks", "tables", "images", "links", "words")
"""Measures of which an item too many is a fault too. For the others Markdown offers more than one thing as the item."""


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site_dir", type=Path)
    parser.add_argument("--markdown", metavar="PATTERN", help="where a page's Markdown is, e.g. '{path}index.md'")
    parser.add_argument("--url", help="the site's address, if its pages have no canonical link")
    parser.add_argument("--except", dest="skip", metavar="GLOB", action="append", default=[], help="pages to leave out")
    parser.add_argument("--worst", type=int, default=0, metavar="N", help="print up to N lost items of each measure")
    parser.add_argument("--json", action="store_true", help="print figures and all lost items as JSON")
    options = parser.parse_args(arguments)
    site = read_site(options.site_dir, pattern=options.markdown, url=options.url)
    result = compare_site(site, options.skip)
    if options.json:
        figures = {
            measure: {"there": tally.there, "kept": tally.kept, "lost": tally.lost, "added": tally.added}
            for measure, tally in result.tallies.items()
        }
        json.dump({"pages": result.pages, "without": result.without, "measures": figures}, sys.stdout, indent=1)
        return 0
    print("\n".join(table(result)))
    if options.worst:
        print("\n".join(worst(result, options.worst)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
