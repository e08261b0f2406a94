"""Postings: what BM25 scores, in rows and in groups of rows, as SQLite's FTS5 works it out."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mkdocs_roaming.library.index import PostingMatches, Postings, merge_matches

WEIGHTS = (12.0, 0.5, 0.9)
SHARED = (3.0, 0.0, 1.0)
_text = st.lists(st.sampled_from("abcde"), max_size=6)


def made(rows: Sequence[tuple[int, Sequence[Sequence[str]]]]) -> Postings:
    postings = Postings(WEIGHTS, SHARED)
    for group, fields in rows:
        postings.add(group, fields)
    postings.close()
    return postings


def fts5(rows: Sequence[Sequence[str]], weights: Sequence[float], phrase: Sequence[str]) -> dict[int, float]:
    """Give what SQLite finds for a phrase in rows of fields."""
    table = sqlite3.connect(":memory:")
    columns = ", ".join(f"c{at}" for at in range(len(weights)))
    table.execute(f"CREATE VIRTUAL TABLE t USING fts5({columns})")
    marks = ", ".join("?" * (len(weights) + 1))
    table.executemany(f"INSERT INTO t(rowid, {columns}) VALUES ({marks})", [(at, *row) for at, row in enumerate(rows)])
    scored = f"SELECT rowid, -bm25(t, {', '.join(map(str, weights))}) FROM t WHERE t MATCH ?"
    found = dict(table.execute(scored, (f'"{" ".join(phrase)}"',)).fetchall())
    table.close()
    return found


@given(
    rows=st.lists(st.tuples(st.integers(0, 3), st.tuples(_text, _text, _text)), min_size=1, max_size=12),
    phrase=st.lists(st.sampled_from("abcde"), min_size=1, max_size=3, unique=True).map(tuple),
)
@settings(max_examples=200, deadline=None)
def test_words_and_phrases_score_as_in_sqlite(
    rows: list[tuple[int, tuple[list[str], ...]]], phrase: tuple[str, ...]
) -> None:
    """Rows by all their fields; groups, which are the rows' fields put together, by those that count there."""
    rows.sort(key=lambda row: row[0])
    numbers = sorted({group for group, _ in rows})
    rows = [(numbers.index(group), fields) for group, fields in rows]
    found = made(rows).find([phrase])
    texts = [[" ".join(field) for field in fields] for _, fields in rows]
    assert dict(zip(found.rows, found.scores, strict=True)) == pytest.approx(fts5(texts, WEIGHTS, phrase), rel=1e-5)
    if len(phrase) == 1:  # put together, the end of a row's field would meet the next row's beginning
        together = [
            [
                " ".join(" ".join(fields[at]) for number, fields in rows if number == group)
                for at, weight in enumerate(SHARED)
                if weight
            ]
            for group in range(len(numbers))
        ]
        expected = fts5(together, [weight for weight in SHARED if weight], phrase)
        assert dict(zip(found.groups, found.group_scores, strict=True)) == pytest.approx(expected, rel=1e-5)


def test_a_phrase_does_not_reach_into_the_next_field() -> None:
    """Nor is it found where its terms stand apart."""
    postings = made([(0, (["a"], ["b"], ["b", "a", "c"])), (0, ([], [], ["c", "a", "b"]))])
    assert list(postings.find([("a", "b")]).rows) == [1]
    assert list(postings.find([("a", "x")]).rows) == []


def test_a_prefix_finds_all_terms_that_begin_so() -> None:
    """Taken for one term: a row that holds two of them counts as one that holds one of them twice."""
    postings = made([(0, ([], [], ["ab", "ac", "b"])), (1, ([], [], ["ab", "ab", "b"])), (2, ([], [], ["b"]))])
    found = postings.find([("a",)], prefix=True)
    assert list(found.rows) == [0, 1]
    assert found.scores[0] == found.scores[1]
    assert not postings.find([("x",)], prefix=True).rows


def test_the_best_way_counts() -> None:
    """Not the sum of all."""
    postings = made([(0, ([], [], ["a", "b"])), (1, ([], [], ["a"])), (2, ([], [], ["c"])), (3, ([], [], ["d", "d"]))])
    one, other = postings.find([("a",)]), postings.find([("b",)])
    both = merge_matches([(one, 1.0), (other, 0.5)])
    assert both.scores[0] == max(one.scores[0], 0.5 * other.scores[0])
    assert both.scores[1] == one.scores[1]
    assert merge_matches([]) == PostingMatches()
