"""The folder of a built site, of any generator, as a source of pages."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from lxml import etree
from lxml import html as lxml_html

from mkdocs_roaming.errors import ManifestError, PublishError, UsageError
from mkdocs_roaming.files import find_site_folders, read_regular_file
from mkdocs_roaming.html.document import (
    count_visible_words,
    extract_canonical_url,
    extract_description,
    extract_site_name,
    extract_title,
    find_article,
    find_words,
    parse_document,
    remove_own_elements,
)
from mkdocs_roaming.html.final_page import remove_excerpts
from mkdocs_roaming.html.formulas import mark_formulas, read_site_script
from mkdocs_roaming.html.themes import load_themes
from mkdocs_roaming.html.titles import find_common_part, title_from_path
from mkdocs_roaming.html.visitor import Element
from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest
from mkdocs_roaming.manifest.lookup import PageName
from mkdocs_roaming.manifest.models import (
    Page,
    Site,
    SiteEntry,
    canonicalize_path,
    is_valid_url,
    iter_nav,
    path_to_url,
    url_to_path,
)
from mkdocs_roaming.publish.markdown_source import read_metadata
from mkdocs_roaming.publish.ownership import PublishedFiles
from mkdocs_roaming.publish.pipeline import LeftOut
from mkdocs_roaming.publish.selection import Selection, exact_pattern
from mkdocs_roaming.publish.writer import WITHOUT_URL
from mkdocs_roaming.sources import decode_text, is_ignored
from mkdocs_roaming.sources.project import IndexOptions, find_heading, iter_fences, read_source
from mkdocs_roaming.sources.site_nav import (
    TOCTREE,
    Nav,
    add_inner_pages,
    complete_sidebar,
    from_config,
    from_sidebar,
    from_toctrees,
    make_resolver,
    merge_navs,
)
from mkdocs_roaming.text.markdown import to_single_line
from mkdocs_roaming.text.meta_tags import exclusion_reason, find_redirect

Warn = Callable[[str], None]

_MAX_SIDEBARS = 20
"""Number of pages whose sidebars are read in any case."""
_SPECIAL_PAGE = re.compile(
    r"(^|/)(404|genindex(-[^/]+)?|py-modindex)(\.html|/)$"  # also in the folders of versions and languages
    r"|^(search|print|print_page)(\.html|/)$"
)
"""Pages that generators add, also in the folders of versions and languages: the 404 page, indexes, the search."""
_TARGET = re.compile(r"\]\([^)\s]*\)|https?://[^\s>]+")
"""The target of a link in Markdown, `](page.md)`, or an address: no words of the text."""
_SHARED_WORDS = 0.7
"""Share of the words of a source that its page shows: code of templates and comments are not shown."""
_LOCATION = re.compile(r"<loc>\s*(https?://[^<\s]+)\s*</loc>")
"""An address in a sitemap."""
_MAX_HEAD = 100_000
"""Characters of a page that are searched for its head."""
_PAGE_SUFFIXES = (".html", ".htm", "/")


@dataclass(frozen=True, slots=True)
class BuiltSite:
    """A built site: its metadata, its pages, and the HTML file of each path."""

    site: Site
    pages: tuple[Page, ...]
    files: dict[str, Path]
    meta: dict[str, Mapping[str, Any]]
    """The front matter of the pages whose sources are known, by path."""
    left_out: tuple[LeftOut, ...] = ()
    left_out_files: tuple[Path, ...] = ()


def read_site(folder: Path, options: IndexOptions, warn: Warn) -> BuiltSite:
    """Read the folder of a built site.

    Raises:
        UsageError: The folder is not a built site.
        PublishError: There is nothing to publish.
    """
    hint = "build the site, then name the folder that the build writes, such as site/"
    if folder.is_file():
        raise UsageError(f"{folder}: is a file; {hint}")
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder; build the site first")
    files = _find_html(folder, warn)
    if not files:
        raise UsageError(f"{folder}: contains no HTML; {hint}")
    return _SiteReader(folder, options, warn).read(files)


def _find_html(folder: Path, warn: Warn) -> list[Path]:
    """Return the HTML files of a site. Others with such a name are not opened: a pipe blocks, a device may never end.

    Raises:
        OSError: A folder cannot be read; its pages would be missing.
    """

    def fail(error: OSError) -> None:
        raise error

    files: list[Path] = []
    for parent, folders, names in os.walk(folder, onerror=fail):
        folders[:] = [name for name in folders if not is_ignored(Path(name))]
        for name in names:
            file = Path(parent, name)
            if file.suffix != ".html" or is_ignored(Path(name)):
                continue
            if file.is_file():
                files.append(file)
            else:
                warn(f"{file}: is left out: a link to a missing file, a pipe or a device; remove it")
    return sorted(files)


class _SiteReader:
    """Reads the pages, the navigation and the metadata of a built site."""

    def __init__(self, folder: Path, options: IndexOptions, warn: Warn) -> None:
        self._folder = folder
        self._options = options
        self._warn = warn
        self._themes = load_themes(options.publish.classes)
        self._old = SiteEntry("", "")
        """The site of an earlier publication, which knows its name and URL."""
        with suppress(OSError, ManifestError):
            self._old = load_manifest(read_regular_file(folder / MANIFEST_PATH)).site
        self._url = self._find_url()
        self._pages: dict[str, Page] = {}
        self._files: dict[str, Path] = {}
        self._redirects: dict[str, str] = {}
        self._left_out: list[LeftOut] = []
        self._sources = options.project.find_sources()
        self._meta: dict[str, Mapping[str, Any]] = {}
        self._languages: dict[str, str] = {}
        """The languages of the home page, and of the index pages of top-level folders, by path."""
        self._unplaced: dict[str, tuple[str, bool, str]] = {}
        """Sources whose pages are not found, whether they have `llms: false`, and their text, by the paths that their
        names suggest."""

    def read(self, files: list[Path]) -> BuiltSite:
        """Read the pages in some HTML files."""
        self._read_pages(files)
        self._add_sources()
        self._select_pages()
        self._drop_other_languages()
        if not self._pages:
            raise PublishError(
                f"{self._folder}: no page to publish among {len(files)} HTML files; check --include and --exclude"
            )
        site = self._make_site()
        pages = tuple(self._pages.values())
        if site.nav_source == "config":
            titles = {item.path: item.title for item in iter_nav(site.nav) if item.path is not None}
            pages = tuple(replace(page, title=titles.get(page.path) or page.title) for page in pages)
        published = set(self._files.values())
        left_out_files = tuple(file for file in files if file not in published)
        return BuiltSite(site, pages, self._files, self._meta, tuple(self._left_out), left_out_files)

    def _read_pages(self, files: Iterable[Path]) -> None:
        for file in files:
            page = self._read_page(file)
            if isinstance(page, str):
                self._left_out.append(LeftOut(self._path(file), page))
                continue
            first = self._files.setdefault(page.path, file)
            if first is file:
                self._pages[page.path] = page
            else:
                self._left_out.append(LeftOut(page.path, f"same address as {first.relative_to(self._folder)}"))
        common = find_common_part(page.title for page in self._pages.values())
        self._name = common.name
        for path, page in self._pages.items():
            title = common.remove_from(page.title) or title_from_path(path)
            self._pages[path] = replace(page, title=title)

    def _make_site(self) -> Site:
        project = self._options.project
        publish = self._options.publish
        home = min(self._pages, key=bool)  # or else the first page
        head = self._parse(home)
        name = self._options.name or project.name or self._old.name or extract_site_name(head) or self._name
        about = project.description if project.generator else self._pages[home].description
        nav, nav_source = self._find_nav()
        has_own_llms_txt = bool(PublishedFiles(self._folder).author_text.strip())
        return Site(
            name=name or extract_title(head) or self._folder.resolve().name,
            url=self._url,
            description=publish.description or about,
            language=head.get("lang") or "en",
            nav=nav,
            nav_source=nav_source,
            classes=publish.classes,
            has_llms_txt=has_own_llms_txt or publish.llms_txt is not False,
            redirects=self._redirects,
        )

    def _select_pages(self) -> None:
        """Drop the pages that the options and their front matter leave out."""
        docs = self._options.project.docs
        names = {self._folder.name, "docs", docs.name if docs else "docs"}
        roots = [f"{name}/" for name in sorted(names) if not (self._folder / name).is_dir()]
        if self._url:
            roots.insert(0, self._url)
        options = self._options.publish
        selection = Selection(options.include, options.exclude, roots=roots)
        folders: set[Path] = set()
        for file in self._files.values() if selection else ():
            # The index page of a folder is the page of the folder above.
            folders.update((file.parent if file.name == "index.html" else file).parents)
        for left_out in self._left_out:
            selection.find_reason(PageName(left_out.path))  # a pattern of a page that is no page is used
        count = len(self._pages)
        for path, page in list(self._pages.items()):
            sources = (page.source,) if page.source else ()
            name = PageName(path, sources, is_folder=self._files[path].parent in folders)
            reason = selection.find_reason(name)
            if self._meta.get(path, {}).get("llms") is False:
                reason = "`llms: false` in its front matter"
            if reason:
                self._leave_out(path, reason)
        self._check_hidden(selection)
        for message in selection.unmatched():
            self._warn(message)
        self._check_unplaced(selection)
        if len(self._pages) < count:
            self._remove_excerpts()

    def _leave_out(self, path: str, reason: str) -> None:
        del self._files[path]
        self._left_out.append(LeftOut(path, reason, self._pages.pop(path).source))

    def _check_hidden(self, selection: Selection) -> None:
        """Raise an error if a page of a source with `llms: false` could be published under another address."""
        unknown = next((path for path, page in self._pages.items() if page.source is None), None)
        if unknown is None:
            return
        for path, (source, is_hidden, _) in self._unplaced.items():
            if is_hidden and selection.find_reason(PageName(path, (source,))) is None:
                raise PublishError(
                    f"{source}: its front matter says `llms: false`, but its page is not found; it could be one of "
                    f"those without a known source, such as {unknown or 'the home page'}. Add `{source}` to `exclude`, "
                    "and the address of its page if it has one"
                )

    def _check_unplaced(self, selection: Selection) -> None:
        """Raise an error if a page of unknown source has the text of a source that the options leave out."""
        left_out: list[tuple[str, str, set[str]]] = []
        for path, (source, _, text) in self._unplaced.items():
            if reason := selection.find_reason(PageName(path, (source,))):
                left_out.append((source, reason, set(find_words(_TARGET.sub(" ", text)))))
        if not left_out:
            return
        for page in self._pages.values():
            name = PageName(page.path)
            if page.source is not None or selection.is_exception(name):
                continue
            pattern = exact_pattern(name)
            shown = count_visible_words(page.article).keys()
            for source, reason, words in left_out:
                if len(words & shown) > _SHARED_WORDS * len(words):
                    raise PublishError(
                        f"{source}: {reason}, but its text is on a page with another address, {name}, whose source is "
                        f"not known. Add `{pattern}` to `exclude`, or `!{pattern}` to publish it"
                    )

    def _remove_excerpts(self) -> None:
        """Remove the excerpts of posts that are left out from lists of blog posts, and lists without any other post."""
        left_out = {page.path for page in self._left_out}
        for path, page in list(self._pages.items()):
            if "<article" not in page.article[1:]:
                continue
            base = path_to_url(self._url, path)

            def is_left_out(href: str, base: str = base) -> bool:
                return url_to_path(self._url, urljoin(base, href)) in left_out

            root = lxml_html.fromstring(page.article)
            remove_excerpts(root, is_left_out)
            self._pages[path] = replace(page, article=lxml_html.tostring(root, encoding="unicode"))
            if page.source is None and root.find(".//article") is None:
                self._leave_out(path, "all its posts are left out")

    def _path(self, file: Path) -> str:
        return canonicalize_path(file.relative_to(self._folder).as_posix())

    def _read_page(self, file: Path) -> Page | str:
        """Read one HTML file. Return the reason if it is not a page of the site."""
        text = decode_text(file.read_bytes())
        path = self._path(file)
        name = file.relative_to(self._folder)
        if path.encode("utf-8", "ignore").decode() != path:
            self._warn(f"{name}: the page is left out: its name is not UTF-8; rename the file")
            return "its name is not UTF-8"
        if target := find_redirect(text):
            self._redirects[path] = urljoin(path_to_url(self._url, path), target)
            return f"a redirect to {target}"
        if "<head" not in text[:_MAX_HEAD].lower():
            return "a fragment of a page"
        if reason := exclusion_reason(text):
            return reason
        try:
            tree = parse_document(text)
        except (etree.ParserError, ValueError) as error:
            self._warn(f"{name}: {error}; the page is left out")
            return str(error)
        remove_own_elements(tree)
        if _SPECIAL_PAGE.search(path):
            return "a page that the generator adds"
        canonical = self._find_path(path, tree)
        if canonical is None:
            return "its canonical link names another page"
        return self._make_page(canonical, tree)

    def _make_page(self, path: str, tree: Element) -> Page:
        is_top_level = path == "" or path.find("/") == len(path) - 1
        if is_top_level:
            self._languages[path] = tree.get("lang", "")
        article = find_article(tree, self._themes)
        mark_formulas(article, tree, partial(read_site_script, self._folder, self._url, path))
        return Page(
            path=path,
            title=extract_title(tree),
            article=lxml_html.tostring(article, encoding="unicode", with_tail=False),
            description=extract_description(tree, article),
        )

    def _find_path(self, path: str, tree: Element) -> str | None:
        """Return the path of a page, as its canonical link spells it; None if the link names another page."""
        canonical = extract_canonical_url(tree)
        named = url_to_path(self._url, canonical) if canonical and self._url else None
        if named is None or named == path:
            return path
        suffix = next((suffix for suffix in _PAGE_SUFFIXES if path.endswith(suffix)), "")
        stem = path.removesuffix(suffix)
        return named if named in (stem, f"{stem}/", f"{stem}.html") else None

    def _add_sources(self) -> None:
        """Add to the pages what their Markdown sources say that the HTML does not.

        The sources of pages whose addresses do not follow from their names, such as posts of a blog, are found by
        their titles.
        """
        docs = self._options.project.docs
        if docs is None:
            return
        snippets = self._options.project.snippets
        texts: dict[str, tuple[Mapping[str, Any], str]] = {}
        titles: dict[str, str] = {}
        """The titles of sources whose pages are elsewhere."""
        for path, source in self._sources.items():
            meta, text = read_source(docs / source, source, snippets, self._warn)
            texts[path] = meta, text
            if path not in self._pages:
                titles[path] = str(meta.get("title") or find_heading(text))
        by_title = _unique({path: page.title for path, page in self._pages.items() if path not in texts})
        moved = {path: by_title[title] for title, path in _unique(titles).items() if title in by_title}
        left_out = {page.path for page in self._left_out}
        for path, (meta, text) in texts.items():
            source = self._sources[path]
            page = self._pages.get(moved.get(path, path))
            if page is not None:
                self._meta[page.path] = meta
                title = to_single_line(str(meta.get("title") or ""))
                self._pages[page.path] = replace(
                    page,
                    source=source,
                    title=title or page.title,
                    code_languages=tuple(iter_fences(text)),
                    **read_metadata(meta),
                )
            elif path not in left_out:
                self._unplaced[path] = source, meta.get("llms") is False, text

    def _drop_other_languages(self) -> None:
        """Drop the pages in folders that are sites in another language than the home page."""
        home = self._languages.pop("", "").lower()
        for folder, language in self._languages.items():
            tag = language.lower()
            name = folder[:-1].lower().replace("_", "-")
            is_translation = name in (tag, tag.partition("-")[0]) and tag not in ("", home)
            if not home or not is_translation:
                continue
            pages = [path for path in self._pages if path.startswith(folder)]
            self._warn(
                f"{folder}: {len(pages)} pages in another language ({language}) are left out; publish them as a site "
                f"of their own: roaming index {self._folder / folder} --url {self._url or 'https://…/'}{folder}"
            )
            for path in pages:
                self._leave_out(path, f"another language ({language})")

    def _find_url(self) -> str:
        """Return the URL of the site: from the options, the old manifest, the home page or the sitemap; or none."""
        folder = self._folder
        project = self._options.project
        for where, url in (("--url", self._options.url), (f"{project.file}: site_url", project.url)):
            if not url:
                continue
            is_web = url.startswith(("http://", "https://")) and is_valid_url(url)
            if not is_web or not urlsplit(url).netloc:
                raise UsageError(f"{where} {url}: not an http(s) URL")
            return url.rstrip("/") + "/"
        if self._old.url:
            return self._old.url
        url = _find_site_url(folder)
        if url and is_valid_url(url):
            return url
        if not (folder / "index.html").is_file() and (sites := find_site_folders(folder)):
            raise UsageError(f"{folder}: contains no index.html; name the folder of one site, such as {sites[0]}")
        self._warn(
            f"{folder}: the URL of the site is neither in its home page nor in its sitemap: {WITHOUT_URL}; "
            f"set `site_url` in {project.file or 'roaming.toml'}, or add --url https://…/"
        )
        return ""

    def _find_nav(self) -> tuple[Nav, str]:
        """Return the navigation and its source."""
        titles = {path: page.title for path, page in self._pages.items()}
        project = self._options.project
        if project.nav is not None:
            by_source = {source: path for path, source in self._sources.items()}
            configured = from_config(project.nav, by_source, titles, self._url)
            if configured is not None:
                return configured, "config"
        navs = [self._read_sidebar(path) for at, path in enumerate(self._pages) if path == "" or at < _MAX_SIDEBARS]
        if text := _read_text(self._folder / "toc.html"):  # the pages of mdBook load their sidebar from here
            navs.append(self._read_sidebar("toc.html", parse_document(text)))
        nav = merge_navs(navs, self._pages, self._read_sidebar)
        return complete_sidebar(add_inner_pages(nav, self._read_toctrees), titles)

    def _read_sidebar(self, path: str, tree: Element | None = None) -> Nav:
        tree = self._parse(path) if tree is None else tree
        resolve = make_resolver(self._url, path_to_url(self._url, path), self._pages)
        return from_sidebar(tree, resolve, self._themes)

    def _read_toctrees(self, path: str) -> Nav:
        article = self._pages[path].article
        if TOCTREE not in article:
            return ()
        resolve = make_resolver(self._url, path_to_url(self._url, path), self._pages)
        return from_toctrees(lxml_html.fromstring(article), resolve)

    def _parse(self, path: str) -> Element:
        tree = parse_document(decode_text(self._files[path].read_bytes()))
        remove_own_elements(tree)
        return tree


def _find_site_url(folder: Path) -> str | None:
    """Return the URL of a built site that its home page or its sitemap names; None if neither does."""
    with suppress(OSError, etree.ParserError, ValueError):
        home = parse_document(decode_text(read_regular_file(folder / "index.html")))
        if canonical := extract_canonical_url(home):
            return canonical.removesuffix("index.html").rstrip("/") + "/"
    # The URL that all others of the sitemap begin with; a sitemap without the home page has none.
    urls = sorted(map(unescape, _LOCATION.findall(_read_text(folder / "sitemap.xml"))))
    if urls and urls[0].endswith("/") and all(url.startswith(urls[0]) for url in urls):
        return urls[0]
    return None


def _unique(titles: Mapping[str, str]) -> dict[str, str]:
    """Return the path of each title that one path only has."""
    counts = Counter(titles.values())
    return {title: path for path, title in titles.items() if counts[title] == 1}


def _read_text(file: Path) -> str:
    try:
        return read_regular_file(file).decode("utf-8-sig", "replace")
    except OSError:
        return ""
