"""Converted pages in, published files out: builds the manifest, writes everything, the manifest last."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mkdocs_roaming import __version__
from mkdocs_roaming.errors import ManifestError, PublishError
from mkdocs_roaming.manifest.builder import (
    PreviousSite,
    PublishedPage,
    build_manifest,
    sanitize_manifest,
    sort_paths_by_nav,
)
from mkdocs_roaming.manifest.expand import expand_section, render_expansion
from mkdocs_roaming.manifest.io import MANIFEST_PATH, SCHEMA_PATH, iter_manifest_json, load_pages, read_schema
from mkdocs_roaming.manifest.io import VECTORS_PATH as VECTORS
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.manifest.models import Manifest, Page, PageEntry, Site, markdown_path, short_markdown_path
from mkdocs_roaming.manifest.outline import OUTLINE_BUDGET, render_outline
from mkdocs_roaming.publish.files import resolve_inside, write_atomically, write_chunks_atomically
from mkdocs_roaming.publish.llms_txt import LLMS_FULL, MAX_CHARS, build_llms_txt, iter_llms_full, llms_full_offsets
from mkdocs_roaming.publish.pipeline import Batch, reconvert_stale_pages
from mkdocs_roaming.text.tokenizer import estimate_tokens

if TYPE_CHECKING:
    from mkdocs_roaming.embeddings.store import EmbeddingsOptions
    from mkdocs_roaming.publish.rules import RuleSet

GENERATOR = f"mkdocs-roaming {__version__}"
MAX_SECTION_FILES = 5_000
"""With `section_files: auto`, the most sections that get a file of their own."""

OUTLINE = "roaming/outline.md"


@dataclass(frozen=True, slots=True)
class PublishOptions:
    """What is written besides pages, llms.txt and manifest."""

    llms_full: bool = True
    section_files: Literal["auto"] | bool = "auto"
    outline_tokens: int = OUTLINE_BUDGET
    embeddings: EmbeddingsOptions | None = None


@dataclass(frozen=True, slots=True)
class PublishReport:
    """What a build published; tokens are estimates."""

    pages: int
    sections: int
    tokens: int
    outline_tokens: int
    reused: int
    written: int
    left_alone: int
    removed: int = 0
    notes: tuple[str, ...] = ()
    markdown: int = 0
    """How many pages came as Markdown."""

    def __str__(self) -> str:
        reused = f", {self.reused} pages reused" if self.reused else ""
        return (
            f"{self.pages} pages, {self.sections} sections, ~{self.tokens} tokens, "
            f"outline ~{self.outline_tokens} tokens{reused}"
        )


def publish_batch(
    batch: Batch,
    folder: Path,
    options: PublishOptions,
    *,
    previous: PreviousSite | None = None,
    rules: RuleSet | None = None,
) -> PublishReport:
    """Write everything that the site publishes into a folder: pages first, the manifest last.

    What an earlier build of ours left there and this one has no use for is removed. Raises PublishError, before
    anything is written, where a rule names what is not published or could never fire.
    """
    reconvert_stale_pages(batch)
    if not batch.pages:
        raise PublishError(f"{folder}: no page to publish; check include, exclude and the nav")
    site = batch.site
    written = _Batched(batch, sort_paths_by_nav(site, batch.pages))
    if options.llms_full:
        written.offsets = list(llms_full_offsets(written, site))
    manifest = build_manifest(
        site,
        written,
        generator=GENERATOR,
        previous=previous,
        keyword_extractor=batch.cache.keywords,
        warn=batch.warn,
    )
    notes: list[str] = []
    if rules is not None and rules.rules:
        from mkdocs_roaming.publish.rule_targets import resolve_rules  # few sites have rules

        manifest = resolve_rules(manifest, rules, batch.warn, notes.append)
    vectors = None
    if options.embeddings is not None:
        from mkdocs_roaming.embeddings.store import CACHE_FILE, add_vectors  # few sites have vectors

        kept, before = batch.cache.file(CACHE_FILE), resolve_inside(folder, VECTORS)
        manifest, vectors = add_vectors(
            manifest, written, options.embeddings, kept=kept, before=before, warn=batch.warn, note=notes.append
        )
    report = _write(site, written, manifest, folder, options, notes, vectors)
    batch.cache.commit(batch.pages)
    return replace(report, reused=batch.cache.reused)


def publish_mirror(
    manifest: Manifest, texts: Mapping[str, bytes], folder: Path, options: PublishOptions
) -> PublishReport:
    """Write into a folder what another site published by the contract: its pages byte for byte, ids and nav unchanged.

    `texts` gives each page's Markdown by its path; a page without one is left out.
    """
    manifest = sanitize_manifest(manifest)
    pages = tuple(page for page in manifest.pages if page.path in texts)
    if not pages:
        raise PublishError(f"{folder}: no page to publish; none of the manifest's could be read")
    site = Site(manifest.site.name, manifest.site.url, manifest.site.description)
    written = _Mirrored(pages, texts)
    offsets = list(llms_full_offsets(written, site)) if options.llms_full else [None] * len(pages)
    manifest = replace(
        manifest,
        vectors=None,  # search goes by words
        pages=tuple(
            replace(page, full=at, markdown=markdown_path(page.path)) for page, at in zip(pages, offsets, strict=True)
        ),
    )
    notes: list[str] = []
    vectors = None
    if options.embeddings is not None:
        from mkdocs_roaming.embeddings.store import add_vectors  # as above

        before = resolve_inside(folder, VECTORS)
        manifest, vectors = add_vectors(
            manifest, written, options.embeddings, kept=None, before=before, warn=notes.append, note=notes.append
        )
    return _write(site, written, manifest, folder, options, notes, vectors)


@dataclass(slots=True)
class _Batched(Sequence[PublishedPage]):
    """The converted pages of a batch in an order; each is taken from the batch when it is asked for."""

    batch: Batch
    paths: Sequence[str]
    offsets: Sequence[int | None] = ()

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, at: Any) -> Any:
        path = self.paths[at]
        found = self.batch.converted[path]
        full = self.offsets[at] if self.offsets else None
        return PublishedPage(self.batch.pages[path], found.markdown, found.sections, full)


@dataclass(slots=True)
class _Mirrored(Sequence[PublishedPage]):
    """The pages of another site's manifest, each with its text as it came."""

    pages: Sequence[PageEntry]
    texts: Mapping[str, bytes]

    def __len__(self) -> int:
        return len(self.pages)

    def __getitem__(self, at: Any) -> Any:
        page = self.pages[at]
        text = self.texts[page.path].decode("utf-8", "surrogateescape")
        return PublishedPage(Page(page.path, page.title, url=page.url), text, sections=())


