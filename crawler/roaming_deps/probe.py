"""The version of a package's documentation at one of its addresses, and the check that it is that of the package."""

from __future__ import annotations

import hashlib
from pathlib import Path
from urllib.parse import urljoin

from roaming_crawler.config import CrawlConfig
from roaming_crawler.fetch import Clock, FetchError, UnavailableError, WebFetcher
from roaming_crawler.parser import parse_page
from roaming_crawler.session import ACCEPT_HTML, Session
from roaming_crawler.state import CrawlRecord, CrawlState
from roaming_crawler.variants import match_version
from roaming_crawler.versions import DocumentedVersion, find_version, locate_version
from roaming_deps.addresses import (
    MAX_INVENTORY_CHARS,
    Address,
    Metadata,
    find_documentation_link,
    host_without_www,
    names_package,
)


class OtherSiteError(FetchError):
    """An address leads to a site that does not name the package."""


async def find_package_version(
    address: Address, metadata: Metadata, version: str, folder: Path, config: CrawlConfig
) -> DocumentedVersion:
    """Return the version of a package's documentation at an address.

    Args:
        address: The address.
        metadata: The package.
        version: Version in use; empty if it is unknown.
        folder: Folder for the responses, of which unchanged ones are not sent again.
        config: Configuration of the crawls.

    Raises:
        RoamingError: There is none, or it is not that of the package.
    """
    name = hashlib.sha256(address.url.encode("utf-8", "replace")).hexdigest()[:16]
    state = CrawlState(folder / name)
    state.path.mkdir(parents=True, exist_ok=True)
    state.start(CrawlRecord(address.url), resume=False)
    async with WebFetcher(config.politeness, private_urls=[address.url] if config.allow_private else []) as web:
        session = Session(state, web, config, Clock())
        start = await _find_start(session, address, metadata)
        documented = await find_version(session, start, version)
        if address.source != "settings" and not is_same_site(documented.url, address.url):
            await verify_site(session, documented, metadata)
        if session.first_failure:  # an answer of the last sync, which may name another version by now
            raise UnavailableError(session.first_failure)
    state.finish(CrawlRecord(address.url))
    return documented


async def _find_start(session: Session, address: Address, metadata: Metadata) -> str:
    """Return an address, or that of the documentation to which a home page without one links."""
    if address.source != "homepage" or (await session.get(urljoin(address.url, "objects.inv"), probe=True)).ok:
        return address.url
    response = await session.get(address.url, ACCEPT_HTML)
    page = parse_page(response, address.url)
    return find_documentation_link(page, response.url, metadata) or address.url


async def verify_site(session: Session, version: DocumentedVersion, metadata: Metadata) -> None:
    """Raise OtherSiteError if a site does not name the package."""
    response = await session.get(version.page, ACCEPT_HTML)
    page = parse_page(response, version.url)
    response = await session.get(version.url + "objects.inv", probe=True)
    inventory = response.body[:MAX_INVENTORY_CHARS].decode("utf-8", "replace") if response.ok else ""
    if not names_package(page, inventory, metadata):
        name = metadata.name
        url = version.url
        hint = f'if it is right: sites = {{ {name} = "{url}" }}'
        raise OtherSiteError(f"leads to {url}, which does not name {name}; {hint}")


def is_same_site(url: str, other: str) -> bool:
    """Return whether the hosts of two URLs are the same, or one is a subdomain of the other."""
    host = host_without_www(url)
    other_host = host_without_www(other)
    return host == other_host or host.endswith(f".{other_host}") or other_host.endswith(f".{host}")


def is_moving(version: DocumentedVersion) -> bool:
    """Return whether pages may change with a later release: their URL does not name exactly the version in use."""
    names = locate_version(version.url)[0].names
    return not version.exact or all(match_version(name, version.name) < _SAME for name in names)


_SAME = 3
