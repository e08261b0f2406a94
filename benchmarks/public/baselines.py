"""Rankings of texts by established methods: SQLite's FTS5, and BM25 without stemming."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from math import log

RankTexts = Callable[[str], list[int]]
"""Returns the indexes of the texts that contain a word of the query, best first."""

SATURATION, LENGTH_SHARE = 1.2, 0.75
"""BM25's k1 and b, which are also FTS5's."""

_WORD = re.compile(r"\w+")


def make_fts5(texts: Sequence[str]) -> RankTexts:
    """Rank with SQLite FTS5 and its porter tokenizer; all words of the query are alternatives."""
    table = sqlite3.connect(":memory:")
    table.execute("CREATE VIRTUAL TABLE texts USING fts5(text, tokenize='porter unicode61')")
    table.executemany("INSERT INTO texts(rowid, text) VALUES (?, ?)", enumerate(texts))

    def rank(query: str) -> list[int]:
        words = " OR ".join(f'"{word}"' for word in _WORD.findall(query))
        if not words:
            return []
        rows = table.execute("SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY bm25(texts), rowid", (words,))
        return [row for (row,) in rows]

    return rank


def make_bm25(texts: Sequence[str]) -> RankTexts:
    """Rank with Okapi BM25 over lower-case words, without stemming and stop words."""
    frequencies: defaultdict[str, dict[int, int]] = defaultdict(dict)
    lengths = [0] * len(texts)
    for row, text in enumerate(texts):
        counts = Counter(_WORD.findall(text.lower()))
        lengths[row] = counts.total()
        for word, count in counts.items():
            frequencies[word][row] = count
    average = sum(lengths) / len(lengths) if any(lengths) else 1.0
    norms = [SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * length / average) for length in lengths]

    def rank(query: str) -> list[int]:
        scores: defaultdict[int, float] = defaultdict(float)
        for word in _WORD.findall(query.lower()):
            found = frequencies.get(word, {})
            rarity = log(1 + (len(texts) - len(found) + 0.5) / (len(found) + 0.5))
            for row, count in found.items():
                scores[row] += rarity * count * (SATURATION + 1) / (count + norms[row])
        return sorted(scores, key=lambda row: (-scores[row], row))

    return rank
