"""Open what the LIB argument of a command names: one site, or a store of many sites that a plugin opens.

The commands use `LibraryTarget` alone, so they work on both. Plugins register a function in the entry-point
group `roaming.libraries`; see `open_with_plugins`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast
from urllib.parse import urljoin, urlsplit, urlunsplit

from msgspec import Struct
from msgspec.structs import replace

from mkdocs_roaming.errors import LibraryError, ManifestNotFoundError, UsageError
from mkdocs_roaming.library.grep import GrepResult, grep
from mkdocs_roaming.library.library import Library, Origin
from mkdocs_roaming.library.readers import (
    INSTALLED_SCHEME,
    MAX_MANIFEST_BYTES,
    MAX_MARKDOWN_BYTES,
    FolderReader,
    MissingFileError,
    WebReader,
    is_web_url,
    parent_url,
    parse_markdown_site,
    read_file,
)
from mkdocs_roaming.library.search import Hit, Search
from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest
from mkdocs_roaming.manifest.lookup import Scope
from mkdocs_roaming.plugins import load_entry_points
from mkdocs_roaming.text.markdown import plain_version

if TYPE_CHECKING:
    from mkdocs_roaming._http import HttpResponse
    from mkdocs_roaming.library.tools import Toolset

SearchFactory = Callable[[Library], Search]

_SETTINGS_SUFFIXES = (".yml", ".yaml", ".toml")
_MAX_REDIRECTS = 4
"""Maximum number of HTML pages that are followed to a site; each may redirect to the next."""
OPEN_SITES = 5
REFRESH_SECONDS = 60.0
_BINARY_CHECK_BYTES = 8_192
_HTML_CHECK_BYTES = 1_024
_HTML_STARTS = (b"<!doctype html", b"<html", b"<head")
_MARKDOWN_SUFFIXES = (".md", ".markdown", ".mdx", ".txt")


class PackageInfo(Struct, frozen=True):
    """A package whose documentation is read, and the version that is documented.

    Attributes:
        name: The package, as its registry spells it.
        used: Version in use.
        documented: Version that the documentation describes; empty if unknown.
        origin: `bundle` in the package itself, `manifest` or `version` of the version in use, `latest` of another one.
    """

    name: str
    used: str
    documented: str = ""
    origin: Literal["bundle", "manifest", "version", "latest"] = "version"

    def label(self, crawled: float) -> str:
        """Return package, version and origin, as they precede all results.

        Args:
            crawled: Unix time at which the documentation was fetched.
        """
        day = format_day(crawled)
        used = plain_version(self.used)
        documented = plain_version(self.documented)
        if self.origin == "latest":
            why = f"the project uses {used}" if used else "the version in use is unknown"
            return f"{self.name} (crawled {documented or 'the latest version'} on {day}; {why})"
        how = f"crawled {day}"
        if self.origin == "bundle":
            how = "in the package"
        elif documented not in ("", used):
            how = f"crawled {documented} on {day}"
        return f"{self.name} {used or 'of an unknown version'} ({how})"


class SiteInfo(Struct, frozen=True):
    """A site of a store.

    Attributes:
        key: Key of the site in the store.
        title: Title of the site.
        crawled: Unix time of its last crawl.
        package: The package that it documents.
    """

    key: str
    title: str
    crawled: float
    package: PackageInfo | None = None

    @property
    def label(self) -> str:
        """The site, its version if known, and the day of its crawl, as they precede its contents in results."""
        return self.package.label(self.crawled) if self.package else f"{self.key} (crawled {format_day(self.crawled)})"


class ResolvedAddress(Struct, frozen=True):
    """An address within one library; empty for the whole site. `site` is None outside of a store."""

    library: Library
    address: str
    site: SiteInfo | None = None


class TargetHit(Struct, frozen=True):
    """A search hit, the library it is from, and its score among the hits of all sites.

    `note` says that probably no hit for the query answers it; see `Search.judge`.
    """

    library: Library
    hit: Hit
    score: float
    site: SiteInfo | None = None
    note: str = ""


class Candidate(Struct, frozen=True):
    """A library that may answer a question, with the question and the reader's page as that library has them."""

    library: Library
    question: str
    page: str | None
    site: SiteInfo | None = None


