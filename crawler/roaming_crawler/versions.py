"""Choice of the version of a site that documents a release.

It reads what sites publish about their versions: a manifest, the inventory of Sphinx, `versions.json` of mike, the
switcher of PyData's theme, sitemaps as on Read the Docs, and links as in the menu of Docusaurus.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Literal, NamedTuple
from urllib.parse import urljoin, urlsplit

import msgspec

from mkdocs_roaming._json import decode_json
from mkdocs_roaming.errors import ManifestError
from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest
from mkdocs_roaming.manifest.models import SiteEntry
from mkdocs_roaming.text.markdown import plain_version
from roaming_crawler.contents import read_html
from roaming_crawler.discover import MAX_MANIFEST_BYTES, MAX_SITEMAP_BYTES, SitemapError, parse_sitemap
from roaming_crawler.fetch import FetchError, Response, UnavailableError
from roaming_crawler.parser import parse_page
from roaming_crawler.scope import canonical_url, scope_url, url_origin
from roaming_crawler.session import ACCEPT_ANY, ACCEPT_HTML, Session
from roaming_crawler.variants import SAME_VERSION, find_variant_folders, match_version, rank_version, split_numbers

PLACEHOLDER = "{version}"
"""Part of a URL that is replaced by the names that a version may have."""

_MAX_REQUESTS = 12
"""Number of requests after the first one."""
_MAX_CANDIDATES = 3
"""Number of listed versions that are checked."""
_MAX_HEAD_CHARS = 100_000
_MAX_ENTRIES = 1_000
"""Number of versions in a list that are read."""
_MAX_ALIASES = 20
_MAX_NAME_CHARS = 100
_NO_VERSION = "0.0.0-none"
_INVENTORY = re.compile(rb"# Sphinx inventory version \d[^\n]*\n# Project:[^\n]*\n# Version:([^\n]{0,100})")
"""The first lines of `objects.inv`; the third one is `# Version: 3.1`."""
_SWITCHER = re.compile(r"""theme_switcher_json_url\s*=\s*['"]([^'"\s]{1,500})""")
"""The list of PyData's theme: `DOCUMENTATION_OPTIONS.theme_switcher_json_url = '…'`, in a script."""
_OWN_VERSION = re.compile(
    r"""<meta\b[^<>]{0,100}\bname="docusaurus_version" content="([^"]{1,40})"""
    r"""|<title\b[^<>]{0,100}>(?:[^<]{0,300}?\s)?v?(\d[\w.]{0,30})\s+documentation"""
    r"""|<title\b[^<>]{0,100}>[^<]{0,300}?\bdocumentation\s+\(?v?(\d[\w.]{0,30})""",
    re.IGNORECASE,
)
"""The version that Docusaurus or Sphinx writes: `<title>Lamp 3.1 documentation</title>`; parsing would be slower."""
_NUMBER = re.compile(r"\d+(?:[._][0-9a-z]+)*(?:[-+][0-9a-z.]{1,20})?(?!\w)", re.IGNORECASE)
"""The version in a name: `3_1` in `release-3_1 (old)`."""
_SIBLING = re.compile(r"(?:(?:en|docs?|documentation)/)*([^/]{1,60})/")
"""A folder that may be a version, such as `3.1/` or `en/latest/`."""

Kind = Literal["manifest", "version", "latest"]


class DocumentedVersion(NamedTuple):
    """A version of a site.

    Attributes:
        url: Prefix of its pages.
        name: The version of the software that it documents; empty if that is unknown.
        kind: `latest` if it is not known to document the wanted version or its series.
        exact: Whether it documents the wanted version itself.
        page: URL of one of its pages; there may be none at `url`.
    """

    url: str
    name: str
    kind: Kind
    exact: bool
    page: str


class ListedVersion(NamedTuple):
    """A version in a list of a site, with its names and a page of it."""

    names: tuple[str, ...]
    url: str
    page: str


class _Entry(msgspec.Struct):
    """A version in the JSON of mike (version, title, aliases) or of PyData's theme (name, version, url)."""

    version: str | None = None
    title: str | None = None
    name: str | None = None
    url: str | None = None
    aliases: tuple[str, ...] = ()


async def find_version(session: Session, start: str, version: str) -> DocumentedVersion:
    """Return the version of a site that documents a release, or else its latest one.

    At most 13 requests are sent, not counting redirects and robots.txt.

    Args:
        session: Network access.
        start: URL of the site, of a page of it, or one that contains `{version}`.
        version: A version such as `3.1.4`, or a name such as `next`.

    Raises:
        FetchError: The site cannot be fetched, or a list that may name the version is unavailable.
    """
    return await _Search(session, version).run(*start.partition(PLACEHOLDER))


