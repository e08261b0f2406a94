"""Crawl Debian's documentation packages, which many generators wrote, and compare the Markdown with the articles.

    python benchmarks/debian_docs.py --data DIR [--only NAME …] [--out DIR] [--worst N]
    python benchmarks/debian_docs.py --data DIR --tracebacks

The packages are fetched with `apt-get download` and unpacked into DIR; nothing is installed. Each site is served on
127.0.0.1 and crawled with `roaming crawl`. `debian_docs.toml` describes the sites: per generator the CSS selector of the
true article, which was written by looking at its HTML, and of the furniture in it. Sites of held-out generators have a
table of their own; rules of the crawler are not written for them.

Measures of a site, from its published pages that contain an article:
  words        of the articles that are in the Markdown, with their frequency on the page
  extra        words of the Markdown that are not in the article or its title, as a share of the Markdown
  headings     that are titles of sections, or part of one; levels are ignored
  code         blocks that are code blocks of the Markdown; whitespace is ignored
  members      functions, classes and other objects of an API that have a section named after them
  names        whether the site has one of the expected names
  titled       pages with a title that no other page has; described: with such a description, unless it repeats the title
  coverage     as `roaming crawl` reports it
  CPU          milliseconds per page of `roaming crawl`, all processes

`--tracebacks` crawls a few pages of each of the listed packages and reports those where `roaming crawl` crashes.
"""

from __future__ import annotations

import argparse
import re
import resource
import shutil
import subprocess
import sys
import threading
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

import msgspec
from lxml import html
from page_content.article import Element, get_text, remove_element
from page_content.items import normalize_text, split_words
from page_content.markdown import extract_markdown_items

from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest
from mkdocs_roaming.manifest.models import PageEntry

CONFIG = Path(__file__).with_suffix(".toml")
COLUMNS = ("words", "extra", "headings", "code", "members", "titled", "described")


