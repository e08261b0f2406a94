"""Write the published files of a site: build the manifest from converted pages and write everything, manifest last."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from os.path import lexists
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from mkdocs_roaming._version import __version__
from mkdocs_roaming.errors import PublishError
from mkdocs_roaming.manifest.aliases import PreviousSite
from mkdocs_roaming.manifest.builder import (
    PublishedPage,
    build_manifest,
    sanitize_manifest,
    sort_paths_by_nav,
)
from mkdocs_roaming.manifest.expand import render_section_file
from mkdocs_roaming.manifest.io import (
    MANIFEST_PATH,
    SCHEMA_PATH,
    VECTORS_PATH,
    iter_manifest_json,
    render_schema,
)
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.manifest.models import LlmsTxtEntry, Manifest, Page, Site, markdown_path, short_markdown_path
from mkdocs_roaming.manifest.outline import render_outline
from mkdocs_roaming.manifest.sections import file_digest
from mkdocs_roaming.publish.files import has_content, resolve_inside, site_path, write_atomically, write_site_file
from mkdocs_roaming.publish.llms_txt import LLMS_FULL, MAX_CHARS, build_llms_txt, iter_llms_full, llms_full_offsets
from mkdocs_roaming.publish.options import PublishOptions
from mkdocs_roaming.publish.ownership import ForeignFilesError, PublishedFiles
from mkdocs_roaming.publish.pipeline import Batch, reconvert_stale_pages
from mkdocs_roaming.publish.pointers import LLMS_TXT
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

_T = TypeVar("_T")


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
    extra: Iterable[tuple[str, bytes]] = (),
) -> PublishReport:
    """Write all files of a site into a folder, and delete files of an earlier build that are no longer published.

    Args:
        batch: The converted pages.
        folder: The folder of the built site.
        options: The options of the site.
        embeddings: The model whose embeddings are published.
        previous: The site as it was published last. Old section ids become aliases of the sections that replace them.
        rules: The rules to publish.
        extra: Path and content of further files, such as those of the widget.

    Raises:
        PublishError: There is no page, or a rule is invalid. Nothing is written then.
        ForeignFilesError: Files of something else would be overwritten. Nothing is written then.
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
    output = _Output(folder, site, pages, manifest, options, notes, extra)
    report = output.publish(embeddings, batch.warn, batch.cache.file(_CACHED_VECTORS))
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
        ForeignFilesError: Files of something else would be overwritten. Nothing is written then.
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
    return _Output(folder, site, pages, manifest, options, notes).publish(embeddings, notes.append)


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

_Content = bytes | Callable[[], Iterable[bytes]]
"""The content of a file, or a function that returns it in chunks when the file is compared or written."""


