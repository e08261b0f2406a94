"""One file from the web, with the standard library: a build should not have to import an HTTP client for it."""

from __future__ import annotations

import urllib.request
from collections.abc import Callable
from functools import lru_cache
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from urllib.parse import quote, urljoin
from urllib.request import Request

from mkdocs_roaming._http import ConnectionTracker, run_with_timeout
from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.manifest.builder import PreviousSite
from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest, load_skeleton
from mkdocs_roaming.manifest.models import PageEntry, SectionEntry
from mkdocs_roaming.manifest.sections import slice_digest
from mkdocs_roaming.publish.files import resolve_inside


def fetch_file(url: str, cap: int, *, silence: float, seconds: float) -> bytes:
    """Give what is at an address, at most `cap` bytes; raises OSError, TimeoutError after so many seconds in all."""
    connections = ConnectionTracker()

    def ask() -> bytes:
        opener = urllib.request.build_opener(_Plain(connections), _Secure(connections))
        with opener.open(url, timeout=silence) as answer:
            data: bytes = answer.read(cap + 1)
        return data

    try:
        data = run_with_timeout(ask, seconds, connections.shutdown)
    except TimeoutError as error:
        raise TimeoutError(str(error) or f"no complete answer within {seconds:g} seconds, try again later") from None
    except HTTPException as error:
        raise OSError(f"no answer by HTTP ({type(error).__name__}: {' '.join(str(error).split())[:200]})") from None
    if len(data) > cap:
        raise OSError(0, f"larger than {cap // 2**20} MiB")
    return data


class _Plain(urllib.request.HTTPHandler):
    def __init__(self, connections: ConnectionTracker) -> None:
        super().__init__()
        self._connections = connections

    def http_open(self, req: Request) -> HTTPResponse:
        return self.do_open(_noting(HTTPConnection, self._connections), req)


class _Secure(urllib.request.HTTPSHandler):
    def __init__(self, connections: ConnectionTracker) -> None:
        super().__init__()
        self._connections = connections

    def https_open(self, req: Request) -> HTTPResponse:
        return self.do_open(_noting(HTTPSConnection, self._connections), req)


def _noting(kind: type[HTTPConnection], connections: ConnectionTracker) -> type[HTTPConnection]:
    """Give a connection of a kind that tells its socket: a response that has only begun tells nobody."""

    class Noting(kind):  # type: ignore[misc, valid-type]  # a base that is not known before
        def connect(self) -> None:
            super().connect()
            connections.add(self.sock)

    return Noting


# MERGED mkdocs_roaming.publish.previous:
# The manifest that a site published last, from a file or its address, with the texts it speaks of.


FETCH_SECONDS = 120.0


"""The longest that one answer may take to arrive; a sixth of it is the longest silence."""


_MOST = 256 * 2**20


def read_previous(
    where: str, base: Path, warn: Callable[[str], None], *, seconds: float = FETCH_SECONDS
) -> PreviousSite | None:
    """Give the manifest at a path (below `base`) or an http(s) address; None, with a warning, where it can't be had.

    A folder or a site's address stands for the manifest inside it.
    """
    try:
        if where.startswith(("http://", "https://")):
            return _fetched(where, seconds)
        return _read(base / where)
    except (RoamingError, OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        warn(f"previous: {where}: {reason}; ids of sections that were renamed are not carried on")
        return None


def _read(path: Path) -> PreviousSite:
    file = path / MANIFEST_PATH if path.is_dir() else path
    root = file.parent.parent
    manifest = load_skeleton(file)

    @lru_cache(maxsize=64)
    def markdown(at: str) -> bytes:
        try:
            return resolve_inside(root, at).read_bytes()
        except (OSError, RoamingError):
            return b""

    return PreviousSite(manifest, lambda page, section: _slice(markdown(page.markdown), section))


def _fetched(url: str, seconds: float) -> PreviousSite:

    def get(address: str) -> bytes:
        return fetch_file(address, _MOST, silence=seconds / 6, seconds=seconds)

    address = url if url.endswith(".json") else urljoin(url.rstrip("/") + "/", MANIFEST_PATH)
    manifest = load_manifest(get(address), where=address)
    root = urljoin(address, "../")
    answers = True

    @lru_cache(maxsize=64)
    def markdown(at: str) -> bytes:
        nonlocal answers
        try:
            return get(urljoin(root, quote(at.lstrip("/")))) if answers else b""
        except OSError as error:
            answers = not isinstance(error, TimeoutError)  # a build waits for one page, not for each of a thousand
            return b""

    def text(page: PageEntry, section: SectionEntry) -> str | None:
        return _slice(markdown(page.markdown), section)

    return PreviousSite(manifest, text)


def _slice(data: bytes, section: SectionEntry) -> str | None:
    """Give the section's text, None where the file is no longer the one that the manifest speaks of."""
    found = data[section.start : section.end]
    return found.decode("utf-8", "replace") if slice_digest(found) == section.digest else None
