"""Bundles: the documentation of a Python package, as a folder of its package data.

A bundle is a published site: Markdown, manifest, llms.txt with relative links, and outline; and the licence of the
documentation. It is small, so the least important pages of a large site are left out.
"""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Callable, Mapping, Sequence, Set
from pathlib import Path
from secrets import token_hex

import msgspec
from msgspec.structs import replace

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.files import write_site_file
from mkdocs_roaming.manifest.io import MANIFEST_PATH, dump_manifest
from mkdocs_roaming.manifest.lookup import SectionIndex, keep_pages
from mkdocs_roaming.manifest.models import OUTLINE_PATH, Manifest, PageEntry
from mkdocs_roaming.manifest.outline import render_outline
from mkdocs_roaming.manifest.page_kinds import rank_needs
from mkdocs_roaming.publish.llms_txt import build_llms_txt, count_incoming_links

MAX_BYTES = 500_000
"""Default maximum size of a bundle in a wheel: of its compressed files with their entries in the archive."""

BUNDLE_PATH = "roaming/bundle.json"
"""The file that marks a folder as a bundle."""

_ENTRY_BYTES = 100  # of a file in a zip archive besides its data and, twice, its path
_MAX_ATTEMPTS = 4


class BundleReport(msgspec.Struct, frozen=True):
    """What a bundle contains.

    Attributes:
        pages: Number of pages.
        bytes: Size of all files.
        compressed: Their size in a wheel.
        left_out: Paths of the pages that there was no room for.
    """

    pages: int
    bytes: int
    compressed: int
    left_out: tuple[str, ...]


def write_bundle(
    manifest: Manifest,
    read_page: Callable[[PageEntry], bytes],
    folder: Path,
    licence: Path,
    *,
    max_bytes: int = MAX_BYTES,
) -> BundleReport:
    """Write a bundle. A bundle that is in the folder already is replaced when the new one is complete.

    Args:
        manifest: The manifest of the site.
        read_page: Returns the Markdown file of a page.
        folder: The folder of the bundle.
        licence: The licence of the documentation.
        max_bytes: Maximum compressed size. The most important pages that fit are chosen; see `rank_pages`.

    Raises:
        UsageError: The folder contains something else, the licence cannot be read, or there is room for no page.
    """
    if folder.exists() and not (folder / BUNDLE_PATH).is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder}: contains something else than a bundle; name a new or an empty folder")
    try:
        texts = {licence.name: licence.read_bytes()}
    except OSError as error:
        raise UsageError(f"{licence}: the licence cannot be read ({error.strerror}); name its file") from None
    pages = {page.path: (page.markdown, read_page(page)) for page in manifest.pages}
    files, kept = _choose_files(manifest, dict(pages.values()), texts, max_bytes)
    files |= {markdown: data for path, (markdown, data) in pages.items() if path in kept}
    _replace_folder(folder, files)
    left_out = tuple(path for path in pages if path not in kept)
    return BundleReport(len(kept), sum(map(len, files.values())), _compressed_size(files), left_out)


def _choose_files(
    manifest: Manifest, markdown: Mapping[str, bytes], texts: dict[str, bytes], max_bytes: int
) -> tuple[dict[str, bytes], Set[str]]:
    """Return all files but the pages, and the paths of the pages that fit.

    The lists contain a line or more for each section, so their size is estimated by sections before it is computed.
    """
    ranked = rank_pages(manifest)
    sizes = {page.path: _compressed_size({page.markdown: markdown[page.markdown]}) for page in ranked}
    lists = _compressed_size(_make_files(manifest, sizes.keys(), *texts))
    share = lists / max(1, sum(len(page.sections) for page in ranked))
    files, kept, attempts = texts, set[str](), 0
    room, spare = 0.0, max_bytes - _compressed_size(texts)
    while not kept or spare < 0 or (attempts < _MAX_ATTEMPTS and len(kept) < len(ranked)):
        room += spare
        attempts, kept, left = attempts + 1, set(), room
        for page in ranked:
            if (size := sizes[page.path] + share * len(page.sections)) <= left:
                kept.add(page.path)
                left -= size
        if not kept:
            raise UsageError(f"no page fits into a bundle of {max_bytes} bytes; allow more")
        files = texts | _make_files(manifest, kept, *texts)
        spare = max_bytes - _compressed_size(files) - sum(map(sizes.__getitem__, kept))
    return files, kept


def _compressed_size(files: Mapping[str, bytes]) -> int:
    return sum(len(zlib.compress(data)) + 2 * len(path) + _ENTRY_BYTES for path, data in files.items())


def rank_pages(manifest: Manifest) -> Sequence[PageEntry]:
    """Return the pages in order of importance.

    They are ordered by their need, then those with questions or descriptions, then by the number of pages that link to
    them.
    """
    needs, incoming = rank_needs(manifest), count_incoming_links(manifest)

    def rank(page: PageEntry) -> tuple[int, bool, int]:
        is_described = page.questions or any(section.asks or section.about for section in page.sections)
        return needs[page.path], not is_described, -incoming[page.path]

    return sorted(manifest.pages, key=rank)


def _make_files(manifest: Manifest, kept: Set[str], licence: str) -> dict[str, bytes]:
    """Return the lists of the pages that are kept."""
    left_out = [page.path for page in manifest.pages if page.path not in kept]
    site = manifest.site
    manifest = keep_pages(manifest, kept)
    pages = tuple(replace(page, full=None) for page in manifest.pages)
    manifest = replace(
        manifest, site=replace(site, alternates=()), pages=pages, rules=(), vectors=None, llms_txt=None, digest=""
    )
    listing = build_llms_txt(replace(manifest, site=replace(site, url="")), section_files=False)
    entry = {"url": site.url, "version": site.version, "licence": licence, "left_out": left_out}
    return {
        MANIFEST_PATH: dump_manifest(manifest).encode("utf-8", "surrogatepass"),
        OUTLINE_PATH: render_outline(SectionIndex(manifest)).encode("utf-8", "surrogatepass"),
        BUNDLE_PATH: msgspec.json.format(msgspec.json.encode(entry)) + b"\n",
        **{path: text.encode("utf-8", "surrogatepass") for path, text in listing.items()},
    }


def _replace_folder(folder: Path, files: dict[str, bytes]) -> None:
    """Write files into a new folder, which then takes the place of the old one."""
    folder = folder.resolve()
    folder.parent.mkdir(parents=True, exist_ok=True)
    new, old = (folder.parent / f".roaming-{token_hex(6)}" for _ in range(2))
    try:
        for path, data in files.items():
            write_site_file(new, path, data)
        if folder.exists():
            folder.rename(old)
        new.rename(folder)
        shutil.rmtree(old, ignore_errors=True)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