@dataclass(slots=True)
class _Output:
    """The files of a site."""

    folder: Path
    site: Site
    pages: Sequence[PublishedPage]
    manifest: Manifest
    options: PublishOptions
    notes: list[str]
    extra: Iterable[tuple[str, bytes]] = ()
    vectors: bytes | None = None

    def publish(
        self, embeddings: EmbeddingsOptions | None, warn: Callable[[str], None], cache: Path | None = None
    ) -> PublishReport:
        """Check and write all files, and remove those of an earlier build that are no longer published."""
        published = PublishedFiles(self.folder)
        files = list(self._files(published, has_vectors=embeddings is not None))
        unchanged = self._check(files, published)
        if embeddings:
            self._add_vectors(embeddings, warn, cache)
        if self.vectors is None:
            files = [file for file in files if file[0] != VECTORS_PATH]
        assert self.manifest.llms_txt is not None
        published.start(self.manifest.llms_txt)
        written = 0
        for path, data in files:
            written += path not in unchanged and write_site_file(self.folder, path, data)
        removed = self._remove_old(published, {path for path, _ in files})
        published.finish()
        pages = self.manifest.pages
        return PublishReport(
            pages=len(pages),
            sections=sum(len(page.sections) for page in pages),
            tokens=self.manifest.tokens,
            outline_tokens=estimate_tokens((self.folder / OUTLINE_PATH).read_text("utf-8")),
            reused=0,
            written=written,
            unchanged=len(files) - written,
            removed=removed,
            notes=tuple(self.notes),
            markdown=sum(1 for page in pages if page.origin == "markdown"),
        )

    def _check(self, files: Iterable[tuple[str, _Content]], published: PublishedFiles) -> set[str]:
        """Return the files that already have the right content; raise an error if something else wrote others."""
        unchanged: set[str] = set()
        foreign = []
        for path, data in files:
            target = site_path(self.folder, path)
            if not lexists(target) or published.is_named(path):
                continue
            if has_content(Path(target), data):
                unchanged.add(path)
            elif not (published.owns(path) or (path == LLMS_TXT and self.options.llms_txt == "preamble")):
                foreign.append(path)
        if foreign and not self.options.overwrite:
            raise ForeignFilesError(self.folder, foreign)
        return unchanged

    def _remove_old(self, published: PublishedFiles, paths: Collection[str]) -> int:
        """Remove files of an earlier build, unless they were changed since; return their number."""
        removed = 0
        for path in sorted(set(published.iter_paths()).difference(paths)):
            with suppress(OSError, PublishError):
                target = resolve_inside(self.folder, path)
                if not lexists(target):
                    continue
                if path == LLMS_TXT and published.page_list and published.author_text:
                    write_atomically(target, published.author_text)
                elif published.owns(path):
                    target.unlink()
                    removed += 1
                elif path != LLMS_TXT and published.found:
                    self.notes.append(f"{path}: changed since it was published; the file is left in the folder")
        return removed

    def _add_vectors(
        self, embeddings: EmbeddingsOptions, warn: Callable[[str], None], cache: Path | None = None
    ) -> None:
        """Add the vectors of all sections; known vectors are not computed again."""
        from mkdocs_roaming.embeddings.store import add_vectors  # few sites have vectors

        published = resolve_inside(self.folder, VECTORS_PATH)
        self.manifest, self.vectors = add_vectors(
            self.manifest,
            self.pages,
            embeddings,
            known_files=[cache, published] if cache else [published],
            save=partial(write_atomically, cache) if cache else None,
            warn=warn,
            note=self.notes.append,
        )

    def _files(self, published: PublishedFiles, *, has_vectors: bool) -> Iterator[tuple[str, _Content]]:
        """Yield path and content of each file in the order of writing."""
        read_page = lru_cache(maxsize=4)(self._read_page)  # a page has two files, and sections are in page order
        for position, page in enumerate(self.manifest.pages):
            data = partial(_chunk, read_page, position)
            yield page.markdown, data
            if short_path := short_markdown_path(page.path):
                yield short_path, data
        if self.options.llms_full:
            yield LLMS_FULL, self._llms_full
        sections = SectionIndex(self.manifest)
        section_files = self._has_section_files(len(sections))
        if section_files:
            yield from self._section_files(sections, read_page)
        yield from self._lists(published, section_files=section_files)
        budget = min(self.options.outline_tokens, MAX_CHARS // 4 - 100)
        yield OUTLINE_PATH, render_outline(sections, budget=budget).encode()
        yield from self.extra
        if has_vectors:
            yield VECTORS_PATH, lambda: (self.vectors or b"",)
        yield SCHEMA_PATH, render_schema().encode()
        yield MANIFEST_PATH, lambda: iter_manifest_json(self.manifest)

    def _read_page(self, position: int) -> bytes:
        markdown: str = self.pages[position].markdown
        return markdown.encode("utf-8", "surrogatepass")

    def _llms_full(self) -> Iterator[bytes]:
        return (chunk.encode("utf-8", "surrogatepass") for chunk in iter_llms_full(self.pages, self.site))

    def _lists(self, published: PublishedFiles, *, section_files: bool) -> Iterator[tuple[str, bytes]]:
        """Yield llms.txt and the lists that it links to, and add the size of the list to the manifest."""
        texts: dict[str, str] = {}
        above = ""
        if self.options.llms_txt is not False:
            if self.options.llms_txt == "preamble":
                above = published.author_text.decode("utf-8", "surrogateescape").rstrip()
            texts = build_llms_txt(self.manifest, section_files=section_files, above=above)
        own = texts.get(LLMS_TXT, "")[len(above) :].encode("utf-8", "surrogatepass")
        self.manifest = msgspec.structs.replace(self.manifest, llms_txt=LlmsTxtEntry(len(own), file_digest(own)))
        for path, text in texts.items():
            data = text.encode("utf-8", "surrogatepass")
            yield path, above.encode("utf-8", "surrogateescape") + own if path == LLMS_TXT else data

    def _has_section_files(self, count: int) -> bool:
        if self.options.section_files != "auto":
            return self.options.section_files
        if count > MAX_SECTION_FILES:
            self.notes.append(
                f"no section files are written, because the site has {count} sections, more than {MAX_SECTION_FILES}. "
                "To write them, set `section_files: true`"
            )
        return count <= MAX_SECTION_FILES

    def _section_files(
        self, sections: SectionIndex, read_page: Callable[[int], bytes]
    ) -> Iterator[tuple[str, _Content]]:
        positions = {page.path: position for position, page in enumerate(self.manifest.pages)}

        def render(place: SectionRef) -> bytes:
            return render_section_file(sections, place, read_page(positions[place.page.path]))

        for place in sections:
            for id_ in (place.id, *place.section.aliases):
                yield f"roaming/sections/{id_}.md", partial(_chunk, render, place)


def _chunk(read: Callable[[_T], bytes], source: _T) -> tuple[bytes]:
    return (read(source),)