class Store(Protocol):
    """What serves many sites at once."""

    @property
    def instructions(self) -> str:
        """The instructions of an MCP server for the tools over all sites."""

    @property
    def server(self) -> tuple[str, str]:
        """The name of an MCP server for the store, and the extra of this package that opens it."""

    def list_sites(self, budget: int) -> tuple[str, Origin, str]:
        """Return the sites as text within a token budget, the label of that text, and the digest of the store."""

    def render_index(self, max_bytes: int) -> tuple[str, str]:
        """Return the address and the text of an index for AGENTS.md.

        Raises:
            UsageError: There is none for many sites.
        """

    def toolset(self) -> Toolset:
        """Return the three tools over all sites, with nothing opened yet."""

    def create_app(self, config: Any) -> Any:
        """Return the ASGI application.

        Args:
            config: A `serve.app.AppConfig`, whose model is not used.

        Returns:
            A `serve.middleware.RequestGuard`.
        """


class LibraryTarget(Protocol):
    """One site or a store of sites, as the commands use it."""

    @property
    def where(self) -> str:
        """The LIB argument."""

    @property
    def store(self) -> Store | None:
        """The servers of a store of many sites; None for one site, which `serve` serves by itself."""

    def open_site(self) -> Library:
        """Return the library of the only site.

        Raises:
            UsageError: This is a store; the message says how to name one of its sites.
            LibraryError: The site cannot be opened.
        """

    def resolve(self, addresses: Iterable[str]) -> list[ResolvedAddress]:
        """Return the library and the address in it for addresses of sections, in order.

        Raises:
            UsageError: An address names no site of the store, or a whole site.
        """

    def resolve_branch(self, branch: str | None) -> ResolvedAddress:
        """Return the library and the id of a branch of the outline; None is the whole outline.

        Raises:
            UsageError: The branch names no site of the store.
        """

    def search(self, query: str, limit: int) -> Sequence[TargetHit]:
        """Return the best sections for a query, best first."""

    def grep(self, pattern: str, limit: int) -> GrepResult:
        """Return the sections with lines that contain a string; of a store those of several sites.

        Raises:
            UsageError: The pattern is empty or too long, or it names no site of a store with many sites.
        """

    def candidates(self, question: str, page: str | None, *, warn: Callable[[str], None]) -> Iterator[Candidate]:
        """Yield the libraries to ask, one after the other until one has an answer.

        Args:
            question: May begin with the key of a site: `ruff: how are rules chosen?`.
            page: The page that the reader is on: its path or address.
            warn: Called with a line if the page is on no site.
        """


# Opening a site


def open_library(where: str | Path) -> Library:
    """Open a published site or a Markdown file.

    Example:
        ```python
        library = mkdocs_roaming.open_library("https://docs.example/")
        ```

    Args:
        where: A folder, an http(s) URL of a site or of its manifest, a Markdown file or its URL, or an address that a
            plugin opens (`deps://`); `installed:` for the documentation in installed packages.

    Raises:
        ManifestNotFoundError: The site publishes no manifest.
        ManifestError: The manifest cannot be read.
        LibraryError: There is nothing to open.
        UsageError: This is a store of many sites.
    """
    if isinstance(where, Path):
        return _open_path(where)
    if is_web_url(where):
        return _open_url(where)
    if where.startswith(INSTALLED_SCHEME):
        from mkdocs_roaming.library.installed import open_installed

        return open_installed(where)
    if "://" in where:
        return cast(Library, open_with_plugins(where).open_site())
    return _open_path(Path(where))


def library_from_markdown(markdown: str, *, name: str = "Markdown", url: str = "", where: str = "") -> Library:
    """Return a library of one Markdown text, such as a README or an llms-full.txt; several H1s become several pages.

    Args:
        markdown: The text.
        name: The site's name, unless the only page has a title.
        url: The text's own address.
        where: Names the text in messages; `url` or `name` by default.
    """
    return Library(*parse_markdown_site(markdown, name=name, url=url, where=where or url or name))


def open_with_plugins(where: str, **options: object) -> Any:
    """Return the `LibraryTarget` of the first plugin (group `roaming.libraries`) that knows an address or folder.

    A plugin is called for an address with a scheme other than http(s), or a folder without a manifest. It returns None
    if that is not of its kind.

    Args:
        where: The address or folder.
        options: The parameters of `open_target` of the same names: `search`, `trust_rules`, `open_sites` and
            `refresh_seconds`.

    Returns:
        The target; None for a folder that no plugin knows.

    Raises:
        LibraryError: No plugin knows the scheme of the address, or the plugin cannot read it.
    """
    for open_target in load_entry_points("roaming.libraries").values():
        target = open_target(where, **options)
        if target is not None:
            return target
    if "://" in where:
        raise LibraryError(f"{where}: only http:// and https:// addresses, folders and Markdown files can be opened")
    return None


# Folders and files


