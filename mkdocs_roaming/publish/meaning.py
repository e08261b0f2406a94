"""What sections mean, as vectors, published beside the manifest. Asked for once: what was said before is kept.

An endpoint that is away costs the site its vectors and nothing else: there is a warning, and search goes by words.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from mkdocs_roaming.build import Written
from mkdocs_roaming.embed import BATCH, Embedder, EmbeddingError, embeddings_of, endpoint_of
from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.manifest import Manifest, VectorsEntry
from mkdocs_roaming.places import Place, Places
from mkdocs_roaming.publish.files import write_atomically
from mkdocs_roaming.vectors import Quantised, Vectors, VectorsError, pack, quantised, text_digest, unpack
from mkdocs_roaming.windows import windows

FILE = "vectors.bin"
"""What the vectors of the last build are kept in, beside the conversions."""
MANY = 10 * BATCH
"""So many vectors take a model on a processor ten seconds or more, so it is said that they are asked for."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """Whose vectors are published. The embedder is made when there is something to ask: often nothing is new.

    `tell` gets a line before so much is asked for that it takes a while.
    """

    model: str
    embedder: Callable[[], Embedder]
    prefix: str = ""
    tell: Callable[[str], None] = lambda line: None


def meaning_of(
    said: object, environ: Mapping[str, str], where: str, tell: Callable[[str], None] = lambda line: None
) -> Meaning:
    """Give whose vectors a configuration asks for; raises UsageError in one line that starts with `where`."""
    embeddings = embeddings_of(said, where)
    return Meaning(embeddings.model, lambda: endpoint_of(embeddings, environ), embeddings.text_prefix, tell)


def with_vectors(
    manifest: Manifest,
    written: Sequence[Written],
    meaning: Meaning,
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
        digests = [text_digest(text) for text in own]
        texts |= {digest: text for digest, text in zip(digests, own, strict=True) if digest not in known}
        sections.append((id_, digests))
    wanted = {digest for _, digests in sections for digest in digests}
    made = _Made(meaning, {digest: vector for digest, vector in known.items() if digest in wanted})
    try:
        made.add(texts)
        if len(made.vectors) < len(wanted):  # what the model said before is worth nothing
            made.add(
                {text_digest(text): text for _, own in _windows(manifest, written, meaning.prefix) for text in own}
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


def _windows(manifest: Manifest, written: Sequence[Written], prefix: str) -> Iterator[tuple[str, list[str]]]:
    """Give the texts that stand for each section, by its id."""
    places = Places(manifest)
    for page, one in zip(manifest.pages, written, strict=True):
        data = one.markdown.encode("utf-8", "surrogatepass")
        for at, section in enumerate(page.sections):
            text = data[section.start : section.end].decode("utf-8", "replace")
            own = windows(places.breadcrumb(Place(page, at)), text, section.opening)
            yield section.id, [prefix + window for window in own]


class _Made:
    """Vectors while they are gathered, by the digests of their texts; `asked` counts those that were asked for."""

    def __init__(self, meaning: Meaning, known: dict[bytes, Quantised]) -> None:
        self._meaning = meaning
        self.vectors = known
        self.asked = 0

    @property
    def dimensions(self) -> int:
        return len(next(iter(self.vectors.values())).values)

    def packed(self, sections: Sequence[tuple[str, Sequence[bytes]]]) -> bytes:
        return pack(self._meaning.model, sections, self.vectors, self.dimensions)

    def add(self, texts: Mapping[bytes, str]) -> None:
        """Ask for the vectors of texts, in batches; what came stays, whatever comes after.

        Where they are of another length than those of earlier builds, the earlier ones go.
        """
        left = [digest for digest in texts if digest not in self.vectors]
        if not left:
            return
        embedder = self._meaning.embedder()
        if len(left) >= MANY:
            self._meaning.tell(f"asking {embedder.model} for {len(left)} vectors; this may take minutes")
        for begin in range(0, len(left), BATCH):
            batch = left[begin : begin + BATCH]
            found = embedder.embed([texts[digest] for digest in batch])
            if self.vectors and len(found[0]) != self.dimensions:
                if self.asked:
                    raise EmbeddingError(f"{embedder.model}: its vectors have different lengths; choose another model")
                self.vectors.clear()
            self.vectors |= zip(batch, map(quantised, found), strict=True)
            self.asked += len(batch)


def _known(files: Sequence[Path], model: str) -> dict[bytes, Quantised]:
    """Give the vectors that files of earlier builds hold of a model."""
    known: dict[bytes, Quantised] = {}
    for file in files:
        found = _read(file)
        if found is None or found.model != model:
            continue
        if known and found.dimensions != len(next(iter(known.values())).values):
            continue
        for at, digest in enumerate(found.digests):
            known.setdefault(digest, found.window(at))
    return known


def _read(file: Path) -> Vectors | None:
    try:
        return unpack(file.read_bytes(), str(file))
    except (OSError, VectorsError):
        return None
