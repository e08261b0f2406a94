"""Bundles: the documentation of a Python package, as a folder of its package data.

A bundle is a published site: Markdown, manifest, llms.txt with relative links, and outline; and the licence of the
documentation. It is small, so the least important pages of a large site are left out.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
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
from mkdocs_roaming.manifest.page_kinds import classify_pages
from mkdocs_roaming.publish.llms_txt import build_llms_txt, count_incoming_links

MAX_BYTES = 1_000_000
"""Default maximum size of a bundle."""

BUNDLE_PATH = "roaming/bundle.json"
"""The file that marks a folder as a bundle."""


class BundleReport(msgspec.Struct, frozen=True):
    """What a bundle contains.

    Attributes:
        pages: Number of pages.
        bytes: Size of all files.
        left_out: Paths of the pages that there was no room for.
    """

    pages: int
    bytes: int
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
        max_bytes: Maximum size. The most important pages are chosen: guides before reference, and archives last; among
            these the pages that most others link to.

    Raises:
        UsageError: The folder contains something else, the licence cannot be read, or there is room for no page.
    """
    if folder.exists() and not (folder / BUNDLE_PATH).is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder}: contains something else than a bundle; name a new or an empty folder")
    try:
        texts = {licence.name: licence.read_bytes()}
    except OSError as error:
        raise UsageError(f"{licence}: the licence cannot be read ({error.strerror}); name its file") from None
    files, left_out = _choose_files(manifest, texts, max_bytes)
    pages = {page.markdown: page for page in manifest.pages if page.path not in left_out}
    files |= {path: read_page(page) for path, page in pages.items()}
    _replace_folder(folder, files)
    return BundleReport(len(pages), sum(map(len, files.values())), left_out)


def _choose_files(
    manifest: Manifest, texts: dict[str, bytes], max_bytes: int
) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Return all files but the pages, and the paths of the pages that are left out."""
    kept = [page for page in rank_pages(manifest) if page.bytes < max_bytes]
    while kept:
        paths = {page.path for page in kept}
        left_out = tuple(page.path for page in manifest.pages if page.path not in paths)
        files = texts | _make_files(keep_pages(manifest, paths), left_out, *texts)
        excess = sum(map(len, files.values())) + sum(page.bytes for page in kept) - max_bytes
        if excess <= 0:
            return files, left_out
        while kept and excess > 0:
            excess -= kept.pop().bytes
    raise UsageError(f"no page fits into a bundle of {max_bytes} bytes; allow more")


def rank_pages(manifest: Manifest) -> Sequence[PageEntry]:
    """Return the pages in order of importance: by their kind, and by the number of pages that link to them."""
    kinds, incoming = classify_pages(manifest), count_incoming_links(manifest)
    return sorted(manifest.pages, key=lambda page: (bool(page.path), kinds[page.path], -incoming[page.path]))


def _make_files(manifest: Manifest, left_out: tuple[str, ...], licence: str) -> dict[str, bytes]:
    site = manifest.site
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