def locate_version(page: str) -> tuple[ListedVersion, str]:
    """Return the version of a page by its URL, and the URL of the folder that contains the versions of its site."""
    top = url_origin(page) + "/" if page.startswith("http") else scope_url(page)
    for folder in reversed(find_variant_folders(page, top)):
        if folder.option == "version":
            return ListedVersion((folder.name,), folder.url, page), folder.parent
    url = scope_url(page)
    return ListedVersion((), url, page), url


@dataclass(slots=True)
class _Search:
    session: Session
    version: str
    asked: set[str] = field(default_factory=set)
    listed: list[ListedVersion] = field(default_factory=list)
    source: Literal["", "manifest", "inventory", "page"] = ""
    """Where the pages around the start page name their version."""
    unavailable: str = ""
    """Why a request failed whose answer may name the version."""

    async def run(self, start: str, placeholder: str, rest: str) -> DocumentedVersion:
        response = await self.session.follow_redirects(start)
        target = response.url
        own, base = locate_version(target)
        if not response.ok:
            own = own._replace(page=own.url)
        latest = await self._check(own)
        pattern = start + placeholder + rest if placeholder else ""
        if not placeholder and not (latest and latest.exact):
            self.listed += await self._read_lists(response, base)
            if all(version.url == own.url for version in self.listed):
                pattern = f"{base}{PLACEHOLDER}/"
        candidates = _guess(pattern, self.version) if pattern else self._select(latest)
        # A host may answer any URL.
        answers_all = pattern and await self._get(pattern.replace(PLACEHOLDER, _NO_VERSION), ACCEPT_HTML)
        for candidate in candidates:
            documented = await self._check(candidate, must_name=bool(answers_all))
            if documented and documented.kind != "latest":
                return documented
        if latest is None or latest.kind == "latest":
            latest = await self._find_latest(latest, own.names)
        if latest is None:
            raise FetchError(f"{target}: {response.problem}")
        return latest

    def _select(self, latest: DocumentedVersion | None) -> list[ListedVersion]:
        """Return the listed versions that match better than that of the start page, best first."""
        least = self._rate(latest.name) if latest else 0
        ranks: dict[ListedVersion, tuple[int, int]] = {}
        for version in self.listed:
            name = max(version.names, key=self._rate)
            if self._rate(name) > least:
                ranks[version] = self._rate(name), len(split_numbers(name))
        return sorted(ranks, key=ranks.__getitem__, reverse=True)[:_MAX_CANDIDATES]

    async def _find_latest(self, latest: DocumentedVersion | None, names: tuple[str, ...]) -> DocumentedVersion | None:
        """Return the version `stable` if the site has one, or else that of the start page."""
        if self.unavailable:
            raise UnavailableError(self.unavailable)
        for version in self.listed:
            if "stable" in version.names and "stable" not in names:
                return await self._check(version) or latest
            if latest and not latest.name and not set(names).isdisjoint(version.names):
                cleaned = filter(None, map(_clean, version.names))
                latest = latest._replace(name=next(cleaned, ""))
        return latest

    def _rate(self, name: str) -> int:
        return match_version(name, self.version)

    async def _get(self, url: str, accept: str = ACCEPT_ANY, cap: int | None = None) -> Response | None:
        """Return a successful response within the limit of requests."""
        if len(self.asked) >= _MAX_REQUESTS and url not in self.asked:
            return None
        self.asked.add(url)
        try:
            response = await self.session.get(url, accept, probe=accept == ACCEPT_ANY, cap=cap)
        except UnavailableError as error:
            self.unavailable = str(error)
            return None
        except FetchError:
            return None
        if response.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            self.unavailable = f"{url}: {response.problem}"
        return response if response.ok else None

    async def _check(self, version: ListedVersion, *, must_name: bool = False) -> DocumentedVersion | None:
        """Return a version unless its pages are missing or document another one than it is named after.

        Args:
            version: The version.
            must_name: Its pages must name the version.
        """
        response = await self._get(version.page, ACCEPT_HTML)
        if response is None or not f"{response.url}/".startswith(version.url):
            return None
        own, kind = await self._read_version(version.url, response)
        own_rate = self._rate(own or "")
        name = max(version.names, key=self._rate, default="")
        rate = self._rate(name)
        if must_name and not own_rate:
            return None
        documented = self._choose_version(name, own)
        if documented is None:
            return None
        is_wanted = bool(rate or own_rate)
        if documented and not self._rate(documented):
            # The series of a major version may contain another minor version than the wanted one.
            is_wanted = is_wanted and split_numbers(documented)[:2] == split_numbers(self.version)[:2]
        is_exact = SAME_VERSION in (rate, own_rate)
        return DocumentedVersion(version.url, documented, kind if is_wanted else "latest", is_exact, version.page)

    def _choose_version(self, name: str, own: str | None) -> str | None:
        """Return the version that pages document by the name of their folder and their own, None if they contradict."""
        rate = self._rate(name)
        own_rate = self._rate(own or "")
        named = _clean(name)
        if rate and own is None:
            return None
        if not own or rate > own_rate > 0:
            return named
        if not rate or not named or own_rate or match_version(named, own):
            return own
        # The sources of a release may still name an earlier one.
        is_earlier = split_numbers(own) < split_numbers(named)
        return named if rate == SAME_VERSION and is_earlier else None

    async def _read_version(self, url: str, response: Response) -> tuple[str | None, Kind]:
        """Return the version that pages name as their own, in the manifest, the inventory or a page.

        It is None if they have no inventory, but the start page has one.
        """
        if self.source in ("", "manifest") and (site := await self._read_manifest(url)):
            return _clean(site.version or ""), "manifest"
        if self.source in ("", "inventory"):
            inventory = await self._get(url + "objects.inv")
            line = _INVENTORY.match(inventory.body) if inventory else None
            if line is None and self.source:
                return None, "version"
            if line and (version := _clean(line[1].decode("utf-8", "replace"))) not in ("", "0.0.0"):
                self.source = "inventory"
                return version, "version"
        self.source = self.source or "page"
        match = _OWN_VERSION.search(read_html(response)[:_MAX_HEAD_CHARS])
        version = _clean(match[match.lastindex or 0]) if match else ""
        return version, "version"

    async def _read_manifest(self, url: str) -> SiteEntry | None:
        """Return the site in a manifest, and add the versions that it names to the listed ones."""
        manifest = await self._get(url + MANIFEST_PATH, cap=MAX_MANIFEST_BYTES)
        try:
            site = load_manifest(manifest.body if manifest else b"", where=url).site
        except ManifestError:
            return None
        self.source = "manifest"
        for variant in site.alternates:
            home = urljoin(url + MANIFEST_PATH, variant.manifest).removesuffix(MANIFEST_PATH)
            is_same = variant.language in (None, site.language) and url_origin(home) == url_origin(url)
            if variant.version and is_same:
                self.listed.append(ListedVersion((variant.version,), home, home))
        return site

    async def _read_lists(self, response: Response, base: str) -> list[ListedVersion]:
        """Return the versions next to that of the start page."""
        links = list(parse_page(response, base).all_links)
        urls = [base + "versions.json"]
        if switcher := _SWITCHER.search(read_html(response)):
            urls.append(canonical_url(switcher[1], response.url) or "")
        versions: list[ListedVersion] = []
        for url in filter(None, urls):
            versions += _parse_list(await self._get(url), base)
        if sitemap := await self._get(urljoin(base, "/sitemap.xml"), cap=MAX_SITEMAP_BYTES):
            with suppress(SitemapError, ValueError):
                paths = {urlsplit(url).path for url in parse_sitemap(sitemap.body)[0]}  # it may name another host
                links += [urljoin(base, path) for path in paths]
        return versions + _find_siblings(links, base, self.version)


