"""Write the published files of a site: build the manifest from converted pages and write everything, manifest last."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from mkdocs_roaming._version import __version__
from mkdocs_roaming.errors import ManifestError, PublishError
from mkdocs_roaming.manifest.aliases import PreviousSite
from mkdocs_roaming.manifest.builder import (
    PublishedPage,
    build_manifest,
    sanitize_manifest,
    sort_paths_by_nav,
)
from mkdocs_roaming.manifest.expand import expand_section, render_expansion
from mkdocs_roaming.manifest.io import (
    MANIFEST_PATH,
    SCHEMA_PATH,
    VECTORS_PATH,
    iter_manifest_json,
    load_pages,
    render_schema,
)
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.manifest.models import Manifest, Page, Site, markdown_path, short_markdown_path
from mkdocs_roaming.manifest.outline import render_outline
from mkdocs_roaming.publish.files import resolve_inside, write_atomically, write_site_file
from mkdocs_roaming.publish.llms_txt import LLMS_FULL, MAX_CHARS, build_llms_txt, iter_llms_full, llms_full_offsets
from mkdocs_roaming.publish.options import PublishOptions
from mkdocs_roaming.publish.pipeline import Batch, reconvert_stale_pages
from mkdocs_roaming.publish.selection import LeftOut
from mkdocs_roaming.text.tokenizer import estimate_tokens

if TYPE_CHECKING:
    from mkdocs_roaming.embeddings.store import EmbeddingsOptions
    from mkdocs_roaming.publish.rules import RuleSet

GENERATOR = f"mkdocs-roaming {__version__}"

MAX_SECTION_FILES = 5_000
"""Maximum number of section files with `section_files: auto`; larger sites get none."""

OUTLINE_PATH = "roaming/outline.md"

_CACHED_VECTORS = "vectors.bin"


@dataclass(frozen=True, slots=True)
class PublishReport:
    """The result of a build; token counts are estimates.

    Example:
        ```python
        report = mkdocs_roaming.publish_site("site")
        print(f"{report.pages} pages, {report.sections} sections, {report.written} files written")
        ```
    """

    pages: int
    sections: int
    tokens: int
    outline_tokens: int
    reused: int
    """Number of pages whose conversion was cached."""
    written: int
    """Number of files written."""
    unchanged: int
    """Number of files that already had the right content."""
    removed: int = 0
    """Number of files of an earlier build that were deleted."""
    notes: tuple[str, ...] = ()
    markdown: int = 0
    """Number of pages that were fetched as Markdown."""
    left_out: tuple[LeftOut, ...] = ()
    """The pages that are not published, with the reasons."""

    def __str__(self) -> str:
        reused = f", {self.reused} pages reused" if self.reused else ""
        left_out = f", {len(self.left_out)} left out" if self.left_out else ""
        return (
            f"{self.pages} pages{left_out}, {self.sections} sections, ~{self.tokens} tokens, "
            f"outline ~{self.outline_tokens} tokens{reused}"
        )


def publish_batch(
    batch: Batch,
    folder: Path,
    options: PublishOptions,
    *,
    embeddings: EmbeddingsOptions | None = None,
    previous: PreviousSite | None = None,
    rules: RuleSet | None = None,
) -> PublishReport:
    """Write all files of a site into a folder, and delete files of an earlier build that are no longer published.

    Args:
        batch: The converted pages.
        folder: The folder of the built site.
        options: The options of the site.
        embeddings: The model whose embeddings are published.
        previous: The site as it was published last. Old section ids become aliases of the sections that replace them.
        rules: The rules to publish.

    Raises:
        PublishError: There is no page, or a rule is invalid. Nothing is written then.
    """
    reconvert_stale_pages(batch)
    if not batch.pages:
        raise PublishError(f"{folder}: no page to publish; check include, exclude and the nav")
    site = batch.site
    pages = _BatchPages(batch, sort_paths_by_nav(site, batch.pages))
    if options.llms_full:
        pages.offsets = list(llms_full_offsets(pages, site))
    manifest = build_manifest(
        site,
        pages,
        generator=GENERATOR,
        previous=previous,
    )
    notes: list[str] = []
    if rules is not None and rules.rules:
        from mkdocs_roaming.publish.rules import resolve_rules  # few sites have rules

        manifest = resolve_rules(manifest, rules, batch.warn, notes.append)
    output = _Output(site, pages, manifest, options, notes)
    if embeddings:
        output.add_vectors(folder, embeddings, warn=batch.warn, cache=batch.cache.file(_CACHED_VECTORS))
    report = output.write(folder)
    batch.cache.commit(batch.pages)
    return replace(report, reused=batch.cache.reused, left_out=tuple(batch.left_out))


def publish_mirror(
    manifest: Manifest,
    texts: Mapping[str, bytes],
    folder: Path,
    options: PublishOptions,
    *,
    embeddings: EmbeddingsOptions | None = None,
) -> PublishReport:
    """Write a copy of a site that publishes a manifest: same Markdown, section ids and nav.

    Args:
        manifest: The manifest of the site.
        texts: The Markdown of each page by path. Pages without Markdown are left out.
        folder: The folder of the copy.
        options: The options of the site.
        embeddings: The model whose embeddings are published.

    Raises:
        PublishError: There is no page with Markdown.
    """
    manifest = sanitize_manifest(manifest)
    entries = tuple(page for page in manifest.pages if page.path in texts)
    if not entries:
        raise PublishError(f"{folder}: no page to publish; none of the manifest's pages could be read")
    site = Site(manifest.site.name, manifest.site.url, manifest.site.description)
    pages = [
        PublishedPage(
            Page(entry.path, entry.title, url=entry.url), texts[entry.path].decode("utf-8", "surrogateescape"), ()
        )
        for entry in entries
    ]
    offsets = list(llms_full_offsets(pages, site)) if options.llms_full else [None] * len(entries)
    manifest = msgspec.structs.replace(
        manifest,
        vectors=None,
        pages=tuple(
            msgspec.structs.replace(page, full=offset, markdown=markdown_path(page.path))
            for page, offset in zip(entries, offsets, strict=True)
        ),
    )
    notes: list[str] = []
    output = _Output(site, pages, manifest, options, notes)
    if embeddings:
        output.add_vectors(folder, embeddings, warn=notes.append)
    return output.write(folder)


@dataclass(slots=True)
class _BatchPages(Sequence[PublishedPage]):
    """The pages of a batch in nav order, each created when it is accessed to save memory."""

    batch: Batch
    paths: Sequence[str]
    offsets: Sequence[int | None] = ()

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: Any) -> Any:
        path = self.paths[index]
        converted = self.batch.converted[path]
        offset = self.offsets[index] if self.offsets else None
        return PublishedPage(self.batch.pages[path], converted.markdown, converted.sections, offset)


# Writing


@dataclass(slots=True)
class _Output:
    """The files of a site."""

    site: Site
    pages: Sequence[PublishedPage]
    manifest: Manifest
    options: PublishOptions
    notes: list[str]
    vectors: bytes | None = None

    def add_vectors(
        self, folder: Path, embeddings: EmbeddingsOptions, *, warn: Callable[[str], None], cache: Path | None = None
    ) -> None:
        """Add the vectors of all sections; known vectors are not computed again."""
        from mkdocs_roaming.embeddings.store import add_vectors  # few sites have vectors

        published = resolve_inside(folder, VECTORS_PATH)
        self.manifest, self.vectors = add_vectors(
            self.manifest,
            self.pages,
            embeddings,
            known_files=[cache, published] if cache else [published],
            save=partial(write_atomically, cache) if cache else None,
            warn=warn,
            note=self.notes.append,
        )

    def write(self, folder: Path) -> PublishReport:
        old = _list_old_files(folder)
        paths: set[str] = set()
        written = 0
        for path, data in self._files():
            paths.add(path)
            written += write_site_file(folder, path, data)
        removed = _remove(folder, old - paths)
        pages = self.manifest.pages
        return PublishReport(
            pages=len(pages),
            sections=sum(len(page.sections) for page in pages),
            tokens=self.manifest.tokens,
            outline_tokens=estimate_tokens((folder / OUTLINE_PATH).read_text("utf-8")),
            reused=0,
            written=written,
            unchanged=len(paths) - written,
            removed=removed,
            notes=tuple(self.notes),
            markdown=sum(1 for page in pages if page.origin == "markdown"),
        )

    def _files(self) -> Iterator[tuple[str, bytes | Callable[[], Iterator[bytes]]]]:
        """Yield path and content of each file in the order of writing; the content of large files in chunks."""
        for page in self.pages:
            data = page.markdown.encode("utf-8", "surrogatepass")
            yield markdown_path(page.page.path), data
            if short_path := short_markdown_path(page.page.path):
                yield short_path, data
        if self.options.llms_full:
            yield LLMS_FULL, self._llms_full
        sections = SectionIndex(self.manifest)
        section_files = self._has_section_files(len(sections))
        if section_files:
            yield from self._section_files(sections)
        for path, text in build_llms_txt(self.manifest, section_files=section_files).items():
            yield path, text.encode("utf-8", "surrogatepass")
        budget = min(self.options.outline_tokens, MAX_CHARS // 4 - 100)
        yield OUTLINE_PATH, render_outline(sections, budget=budget).encode()
        if self.vectors is not None:
            yield VECTORS_PATH, self.vectors
        yield SCHEMA_PATH, render_schema().encode()
        yield MANIFEST_PATH, partial(iter_manifest_json, self.manifest)

    def _llms_full(self) -> Iterator[bytes]:
        return (chunk.encode("utf-8", "surrogatepass") for chunk in iter_llms_full(self.pages, self.site))

    def _has_section_files(self, count: int) -> bool:
        if self.options.section_files != "auto":
            return self.options.section_files
        if count > MAX_SECTION_FILES:
            self.notes.append(
                f"no section files are written, because the site has {count} sections, more than {MAX_SECTION_FILES}. "
                "To write them, set `section_files: true`"
            )
        return count <= MAX_SECTION_FILES

    def _section_files(self, sections: SectionIndex) -> Iterator[tuple[str, bytes]]:
        positions = {page.path: position for position, page in enumerate(self.manifest.pages)}

        @lru_cache(maxsize=4)  # sections are in page order
        def page_data(path: str) -> bytes:
            markdown: str = self.pages[positions[path]].markdown
            return markdown.encode("utf-8", "surrogatepass")

        def read(place: SectionRef) -> str:
            section = place.section
            return page_data(place.page.path)[section.start : section.end].decode("utf-8", "surrogatepass")

        for place in sections:
            text = render_expansion(expand_section(sections, place, read)).encode("utf-8", "surrogatepass")
            for id_ in (place.id, *place.section.aliases):
                yield f"roaming/sections/{id_}.md", text


def _list_old_files(folder: Path) -> set[str]:
    """Return the files that an earlier build wrote, according to its manifest."""
    try:
        pages = load_pages(folder / MANIFEST_PATH)
    except (OSError, ManifestError):
        return set()
    files = {path for page in pages for path in (page.markdown, short_markdown_path(page.path) or page.markdown)}
    if any(page.full is not None for page in pages):
        files.add(LLMS_FULL)
    for pattern in ("roaming/sections/*.md", "roaming/nav/*/llms*.txt", "llms-[0-9]*.txt", VECTORS_PATH):
        files |= {file.relative_to(folder).as_posix() for file in folder.glob(pattern)}
    return files


def _remove(folder: Path, paths: Iterable[str]) -> int:
    removed = 0
    for path in sorted(paths):
        try:
            resolve_inside(folder, path).unlink()
            removed += 1
        except (OSError, PublishError):
            continue
    return removed
