"""Count false alarms of the scan for text that is written for language models, and the attacks that it finds.

    python benchmarks/injected_text.py SITE_DIR… [--attacks FILE…] [--show N]

The pages of built sites are read as a crawl reads them: the article is parsed, converted, and scanned with its hidden
texts. An attack is a line of JSON with `name`, `format` (html or markdown) and `text`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

from lxml import html

from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.html.converter import convert
from mkdocs_roaming.html.document import find_hidden_texts
from mkdocs_roaming.text.injection import InjectedText, scan_hidden_texts, scan_markdown
from roaming_crawler.parser import parse_page

SITE_URL = "https://site.example/"
NOT_FOUND = "404.html"
GOLDEN = Path(__file__).parents[1] / "tests" / "golden" / "injection"
ATTACKS = [GOLDEN / name for name in ("attacks.jsonl", "unread.jsonl", "later.jsonl")]


@dataclass(frozen=True, slots=True)
class ScannedPage:
    """A page of a built site: what was found in it, and the CPU time of the scan of its Markdown in seconds."""

    file: Path
    found: list[InjectedText]
    seconds: float
    size: int


def iter_pages(site: Path) -> Iterator[ScannedPage]:
    """Scan the pages of a built site that a crawl would publish."""
    for file in sorted(site.rglob("*.html")):
        page = parse_page(file.read_bytes(), "utf-8", SITE_URL + file.relative_to(site).as_posix(), SITE_URL)
        if file.name == NOT_FOUND or page.skip_reason or not page.article:
            continue
        try:
            markdown = convert(page.article, title=page.title).markdown
        except RoamingError:
            continue
        started = process_time()
        found = scan_markdown(markdown)
        seconds = process_time() - started
        found += scan_markdown(f"{page.title}\n\n{page.description}")
        found += page.hidden
        yield ScannedPage(file, found, seconds, len(markdown))


def is_found(attack: dict[str, Any]) -> bool:
    """Return whether a crawl flags a page with this text."""
    if attack["format"] == "markdown":
        return bool(scan_markdown(attack["text"]))
    article = f"<article><h1>Page</h1>{attack['text']}</article>"
    hidden = scan_hidden_texts(find_hidden_texts(html.fromstring(article)))
    return bool(hidden or scan_markdown(convert(article, title="Page").markdown))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sites", nargs="*", type=Path, metavar="SITE_DIR")
    parser.add_argument("--attacks", nargs="*", type=Path, default=ATTACKS, metavar="FILE")
    parser.add_argument("--show", type=int, default=20, help="Number of false alarms to print (default: 20).")
    arguments = parser.parse_args()
    pages = [page for site in arguments.sites for page in iter_pages(site)]
    flagged = [page for page in pages if page.found]
    for page in flagged[: arguments.show]:
        print(f"{page.file}: {page.found[0].severity} {page.found[0].kind} “{page.found[0].quote}”")
    if pages:
        milliseconds = 1000 * sum(page.seconds for page in pages)
        print(
            f"{len(flagged)} of {len(pages):,} pages flagged ({len(flagged) / len(pages):.2%}); "
            f"{milliseconds / len(pages):.1f} ms a page, {milliseconds / (sum(page.size for page in pages) / 1e6):.0f} ms a MB"
        )
    for file in arguments.attacks:
        attacks = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        missed = [attack["name"] for attack in attacks if not is_found(attack)]
        print(
            f"{file.name}: {len(attacks) - len(missed)} of {len(attacks)} found; missed: {', '.join(missed) or 'none'}"
        )


if __name__ == "__main__":
    main()