def _open_path(path: Path) -> Library:
    try:
        if path.is_dir():
            return _open_folder(path)
        is_file = path.is_file()
    except (OSError, ValueError):
        is_file = False
    if not is_file:
        raise LibraryError(f"{path}: no such folder or file; check the path; a URL starts with https://")
    if path.as_posix().endswith(MANIFEST_PATH):
        return _open_folder(path.parents[1])
    if path.suffix in _SETTINGS_SUFFIXES:
        raise LibraryError(f"{path}: a settings file; build the site, then name the folder that the build writes")
    text = _decode_markdown(read_file(path, MAX_MARKDOWN_BYTES), str(path))
    return library_from_markdown(text, name=path.stem, url=path.resolve().as_uri(), where=str(path))


def _open_folder(path: Path) -> Library:
    reader = FolderReader(path)
    try:
        data = reader.manifest()
    except MissingFileError:
        target = open_with_plugins(str(path))
        if target is not None:
            return cast(Library, target.open_site())
        raise ManifestNotFoundError(
            f"{path}: no {MANIFEST_PATH} in this folder; build the site first, then name its folder, such as site/; "
            "`roaming index FOLDER` makes the manifest of built HTML"
        ) from None
    return Library(load_manifest(data, where=str(path / MANIFEST_PATH)), reader)


# URLs


def _open_url(url: str) -> Library:
    try:
        parts = urlsplit(url)
        bare_url = urlunsplit((parts.scheme.lower(), parts.netloc, parts.path or "/", "", ""))
    except ValueError as error:
        raise LibraryError(f"{url}: not a valid address ({error})") from None
    name = PurePosixPath(parts.path).name.lower()
    if name.endswith(_MARKDOWN_SUFFIXES) and name != "llms.txt":
        response = WebReader(bare_url).get(urlunsplit(parts._replace(fragment="")), MAX_MARKDOWN_BYTES)
        return _parse_response(response, url)
    if name == "llms.txt" or name.endswith((".html", ".htm")):
        bare_url = parent_url(bare_url)
    reader = WebReader(bare_url.removesuffix("/" + MANIFEST_PATH).rstrip("/") + "/")
    try:
        return _open_manifest_url(reader, reader.root + MANIFEST_PATH)
    except MissingFileError:
        return _open_redirected(reader, url)


def _open_manifest_url(reader: WebReader, url: str) -> Library:
    """Open a site by its manifest's URL; pages are below the URL that it redirects to."""
    response = reader.get(url, MAX_MANIFEST_BYTES)
    if _is_html(response.body):
        raise MissingFileError(f"{url}: a web page")
    manifest = load_manifest(response.body, where=url)
    final_url = response.url.partition("?")[0]
    found_at = final_url if final_url.endswith("/" + MANIFEST_PATH) else url
    reader.root = reader.where = found_at.removesuffix(MANIFEST_PATH)
    site = replace(manifest.site, url=manifest.site.url or reader.root)
    return Library(replace(manifest, site=site), reader)


def _open_redirected(reader: WebReader, url: str) -> Library:
    """Open the Markdown at a URL, or the site that it redirects to; else raise what is missing there.

    A redirect may be HTML: the home page of a site with several versions leads to the default one.
    """
    from mkdocs_roaming.text.meta_tags import find_redirect  # imports email; most sites have a manifest

    root = reader.root
    address = url
    for _ in range(_MAX_REDIRECTS):
        try:
            response = reader.get(address, MAX_MARKDOWN_BYTES)
        except MissingFileError:
            if address == url:
                raise
            break  # the site has no home page
        target = parent_url(response.url)
        content_type = response.headers.get("content-type", "")
        if content_type.startswith(("text/markdown", "text/plain")) and not address.endswith("llms.txt"):
            return _parse_response(response, address)
        if target != root:
            with suppress(MissingFileError):
                return _open_manifest_url(reader, target + MANIFEST_PATH)
        body = response.body.decode("utf-8", "replace")
        redirect = root if address.endswith("llms.txt") else find_redirect(body)
        address = urljoin(response.url, redirect or "")
        if not (redirect and is_web_url(address)):
            break
    raise ManifestNotFoundError(f"{root}: publishes no {MANIFEST_PATH}; crawl it with `roaming crawl {root} -o DIR`")


# Markdown


def _parse_response(response: HttpResponse, url: str) -> Library:
    text = _decode_markdown(response.body, url)
    stem = PurePosixPath(urlsplit(url).path).stem
    library = library_from_markdown(text, name=stem, url=response.url, where=url)
    library.trusted = False
    return library


