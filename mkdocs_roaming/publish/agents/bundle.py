"""Bundles: the documentation of a Python package, as a folder of its package data.

A bundle is a published site: Markdown, manifest, llms.txt with relative links, and outline; and the licence of the
documentation. It is small, so the least important pages of a large site are left out.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from msgspec.structs import replace

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.files import write_site_file
from mkdocs_roaming.manifest.io import BUNDLE_PATH, MANIFEST_PATH, LeftOutPage, dump_manifest
from mkdocs_roaming.manifest.lookup import SectionIndex, count_incoming_links, keep_pages
from mkdocs_roaming.manifest.models import LLMS_TXT, OUTLINE_PATH, Manifest, PageEntry, path_to_url
from mkdocs_roaming.manifest.outline import render_outline
from mkdocs_roaming.manifest.page_kinds import rank_needs
from mkdocs_roaming.publish.llms_txt import build_llms_txt, escape_link_text
from mkdocs_roaming.text.markdown import to_single_line, truncate_at_word

MAX_BYTES = 500_000
"""Default maximum size of a bundle in a wheel: of its compressed files with their entries in the archive."""

_ENTRY_BYTES = 100
"""Size of a file in a zip archive besides its data and, twice, its path."""
_LOW = 0.95
_MAX_NAMED = 1_000
"""Number of pages that are left out and named."""
_MAX_LISTED = 40
"""Number of them in llms.txt."""
_MAX_TITLE_CHARS = 300
_MAX_ALL_TITLE_CHARS = 60_000

_Files = dict[str, bytes]


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
    is_bundle = (folder / BUNDLE_PATH).is_file()
    is_empty = folder.is_dir() and not any(folder.iterdir())
    if folder.exists() and not is_bundle and not is_empty:
        raise UsageError(f"{folder}: contains something else than a bundle; name a new or an empty folder")
    try:
        texts = {licence.name: licence.read_bytes()}
    except OSError as error:
        raise UsageError(f"{licence}: the licence cannot be read ({error.strerror}); name its file") from None
    data = {page.markdown: read_page(page) for page in manifest.pages}
    files = _choose_files(manifest, data, texts, max_bytes)
    _replace_folder(folder, files)
    left_out = tuple(page.path for page in manifest.pages if page.markdown not in files)
    return BundleReport(
        pages=len(data) - len(left_out),
        bytes=sum(map(len, files.values())),
        compressed=_compressed_size(files),
        left_out=left_out,
    )


def _choose_files(manifest: Manifest, data: _Files, texts: _Files, max_bytes: int) -> _Files:
    """Return the files of the bundle, with the most important pages that fit.

    The lists have a line or more for each section: the share of a page is estimated by its sections. A low estimate
    leaves no room unused: the pages that it lets in are reduced until the files fit.
    """
    ranked = rank_pages(manifest)
    sizes = dict[str, float]()
    room = float(max_bytes)
    lists = _compressed_size(_make_files(manifest, ranked, data.keys(), texts))
    sections = sum(len(page.sections) for page in ranked)
    share = _LOW * lists / max(1, sections)
    for page in ranked:
        size = _compressed_size({page.markdown: data[page.markdown]})
        sizes[page.markdown] = size + share * len(page.sections)
    while kept := frozenset(_fill(room, sizes)):
        files = _make_files(manifest, ranked, kept, texts) | {path: data[path] for path in kept}
        excess = _compressed_size(files) - max_bytes
        if excess <= 0:
            return files
        room -= excess
    raise UsageError(f"no page fits into a bundle of {max_bytes} bytes; allow more")


def _fill(room: float, sizes: Mapping[str, float]) -> Iterator[str]:
    """Yield what fits, in order; a large one leaves its room to others."""
    for name, size in sizes.items():
        if size <= room:
            room -= size
            yield name


def _compressed_size(files: Mapping[str, bytes]) -> int:
    size = 0
    for path, data in files.items():
        size += len(zlib.compress(data)) + 2 * len(path) + _ENTRY_BYTES
    return size


def rank_pages(manifest: Manifest) -> Sequence[PageEntry]:
    """Return the pages in order of importance.

    They are ordered by their need, then those with questions or descriptions, then by the number of pages that link to
    them.
    """
    needs = rank_needs(manifest)
    incoming = count_incoming_links(manifest)

    def rank(page: PageEntry) -> tuple[int, bool, int]:
        is_described = bool(page.questions) or any(section.asks for section in page.sections)
        return needs[page.path], not is_described, -incoming[page.path]

    return sorted(manifest.pages, key=rank)


def _make_files(manifest: Manifest, ranked: Sequence[PageEntry], kept: Set[str], texts: _Files) -> _Files:
    """Return the lists of the pages that are kept, and those of the others in their order of importance."""
    site = manifest.site
    rest = [page for page in ranked if page.markdown not in kept]
    pages = tuple(replace(page, full=None) for page in manifest.pages)
    manifest = replace(
        manifest, site=replace(site, alternates=()), pages=pages, rules=(), vectors=None, llms_txt=None, digest=""
    )
    manifest = keep_pages(manifest, {page.path for page in pages if page.markdown in kept})
    left_out = []
    for page in rest[:_MAX_NAMED]:
        max_chars = min(_MAX_ALL_TITLE_CHARS // len(rest), _MAX_TITLE_CHARS)
        titles = truncate_at_word(" · ".join(section.title for section in page.sections[1:]), max_chars)
        url = page.url or path_to_url(site.url, page.path)
        left_out.append(LeftOutPage(page.path, url, page.title, titles))
    summary = site.description
    if rest:
        place = site.url or "its site"
        summary += f" {len(kept)} of {len(ranked)} pages of {site.name}; the others are on {place}."
    local = replace(manifest, site=replace(manifest.site, url="", description=summary.strip()))
    listing = build_llms_txt(local, section_files=False)
    if rest and site.url:
        listing[LLMS_TXT] += "\n## Not in this bundle\n\n"
        for left in left_out[:_MAX_LISTED]:
            listing[LLMS_TXT] += f"- [{escape_link_text(to_single_line(left.title))}]({left.url})\n"
        if len(rest) > _MAX_LISTED:
            listing[LLMS_TXT] += f"- [and {len(rest) - _MAX_LISTED} more]({site.url})\n"
    entry = {"url": site.url, "version": site.version, "licence": next(iter(texts)), "left_out": left_out}
    listing |= {MANIFEST_PATH: dump_manifest(manifest), OUTLINE_PATH: render_outline(SectionIndex(manifest))}
    files = {path: text.encode("utf-8", "surrogatepass") for path, text in listing.items()}
    files[BUNDLE_PATH] = msgspec.json.format(msgspec.json.encode(entry)) + b"\n"
    return texts | files


def _replace_folder(folder: Path, files: _Files) -> None:
    """Write files into a new folder, which then takes the place of the old one."""
    folder = folder.resolve()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder.parent, prefix=".roaming-", ignore_cleanup_errors=True) as temporary:
        new = Path(temporary, "new")
        old = Path(temporary, "old")
        for path, data in files.items():
            write_site_file(new, path, data)
        try:
            if folder.exists():
                folder.rename(old)
            new.rename(folder)
        finally:
            if old.exists() and not folder.exists():  # interrupted
                old.rename(folder)
