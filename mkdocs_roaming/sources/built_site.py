"""Any built site's folder as a source of pages, whatever made it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from html import unescape
from pathlib import Path

from lxml import etree
from lxml import html as lxml_html

from mkdocs_roaming.errors import ManifestError, PublishError, UsageError
from mkdocs_roaming.html.document import (
    extract_canonical_url,
    extract_meta,
    extract_site_name,
    extract_title,
    find_article,
    find_own_elements,
    has_site_description,
    parse_document,
    remove_element,
)
from mkdocs_roaming.html.final_page import exclusion_reason
from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest
from mkdocs_roaming.manifest.models import Manifest, NavItem, Page, Site, canonicalize_path, path_to_url, url_to_path
from mkdocs_roaming.publish.cache import ConversionCache
from mkdocs_roaming.publish.files import find_site_folders, write_atomically
from mkdocs_roaming.publish.llms_txt import add_markdown_links
from mkdocs_roaming.publish.pipeline import Batch, convert_pages
from mkdocs_roaming.publish.previous import read_previous
from mkdocs_roaming.publish.widget import (
    WidgetOptions,
    add_widget,
    remove_widget,
    suggest_questions,
    write_widget_files,
)
from mkdocs_roaming.publish.writer import PublishOptions, PublishReport, publish_batch
from mkdocs_roaming.sources import site_nav

Warn = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """How a built site is indexed. `url`, `name` and `description` are found out where they are None."""

    url: str | None = None
    name: str | None = None
    description: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    html: bool = True
    previous: str | None = None
    cache: Path | None = None
    rules: Path | None = None
    widget: WidgetOptions | None = None
    options: PublishOptions = field(default_factory=PublishOptions)


def index_site(
    folder: Path,
    how: IndexOptions,
    *,
    warn: Warn,
    steps: Callable[[int], Callable[[], None]] = lambda count: lambda: None,
) -> PublishReport:
    """Publish a built site's folder in place: Markdown, llms.txt, manifest; and, with `html`, pointers in its pages.

    `steps` is told how many pages there are and gives what is called after each. Raises UsageError where the folder
    is no built site or its address cannot be found out, PublishError where nothing can be published.
    """
    rules = None
    if how.rules:
        from mkdocs_roaming.publish.rules import read_rules_file  # few sites have rules

        rules = read_rules_file(how.rules)
    previous = read_previous(how.previous, Path.cwd(), warn) if how.previous else None
    built = read_site(folder, how, warn)
    batch = convert_pages(
        built.site, built.pages, cache=ConversionCache(how.cache), warn=warn, on_progress=steps(len(built.pages))
    )
    if how.widget:
        write_widget_files(folder, built.site.language)
    report = publish_batch(batch, folder, how.options, previous=previous, rules=rules)
    if how.html:
        for path in batch.pages:
            _decorate(built.files[path], path, batch, how.widget)
    return report


@dataclass(frozen=True, slots=True)
class BuiltSite:
    """What a built site's folder holds: the site, its pages, and the HTML file of each path."""

    site: Site
    pages: tuple[Page, ...]
    files: dict[str, Path]


def read_site(folder: Path, how: IndexOptions, warn: Warn) -> BuiltSite:
    """Read a built site's folder."""
    if folder.is_file():
        raise UsageError(f"{folder}: a file; build the site, then name the folder that the build writes, such as site/")
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder; build the site first")
    files = sorted(file for file in folder.rglob("*.html") if not _hidden(file.relative_to(folder)))
    if not files:
        raise UsageError(
            f"{folder}: no HTML in it; build the site, then name the folder that the build writes, such as site/"
        )
    old = _old_manifest(folder)
    url = _site_url(folder, how.url, old)
    pages: dict[str, Page] = {}
    kept: dict[str, Path] = {}
    bars: list[tuple[str, etree._Element]] = []
    home: etree._Element | None = None
    homes: dict[str, str] = {}
    for file in files:
        found = _read(file, folder, url, warn)
        if found is None:
            continue
        page, tree = found
        if not _chosen(page.path, how) or page.path in pages:
            continue
        pages[page.path], kept[page.path] = page, file
        home = tree if page.path == "" else home
        if re.fullmatch(r"[^/]+/", page.path):
            homes[page.path] = str(tree.get("lang") or "")
        if page.path == "" or len(bars) < _SIDEBARS_READ:
            bars.append((page.path, tree))
    for path in _of_other_languages(home, homes, pages, url, folder, warn):
        del pages[path], kept[path]
    bars = [(path, tree) for path, tree in bars if path in pages]
    if not pages:
        raise PublishError(f"{folder}: no page to publish among {len(files)} HTML files; check --include and --exclude")
    nav, source = _nav(folder, url, old, pages, kept, bars)
    head = home if home is not None else bars[0][1]
    site = Site(
        name=how.name or (old.site.name if old else None) or extract_site_name(head) or url,
        url=url,
        description=how.description or (old.site.description if old else "") or extract_meta(head, "description"),
        language=(head.get("lang") or "en"),
        nav=nav,
        nav_source=source,
    )
    return BuiltSite(site, tuple(_without_the_sites_description(pages.values())), kept)