def _clean(name: str) -> str:
    """Return the version in a name, such as `3.1` for `release-3_1 (old)`; empty if it has other words."""
    match = _NUMBER.search(name[:_MAX_NAME_CHARS])
    return plain_version(match[0].replace("_", ".")) if match else ""


def _parse_list(response: Response | None, base: str) -> Iterator[ListedVersion]:
    """Yield the versions in a JSON file."""
    try:
        entries = decode_json(response.body, list[_Entry]) if response else []
    except ValueError:
        return
    for entry in entries[:_MAX_ENTRIES]:
        given = [entry.version, entry.title, entry.name, *entry.aliases[:_MAX_ALIASES]]
        names = tuple(filter(None, given))
        url = canonical_url(entry.url or f"{entry.version}/", base)
        if names and url and url_origin(url) == url_origin(base):
            yield ListedVersion(names, scope_url(url), url)


def _find_siblings(links: Iterable[str], base: str, version: str) -> list[ListedVersion]:
    """Return the folders in links that are named after a version, directly in `base` or in its usual subfolders."""
    siblings: dict[str, ListedVersion] = {}
    for link in sorted(links, key=lambda link: (link.count("/"), link)):
        match = _SIBLING.match(link, len(base)) if link.startswith(base) else None
        if match and (rank_version(match[1])[0] or match_version(match[1], version)):
            url = base + match[0]
            siblings.setdefault(url, ListedVersion((match[1],), url, link))
    return list(siblings.values())


def _guess(pattern: str, version: str) -> Iterator[ListedVersion]:
    """Yield versions at the usual names of a version."""
    release = _clean(version).partition("+")[0]
    major, *minor = release.split(".")
    series = ".".join([major, *minor[:1]])
    names = [version]
    if release:
        names = [release, f"v{release}", series, f"v{series}", f"{series}.x", f"{major}.x"]
    for name in dict.fromkeys(names):
        url = pattern.replace(PLACEHOLDER, name)
        yield ListedVersion((name,), url, url)
