"""Compare the Markdown of every page of a built site with its HTML, item by item.

    python benchmarks/fidelity.py SITE_DIR [--markdown PATTERN] [--url URL] [--worst N]

The article of each page is extracted from its HTML; its Markdown is parsed as CommonMark with GFM tables and
strikethrough. The program shares no code with the converter, and the Markdown may be the output of another tool
(`--markdown '{path}index.md'` is its path).

Measures:
  words        case-folded runs of letters, digits and underscores in the visible text, with their frequency on the
               page. Excluded: alternative texts of images, formulas, footnote references, GFM's `[!NOTE]`.
  headings     level and text; H1s after the first may be H2s
  code blocks  verbatim, except for line ends at both ends
  code languages that the HTML names
  tab labels   a paragraph or heading that consists of the label
  admonitions  a quote marked `[!KIND]` that begins with the same 8 words (title included)
  tables       number of rows and columns, first 8 words; table cells: text; alignments: of the first row
  list items   first 8 words, with the number in an ordered list; tasks: with their state
  parameters   of API objects, and what they return and raise: all words of name, type and default, first 8 words of
               the description; an item of a list, `name (type, default) — description`
  terms        of definition lists: bold text, a heading or a separate line
  images       URL and alternative text; media: videos and embedded pages, as a link
  formulas     the TeX between dollar signs, whitespace ignored
  links        targets; a page and its Markdown are the same target
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from page_content.article import find_article
from page_content.items import MEASURES, PART_SEPARATOR, Items, split_words
from page_content.markdown import extract_markdown_items
from page_content.page import extract_items, resolve_url
from page_content.site import BuiltSite, SitePage, find_pages, parse_html

LINK_MEASURES = ("internal links that lead to Markdown", "links not broken by the conversion")


@dataclass(slots=True)
class Tally:
    """One measure over a site: number of items, and the lost and added items with their pages."""

    expected: int = 0
    kept: int = 0
    lost: list[tuple[str, str]] = field(default_factory=list)
    added: list[tuple[str, str]] = field(default_factory=list)

    @property
    def share(self) -> float:
        """Return the share of kept items, 1 without items."""
        return self.kept / self.expected if self.expected else 1.0

    def add_page(self, page: str, expected: Counter[str], actual: Counter[str]) -> None:
        """Compare the items of a page."""
        lost = expected - actual
        self.expected += expected.total()
        self.kept += expected.total() - lost.total()
        self.lost.extend((page, item) for item in lost.elements())
        self.added.extend((page, item) for item in (actual - expected).elements())


@dataclass(slots=True)
class SiteResult:
    """Result of the comparison of a site."""

    pages: int
    pages_without_markdown: list[str]
    tallies: dict[str, Tally]


def compare_site(site: BuiltSite) -> SiteResult:
    """Compare every page with its Markdown."""
    tallies = {measure: Tally() for measure in (*MEASURES, *LINK_MEASURES)}
    pages_without_markdown = [page.file for page in site.pages.values() if page.markdown is None]
    for page in site.pages.values():
        if page.markdown is None:
            continue
        expected = extract_items(find_article(parse_html(site.folder / page.file)), page.url)
        actual = extract_markdown_items(
            page.markdown.read_text("utf-8", "replace"), page.markdown_url, expected.counts["formulas"]
        )
        compare_page(site, page, expected, actual, tallies)
    return SiteResult(len(site.pages) - len(pages_without_markdown), pages_without_markdown, tallies)


def compare_page(site: BuiltSite, page: SitePage, expected: Items, actual: Items, tallies: dict[str, Tally]) -> None:
    """Compare the items of a page's HTML with those of its Markdown."""
    _compare_links(site, page, expected, actual, tallies)
    _join_split_code_spans(expected.counts["code spans"], actual.counts["code spans"])
    _strip_signatures(expected.counts["headings"], actual.counts["headings"])
    _merge_repeated_headings(expected, actual)
    if not expected.has_title and actual.has_title:
        _remove_title(actual)
    for item in list((actual.counts["headings"] - expected.counts["headings"]).elements()):
        if expected.object_names[item.partition(" ")[2]]:
            actual.counts["headings"][item] -= 1
    actual.counts["code blocks"] -= expected.signatures - expected.counts["code blocks"]
    actual.counts["words"] -= expected.optional_words & (actual.counts["words"] - expected.counts["words"])
    for measure in MEASURES:
        tallies[measure].add_page(page.file, expected.counts[measure], actual.counts[measure])


