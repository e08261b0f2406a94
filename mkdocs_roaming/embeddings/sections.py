"""The vectors of a site's sections: the text windows of each section, and their vectors by a model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from mkdocs_roaming.embeddings.embedder import BATCH_SIZE, Embedder, EmbeddingError
from mkdocs_roaming.embeddings.store import (
    MAX_WINDOWS,
    QuantizedVector,
    VectorsError,
    decode_vectors,
    digest_text,
    encode_vectors,
    get_dimensions,
    name_row,
    quantize,
)
from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.manifest.lookup import SectionIndex
from mkdocs_roaming.manifest.models import Manifest, VectorsEntry
from mkdocs_roaming.manifest.sections import file_digest
from mkdocs_roaming.text.markdown import truncate_at_word
from mkdocs_roaming.text.tokenizer import estimate_tokens

if TYPE_CHECKING:
    from mkdocs_roaming.embeddings.config import EmbeddingModel, FindModel
    from mkdocs_roaming.manifest.models import PublishedPage

_MEGABYTE = 1_000_000

# Windows

WINDOW_TOKENS = 180
"""Estimated tokens of a window: half of what the smallest embedding models read."""

_MAX_TITLES = 6
_MAX_TITLE_CHARS = 200
_HEADING = re.compile(r"\A\s*#{1,6}[ \t][^\n]*")
"""The heading of a section, `## Title`, which is in the breadcrumb."""

_BLANK_LINE = re.compile(r"\n[ \t]*\n")
"""The blank line between two paragraphs. A pattern suffices, and large sections have thousands of paragraphs."""

_WORD = re.compile(rf"\s*\S{{1,{WINDOW_TOKENS}}}")
"""A word with the space before it, not longer than a window in any script."""

_LINK = re.compile(r"!?\[([^\[\]\n]*)\]\((?:[^()\s]|\([^()\s]*\))*(?:\s+\"[^\"\n]*\")?\)")
"""A link or image, `[words](url "title")`. No part matches across the next link, for pages may be hostile."""


def split_windows(titles: Sequence[str], markdown: str, opening: str = "") -> list[str]:
    """Split a section into windows, each short enough for one vector and headed by the titles of the section.

    The best of several short windows finds a section more often than one vector of the whole text.

    Args:
        titles: The breadcrumb of the section.
        markdown: The section.
        opening: Used if the section has no text of its own.

    Returns:
        At least one window.
    """
    shown_titles = [" ".join(title.split()) for title in titles[-_MAX_TITLES:]]
    head = truncate_at_word(" › ".join(shown_titles), _MAX_TITLE_CHARS)
    own = _HEADING.sub("", markdown, count=1)
    body = _LINK.sub(r"\1", own).strip() or opening
    parts: list[str] = []
    for paragraph in _BLANK_LINE.split(body):
        parts += [part for part in _cut(paragraph.strip("\n")) if part.strip()]
    texts = list(_join(parts, "\n\n"))[:MAX_WINDOWS]
    return [f"{head}\n\n{text}" for text in texts] or [head]


def _join(parts: Iterable[str], separator: str) -> Iterator[str]:
    """Join parts to texts of at most one window; longer parts stay as they are."""
    joined: list[str] = []
    size = 0
    for part in parts:
        tokens = estimate_tokens(part)
        if joined and size + tokens > WINDOW_TOKENS:
            yield separator.join(joined)
            joined = []
            size = 0
        joined.append(part)
        size += tokens
    if joined:
        yield separator.join(joined)


def _cut(paragraph: str) -> Iterator[str]:
    """Cut a paragraph that is longer than a window between words, or between characters of a long one."""
    is_short = estimate_tokens(paragraph) <= WINDOW_TOKENS
    return _join([paragraph] if is_short else _WORD.findall(paragraph), "")


# Vectors


def add_vectors(
    manifest: Manifest,
    pages: Sequence[PublishedPage],
    find_model: FindModel,
    *,
    known_files: Sequence[Path],
    save: Callable[[bytes], object] | None = None,
    warn: Callable[[str], None],
    note: Callable[[str], None],
) -> tuple[Manifest, bytes | None]:
    """Compute the vectors of all sections, and add them to the manifest.

    Args:
        manifest: The manifest of the site.
        pages: The pages of the manifest, in its order.
        find_model: Finds the model.
        known_files: Files of earlier builds, whose vectors are not computed again.
        save: Stores all known vectors for the next build, also if the model fails halfway.
        warn: Receives one line if the model fails.
        note: Receives the number of vectors.

    Returns:
        The manifest with its entry, and the file of vectors; the unchanged manifest and None if the model fails.
    """
    vectors: dict[bytes, QuantizedVector] = {}
    try:
        model = find_model(manifest)
        sections, texts = _list_windows(SectionIndex(manifest), _read_sections(manifest, pages), model.text_prefix)
        known = _read_known(known_files, model.name)
        vectors |= {digest: known[digest] for digest in texts if digest in known}
        computed = _compute_missing(model, texts, vectors)
    except RoamingError as error:
        warn(f"hybrid search: {error}; no vectors are published, search works without embeddings")
        return manifest, None
    finally:
        if save and vectors:
            with suppress(OSError):
                save(encode_vectors(model.name, [("00000000", list(vectors))], vectors))
    data = encode_vectors(model.name, sections, vectors)
    count = sum(len(digests) for _, digests in sections)
    note(f"vectors of {model.name}: {count} windows, {computed} of them new, {len(data) / _MEGABYTE:.1f} MB")
    published = VectorsEntry(file_digest(data), len(data), model.name, get_dimensions(vectors), count)
    return replace(manifest, vectors=published), data


def _read_sections(manifest: Manifest, pages: Sequence[PublishedPage]) -> Iterator[str]:
    """Yield the text of each section."""
    for entry, page in zip(manifest.pages, pages, strict=True):
        markdown = page.encode()
        for section in entry.sections:
            yield markdown[section.start : section.end].decode("utf-8", "replace")


def _list_windows(
    sections: SectionIndex, texts: Iterable[str], prefix: str = ""
) -> tuple[list[tuple[str, list[bytes]]], dict[bytes, str]]:
    """Return the id of each section with the digests of its windows, and the texts of all windows by digest."""
    windows_by_digest: dict[bytes, str] = {}
    rows: list[tuple[str, list[bytes]]] = []
    for section, text in zip(sections, texts, strict=True):
        titles = sections.breadcrumb(section)
        windows = [prefix + window for window in split_windows(titles, text, section.section.opening)]
        digests = [digest_text(window) for window in windows]
        windows_by_digest |= zip(digests, windows, strict=True)
        rows.append((section.id, digests))
    return rows, windows_by_digest


def embed_sections(sections: SectionIndex, texts: Iterable[str], embedder: Embedder) -> bytes:
    """Return a file of vectors of the sections of a site, at least one, with their texts; rows stand for ids.

    The ids of sections of several sites have other forms.
    """
    rows, windows = _list_windows(sections, texts)
    vectors: dict[bytes, QuantizedVector] = {}
    for digest, window in windows.items():
        (vector,) = embedder.embed([window])
        vectors[digest] = quantize(vector)
    numbered = [(name_row(row), digests) for row, (_, digests) in enumerate(rows)]
    return encode_vectors(embedder.model, numbered, vectors)


def _compute_missing(model: EmbeddingModel, texts: Mapping[bytes, str], vectors: dict[bytes, QuantizedVector]) -> int:
    """Compute the vectors that are missing, and return their number; batches before a failure are kept.

    Known vectors are computed again if the model returns vectors of another length than before.
    """
    missing = [digest for digest in texts if digest not in vectors]
    if not missing:
        return 0
    embedder = model.create_embedder()
    for start in range(0, len(missing), BATCH_SIZE):
        batch = missing[start : start + BATCH_SIZE]
        new = embedder.embed([texts[digest] for digest in batch])
        is_other_length = vectors and len(new[0]) != get_dimensions(vectors)
        if is_other_length and start:
            raise EmbeddingError(f"{model.name}: the model returns vectors of different lengths; choose another model")
        if is_other_length:
            vectors.clear()
            return _compute_missing(model, texts, vectors)
        vectors |= zip(batch, map(quantize, new), strict=True)
    return len(missing)


def _read_known(files: Sequence[Path], model: str) -> dict[bytes, QuantizedVector]:
    """Return the vectors of a model in files of earlier builds."""
    known: dict[bytes, QuantizedVector] = {}
    for file in files:
        try:
            vectors = decode_vectors(file.read_bytes(), str(file))
        except (OSError, VectorsError):
            continue
        if vectors.model != model or (known and vectors.dimensions != get_dimensions(known)):
            continue
        for index, digest in enumerate(vectors.digests):
            known.setdefault(digest, vectors.window(index))
    return known
