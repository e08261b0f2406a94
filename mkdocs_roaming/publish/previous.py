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

SECONDS = 120.0
"""The longest that one answer may take to arrive; a sixth of it is the longest silence."""
_MOST = 256 * 2**20


def read_previous(where: str, base: Path, warn: Callable[[str], None], *, seconds: float = SECONDS) -> Previous | None:
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


def _fetched(url: str, seconds: float) -> Previous:
    from mkdocs_roaming.publish.fetching import fetched  # most builds have no use for it

    def get(address: str) -> bytes:
        return fetched(address, _MOST, silence=seconds / 6, seconds=seconds)

    address = url if url.endswith(".json") else urljoin(url.rstrip("/") + "/", PATH)
    manifest = load(get(address), where=address)
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

    return Previous(manifest, text)


def _slice(data: bytes, section: SectionEntry) -> str | None:
    """Give the section's text, None where the file is no longer the one that the manifest speaks of."""
    found = data[section.start : section.end]
    return found.decode("utf-8", "replace") if slice_digest(found) == section.digest else None
