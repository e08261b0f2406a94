"""The site as it was published last, read from a folder, a file or a URL.

Builds import no HTTP client, so URLs are fetched with the standard library.
"""

from __future__ import annotations

import urllib.request
from collections.abc import Callable
from functools import lru_cache
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import quote, urljoin
from urllib.request import Request

from mkdocs_roaming._http import ConnectionTracker, run_with_timeout
from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.manifest.builder import PreviousSite
from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest, load_skeleton
from mkdocs_roaming.manifest.models import SectionEntry
from mkdocs_roaming.manifest.sections import slice_digest
from mkdocs_roaming.publish.files import resolve_inside

FETCH_SECONDS = 120.0
"""Time limit for one file. A sixth of it is the time limit for each read from the socket."""

_MAX_BYTES = 256 * 2**20


def read_previous(
    where: str, base: Path, warn: Callable[[str], None], *, seconds: float = FETCH_SECONDS
) -> PreviousSite | None:
    """Read the manifest that a site published last.

    Args:
        where: The manifest or the folder of the site: an http(s) URL, or a path relative to `base`.
        base: The folder for relative paths.
        warn: Receives one line if the manifest cannot be read.
        seconds: Time limit for one file.

    Returns:
        The site with its texts, or None if the manifest cannot be read.
    """
    try:
        return _fetch_site(where, seconds) if where.startswith(("http://", "https://")) else _read_site(base / where)
    except (RoamingError, OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        warn(f"previous: {where}: {reason}; old ids of renamed sections get no aliases")
        return None


def _read_site(path: Path) -> PreviousSite:
    file = path / MANIFEST_PATH if path.is_dir() else path
    root = file.parent.parent
    manifest = load_skeleton(file)

    @lru_cache(maxsize=64)
    def read_page(path: str) -> bytes:
        try:
            return resolve_inside(root, path).read_bytes()
        except (OSError, RoamingError):
            return b""

    return PreviousSite(manifest, lambda page, section: _slice(read_page(page.markdown), section))


def _fetch_site(url: str, seconds: float) -> PreviousSite:
    address = url if url.endswith(".json") else urljoin(url.rstrip("/") + "/", MANIFEST_PATH)
    manifest = load_manifest(_fetch(address, seconds), where=address)
    root = urljoin(address, "../")
    timed_out = False

    @lru_cache(maxsize=64)
    def fetch_page(path: str) -> bytes:
        nonlocal timed_out
        try:
            return b"" if timed_out else _fetch(urljoin(root, quote(path.lstrip("/"))), seconds)
        except OSError as error:
            timed_out = isinstance(error, TimeoutError)  # wait for one page, not for each of a thousand
            return b""

    return PreviousSite(manifest, lambda page, section: _slice(fetch_page(page.markdown), section))


def _slice(data: bytes, section: SectionEntry) -> str | None:
    """Return the text of a section, or None if the file is no longer the one that the manifest describes."""
    text = data[section.start : section.end]
    return text.decode("utf-8", "replace") if slice_digest(text) == section.digest else None


# HTTP


def _fetch(url: str, seconds: float) -> bytes:
    """Fetch a URL; raises OSError, or TimeoutError after the time limit."""
    connections = ConnectionTracker()

    def fetch() -> bytes:
        with urllib.request.build_opener(_TrackingHandler(connections)).open(url, timeout=seconds / 6) as response:
            data: bytes = response.read(_MAX_BYTES + 1)
        return data

    try:
        data = run_with_timeout(fetch, seconds, connections.shutdown)
    except TimeoutError as error:
        raise TimeoutError(str(error) or f"no complete response within {seconds:g} seconds, try again later") from None
    except HTTPException as error:
        raise OSError(f"invalid HTTP response ({type(error).__name__}: {' '.join(str(error).split())[:200]})") from None
    if len(data) > _MAX_BYTES:
        raise OSError(0, f"larger than {_MAX_BYTES // 2**20} MiB")
    return data


class _TrackingHandler(urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
    """Registers each socket when it connects, so that another thread can shut it down before a response is read."""

    def __init__(self, connections: ConnectionTracker) -> None:
        super().__init__()
        self._connections = connections

    def do_open(self, http_class: Any, req: Request, **options: Any) -> HTTPResponse:
        connections = self._connections

        class TrackedConnection(http_class):  # type: ignore[misc]  # the base class is a parameter
            def connect(self) -> None:
                super().connect()
                connections.add(self.sock)

        return super().do_open(TrackedConnection, req, **options)
