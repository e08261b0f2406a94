"""A section as windows: pieces short enough for one vector each, every one under the titles that it stands below.

A vector of a long text is near to everything and to nothing; the best window of a section finds it more often.
"""

from __future__ import annotations

import hashlib
import math
import re
import struct
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from mkdocs_roaming.embeddings.client import (
    BATCH_SIZE,
    MAX_DIMENSIONS,
    Embedder,
    EmbeddingError,
    create_embeddings_client,
    parse_embeddings_config,
)
from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.manifest.builder import PublishedPage
from mkdocs_roaming.manifest.io import VECTORS_PATH
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.manifest.models import Manifest, VectorsEntry
from mkdocs_roaming.publish.files import write_atomically
from mkdocs_roaming.text.markdown import truncate_at_word
from mkdocs_roaming.text.tokenizer import estimate_tokens

WINDOW_TOKENS = 180


"""The estimated tokens of a window's text: half of what the smallest embedding models read."""


MAX_WINDOWS = 40


"""The most windows of a section; what follows is found by words alone."""


def split_windows(titles: Sequence[str], markdown: str, opening: str = "") -> list[str]:
    """Give the texts that stand for a section, at least one; `opening` where it has no text of its own."""
    head = truncate_at_word(" › ".join(" ".join(title.split()) for title in titles[-_CRUMBS:]), _MAX_TITLE_CHARS)
    body = _LINK.sub(r"\1", _HEADING.sub("", markdown, count=1)).strip() or opening
    texts = list(_packed(_pieces(body)))[:MAX_WINDOWS]
    return [f"{head}\n\n{text}" for text in texts] or [head]


def _packed(pieces: Iterator[tuple[str, int]]) -> Iterator[str]:
    """Put pieces together as long as they fit one window."""
    held: list[str] = []
    size = 0
    for piece, tokens in pieces:
        if held and size + tokens > WINDOW_TOKENS:
            yield "\n\n".join(held)
            held, size = [], 0
        held.append(piece)
        size += tokens
    if held:
        yield "\n\n".join(held)


def _pieces(text: str) -> Iterator[tuple[str, int]]:
    """Give a text's paragraphs, and the lines, then the words of those that are too long, with their tokens."""
    for paragraph in _BLANK.split(text):
        for piece in _cut(paragraph.strip("\n")):
            if piece.strip():
                yield piece, estimate_tokens(piece)