_SIDEBARS_READ = 20


def _without_the_sites_description(pages: Collection[Page]) -> Iterator[Page]:
    """Give the pages without descriptions that stand on several: that is the site's, where a page has none."""
    times = Counter(page.description for page in pages)
    return (replace(page, description="") if times[page.description] > 1 else page for page in pages)


def _of_other_languages(
    home: etree._Element | None,
    homes: dict[str, str],
    pages: dict[str, Page],
    url: str,
    folder: Path,
    warn: Warn,
) -> list[str]:
    """Give the paths below folders that are sites of their own, in another language than the home page's.

    `homes` are the languages of the pages that stand for the folders at the top.
    """
    own = str(home.get("lang") or "") if home is not None else ""
    found: list[str] = []
    for path, language in homes.items():
        names = {language.lower(), language.lower().partition("-")[0]}
        if own and language and language.lower() != own.lower() and path[:-1].lower().replace("_", "-") in names:
            below = [other for other in pages if other.startswith(path)]
            warn(
                f"{path}: {len(below)} pages in another language ({language}) are left out; "
                f"publish them as a site of their own: roaming index {folder / path} --url {url}{path}"
            )
            found += below
    return found


def _read(file: Path, folder: Path, url: str, warn: Warn) -> tuple[Page, etree._Element] | None:
    """Read one HTML file; None where it is no page of the site."""
    text = decode_page(file.read_bytes())
    if "<head" not in text[:100_000].lower() or exclusion_reason(text):  # a template, or not to be found
        return None
    try:
        tree = parse_document(text)
    except (etree.ParserError, ValueError) as error:
        warn(f"{file.relative_to(folder)}: {error}; the page is left out")
        return None
    for ours in find_own_elements(tree):
        remove_element(ours)
    path = _path(file, folder, url, tree)
    if path is None:
        return None
    article = lxml_html.tostring(find_article(tree), encoding="unicode", with_tail=False)
    page = Page(
        path=path,
        title=extract_title(tree),
        article=article,
        description=extract_meta(tree, "description") if not has_site_description(tree) else "",
    )
    return page, tree


def _path(file: Path, folder: Path, url: str, tree: etree._Element) -> str | None:
    """Give the page's path: its file's, in the spelling of its canonical link; None where that is another page's."""
    path = canonicalize_path(file.relative_to(folder).as_posix())
    if _NOT_A_PAGE.search(path):
        return None
    canonical = extract_canonical_url(tree)
    named = url_to_path(url, canonical) if canonical else None
    if named is None or named == path:
        return path
    stem = re.sub(r"(\.html?|/)$", "", path)
    if named in (stem, stem + "/", stem + ".html"):
        return named
    return None


_NOT_A_PAGE = re.compile(
    r"(^|/)(404|genindex(-[^/]+)?|py-modindex)(\.html|/)$"  # also in the folders of versions and languages
    r"|^(search|print|print_page)(\.html|/)$"
)


def _site_url(folder: Path, given: str | None, old: Manifest | None) -> str:
    """Give the site's address: as given, as published before, or as its home page or sitemap says."""
    if given:
        if not re.match(r"https?://[^/]+", given):
            raise UsageError(f"--url {given}: not an http(s) address")
        return given.rstrip("/") + "/"
    if old:
        return old.site.url
    try:
        home = parse_document(decode_page((folder / "index.html").read_bytes()))
        if canonical := extract_canonical_url(home):
            return re.sub(r"index\.html$", "", canonical).rstrip("/") + "/"
    except (OSError, etree.ParserError, ValueError):
        pass
    if named := _sitemap_url(_text(folder / "sitemap.xml")):
        return named
    if not (folder / "index.html").is_file() and (below := find_site_folders(folder)):
        raise UsageError(f"{folder}: no index.html in it; name the folder of one site, such as {below[0]}")
    raise UsageError(
        f"{folder}: neither home page nor sitemap names its address; say where the site lives: --url https://…/"
    )


