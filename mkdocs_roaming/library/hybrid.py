"""Which windows lie nearest to a vector: all of them are compared, exactly, without any package for numbers.

Python multiplies a long integer by a short one as fast as its processor can. So the bytes of one dimension, of many
windows side by side, stand in one long integer; times the question's number in that dimension, and added up over all
dimensions, it holds the products of all windows at once. 15,000 windows of 384 dimensions take 8 ms, a twentieth of
what a loop over them takes.

Two windows of two dimensions, (3, 1) and (2, 5), in lanes of three decimal digits: the columns are 002003 and 005001.
A question (4, 6) gives 4 * 002003 + 6 * 005001 = 038018: 18 for the first window, 38 for the second. It is right as
long as no lane runs over into the next one, so numbers are never negative here, and no finer than lanes have room for.
"""

from __future__ import annotations

import hashlib
import sys
import threading
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import mul

from mkdocs_roaming.embeddings.client import FAILURE_PAUSE, QueryEmbedder, Vector
from mkdocs_roaming.embeddings.store import MAX_WINDOWS, VectorFile, VectorsError, decode_vectors, split_windows
from mkdocs_roaming.errors import LibraryError, RoamingError
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.search import Hit, Search, parse_query
from mkdocs_roaming.library.snippets import SNIPPET_CHARS, strip_markdown
from mkdocs_roaming.manifest.io import VECTORS_PATH
from mkdocs_roaming.manifest.lookup import SectionRef
from mkdocs_roaming.manifest.models import PageEntry
from mkdocs_roaming.text.markdown import truncate_at_word
from mkdocs_roaming.text.tokenizer import Word

_LANE = 4


"""The bytes that one window has in a long integer."""


_BLOCK = 4_096


"""The windows of one long integer: as much as stays near the processor."""


_SIGN = 128


class VectorColumns:
    """The vectors of a site, dimension by dimension. May be read from several threads."""

    def __init__(self, vectors: VectorFile) -> None:
        self.dimensions = vectors.dimensions
        self._scales = vectors.scales
        self._blocks = [
            (min(_BLOCK, len(vectors.scales) - begin), _columns(vectors, begin))
            for begin in range(0, len(vectors.scales), _BLOCK)
        ]
        ones = [1] * self.dimensions
        self._sums = [total - _SIGN * self.dimensions for total in self._products(ones)]

    def cosines(self, vector: Sequence[float]) -> list[float]:
        """Give for each window how near it is to a vector, at most 1; nothing where the vector leads nowhere."""
        most = max(map(abs, vector))
        if not most > 0:
            return []
        # The finest steps whose sums still fit into a lane.
        finest = (2 ** (8 * _LANE) - 1) // (2 * 255 * self.dimensions)
        steps = [round(finest * (number / most)) for number in vector]
        length = sum(step * step for step in steps) ** 0.5
        # Lanes hold no negative numbers: both sides are lifted, and what that adds is taken off again.
        lifted = [step + finest for step in steps]
        surplus = _SIGN * sum(lifted)
        return [
            (total - finest * own - surplus) * scale / length
            for total, own, scale in zip(self._products(lifted), self._sums, self._scales, strict=True)
        ]

    def _products(self, numbers: Sequence[int]) -> array[int]:
        found = array("I")
        for count, columns in self._blocks:
            found.frombytes(sum(map(mul, columns, numbers)).to_bytes(_LANE * count, "little"))
        if sys.byteorder == "big":
            found.byteswap()
        return found


def _columns(vectors: VectorFile, begin: int) -> list[int]:
    """Give a long integer for each dimension, holding the bytes of a block's windows, lifted above zero."""
    end = min(begin + _BLOCK, len(vectors.scales))
    size = vectors.dimensions
    values = vectors.values[begin * size : end * size].translate(_LIFTED)
    columns = []
    for at in range(size):
        lanes = bytearray(_LANE * (end - begin))
        lanes[::_LANE] = values[at::size]
        columns.append(int.from_bytes(lanes, "little"))
    return columns


_LIFTED = bytes((byte + _SIGN) % 256 for byte in range(256))


# MERGED mkdocs_roaming.roam.meaning:
# Search by meaning beside search by words, their scores fused.
#
# A question becomes a vector by one request to an endpoint; the sections' vectors lie beside the manifest.
# Where the
# endpoint is away, slow or another one than the vectors', search goes on by words, and says so once.