def _compare_links(site: BuiltSite, page: SitePage, expected: Items, actual: Items, tallies: dict[str, Tally]) -> None:
    expected_targets = Counter(site.resolve_target(resolve_url(page.url, href)) for href in expected.hrefs)
    actual_targets = Counter(site.resolve_target(resolve_url(page.markdown_url, href)) for href in actual.hrefs)
    # Videos and embedded pages are links in Markdown and count as media.
    media = Counter(site.resolve_target(url) for url in expected.counts["media"].elements())
    expected.counts["links"], actual.counts["links"] = (
        expected_targets,
        actual_targets - (media & (actual_targets - expected_targets)),
    )
    in_code = {site.resolve_target(resolve_url(page.url, href)) for href in expected.code_hrefs}
    expected.counts["links in code"] = Counter(in_code)
    actual.counts["links in code"] = Counter(in_code & actual_targets.keys())
    for href in actual.hrefs:
        url = resolve_url(page.markdown_url, href)
        target = site.resolve_target(url)
        if not site.is_internal(url):
            continue
        linked = site.pages.get(target.partition("#")[0])
        if linked is not None and linked.markdown is not None:
            _count_link(
                tallies["internal links that lead to Markdown"],
                page.file,
                href,
                not url.partition("#")[0].endswith(("/", "html")),
            )
        # A link that is broken on the page may be broken in its Markdown.
        _count_link(
            tallies["links not broken by the conversion"],
            page.file,
            href,
            target in _find_broken_targets(site, expected_targets) or not site.is_broken(target),
        )


def _find_broken_targets(site: BuiltSite, targets: Counter[str]) -> set[str]:
    """Return the link targets of a page that do not exist on the site."""
    return {target for target in targets if "://" not in target and site.is_broken(target)}


def _count_link(tally: Tally, page: str, item: str, passed: bool) -> None:
    tally.expected += 1
    tally.kept += passed
    if not passed:
        tally.lost.append((page, item))


def _remove_title(actual: Items) -> None:
    """Remove a title that the page has only outside of its article."""
    item = next(item for item in actual.counts["headings"] if item.startswith("H1 "))
    del actual.counts["headings"][item]
    actual.counts["words"] -= Counter(split_words(item[3:]))


def _merge_repeated_headings(expected: Items, actual: Items) -> None:
    """Treat a heading that repeats the one above it as that one, if the Markdown omits it.

    The first heading of a page without a title may be its title.
    """
    lost = expected.counts["headings"] - actual.counts["headings"]
    order = expected.heading_order
    if not expected.has_title and order and actual.heading_order[:1] == [(1, order[0][1])]:
        item = "H{} {}".format(*order[0])
        if lost[item]:
            lost[item] -= 1
            expected.counts["headings"] += Counter({f"H1 {order[0][1]}": 1, item: -1})
            expected.has_title = True
    for (level, text), (next_level, next_text) in pairwise(order):
        item = f"H{next_level} {next_text}"
        is_same = next_text == text or (level == 1 and _squeeze(next_text) == _squeeze(text))
        if lost[item] > 0 and is_same:
            lost[item] -= 1
            expected.counts["headings"][item] -= 1
            expected.counts["words"] -= Counter(split_words(next_text))


def _squeeze(text: str) -> str:
    return "".join(split_words(text)).replace("_", "")


def _join_split_code_spans(expected: Counter[str], actual: Counter[str]) -> None:
    """Treat code that is split by links as one code span."""
    for item, count in [pair for pair in actual.items() if PART_SEPARATOR in pair[0]]:  # HTML in Markdown
        actual["".join(item.split(PART_SEPARATOR))] += count
    for item, count in [pair for pair in expected.items() if PART_SEPARATOR in pair[0]]:
        del expected[item]
        whole = "".join(item.split(PART_SEPARATOR))
        same = next((text for text in actual if "".join(text.split()) == "".join(whole.split())), None)
        if same is not None:
            expected[same] += count
        else:
            for part in item.split(PART_SEPARATOR):
                expected[part] += count


def _strip_signatures(expected: Counter[str], actual: Counter[str]) -> None:
    """Treat a heading with the signature of an API object as one with its name only."""
    for item in list((actual - expected).elements()):
        name = "".join(re.findall(r"^H\d [\w.]+", item))
        if name != item and expected[name] > actual[name]:
            actual[item] -= 1
            actual[name] += 1


def format_table(result: SiteResult) -> Iterator[str]:
    """Yield the lines of the table."""
    yield f"{result.pages} pages with Markdown, {len(result.pages_without_markdown)} without"
    yield f"{'':38}{'in HTML':>9}{'kept':>9}{'share':>9}{'added':>9}"
    for measure, tally in result.tallies.items():
        share = f"{100 * tally.share:.2f}%" if tally.expected else "-"
        added = str(len(tally.added)) if measure in _ADDED else ""
        yield f"{measure:38}{tally.expected:9}{tally.kept:9}{share:>9}{added:>9}"


def format_worst_items(result: SiteResult, count: int) -> Iterator[str]:
    """Yield up to `count` lost and added items of each measure, with their pages."""
    for page in result.pages_without_markdown[:count]:
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
"""Measures whose additional items are errors. For the others, several kinds of Markdown can match one item."""


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site_dir", type=Path)
    parser.add_argument("--markdown", metavar="PATTERN", help="Path of a page's Markdown, e.g. '{path}index.md'.")
    parser.add_argument("--url", help="URL of the site, if its pages have no canonical links.")
    parser.add_argument(
        "--worst",
        type=int,
        default=0,
        metavar="N",
        help="Print up to N lost and added items of each measure (default: 0).",
    )
    options = parser.parse_args()
    site = find_pages(options.site_dir, pattern=options.markdown, url=options.url)
    result = compare_site(site)
    print("\n".join(format_table(result)))
    if options.worst:
        print("\n".join(format_worst_items(result, options.worst)))


if __name__ == "__main__":
    main()