def _sitemap_url(sitemap: str) -> str | None:
    """Give the address that all others of a sitemap begin with; None where it doesn't hold the home page."""
    found = sorted(unescape(address) for address in re.findall(r"<loc>\s*(https?://[^<\s]+)\s*</loc>", sitemap))
    if found and found[0].endswith("/") and all(address.startswith(found[0]) for address in found):
        return found[0]
    return None


def _nav(
    folder: Path,
    url: str,
    old: Manifest | None,
    pages: dict[str, Page],
    kept: dict[str, Path],
    bars: Iterable[tuple[str, etree._Element]],
) -> tuple[tuple[NavItem, ...], str]:
    """Give the nav and what it was taken from.

    What was published before wins where it knew more than the folder does now: MkDocs' nav, or a foreign llms.txt
    that ours has replaced.
    """
    if old and old.nav_source in ("mkdocs", "llms.txt"):
        return site_nav.from_manifest(old), old.nav_source
    if not old and (llms := _text(folder / "llms.txt")):
        nav = site_nav.from_llms_txt(llms, site_nav.make_resolver(url, url, pages))
        if len(site_nav.collect_paths(nav)) >= len(pages) // 2:
            return nav, "llms.txt"
    nav = _sidebars(folder, url, pages, kept, bars)
    if len(site_nav.collect_paths(nav)) > 1:
        home = [NavItem(pages[""].title, "")] if "" in pages and "" not in site_nav.collect_paths(nav) else []
        return (*home, *nav), "sidebar"
    return site_nav.from_folders({path: page.title for path, page in pages.items()}), "folders"


def _sidebars(
    folder: Path,
    url: str,
    pages: dict[str, Page],
    kept: dict[str, Path],
    bars: Iterable[tuple[str, etree._Element]],
) -> tuple[NavItem, ...]:
    """Give the nav that the sidebars make together."""

    def read(path: str, tree: etree._Element) -> tuple[NavItem, ...]:
        return site_nav.from_sidebar(tree, site_nav.make_resolver(url, path_to_url(url, path), pages))

    found = [read(path, tree) for path, tree in bars]
    if text := _text(folder / "toc.html"):  # mdBook's pages load their sidebar
        found.append(read("toc.html", parse_document(text)))
    return site_nav.merge_navs(
        found, pages, lambda path: read(path, parse_document(decode_page(kept[path].read_bytes())))
    )


def _old_manifest(folder: Path) -> Manifest | None:
    try:
        return load_manifest((folder / MANIFEST_PATH).read_bytes())
    except (OSError, ManifestError):
        return None


def _chosen(path: str, how: IndexOptions) -> bool:
    if how.include and not any(fnmatchcase(path, pattern) for pattern in how.include):
        return False
    return not any(fnmatchcase(path, pattern) for pattern in how.exclude)


def _hidden(file: Path) -> bool:
    return any(part.startswith((".", "_static", "_sources", "_modules")) for part in file.parts)


def _decorate(file: Path, path: str, batch: Batch, widget: WidgetOptions | None) -> None:
    html = remove_widget(add_markdown_links(_decoded(file.read_bytes()), path))
    if widget:
        html = add_widget(html, widget, path, batch.site.url, suggest_questions(None, batch.converted[path].sections))
    write_atomically(file, html.encode("utf-8", "surrogateescape"))


def decode_page(data: bytes) -> str:
    """Decode a page: UTF-8, or the encoding that it declares or looks like."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        from bs4.dammit import UnicodeDammit  # few pages are not UTF-8

        return UnicodeDammit(data, is_html=True).unicode_markup or data.decode("utf-8", "replace")


def _decoded(data: bytes) -> str:
    """Give a page's text; bytes that are no UTF-8 come through unchanged when the page is written again."""
    return data.decode("utf-8", "surrogateescape")


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8-sig", "replace")
    except OSError:
        return ""
