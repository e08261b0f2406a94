"""The site as it was published last, read from a folder, a file or a URL."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path
from urllib.parse import quote, urljoin

from mkdocs_roaming._http import FETCH_TIMEOUT, HttpClient, UnavailableError
from mkdocs_roaming.errors import LibraryError, RoamingError
from mkdocs_roaming.files import read_inside
from mkdocs_roaming.manifest.aliases import PreviousSite
from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest, load_skeleton

_MAX_BYTES = 256 * 2**20
_CACHED_PAGES = 64
_UNPUBLISHED = (HTTPStatus.NOT_FOUND, HTTPStatus.GONE)
_TEMPORARY = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)


def read_previous(
    where: str,
    base: Path,
    warn: Callable[[str], None],
    *,
    inform: Callable[[str], None] | None = None,
    seconds: float = FETCH_TIMEOUT,
) -> PreviousSite | None:
    """Read the manifest that a site published last.

    Args:
        where: The manifest or the folder of the site: an http(s) URL, or a path relative to `base`.
        base: The folder for relative paths.
        warn: Receives one line if the manifest cannot be read.
        inform: Receives this line instead if the author can do nothing about it: the site is not published yet, or its
            server does not respond (default: `warn`).
        seconds: Time limit for one file.

    Returns:
        The site with its texts, or None if the manifest cannot be read.
    """
    try:
        if where.startswith(("http://", "https://")):
            return _fetch_site(where, seconds)
        return _read_site(base / where)
    except (RoamingError, OSError, ValueError) as error:
        reason = f"{where}: {error.strerror}" if isinstance(error, OSError) else error
        report = inform if inform and isinstance(error, UnavailableError) else warn
        report(f"previous: {reason}; old ids of renamed sections get no aliases")
        return None


def _read_site(path: Path) -> PreviousSite:
    file = path / MANIFEST_PATH if path.is_dir() else path
    root = file.parent.parent
    manifest = load_skeleton(file)

    @lru_cache(_CACHED_PAGES)
    def read_page(path: str) -> bytes:
        return read_inside(root, path) or b""

    return PreviousSite(manifest, lambda page, section: section.cut(read_page(page.markdown)))


def _fetch_site(url: str, seconds: float) -> PreviousSite:
    address = url if url.endswith(".json") else urljoin(url.rstrip("/") + "/", MANIFEST_PATH)
    client = HttpClient(address, seconds=seconds)
    response = client.get(address, _MAX_BYTES)
    if response.status in _UNPUBLISHED:
        raise UnavailableError(f"{address}: not published yet (HTTP status {response.status})")
    message = f"{address}: HTTP status {response.status}"
    if response.status in _TEMPORARY or response.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise UnavailableError(message)
    if response.status != HTTPStatus.OK:
        raise LibraryError(message)
    manifest = load_manifest(response.body, where=address)
    root = urljoin(address, "../")
    is_reachable = True

    @lru_cache(_CACHED_PAGES)
    def fetch_page(path: str) -> bytes:
        nonlocal is_reachable
        if not is_reachable:
            return b""
        try:
            return client.get(urljoin(root, quote(path.lstrip("/"))), _MAX_BYTES).body
        except LibraryError:
            is_reachable = False  # wait for one page, not for each of a thousand
            return b""

    return PreviousSite(manifest, lambda page, section: section.cut(fetch_page(page.markdown)))
