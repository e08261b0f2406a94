"""Write the published files of a site: Markdown of its pages, and the files made from its manifest, which is last."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import chain
from os.path import lexists
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from mkdocs_roaming._version import __version__
from mkdocs_roaming.errors import PublishError
from mkdocs_roaming.files import (
    Content,
    check_links,
    has_content,
    resolve_inside,
    site_path,
    write_atomically,
    write_site_file,
)
from mkdocs_roaming.manifest.aliases import PreviousSite
from mkdocs_roaming.manifest.builder import build_manifest, sanitize_manifest
from mkdocs_roaming.manifest.descriptions import Descriptions, describe_manifest
from mkdocs_roaming.manifest.io import MANIFEST_PATH, VECTORS_PATH, iter_manifest_json
from mkdocs_roaming.manifest.models import (
    LLMS_FULL,
    LLMS_TXT,
    Manifest,
    Page,
    PublishedPage,
    Site,
    markdown_path,
    path_to_url,
    short_markdown_path,
    sort_paths_by_nav,
)
from mkdocs_roaming.publish.agents.skill import SKILL_FOLDER, WELL_KNOWN, is_foreign_copy
from mkdocs_roaming.publish.cache import CONVERTER_VERSION, SiteFiles
from mkdocs_roaming.publish.copies import replace_copies
from mkdocs_roaming.publish.options import MAX_SECTION_FILES, PublishOptions
from mkdocs_roaming.publish.ownership import ForeignFilesError, PublishedFiles
from mkdocs_roaming.publish.pipeline import Batch, LeftOut, reconvert_stale_pages, remove_left_out_entries
from mkdocs_roaming.publish.rules import NO_RULES, RuleSet, resolve_rules
from mkdocs_roaming.publish.site_files import CACHED_PAGES, make_site_files
from mkdocs_roaming.text.markdown import pluralize

if TYPE_CHECKING:
    from mkdocs_roaming.embeddings.config import FindModel

GENERATOR = f"mkdocs-roaming {__version__}"

_CACHED_VECTORS = "vectors.bin"

WITHOUT_URL = (
    "links are relative, and what needs the address of the site is not published: llms-full.txt, files of sections, "
    "copies such as guide.md, the skill, and addresses for assistants in the page menu"
)
"""What differs on a site whose URL is not known, for a message."""


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
        parts = [pluralize(self.pages, "page")]
        if self.left_out:
            parts.append(f"{len(self.left_out)} left out")
        parts += [pluralize(self.sections, "section"), f"~{self.tokens} tokens"]
        parts.append(f"outline ~{self.outline_tokens} tokens")
        if self.reused:
            parts.append(f"{pluralize(self.reused, 'page')} reused")
        return ", ".join(parts)


def publish_batch(
    batch: Batch,
    folder: Path,
    options: PublishOptions,
    *,
    embeddings: FindModel | None = None,
    previous: PreviousSite | None = None,
    rules: RuleSet = NO_RULES,
    descriptions: Descriptions | None = None,
    extra: Iterable[tuple[str, bytes]] = (),
    page_copies: bool = True,
) -> PublishReport:
    """Write all files of a site into a folder, and delete files of an earlier build that are no longer published.

    Args:
        batch: The converted pages.
        folder: The folder of the built site.
        options: The options of the site.
        embeddings: The model whose embeddings are published.
        previous: The site as it was published last. Old section ids become aliases of the sections that replace them.
        rules: The rules to publish.
        descriptions: Texts about pages and sections, which a model has written.
        extra: Path and content of further files, such as those of the widget.
        page_copies: Whether `guide/index.md` is also written to `guide.md`, where agents look for it on a website.

    Raises:
        PublishError: There is no page, or a rule is invalid. Nothing is written then.
        ForeignFilesError: Files of something else would be overwritten. Nothing is written then.
    """
    if not batch.site.url:  # a relative link does not work at another address, or in a part of its page
        options = msgspec.structs.replace(options, llms_full=False, section_files=False, agent_skill=False)
        page_copies = False
    reconvert_stale_pages(batch)
    remove_left_out_entries(batch)
    if not batch.pages:
        raise PublishError(f"{folder}: no page to publish; check include, exclude and the nav")
    site = replace_copies(batch)
    batch.site = site
    pages = _BatchPages(batch, sort_paths_by_nav(site, batch.pages))
    published = PublishedFiles(folder)
    is_plain = previous is None and not rules.rules and embeddings is None
    is_cached = is_plain and options.llms_txt != "preamble" and batch.cache.folder is not None
    key = _compute_key(pages, options, descriptions) if is_cached else ""
    files = batch.cache.read_site(key) if key else None
    output = _Output(folder, site, pages, options, published, extra, page_copies=page_copies, files=files)
    if files is None:
        if options.llms_full:
            pages.offsets = list(_find_full_offsets(pages, site))
        manifest = build_manifest(site, pages, generator=GENERATOR, previous=previous)
        if rules.rules:
            manifest = resolve_rules(manifest, rules, batch.warn, output.notes.append)
        if descriptions is not None:
            manifest, counts = describe_manifest(manifest, descriptions)
            output.notes.append(str(counts))
        output.make_files(manifest, key)
    else:
        output.notes += files.notes
    vectors = batch.cache.folder / _CACHED_VECTORS if batch.cache.folder else None
    report = output.publish(embeddings, batch.warn, vectors)
    batch.cache.commit(batch.pages, output.files if key else None)
    return replace(report, reused=batch.cache.reused, left_out=tuple(batch.left_out))


def publish_mirror(
    manifest: Manifest,
    texts: Mapping[str, bytes],
    folder: Path,
    options: PublishOptions,
    *,
    embeddings: FindModel | None = None,
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
    options = msgspec.structs.replace(options, agent_skill=False)  # its addresses would be those of the original
    manifest = sanitize_manifest(manifest)
    entries = tuple(page for page in manifest.pages if page.path in texts)
    if not entries:
        raise PublishError(f"{folder}: no page to publish; none of the manifest's pages could be read")
    site = Site(manifest.site.name, manifest.site.url, manifest.site.description)
    pages = []
    for entry in entries:
        text = texts[entry.path].decode("utf-8", "surrogateescape")
        pages.append(PublishedPage(Page(entry.path, entry.title, url=entry.url), text, ()))
    offsets: list[int | None] = [None] * len(entries)
    if options.llms_full:
        offsets = [*_find_full_offsets(pages, site)]
    own = [
        msgspec.structs.replace(entry, full=offset, markdown=markdown_path(entry.path))
        for entry, offset in zip(entries, offsets, strict=True)
    ]
    manifest = msgspec.structs.replace(manifest, vectors=None, pages=tuple(own))
    output = _Output(folder, site, pages, options, PublishedFiles(folder))
    output.make_files(manifest)
    return output.publish(embeddings, output.notes.append)


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


def _compute_key(pages: _BatchPages, options: PublishOptions, descriptions: Descriptions | None) -> str:
    """Return a digest of all that the files of a site depend on; an empty string if they are not cached.

    Large sites are not cached: their manifest should not be in memory as a whole.
    """
    encode = msgspec.msgpack.Encoder(enc_hook=repr).encode
    digest = hashlib.sha256()
    sections = 0
    try:
        digest.update(encode((GENERATOR, CONVERTER_VERSION, pages.batch.site, options, descriptions)))
        for path in pages.paths:
            page = pages.batch.pages[path]
            converted = pages.batch.converted[path]
            # Of the HTML only its conversion matters.
            page = replace(page, article="", markdown=page.markdown and "", code_languages=())
            digest.update(encode((page, converted)))
            sections += len(converted.sections)
    except UnicodeEncodeError:  # file names with lone surrogates
        return ""
    return digest.hexdigest() if sections <= MAX_SECTION_FILES else ""


# Writing


class _Output(msgspec.Struct):
    """The files of a site."""

    folder: Path
    site: Site
    pages: Sequence[PublishedPage]
    options: PublishOptions
    published: PublishedFiles
    extra: Iterable[tuple[str, bytes]] = ()
    page_copies: bool = True
    files: SiteFiles | None = None
    manifest: Manifest | None = None
    """The manifest, unless its JSON is one of the files."""
    vectors: bytes | None = None
    notes: list[str] = msgspec.field(default_factory=list)

    def make_files(self, manifest: Manifest, key: str = "") -> None:
        """Make the files of the site from its manifest; with a key, they can be cached."""
        above = ""
        if self.options.llms_txt == "preamble":
            above = self.published.author_text.decode("utf-8", "surrogateescape").rstrip()
        files = make_site_files(
            manifest,
            self.site,
            self.pages,
            self.options,
            key=key,
            above=above,
            note=self.notes.append,
        )
        self.files = msgspec.structs.replace(files, notes=[*self.notes])
        self.manifest = None if key else msgspec.structs.replace(manifest, llms_txt=files.llms_txt)

    def publish(
        self, embeddings: FindModel | None, warn: Callable[[str], None], cache: Path | None = None
    ) -> PublishReport:
        """Check and write all files, and remove those of an earlier build that are no longer published."""
        published = self.published
        site_files = self.files
        assert site_files is not None
        files = self._leave_foreign(list(self._iter_files(site_files, has_vectors=embeddings is not None)))
        paths: set[str] = set()
        for path, _ in files:
            if path in paths:
                raise PublishError(
                    f"{path}: two published files have this path; rename the page with this Markdown file, or exclude "
                    "it"
                )
            paths.add(path)
        old = set(published.iter_paths())
        check_links(self.folder, old | paths)
        unchanged = self._find_unchanged_or_raise(files)
        if embeddings:
            self._add_vectors(embeddings, warn, cache)
        if self.vectors is None:
            files = [(path, data) for path, data in files if path != VECTORS_PATH]
        *files_below, (_, manifest) = files
        is_unchanged = has_content(self.folder / MANIFEST_PATH, manifest)
        unfinished = published.start(manifest)
        written = int(not is_unchanged)
        try:
            for path, data in files_below:
                published.check(unfinished)
                if path in unchanged:
                    continue
                # A file that is recognized by its content is never incomplete, even if the process is killed.
                if path.startswith("roaming/") and not path.startswith("roaming/nav/"):
                    written += write_site_file(self.folder, path, data)
                else:
                    written += write_atomically(Path(site_path(self.folder, path)), data)
        except FileNotFoundError:
            published.check(unfinished)  # the other build removes temporary files
            raise
        published.check(unfinished)
        removed = self._remove_old(old.difference(path for path, _ in files))
        published.finish(unfinished, is_unchanged=is_unchanged)
        return PublishReport(
            pages=len(self.pages),
            sections=site_files.sections,
            tokens=site_files.tokens,
            outline_tokens=site_files.outline_tokens,
            reused=0,
            written=written,
            unchanged=len(files) - written,
            removed=removed,
            notes=tuple(self.notes),
            markdown=site_files.markdown,
        )

    def _leave_foreign(self, files: list[tuple[str, Content]]) -> list[tuple[str, Content]]:
        """Return the files without those below `.well-known` that something else has written."""
        if self.options.overwrite or not lexists(self.folder / WELL_KNOWN):
            return files
        foreign = [path for path, _ in files if is_foreign_copy(self.folder, path)]
        for path in foreign:
            self.notes.append(
                f"{path}: not written, because something else wrote it; delete it, or set `overwrite: true`. An index "
                f"of your own can list the skill of this site: add the entry of {SKILL_FOLDER}index.json"
            )
        return [(path, data) for path, data in files if path not in foreign]

    def _find_unchanged_or_raise(self, files: Iterable[tuple[str, Content]]) -> set[str]:
        """Return the files that already have the right content.

        Raises:
            ForeignFilesError: Something else wrote others of the files.
        """
        unchanged: set[str] = set()
        foreign = []
        is_fresh = not lexists(self.folder / "roaming")
        for path, data in files:
            if is_fresh and path.startswith("roaming/"):
                continue
            target = site_path(self.folder, path)
            if not lexists(target) or self.published.is_named(path):
                continue
            is_kept = path == LLMS_TXT and self.options.llms_txt == "preamble"
            if has_content(Path(target), data):
                unchanged.add(path)
            elif not is_kept and not self.published.owns(path):
                foreign.append(path)
        if foreign and not self.options.overwrite:
            raise ForeignFilesError(self.folder, foreign)
        return unchanged

    def _remove_old(self, paths: Iterable[str]) -> int:
        """Remove files of an earlier build, unless they were changed since; return their number."""
        published = self.published
        removed = 0
        for path in sorted(paths):
            with suppress(OSError, PublishError):
                target = resolve_inside(self.folder, path)
                if not lexists(target):
                    continue
                if path == LLMS_TXT and published.page_list and published.author_text.strip():
                    write_atomically(target, published.author_text.rstrip() + b"\n")
                elif published.owns(path):
                    target.unlink()
                    removed += 1
                elif path != LLMS_TXT:
                    self.notes.append(f"{path}: changed since it was published; the file is left in the folder")
        return removed

    def _add_vectors(self, embeddings: FindModel, warn: Callable[[str], None], cache: Path | None = None) -> None:
        """Add the vectors of all sections; known vectors are not computed again."""
        from mkdocs_roaming.embeddings.sections import add_vectors  # few sites have vectors

        published = resolve_inside(self.folder, VECTORS_PATH)
        assert self.manifest is not None  # sites with vectors have no files in the cache
        known_files = [published]
        save = None
        if cache:
            known_files = [cache, published]
            save = partial(write_atomically, cache)
        self.manifest, self.vectors = add_vectors(
            self.manifest,
            self.pages,
            embeddings,
            known_files=known_files,
            save=save,
            warn=warn,
            note=self.notes.append,
        )

    def _iter_files(self, files: SiteFiles, *, has_vectors: bool) -> Iterator[tuple[str, Content]]:
        """Yield path and content of each file in the order of writing; the manifest is the last."""
        # A page has two files, and sections are in page order.
        read_page = lru_cache(CACHED_PAGES)(lambda position: self.pages[position].encode())
        paths = [published.page.path for published in self.pages]
        own = set(map(markdown_path, paths))
        for position, path in enumerate(paths):
            data = partial(_read_parts, read_page, position)
            yield markdown_path(path), data
            short_path = short_markdown_path(path)
            if self.page_copies and short_path and short_path not in own:
                yield short_path, data
        if self.options.llms_full:
            yield LLMS_FULL, lambda: chain.from_iterable(_iter_llms_full(self.pages, self.site))
        yield from self.extra
        if has_vectors:
            yield VECTORS_PATH, lambda: (self.vectors or b"",)
        for file in files.files:
            if file.start == file.end:
                yield file.path, file.head
            else:
                part = slice(file.start, file.end)
                yield file.path, partial(_read_parts, read_page, file.page, part, file.head, file.tail)
        if (manifest := self.manifest) is not None:
            yield MANIFEST_PATH, lambda: iter_manifest_json(self.manifest or manifest)


def _read_parts(
    read_page: Callable[[int], bytes],
    position: int,
    part: slice = slice(None),
    head: bytes = b"",
    tail: bytes = b"",
) -> tuple[bytes]:
    """Return the content of a file that has a part of a page, or all of it."""
    return (head + read_page(position)[part] + tail,)


# llms-full.txt


def _find_full_offsets(pages: Iterable[PublishedPage], site: Site) -> Iterator[int]:
    """Yield the byte offset of each page's Markdown in llms-full.txt."""
    offset = 0
    for line, text in _iter_llms_full(pages, site):
        offset += len(line)
        yield offset
        offset += len(text)


def _iter_llms_full(pages: Iterable[PublishedPage], site: Site) -> Iterator[tuple[bytes, bytes]]:
    """Yield what llms-full.txt has of each page: a line `Source: <URL>`, and its Markdown file."""
    for published in pages:
        url = published.page.url or path_to_url(site.url, published.page.path)
        yield f"Source: {url}\n\n".encode("utf-8", "surrogatepass"), published.encode() + b"\n"
