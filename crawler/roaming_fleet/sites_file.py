"""The file of sites to crawl: one URL or folder per line, optionally followed by a name.

# documentation that our teams use
https://docs.astral.sh/ruff/ ruff
https://docs.example.com/guide/
/srv/built/handbook handbook
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from mkdocs_roaming.errors import UsageError
from roaming_crawler.files import parse_folder_site
from roaming_crawler.scope import canonical_url
from roaming_fleet.records import SITE_KEY


@dataclass(frozen=True, slots=True)
class SiteSpec:
    """A site to crawl: its URL or folder, and its key in the store."""

    url: str
    key: str


def read_sites_file(file: Path) -> tuple[SiteSpec, ...]:
    """Read a file of sites.

    Raises:
        UsageError: A line is invalid or a duplicate; the message contains its number.
    """
    try:
        lines = file.read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    found: list[SiteSpec] = []
    lines_by_url: dict[str, int] = {}
    lines_by_key: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        where = f"{file}:{number}"
        words = _split_line(line, where)
        if not words:
            continue
        site = _parse_site(words, where)
        if site.url in lines_by_url:
            raise UsageError(f"{where}: {site.url} is listed in line {lines_by_url[site.url]} already; remove one")
        if site.key in lines_by_key:
            raise UsageError(
                f"{where}: the name {site.key} is used in line {lines_by_key[site.key]} already; give another name"
            )
        lines_by_url[site.url] = lines_by_key[site.key] = number
        found.append(site)
    if not found:
        raise UsageError(f"{file}: lists no sites; give one URL per line")
    return tuple(found)


def group_by_host(sites: Iterable[SiteSpec], homes: Mapping[str, str] = {}) -> tuple[tuple[SiteSpec, ...], ...]:
    """Group sites that share a host, because a host is crawled for one site at a time.

    Args:
        sites: The sites.
        homes: URL to which a site's URL redirected in its last crawl, by key; it may be on another host.
    """
    parents: dict[str, str] = {}  # a union-find forest of hosts

    def find(host: str) -> str:
        while parents.setdefault(host, host) != host:
            parents[host] = host = parents[parents[host]]
        return host

    sites = list(sites)
    for site in sites:
        home = homes.get(site.key, "")
        if home.startswith(("http://", "https://")):
            parents[find(_host(home))] = find(_host(site.url))
    groups: dict[str, list[SiteSpec]] = {}
    for site in sites:
        groups.setdefault(find(_host(site.url)), []).append(site)
    return tuple(map(tuple, groups.values()))


def _host(url: str) -> str:
    """Return host and port without `www.`; for a folder, its path."""
    if not url.startswith(("http://", "https://")):
        return url
    parts = urlsplit(canonical_url(url) or url)
    return parts.netloc.removeprefix("www.")


def _split_line(line: str, where: str) -> list[str]:
    line = re.sub(r"(^|\s)#.*$", "", line)
    try:
        return shlex.split(line)
    except ValueError as error:
        raise UsageError(f"{where}: {str(error).lower()}; put a path with spaces in quotes") from None


def _parse_site(words: Sequence[str], where: str) -> SiteSpec:
    if len(words) > 2:
        raise UsageError(f"{where}: {len(words)} words; give a URL, and optionally a name")
    target = words[0]
    if re.match(r"([\w+.-]+:)?//[^/?#]*@", target):
        raise UsageError(f"{where}: contains a password; sites with a login are not crawled")
    if re.match(r"https?://", target, re.IGNORECASE):
        url = canonical_url(target)
        if url is None:
            raise UsageError(f"{where}: {target}: not an http(s) URL")
        parts = urlsplit(url)
        key = parts.netloc.removeprefix("www.") + parts.path
    else:
        try:
            local = parse_folder_site(target)
        except UsageError as error:
            raise UsageError(f"{where}: {error}") from None
        assert local is not None
        url, key = str(local.folder / local.start.removeprefix(local.url)), local.folder.name
    name = words[1] if len(words) > 1 else re.sub(r"[^a-z0-9._]+", "-", key.lower()).strip("-._")[:_MAX_KEY_CHARS]
    if not re.fullmatch(SITE_KEY, name):
        raise UsageError(
            f"{where}: invalid name {name!r}; give letters a-z, digits, dots and dashes, {_MAX_KEY_CHARS} at most"
        )
    return SiteSpec(url, name)


_MAX_KEY_CHARS = 100
