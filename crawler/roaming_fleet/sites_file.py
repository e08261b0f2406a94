"""A file that lists sites to crawl: an address or a folder a line, and a name to keep it by where one is wanted.

# what our teams build on
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

from roaming_crawler.files import parse_folder_site
from roaming_crawler.scope import canonical_url

from mkdocs_roaming.errors import UsageError


@dataclass(frozen=True, slots=True)
class SiteSpec:
    """A site to crawl: its address, or its folder's path, and the name that it is kept by."""

    url: str
    key: str


def read_sites_file(file: Path) -> tuple[SiteSpec, ...]:
    """Read a file of sites. Raises UsageError, with the line, for what is no site or is there twice."""
    try:
        lines = file.read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    found: list[SiteSpec] = []
    urls: dict[str, int] = {}
    keys: dict[str, int] = {}
    for at, line in enumerate(lines, 1):
        words = _words(line, f"{file}:{at}")
        if not words:
            continue
        listed = _listed(words, f"{file}:{at}")
        if listed.url in urls:
            raise UsageError(f"{file}:{at}: {listed.url} stands in line {urls[listed.url]}, too; remove one")
        if listed.key in keys:
            raise UsageError(
                f"{file}:{at}: would be kept as {listed.key}, as line {keys[listed.key]} is; give it another name"
            )
        urls[listed.url] = keys[listed.key] = at
        found.append(listed)
    if not found:
        raise UsageError(f"{file}: lists no site; give an address a line")
    return tuple(found)


def group_by_host(sites: Iterable[SiteSpec], homes: Mapping[str, str] = {}) -> tuple[tuple[SiteSpec, ...], ...]:
    """Give sites that share a host together, in the order of the first of each: a host is asked for one at a time.

    `homes` tells by their names where sites were found to live, which may be on another host than is listed.
    """
    above: dict[str, str] = {}

    def first(host: str) -> str:
        while above.setdefault(host, host) != host:
            above[host] = host = above[above[host]]
        return host

    found = list(sites)
    for site in found:
        home = homes.get(site.key, "")
        if home.startswith(("http://", "https://")):
            above[first(_host(home))] = first(_host(site.url))
    groups: dict[str, list[SiteSpec]] = {}
    for site in found:
        groups.setdefault(first(_host(site.url)), []).append(site)
    return tuple(map(tuple, groups.values()))


def _host(url: str) -> str:
    """Give who is asked: `www.` and the scheme make no other host, a port does."""
    if not url.startswith(("http://", "https://")):
        return url
    parts = urlsplit(canonical_url(url) or url)
    return parts.netloc.removeprefix("www.")


def _words(line: str, where: str) -> list[str]:
    line = re.sub(r"(^|\s)#.*$", "", line)
    try:
        return shlex.split(line)
    except ValueError as error:
        raise UsageError(f"{where}: {str(error).lower()}; a path with spaces stands in quotes") from None


def _listed(words: Sequence[str], where: str) -> SiteSpec:
    if len(words) > 2:
        raise UsageError(f"{where}: {len(words)} words; give an address, and a name if you like")
    given = words[0]
    if re.match(r"([\w+.-]+:)?//[^/?#]*@", given):
        raise UsageError(f"{where}: holds a password; sites behind a login are not crawled")
    if re.match(r"https?://", given, re.IGNORECASE):
        url = canonical_url(given)
        if url is None:
            raise UsageError(f"{where}: {given}: not an http(s) address")
        parts = urlsplit(url)
        key = parts.netloc.removeprefix("www.") + parts.path
    else:
        try:
            local = parse_folder_site(given)
        except UsageError as error:
            raise UsageError(f"{where}: {error}") from None
        assert local is not None
        url, key = str(local.folder / local.start.removeprefix(local.url)), local.folder.name
    name = words[1] if len(words) > 1 else re.sub(r"[^a-z0-9._]+", "-", key.lower()).strip("-._")[:_LONGEST]
    if not re.fullmatch(SITE_KEY, name):
        raise UsageError(f"{where}: {name!r} is no name; give letters a–z, digits, dots and dashes, 100 at most")
    return SiteSpec(url, name)


SITE_KEY = r"[a-z0-9][a-z0-9._-]{0,99}"
_LONGEST = 100
