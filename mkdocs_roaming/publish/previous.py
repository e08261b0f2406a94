"""The manifest that a site published last, from a file or its address, with the texts it speaks of."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote, urljoin

from mkdocs_roaming.aliases import Previous
from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.manifest import PATH, PageEntry, SectionEntry, bones_of, load
from mkdocs_roaming.publish.files import inside
from mkdocs_roaming.section import slice_digest

_SECONDS = 20
_MOST = 256 * 2**20


def read_previous(where: str, base: Path, warn: Callable[[str], None]) -> Previous | None:
    """Give the manifest at a path (below `base`) or an http(s) address; None, with a warning, where it can't be had.

    A folder or a site's address stands for the manifest inside it. Fetched with the standard library: a build
    should not have to import an HTTP client for one file.
    """
    try:
        if where.startswith(("http://", "https://")):
            return _fetched(where)
        return _read(base / where)
    except (RoamingError, OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        warn(f"previous: {where}: {reason}; ids of sections that were renamed are not carried on")
        return None


def _read(path: Path) -> Previous:
    file = path / PATH if path.is_dir() else path
    root = file.parent.parent
    manifest = bones_of(file)

    @lru_cache(maxsize=64)
    def markdown(at: str) -> bytes:
        try:
            return inside(root, at).read_bytes()
        except (OSError, RoamingError):
            return b""

    return Previous(manifest, lambda page, section: _slice(markdown(page.markdown), section))


def _fetched(url: str) -> Previous:
    address = url if url.endswith(".json") else urljoin(url.rstrip("/") + "/", PATH)
    manifest = load(_get(address), where=address)
    root = urljoin(address, "../")

    @lru_cache(maxsize=64)
    def markdown(at: str) -> bytes:
        try:
            return _get(urljoin(root, quote(at.lstrip("/"))))
        except OSError:
            return b""

    def text(page: PageEntry, section: SectionEntry) -> str | None:
        return _slice(markdown(page.markdown), section)

    return Previous(manifest, text)


def _get(url: str) -> bytes:
    import urllib.request  # most builds have no use for it

    with urllib.request.urlopen(url, timeout=_SECONDS) as answer:
        data: bytes = answer.read(_MOST + 1)
    if len(data) > _MOST:
        raise OSError(0, f"larger than {_MOST // 2**20} MiB")
    return data


def _slice(data: bytes, section: SectionEntry) -> str | None:
    """Give the section's text, None where the file is no longer the one that the manifest speaks of."""
    found = data[section.start : section.end]
    return found.decode("utf-8", "replace") if slice_digest(found) == section.digest else None
