"""A table of word-piece vectors: an embedder that needs no server, no model and no numeric library.

The vector of a text is the sum of the vectors of its pieces, each with a weight that is stored in the table. Pieces
are those of the model BERT: text in lower case without accents, and of each word the longest known start, then the
longest known continuation.

The file `table.bin` is made by `benchmarks/word_table.py`. It is little-endian:

    8 bytes   `ROAMTAB` and the version, 1
    3 × 4     pieces, dimensions, bytes of the list of pieces
    …         the pieces, UTF-8, sorted, one a line; continuations start with `##`
    1 each    pieces: the weight
    …         pieces: four bits for each dimension, the lower half of a byte first; 8 is zero
"""

from __future__ import annotations

import re
import struct
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from math import isqrt
from operator import mul
from pathlib import Path

from mkdocs_roaming.embeddings.embedder import Vector

TABLE_MODEL = "roaming-table-1"
"""Name of the model with the version of the table: vectors of another table are computed again."""

TABLE_WEIGHT = 0.6
"""Weight of its cosines for a sentence none of whose words is found; words have the rest."""

TABLE_PATH = Path(__file__).with_name("table.bin")

MAX_TEXT_CHARS = 40_000
"""Text after them is ignored: the sums of longer texts could exceed a lane."""

TABLE_HEAD = struct.Struct("<8sIII")
MAGIC = b"ROAMTAB\x01"
_LANE_BYTES = 4
ZERO_HALF = 8
"""The half byte for zero."""

_MAX_PIECE_CHARS = 24
_CACHED_WORDS = 20_000
_ROOT_FACTOR = 8
"""Factor of the roots of word counts, which are rounded down."""

_HALF = 16
"""Number of values of half a byte."""

_LOW_HALVES = bytes(byte % _HALF for byte in range(_HALF**2))
_HIGH_HALVES = bytes(byte // _HALF for byte in range(_HALF**2))
_WORD = re.compile(r"[^\W_]+")


class TableEmbedder:
    """Computes vectors by the table of the package. Safe for several threads.

    The numbers of a piece are lanes of a long integer, so Python multiplies and adds whole vectors at the speed of the
    processor.

    Args:
        file: The table.
    """

    model = TABLE_MODEL

    def __init__(self, file: Path = TABLE_PATH) -> None:
        self._data = file.read_bytes()
        _, count, self.dimensions, size = TABLE_HEAD.unpack_from(self._data)
        self._weights = TABLE_HEAD.size + size
        self._vectors = self._weights + count
        # A list: a dictionary would double the time until the first search.
        self._pieces = self._data[TABLE_HEAD.size : self._weights].decode().split("\n")
        self._lanes = struct.Struct(f"<{self.dimensions + 1}I")
        self._sum_pieces = lru_cache(_CACHED_WORDS)(self._add_pieces)

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector for each text, not of length 1; that of a text without known words is zero."""
        return [self._embed(text) for text in texts]

    def knows(self, word: str) -> bool:
        """Return whether a word in lower case without accents is one piece."""
        row = bisect_left(self._pieces, word)
        return self._pieces[row : row + 1] == [word]

    def split_word(self, word: str) -> list[str]:
        """Return the pieces of a word in lower case; none if a part of it is unknown."""
        word = _strip_accents(word)
        pieces: list[str] = []
        start = 0
        mark = ""
        while start < len(word):
            ends = range(min(len(word), start + _MAX_PIECE_CHARS), start, -1)
            end = next((end for end in ends if self.knows(mark + word[start:end])), None)
            if end is None:
                return []
            pieces.append(mark + word[start:end])
            start = end
            mark = "##"
        return pieces

    def _embed(self, text: str) -> Vector:
        counts = Counter(_WORD.findall(text[:MAX_TEXT_CHARS].lower()))
        roots = [isqrt(count * _ROOT_FACTOR**2) for count in counts.values()]
        total = sum(map(mul, map(self._sum_pieces, counts), roots))
        *sums, zero = self._lanes.unpack(total.to_bytes(self._lanes.size, "little"))
        return [number - zero for number in sums]

    def _add_pieces(self, word: str) -> int:
        """Return the weighted sum of a word's pieces, in lanes; the last lane is the sum of their zeros."""
        total = 0
        for piece in self.split_word(word):
            row = bisect_left(self._pieces, piece)
            total += self._data[self._weights + row] * self._read_lanes(row)
        return total

    def _read_lanes(self, row: int) -> int:
        size = self.dimensions // 2
        start = self._vectors + row * size
        halves = self._data[start : start + size]
        lanes = bytearray(self._lanes.size)
        lanes[: -_LANE_BYTES : 2 * _LANE_BYTES] = halves.translate(_LOW_HALVES)
        lanes[_LANE_BYTES : -_LANE_BYTES : 2 * _LANE_BYTES] = halves.translate(_HIGH_HALVES)
        lanes[-_LANE_BYTES] = ZERO_HALF
        return int.from_bytes(lanes, "little")


def _strip_accents(word: str) -> str:
    if word.isascii():
        return word
    return "".join(char for char in unicodedata.normalize("NFD", word) if unicodedata.category(char) != "Mn")