# Writing


def _write(
    site: Site,
    written: Sequence[PublishedPage],
    manifest: Manifest,
    folder: Path,
    options: PublishOptions,
    notes: list[str],
    vectors: bytes | None = None,
) -> PublishReport:
    old = _old_files(folder)
    counts = {True: 0, False: 0}
    now: set[str] = set()
    for path, data in _files(site, written, manifest, options, notes, vectors):
        now.add(path)
        file = resolve_inside(folder, path)
        counts[write_atomically(file, data) if isinstance(data, bytes) else write_chunks_atomically(file, data)] += 1
    removed = _remove(folder, old - now)
    return PublishReport(
        pages=len(manifest.pages),
        sections=sum(len(page.sections) for page in manifest.pages),
        tokens=manifest.tokens,
        outline_tokens=estimate_tokens((folder / OUTLINE).read_text("utf-8")),
        reused=0,
        written=counts[True],
        left_alone=counts[False],
        removed=removed,
        notes=tuple(notes),
        markdown=sum(1 for page in manifest.pages if page.origin == "markdown"),
    )


def _files(
    site: Site,
    written: Sequence[PublishedPage],
    manifest: Manifest,
    options: PublishOptions,
    notes: list[str],
    vectors: bytes | None,
) -> Iterator[tuple[str, bytes | Callable[[], Iterator[bytes]]]]:
    """Give every file and its content, in the order of writing; the content of large ones piece by piece."""
    for page in written:
        data = page.markdown.encode("utf-8", "surrogatepass")
        path = markdown_path(page.page.path)
        yield path, data
        if twin := short_markdown_path(page.page.path):
            yield twin, data
    if options.llms_full:
        yield LLMS_FULL, lambda: (piece.encode("utf-8", "surrogatepass") for piece in iter_llms_full(written, site))
    places = SectionIndex(manifest)
    count = len(places)
    section_files = options.section_files if options.section_files != "auto" else count <= MAX_SECTION_FILES
    if options.section_files == "auto" and not section_files:
        notes.append(
            f"{count} sections, more than {MAX_SECTION_FILES}: no files of single sections are written; "
            "`section_files: true` writes them all the same"
        )
    if section_files:
        yield from _section_files(places, written)
    for path, text in build_llms_txt(manifest, section_files=bool(section_files)).items():
        yield path, text.encode("utf-8", "surrogatepass")
    yield OUTLINE, render_outline(places, budget=min(options.outline_tokens, MAX_CHARS // 4 - 100)).encode()
    if vectors is not None:
        yield VECTORS, vectors
    yield SCHEMA_PATH, read_schema().encode()
    yield MANIFEST_PATH, partial(iter_manifest_json, manifest)


def _section_files(places: SectionIndex, written: Sequence[PublishedPage]) -> Iterator[tuple[str, bytes]]:
    order = {page.path: at for at, page in enumerate(places.manifest.pages)}

    @lru_cache(maxsize=4)  # sections come page by page
    def data(path: str) -> bytes:
        markdown: str = written[order[path]].markdown
        return markdown.encode("utf-8", "surrogatepass")

    def read(place: SectionRef) -> str:
        section = place.section
        return data(place.page.path)[section.start : section.end].decode("utf-8", "surrogatepass")

    for place in places:
        text = render_expansion(expand_section(places, place, read)).encode("utf-8", "surrogatepass")
        for id_ in (place.id, *place.section.aliases):
            yield f"roaming/sections/{id_}.md", text


def _old_files(folder: Path) -> set[str]:
    """Give the files that an earlier build of ours wrote into the folder, as its manifest tells."""
    try:
        pages = load_pages(folder / MANIFEST_PATH)
    except (OSError, ManifestError):
        return set()
    found = {path for page in pages for path in (page.markdown, short_markdown_path(page.path) or page.markdown)}
    if any(page.full is not None for page in pages):
        found.add(LLMS_FULL)
    for pattern in ("roaming/sections/*.md", "roaming/nav/*/llms*.txt", "llms-[0-9]*.txt", VECTORS):
        found |= {file.relative_to(folder).as_posix() for file in folder.glob(pattern)}
    return found


def _remove(folder: Path, paths: Iterable[str]) -> int:
    removed = 0
    for path in sorted(paths):
        try:
            resolve_inside(folder, path).unlink()
            removed += 1
        except (OSError, PublishError):
            continue
    return removed