VECTOR_WEIGHT = 0.4


"""What meaning counts, words the rest. Measured by benchmarks/fusions.py: more serves long questions in words that the
docs do not have, less serves names that they do.
"""


@dataclass(frozen=True, slots=True)
class NearSection:
    """A section that lies near a question: how near its best window does, and which one that is."""

    place: SectionRef
    cosine: float
    window: int


class VectorIndex:
    """What the sections of a library mean. The vectors are read on first use; safe from several threads."""

    def __init__(self, library: Library, queries: QueryEmbedder) -> None:
        self.library, self.queries = library, queries
        self._lock = threading.Lock()
        self._read: _Read | None = None
        self._problem = ""
        self._again_at = float("-inf")

    def knows(self, query: str) -> bool:
        """Tell whether a question's meaning is known."""
        return not self._problem and self.queries.kept(query) is not None

    @property
    def healthy(self) -> bool:
        """Whether nothing is wrong with the vectors or the endpoint, as far as it was tried."""
        return not self._problem and self.queries.healthy

    def nearest(self, query: str) -> list[NearSection] | None:
        """Give the sections nearest to a question, nearest first; None where only words can be gone by."""
        read = self.load()
        vector = self.queries.vector(query) if read and query.strip() else None
        if read is None or vector is None:
            return None
        if len(vector) != read.columns.dimensions:
            self._fail(
                f"{self.queries.model} gave a vector of {len(vector)} dimensions, the site's have "
                f"{read.columns.dimensions}; ask the model that the site was built with, or build it again"
            )
            return None
        return read.nearest(vector)[:_DEPTH]

    def load(self) -> _Read | None:
        """Read the vectors, if that was not done yet."""
        with self._lock:
            if self._read is None and self.queries.clock() >= self._again_at:
                try:
                    self._read = self._loaded()
                    self._problem = ""
                except RoamingError as error:
                    self._fail(str(error))
            return None if self._problem else self._read

    def _fail(self, why: str) -> None:
        self._again_at = self.queries.clock() + FAILURE_PAUSE
        new, self._problem = self._problem != why, why
        if new:
            self.queries.on_warning(f"search goes by words alone: {why}")

    def _loaded(self) -> _Read:
        library, entry = self.library, self.library.manifest.vectors
        where = f"{library.where}: "
        if entry is None:
            raise VectorsError(f"{where}publishes no vectors; build it with `search: hybrid`")
        if entry.model != self.queries.model:
            raise VectorsError(
                f"{where}its vectors are those of {entry.model!r}, not of {self.queries.model!r}; "
                "name the same model in [embeddings]"
            )
        data = library.file(VECTORS_PATH)
        if not _fits(data, entry.digest):
            data = library.file(VECTORS_PATH, cache_key=entry.digest.removeprefix("sha256:")[:16])
        if not _fits(data, entry.digest):
            raise VectorsError(f"{where}{VECTORS_PATH} does not fit the manifest; build the site again")
        vectors = decode_vectors(data, where + VECTORS_PATH)
        if len(vectors.scales) > MAX_WINDOWS * len(library.sections):  # each search would compare them all
            raise VectorsError(
                f"{where}{VECTORS_PATH} holds more windows than the site's sections have; build the site again"
            )
        sections = [(library.sections.get(id_), count) for id_, count in vectors.sections]
        return _Read(VectorColumns(vectors), sections)


class _Read:
    """The vectors of a library, and whose windows they are."""

    def __init__(self, columns: VectorColumns, sections: list[tuple[SectionRef | None, int]]) -> None:
        self.columns = columns
        self._sections = sections

    def nearest(self, vector: Vector) -> list[NearSection]:
        """Give the sections by their best window, nearest first; equals as they stand on the site."""
        cosines = self.columns.cosines(vector)
        found: list[NearSection] = []
        at = 0
        for place, count in self._sections if cosines else ():
            own = cosines[at : at + count]
            at += count
            if place is not None and own:
                best = max(own)
                found.append(NearSection(place, best, own.index(best)))
        return sorted((near for near in found if near.cosine > 0), key=lambda near: -near.cosine)