def _decode_markdown(data: bytes, where: str) -> str:
    if _is_html(data):
        raise LibraryError(f"{where}: a web page, not Markdown; use the address of a site, or of a Markdown file")
    if b"\0" in data[:_BINARY_CHECK_BYTES]:
        raise LibraryError(f"{where}: not a text file; use a folder, an address, or a Markdown file")
    return data.decode("utf-8", "replace")


def _is_html(data: bytes) -> bool:
    beginning = data[:_HTML_CHECK_BYTES].lstrip(b"\xef\xbb\xbf \t\r\n")
    return beginning.lower().startswith(_HTML_STARTS)


# Targets


class SiteTarget:
    """One published site, or one Markdown file; opened when it is first needed."""

    store = None

    def __init__(
        self,
        where: str,
        *,
        search: SearchFactory = Search,
        trust_rules: bool = False,
        opener: Callable[[str], Library] = open_library,
        scope: Scope | None = None,
    ) -> None:
        self.where = where
        self._search = search
        self._trust_rules = trust_rules
        self._opener = opener
        self._scope = scope

    @cached_property
    def library(self) -> Library:
        """The site's library."""
        library = self._opener(self.where)
        library.trusted = library.trusted or self._trust_rules
        return library.restrict(self._scope) if self._scope else library

    def open_site(self) -> Library:
        """Return the library."""
        return self.library

    def resolve(self, addresses: Iterable[str]) -> list[ResolvedAddress]:
        """Return the addresses with this site's library."""
        return [ResolvedAddress(self.library, address) for address in addresses]

    def resolve_branch(self, branch: str | None) -> ResolvedAddress:
        """Return the id of a branch with this site's library."""
        return ResolvedAddress(self.library, branch_id(self.library, branch or ""))

    def search(self, query: str, limit: int) -> list[TargetHit]:
        """Return the best sections for a query, best first."""
        library = self.library
        search = self._search(library)
        hits = search.find(query, limit=limit)
        if not hits:
            return []
        lines = (search.judge(query), library.find_left_out(query))
        note = "\n".join(filter(None, lines))
        return [TargetHit(library, hit, hit.score, note=note) for hit in hits]

    def grep(self, pattern: str, limit: int) -> GrepResult:
        """Return the sections with lines that contain a string."""
        return grep(self.library, pattern, limit=limit)

    def candidates(self, question: str, page: str | None, *, warn: Callable[[str], None]) -> Iterator[Candidate]:
        """Yield this site.

        Raises:
            LibraryError: It only lists pages.
        """
        library = self.library
        if library.is_list:
            raise LibraryError(library.note)
        yield Candidate(library, question, page)


def open_target(
    where: str,
    *,
    search: SearchFactory = Search,
    trust_rules: bool = False,
    open_sites: int = OPEN_SITES,
    refresh_seconds: float = REFRESH_SECONDS,
    scope: Scope | None = None,
) -> LibraryTarget:
    """Return what a LIB argument names.

    Args:
        where: A folder, a Markdown file, an http(s) address, or an address that a plugin knows (`deps://`).
        search: Makes the search of a library.
        trust_rules: Follow the rules of a site that is not the user's own.
        open_sites: Number of sites of a store that stay open.
        refresh_seconds: Time after which a store is read again.
        scope: The visible part of the site.

    Raises:
        UsageError: A store of many sites has no scope.
        LibraryError: No plugin knows the scheme of the address, or a store cannot be read.
    """
    target: LibraryTarget | None = None
    if not _is_site(where):
        target = open_with_plugins(
            where, search=search, trust_rules=trust_rules, open_sites=open_sites, refresh_seconds=refresh_seconds
        )
    if target is None:
        return SiteTarget(where, search=search, trust_rules=trust_rules, scope=scope)
    if not scope:
        return target
    where = target.where
    if target.store is not None:
        raise UsageError(f"{where}: --tag and --path apply to a single site; name one: {where}/SITE")
    return SiteTarget(where, search=search, opener=lambda _: target.open_site(), scope=scope)


def format_day(at: float) -> str:
    """Return the day of a Unix time."""
    return time.strftime("%Y-%m-%d", time.gmtime(at))


def branch_id(library: Library, branch: str) -> str:
    """Return the id of a branch of the outline that may be given as an address; a `+` at its end stays."""
    address = branch.removesuffix("+")
    section = library.sections.find(address) if address else None
    return section.id + branch[len(address) :] if section else branch


def _is_site(where: str) -> bool:
    """Return True if `where` is one site without asking plugins; a path that does not exist is one, too."""
    if "://" in where:
        return is_web_url(where)
    path = Path(where)
    try:
        return not path.is_dir() or (path / MANIFEST_PATH).is_file()
    except (OSError, ValueError):
        return True