class Site(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A site of a package, and where its pages have their articles. Selectors are CSS."""

    name: str
    package: str
    generator: str
    folder: str
    """Folder of the site below that of the package."""
    article: str
    names: str
    """Pattern of the right names of the site; case is ignored."""
    furniture: str = ""
    """Elements of the article that are not content."""
    optional: str = ""
    """Elements that may be kept or lost, such as a list of the headings of the page, inherited members, source code."""
    separators: str = ""
    """Empty elements that a style sheet shows as a sign between words."""
    code: str = "pre"
    headings: str = "h1, h2, h3, h4, h5, h6"
    members: str = ""
    """Names of documented objects; the last word is the name."""
    start: str = ""
    max_pages: int = 150
    held_out: bool = False


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Contents of `debian_docs.toml`."""

    furniture: str
    """Elements that are content of no site."""
    optional: str
    """Elements that may be kept or lost on any site."""
    tracebacks: tuple[str, ...]
    """Packages for `--tracebacks`."""
    site: tuple[Site, ...]


class Content(msgspec.Struct, frozen=True):
    """Content of an article or of a page's Markdown."""

    words: Counter[str]
    headings: list[str]
    code: Counter[str]
    members: list[str] = []
    optional: Counter[str] = msgspec.field(default_factory=Counter)
    """Words of the optional elements."""


class Result(msgspec.Struct):
    """Result of a crawl: number of items of the articles, and of those that are kept, by measure."""

    site: Site
    name: str = ""
    pages: int = 0
    measured: int = 0
    expected: Counter[str] = msgspec.field(default_factory=Counter)
    kept: Counter[str] = msgspec.field(default_factory=Counter)
    coverage: str = "-"
    cpu: float = 0.0
    log: str = ""
    worst: list[tuple[float, str]] = msgspec.field(default_factory=list)


def load_config() -> Config:
    """Return the configuration; the elements that it names for all sites are added to those of each site."""
    config = msgspec.convert(tomllib.loads(CONFIG.read_text("utf-8")), Config)
    sites = (
        msgspec.structs.replace(
            site,
            furniture=", ".join(filter(None, (config.furniture, site.furniture))),
            optional=", ".join(filter(None, (config.optional, site.optional))),
        )
        for site in config.site
    )
    return msgspec.structs.replace(config, site=tuple(sites))


def parse(data: bytes) -> Element:
    """Parse an HTML page."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("cp1252", "replace")
    parser = html.HTMLParser(huge_tree=True, remove_comments=True, remove_pis=True, encoding="utf-8")
    return html.document_fromstring(text.encode(), parser=parser)


def extract_article(root: Element, site: Site) -> Content | None:
    """Return the content of a page's article, None if the page has none."""
    for element in _find(root, site.furniture):
        remove_element(element)
    for element in _find(root, site.separators):
        element.text = " "
    optional = Counter[str]()
    for element in _find_outermost(root, site.optional):
        optional.update(split_words(get_text(element)))
        remove_element(element)
    parts = _find_outermost(root, site.article)
    if not any(get_text(part) for part in parts):
        return None
    return Content(
        Counter(word for part in parts for word in split_words(get_text(part))),
        [text for part in parts for one in _find(part, site.headings) if (text := get_text(one))],
        Counter(text for part in parts for one in _find_outermost(part, site.code) if (text := _squeeze(one))),
        [name for part in parts for one in _find(part, site.members) if (name := _clean_name(get_text(one)))],
        optional,
    )


def extract_markdown(markdown: str, titles: list[str]) -> Content:
    """Return the content of a page's Markdown. The titles are those of its sections."""
    # The parser does not accept links to files, which packages have to each other.
    items = extract_markdown_items(_FILE_LINK.sub(r"\1", markdown), "", Counter())
    code: Counter[str] = Counter()
    for text, count in items.counts["code blocks"].items():
        code["".join(text.split())] += count
    return Content(items.counts["words"], titles, code)


def compare_content(article: Content, markdown: Content) -> tuple[Counter[str], Counter[str], list[str]]:
    """Return the number of items by measure, that of the kept items, and the lost headings."""
    # A page may get a title, and a member may have its name in a heading and in a signature below it.
    titles = markdown.headings if article.members else markdown.headings[:1]
    titled = Counter(word for title in titles for word in split_words(title))
    lost = find_lost(article.headings, markdown.headings)
    lost_members = find_lost(article.members, markdown.headings)
    expected = Counter(
        words=article.words.total(),
        headings=len(article.headings),
        code=article.code.total(),
        members=len(article.members),
        extra=markdown.words.total(),
    )
    kept = Counter(
        words=(article.words & markdown.words).total(),
        headings=len(article.headings) - len(lost),
        code=(article.code & markdown.code).total(),
        members=len(article.members) - len(lost_members),
        extra=(markdown.words - article.words - article.optional - titled).total(),
    )
    return expected, kept, lost


def find_lost(names: Iterable[str], titles: Iterable[str]) -> list[str]:
    """Return the names without a title of their own.

    That is an equal title, one that contains the name as a word, or one that a signature begins with.
    """
    left = Counter(map(_normalize, titles))
    lost: list[str] = []
    for name in sorted(names, key=lambda name: -len(name)):
        key, short = _normalize(name), _normalize(_PARAMETERS.sub(r"\1", name))
        candidates = (one for part in (key, short) for one in +left if f" {part} " in f" {one} ")
        title = key if left[key] > 0 else next(candidates, None)
        if title is None:
            lost.append(name)
        else:
            left[title] -= 1
    return lost


def _normalize(text: str) -> str:
    return " ".join(_TOKEN.findall(text.casefold())) or text


def _clean_name(text: str) -> str:
    return (_NOT_NAME.sub(" ", text).split() or [""])[-1]


def _find(root: Element, selector: str) -> list[Element]:
    return root.cssselect(selector) if selector else []


def _find_outermost(root: Element, selector: str) -> list[Element]:
    found = _find(root, selector)
    inside = set(found)
    return [one for one in found if not any(parent in inside for parent in one.iterancestors())]


def _squeeze(element: Element) -> str:
    return "".join("".join(map(str, element.itertext())).split())


_FILE_LINK = re.compile(r"(\]\(<?)file:")
_TOKEN = re.compile(r"\w+|[^\w\s\"'`#◆¶.,;:()\[\]\\]+")
_PARAMETERS = re.compile(r"(?<=\w)\(.*|^(\w+): .*")
_NOT_NAME = re.compile(r"\[\d+/\d+\]|\(.*|◆|:.*$|\s=.*$")


def describe(page: PageEntry) -> str:
    """Return the description of a page as in llms.txt, nothing if it only repeats the title."""
    text = page.description or page.sections[0].opening
    return "" if _normalize(text) in _normalize(page.title) else text


def measure_site(site: Site, folder: Path, published: Path) -> Result:
    """Compare the published pages with their articles."""
    manifest = load_manifest((published / MANIFEST_PATH).read_bytes())
    result = Result(site, manifest.site.name, len(manifest.pages))
    for measure, texts in (
        ("titled", [page.title for page in manifest.pages]),
        ("described", [describe(page) for page in manifest.pages]),
    ):
        result.expected[measure] = len(texts)
        result.kept[measure] = sum(1 for text, count in Counter(texts).items() if text and count == 1)
    for page in manifest.pages:
        file = folder / site.start.rpartition("/")[0] / unquote(page.path)
        file = file / "index.html" if file.is_dir() else file
        article = extract_article(parse(file.read_bytes()), site) if file.is_file() else None
        if article is None:
            continue
        markdown = (published / page.markdown).read_text("utf-8")
        titles = [section.title for section in page.sections]
        expected, kept, lost = compare_content(article, extract_markdown(markdown, titles))
        result.measured += 1
        result.expected += expected
        result.kept += kept
        line = (
            f"{page.path or '(start)'} ({page.title}): {_share(kept, expected, 'words')} of {expected['words']} words, "
            f"{_share(kept, expected, 'extra')} extra, {len(lost)} headings lost {lost[:3]}"
        )
        result.worst.append((kept["words"] - expected["words"] - kept["extra"] - 10 * len(lost), line))
    return result


class _Handler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None: ...

    def list_directory(self, path: object) -> None:
        self.send_error(404)


def crawl_site(folder: Path, start: str, out: Path, port: int, max_pages: int) -> tuple[str, float, int]:
    """Serve a folder and crawl it. Return the output of `roaming crawl`, its CPU seconds and its exit code."""
    shutil.rmtree(out, ignore_errors=True)
    command = [
        str(Path(sys.executable).with_name("roaming")),
        "crawl",
        f"http://127.0.0.1:{port}/{start}",
        "-o",
        str(out),
    ]
    command += ["--delay", "0", "--allow-private", "--max-pages", str(max_pages)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with ThreadingHTTPServer(("127.0.0.1", port), partial(_Handler, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        server.shutdown()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return run.stdout + run.stderr, seconds, run.returncode


def fetch_package(package: str, data: Path) -> Path:
    """Download and unpack a package, once. Return its folder."""
    folder, downloads = data / package, data / ".packages"
    if not folder.is_dir():
        downloads.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            ["apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", package], cwd=downloads, check=True
        )
        file = next(downloads.glob(f"{package}_*.deb"))
        subprocess.run(["dpkg-deb", "-x", file, folder], check=True)
    return folder


def run_site(site: Site, options: argparse.Namespace) -> Result:
    """Fetch, crawl and measure a site."""
    folder = fetch_package(site.package, options.data) / site.folder
    out = options.out / site.name
    log, seconds, code = crawl_site(folder, site.start, out, options.port, site.max_pages)
    result = measure_site(site, folder, out) if (out / MANIFEST_PATH).is_file() else Result(site)
    found = re.search(r"([\d.]+) % of visible words kept", log)
    result.coverage = f"{found[1]}%" if found else "-"
    result.cpu = 1000 * seconds / max(1, result.pages)
    result.log = log if code or "Traceback" in log else ""
    return result


def format_table(results: Sequence[Result]) -> Iterator[str]:
    """Yield the lines of a table."""
    yield f"| site | generator | pages | measured | {' | '.join(COLUMNS)} | coverage | CPU | name |"
    yield f"| --- | --- |{' --: |' * (len(COLUMNS) + 4)} --- |"
    for result in results:
        site = result.site
        cells = (_share(result.kept, result.expected, column) for column in COLUMNS)
        name = result.name if re.fullmatch(site.names, result.name, re.IGNORECASE) else f"WRONG: {result.name}"
        yield (
            f"| {site.name} | {site.generator} | {result.pages} | {result.measured} | {' | '.join(cells)} "
            f"| {result.coverage} | {result.cpu:.0f} | {name} |"
        )


def _share(kept: Counter[str], expected: Counter[str], measure: str) -> str:
    return f"{100 * kept[measure] / expected[measure]:.1f}%" if expected[measure] else "-"


def find_site(folder: Path) -> tuple[Path, str]:
    """Return the folder of a package's HTML and its first page."""
    pages = sorted(folder.rglob("*.html"), key=lambda file: (file.stem != "index", len(file.parts), file))
    return (pages[0].parent, "" if pages[0].stem == "index" else pages[0].name) if pages else (folder, "")


def find_tracebacks(packages: Iterable[str], options: argparse.Namespace) -> Iterator[str]:
    """Crawl each package. Yield a line per package."""
    for package in packages:
        folder, start = find_site(fetch_package(package, options.data))
        log, seconds, code = crawl_site(folder, start, options.out / "tracebacks", options.port, 40)
        lines = [line for line in log.splitlines() if line.strip()]
        summary = "TRACEBACK" if "Traceback" in log else "ok" if code == 0 else f"exit {code}"
        detail = (
            next((line for line in lines if ": " in line), "")
            if code == 0
            else normalize_text(lines[-1] if lines else "")
        )
        yield f"{summary:10} {package:32} {seconds:5.1f} s  {detail}"


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="Folder of the packages.")
    parser.add_argument("--out", type=Path, help="Folder of the crawled sites (default: DATA/.out).")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="Sites or packages (default: all).")
    parser.add_argument("--worst", type=int, default=0, metavar="N", help="Print the N worst pages (default: 0).")
    parser.add_argument("--port", type=int, default=8941, help="Port of the served sites (default: 8941).")
    parser.add_argument("--tracebacks", action="store_true", help="Look for crashes in the listed packages instead.")
    options = parser.parse_args(arguments)
    options.data, options.out = options.data.resolve(), (options.out or options.data / ".out").resolve()
    config = load_config()
    if options.tracebacks:
        packages = [package for package in config.tracebacks if not options.only or package in options.only]
        for line in find_tracebacks(packages, options):
            print(line, flush=True)
        return 0
    results: list[Result] = []
    for site in config.site:
        if options.only and site.name not in options.only:
            continue
        result = run_site(site, options)
        results.append(result)
        print(*list(format_table([result]))[2:], sep="\n", file=sys.stderr, flush=True)
        if result.log:
            print(result.log, file=sys.stderr)
        for _, line in sorted(result.worst)[: options.worst]:
            print(f"  {line}", file=sys.stderr)
    for title, held_out in (("Sites", False), ("Sites of held-out generators", True)):
        if rows := [result for result in results if result.site.held_out == held_out]:
            print(f"\n{title}\n", *format_table(rows), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