class HybridSearch:
    """Finds sections by words and by meaning, as `Search` does by words."""

    def __init__(self, search: Search, queries: QueryEmbedder) -> None:
        self.library = search.library
        self.words = search
        self.vectors = VectorIndex(search.library, queries)
        self._language = search.library.manifest.site.language

    def find(self, query: str, *, limit: int = 10, within: Callable[[SectionRef], bool] | None = None) -> list[Hit]:
        """Give the best sections for any text a person types, best first; a section's own address finds it too."""
        fused = self._fused(query)
        if fused is None:
            return self.words.find(query, limit=limit, within=within)
        chosen: list[tuple[SectionRef, float, NearSection | None]] = []
        for place, score, near in fused:
            if len(chosen) >= limit:
                break
            if within is None or within(place):
                chosen.append((place, score, near))
        ids = {place.id for place, _, _ in chosen}
        by_words = self.words.find(query, limit=len(ids), within=lambda place: place.id in ids)
        told = {hit.place.id: hit.snippet for hit in by_words}
        return [
            Hit(place, score, told[place.id] if place.id in told else self._window(near) if near else "")
            for place, score, near in chosen
        ]

    def pages(
        self, query: str, *, limit: int = 10, within: Callable[[SectionRef], bool] | None = None
    ) -> list[PageEntry]:
        """Give the pages whose best section ranks first."""
        fused = self._fused(query)
        if fused is None:
            return self.words.pages(query, limit=limit, within=within)
        found: dict[str, PageEntry] = {}
        for place, _, _ in fused:
            if len(found) >= limit:
                break
            if within is None or within(place):
                found.setdefault(place.page.path, place.page)
        return list(found.values())

    def rank(self, words: Sequence[Word]) -> list[tuple[SectionRef, float]]:
        """Give every section that holds one of the words, as `Search` does: words without a sentence mean little."""
        return self.words.rank(words)

    def words_only(self, query: str) -> bool:
        """Tell whether a question was searched for by words alone, since its meaning could not be had."""
        return not self.vectors.healthy and not self.vectors.knows(query)

    def _fused(self, query: str) -> Iterator[tuple[SectionRef, float, NearSection | None]] | None:
        """Give all sections found by words or meaning, best first; None where only words can be gone by.

        Who names a section wants that one, and no likeness.
        """
        best_by_words = self.words.rank(parse_query(query, self._language))
        first = self.words.find(query, limit=1)
        if first and (not best_by_words or first[0].score != best_by_words[0][1]):
            return None
        nearest = self.vectors.nearest(query)
        if nearest is None:
            return None
        scores = fuse_scores(
            {place.id: score for place, score in best_by_words}, {near.place.id: near.cosine for near in nearest}
        )
        places = {place.id: place for place, _ in best_by_words} | {near.place.id: near.place for near in nearest}
        near_of = {near.place.id: near for near in nearest}
        best_first = sorted(scores, key=scores.__getitem__, reverse=True)  # of equals that which words rank higher
        return ((places[id_], scores[id_], near_of.get(id_)) for id_ in best_first)

    def _window(self, near: NearSection) -> str:
        """Give the beginning of the window that lies nearest: none of the question's words lead there."""
        section = near.place.section
        try:
            text = self.library.text(near.place)
        except LibraryError:
            return section.opening
        own = split_windows((), text, section.opening)
        return truncate_at_word(strip_markdown(own[min(near.window, len(own) - 1)]), SNIPPET_CHARS)


def fuse_scores(
    by_words: Mapping[str, float], by_meaning: Mapping[str, float], meaning: float = VECTOR_WEIGHT
) -> dict[str, float]:
    """Give what sections score by words and by meaning, each from 0 to 1, added up by their weights.

    A section's score by words is its share of the best one's. Cosines of one model lie all near to 1, those of another
    near to 0, so they are measured from the least of those found to the greatest. By how much a section is ahead counts
    therefore, and not its rank alone: what words put far ahead stays there, wherever a weak model has it.
    """
    most = max(by_words.values(), default=0.0)
    least, nearest = min(by_meaning.values(), default=0.0), max(by_meaning.values(), default=0.0)
    scores = {id_: (1 - meaning) * score / most for id_, score in by_words.items()} if most > 0 else {}
    for id_, cosine in by_meaning.items():
        near = (cosine - least) / (nearest - least) if nearest > least else 1.0
        scores[id_] = scores.get(id_, 0.0) + meaning * near
    return scores


def _fits(data: bytes, digest: str) -> bool:
    return "sha256:" + hashlib.sha256(data).hexdigest() == digest


_DEPTH = 200