def _cut(text: str) -> Iterator[str]:
    if estimate_tokens(text) <= WINDOW_TOKENS:
        yield text
    elif "\n" in text:
        yield from _grown(text.splitlines(), "\n")
    elif " " in text:
        yield from _grown(text.split(" "), " ")
    else:
        size = max(len(text) * WINDOW_TOKENS // estimate_tokens(text), 1)
        yield from (text[at : at + size] for at in range(0, len(text), size))


def _grown(parts: Sequence[str], between: str) -> Iterator[str]:
    """Join parts up to the size of a window; a part that is longer by itself is cut."""
    held: list[str] = []
    size = 0
    for part in parts:
        tokens = estimate_tokens(part)
        if held and size + tokens > WINDOW_TOKENS:
            yield between.join(held)
            held, size = [], 0
        if tokens > WINDOW_TOKENS:
            yield from _cut(part)
        else:
            held.append(part)
            size += tokens
    if held:
        yield between.join(held)


_CRUMBS = 6


_MAX_TITLE_CHARS = 200


_HEADING = re.compile(r"\A\s*#{1,6}[ \t][^\n]*")  # its title stands in the breadcrumb


_BLANK = re.compile(r"\n[ \t]*\n")


_LINK = re.compile(  # addresses say nothing; no part runs past where the next link begins: pages may be hostile
    r"!?\[([^\[\]\n]*)\]\((?:[^()\s]|\([^()\s]*\))*(?:\s+\"[^\"\n]*\")?\)"
)


# MERGED mkdocs_roaming.vectors:
# The file of vectors beside a manifest: written by a build, read by search. All numbers are little-endian.
#
#     8 bytes   `ROAMVEC` and the version, 1
#     4 × 4     dimensions, sections, windows, bytes of the model's name
#     …         the model's name, UTF-8
#     8 each    sections: the id's 4 bytes, how many windows are its own (4 bytes)
#     8 each    windows: the first 8 bytes of SHA-256 over the text that the vector stands for
#     4 each    windows: the scale, a float
#     …         windows: one signed byte for each dimension; times the scale it is the vector, of length 1
#
# Windows stand in the order of the sections. The same vectors give the same bytes.


DIGEST_SIZE = 8


class VectorsError(RoamingError):
    """A file of vectors is not one, or is broken."""


@dataclass(frozen=True, slots=True)
class QuantizedVector:
    """A vector in a byte for each dimension: `values` are signed bytes, times `scale` they have the length 1."""

    scale: float
    values: bytes


@dataclass(frozen=True, slots=True)
class VectorFile:
    """The vectors of a site: for each section, by its id, how many windows it has; then the windows in their order."""

    model: str
    dimensions: int
    sections: tuple[tuple[str, int], ...]
    digests: Sequence[bytes]
    scales: Sequence[float]
    values: bytes
    """The signed bytes of all windows, one window after the other."""

    def window(self, at: int) -> QuantizedVector:
        """Give the vector of a window."""
        return QuantizedVector(self.scales[at], self.values[at * self.dimensions : (at + 1) * self.dimensions])


def quantize(vector: Sequence[float]) -> QuantizedVector:
    """Give a vector in bytes, brought to the length 1; one that leads nowhere stays so."""
    most = max(map(abs, vector))
    if not most > 0:
        return QuantizedVector(0.0, bytes(len(vector)))
    steps = [round(127 * (number / most)) for number in vector]
    length = math.sqrt(sum(step * step for step in steps))
    # A float of four bytes, as it is written: what was just made and what was read are the same.
    (scale,) = struct.unpack("<f", struct.pack("<f", 1 / length))
    return QuantizedVector(scale, struct.pack(f"{len(steps)}b", *steps))


def digest_text(text: str) -> bytes:
    """Give what a window's text is known by."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:DIGEST_SIZE]


def encode_vectors(
    model: str, sections: Iterable[tuple[str, Sequence[bytes]]], vectors: dict[bytes, QuantizedVector], dimensions: int
) -> bytes:
    """Give the file: for each section, by its id, the digests of its windows; `vectors` has them all."""
    sections = list(sections)
    digests = [digest for _, own in sections for digest in own]
    name = model.encode("utf-8")
    head = _HEAD.pack(_MAGIC, dimensions, len(sections), len(digests), len(name))
    table = b"".join(bytes.fromhex(id_) + struct.pack("<I", len(own)) for id_, own in sections)
    scales = struct.pack(f"<{len(digests)}f", *(vectors[digest].scale for digest in digests))
    return b"".join((head, name, table, *digests, scales, *(vectors[digest].values for digest in digests)))


def decode_vectors(data: bytes, where: str = VECTORS_PATH) -> VectorFile:
    """Read the file; `where` is named in errors. Raises VectorsError for one that is broken, or of a later version."""
    broken = VectorsError(f"{where}: broken or cut short; build the site again")
    if len(data) < _HEAD.size or not data.startswith(_MAGIC[:7]):
        raise broken
    magic, dimensions, sections, windows, name = _HEAD.unpack_from(data)
    if magic != _MAGIC:
        raise VectorsError(f"{where}: of a later version; upgrade mkdocs-roaming")
    table = _HEAD.size + name
    digests = table + 8 * sections
    scales = digests + DIGEST_SIZE * windows
    values = scales + 4 * windows
    if not 1 <= dimensions <= MAX_DIMENSIONS or len(data) != values + dimensions * windows:
        raise broken
    numbers = array("f")
    numbers.frombytes(data[scales:values])
    if sys.byteorder == "big":
        numbers.byteswap()
    rows = tuple((id_.hex(), count) for id_, count in struct.iter_unpack("<4sI", data[table:digests]))
    if sum(count for _, count in rows) != windows or not all(0 <= number <= 1 for number in numbers):
        raise broken
    return VectorFile(
        data[_HEAD.size : table].decode("utf-8", "replace"),
        dimensions,
        rows,
        [data[at : at + DIGEST_SIZE] for at in range(digests, scales, DIGEST_SIZE)],
        numbers,
        data[values:],
    )


_MAGIC = b"ROAMVEC\x01"


_HEAD = struct.Struct("<8sIIII")


# MERGED mkdocs_roaming.publish.meaning:
# What sections mean, as vectors, published beside the manifest. Asked for once: what was said before is kept.
#
# An endpoint that is away costs the site its vectors and nothing else: there is a warning, and search goes by
# words.


CACHE_FILE = "vectors.bin"


"""What the vectors of the last build are kept in, beside the conversions."""


ANNOUNCED_COUNT = 10 * BATCH_SIZE


"""So many vectors take a model on a processor ten seconds or more, so it is said that they are asked for."""


@dataclass(frozen=True, slots=True)
class EmbeddingsOptions:
    """Whose vectors are published. The embedder is made when there is something to ask: often nothing is new.

    `tell` gets a line before so much is asked for that it takes a while.
    """

    model: str
    embedder: Callable[[], Embedder]
    prefix: str = ""
    tell: Callable[[str], None] = lambda line: None


def parse_embeddings_options(
    said: object, environ: Mapping[str, str], where: str, tell: Callable[[str], None] = lambda line: None
) -> EmbeddingsOptions:
    """Give whose vectors a configuration asks for; raises UsageError in one line that starts with `where`."""
    embeddings = parse_embeddings_config(said, where)
    return EmbeddingsOptions(
        embeddings.model, lambda: create_embeddings_client(embeddings, environ), embeddings.text_prefix, tell
    )


def add_vectors(
    manifest: Manifest,
    written: Sequence[PublishedPage],
    meaning: EmbeddingsOptions,
    *,
    kept: Path | None,
    before: Path,
    warn: Callable[[str], None],
    note: Callable[[str], None],
) -> tuple[Manifest, bytes | None]:
    """Give the manifest with its entry of vectors, and their file; the manifest as it was, with a warning, without.

    `written` are the manifest's pages. Vectors are taken from what was `kept` and from what was published `before`;
    `kept` is written anew, also where the endpoint fails half-way.
    """
    known = _known([kept, before] if kept else [before], meaning.model)
    texts: dict[bytes, str] = {}  # those that are asked for
    sections: list[tuple[str, list[bytes]]] = []
    for id_, own in _windows(manifest, written, meaning.prefix):
        digests = [digest_text(text) for text in own]
        texts |= {digest: text for digest, text in zip(digests, own, strict=True) if digest not in known}
        sections.append((id_, digests))
    wanted = {digest for _, digests in sections for digest in digests}
    made = _Made(meaning, {digest: vector for digest, vector in known.items() if digest in wanted})
    try:
        made.add(texts)
        if len(made.vectors) < len(wanted):  # what the model said before is worth nothing
            made.add(
                {digest_text(text): text for _, own in _windows(manifest, written, meaning.prefix) for text in own}
            )
    except RoamingError as error:
        warn(f"search by meaning: {error}; no vectors are published, search goes by words alone")
        return manifest, None
    finally:
        if kept and made.vectors:
            with suppress(OSError):
                write_atomically(kept, made.packed([("00000000", list(made.vectors))]))
    data = made.packed(sections)
    count = sum(len(own) for _, own in sections)
    note(f"vectors of {meaning.model}: {count} windows, {made.asked} of them new, {len(data) / 1e6:.1f} MB")
    digest = "sha256:" + hashlib.sha256(data).hexdigest()
    return replace(manifest, vectors=VectorsEntry(digest, len(data), meaning.model, made.dimensions, count)), data


def _windows(manifest: Manifest, written: Sequence[PublishedPage], prefix: str) -> Iterator[tuple[str, list[str]]]:
    """Give the texts that stand for each section, by its id."""
    places = SectionIndex(manifest)
    for page, one in zip(manifest.pages, written, strict=True):
        data = one.markdown.encode("utf-8", "surrogatepass")
        for at, section in enumerate(page.sections):
            text = data[section.start : section.end].decode("utf-8", "replace")
            own = split_windows(places.breadcrumb(SectionRef(page, at)), text, section.opening)
            yield section.id, [prefix + window for window in own]


class _Made:
    """Vectors while they are gathered, by the digests of their texts; `asked` counts those that were asked for."""

    def __init__(self, meaning: EmbeddingsOptions, known: dict[bytes, QuantizedVector]) -> None:
        self._meaning = meaning
        self.vectors = known
        self.asked = 0

    @property
    def dimensions(self) -> int:
        return len(next(iter(self.vectors.values())).values)

    def packed(self, sections: Sequence[tuple[str, Sequence[bytes]]]) -> bytes:
        return encode_vectors(self._meaning.model, sections, self.vectors, self.dimensions)

    def add(self, texts: Mapping[bytes, str]) -> None:
        """Ask for the vectors of texts, in batches; what came stays, whatever comes after.

        Where they are of another length than those of earlier builds, the earlier ones go.
        """
        left = [digest for digest in texts if digest not in self.vectors]
        if not left:
            return
        embedder = self._meaning.embedder()
        if len(left) >= ANNOUNCED_COUNT:
            self._meaning.tell(f"asking {embedder.model} for {len(left)} vectors; this may take minutes")
        for begin in range(0, len(left), BATCH_SIZE):
            batch = left[begin : begin + BATCH_SIZE]
            found = embedder.embed([texts[digest] for digest in batch])
            if self.vectors and len(found[0]) != self.dimensions:
                if self.asked:
                    raise EmbeddingError(f"{embedder.model}: its vectors have different lengths; choose another model")
                self.vectors.clear()
            self.vectors |= zip(batch, map(quantize, found), strict=True)
            self.asked += len(batch)


def _known(files: Sequence[Path], model: str) -> dict[bytes, QuantizedVector]:
    """Give the vectors that files of earlier builds hold of a model."""
    known: dict[bytes, QuantizedVector] = {}
    for file in files:
        found = _read(file)
        if found is None or found.model != model:
            continue
        if known and found.dimensions != len(next(iter(known.values())).values):
            continue
        for at, digest in enumerate(found.digests):
            known.setdefault(digest, found.window(at))
    return known


def _read(file: Path) -> VectorFile | None:
    try:
        return decode_vectors(file.read_bytes(), str(file))
    except (OSError, VectorsError):
        return None
