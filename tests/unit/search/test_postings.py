"""Postings: BM25 scores of rows and groups, compared with SQLite's FTS5."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mkdocs_roaming.search.postings import (
    PLACE_TERMS,
    Postings,
    PostingsBuilder,
    are_close,
    merge_matches,
)

WEIGHTS = (12.0, 0.5, 0.9)
SHARED = (3.0, 0.0, 1.0)
PLACED = (0, 2)
_text = st.lists(st.sampled_from("abcde"), max_size=6)


def build_postings(rows: Sequence[tuple[int, Sequence[Sequence[str]]]]) -> Postings:
    builder = PostingsBuilder(WEIGHTS, SHARED, PLACED)
    for group, fields in rows:
        builder.add(group, fields, title=set(fields[0]))
    return Postings(builder.build(), [group for group, _ in rows])


def fts5_scores(rows: Sequence[Sequence[str]], weights: Sequence[float], term: str) -> dict[int, float]:
    """Return the rows that SQLite finds for a term, with their scores."""
    table = sqlite3.connect(":memory:")
    columns = ", ".join(f"c{at}" for at in range(len(weights)))
    table.execute(f"CREATE VIRTUAL TABLE t USING fts5({columns})")
    marks = ", ".join("?" * (len(weights) + 1))
    table.executemany(f"INSERT INTO t(rowid, {columns}) VALUES ({marks})", [(at, *row) for at, row in enumerate(rows)])
    scored = f"SELECT rowid, -bm25(t, {', '.join(map(str, weights))}) FROM t WHERE t MATCH ?"
    matches = dict(table.execute(scored, (f'"{term}"',)).fetchall())
    table.close()
    return matches


@given(
    rows=st.lists(st.tuples(st.integers(0, 3), st.tuples(_text, _text, _text)), min_size=1, max_size=12),
    term=st.sampled_from("abcde"),
)
def test_find_scores_as_sqlite_fts5(rows: list[tuple[int, tuple[list[str], ...]]], term: str) -> None:
    """A group has the concatenated fields of its rows; only fields with a group weight count."""
    rows.sort(key=lambda row: row[0])
    numbers = sorted({group for group, _ in rows})
    rows = [(numbers.index(group), fields) for group, fields in rows]
    matches = build_postings(rows).find([(term,)])
    texts = [[" ".join(field) for field in fields] for _, fields in rows]
    assert dict(zip(matches.rows, matches.scores, strict=True)) == pytest.approx(
        fts5_scores(texts, WEIGHTS, term), rel=1e-5
    )
    joined_fields = [
        [
            " ".join(" ".join(fields[at]) for number, fields in rows if number == group)
            for at, weight in enumerate(SHARED)
            if weight
        ]
        for group in range(len(numbers))
    ]
    expected = fts5_scores(joined_fields, [weight for weight in SHARED if weight], term)
    assert dict(zip(matches.groups, matches.group_scores, strict=True)) == pytest.approx(expected, rel=1e-5)


def test_terms_of_a_phrase_are_close_to_each_other() -> None:
    far = ["x"] * (2 * PLACE_TERMS)
    rows = [(0, (["a"], [], ["b", "a"])), (0, ([], [], ["a", *far, "b"])), (0, (["a"], [], ["b"]))]
    postings = build_postings(rows)
    assert list(postings.find([("a", "b")]).rows) == [0]
    assert list(postings.find([("a", "c")]).rows) == []


def test_find_undiluted_scores_long_row_as_average_one() -> None:
    postings = build_postings([(0, ([], [], ["a"] + ["b"] * 9)), (1, ([], [], ["a", "c"])), (2, ([], [], ["c"]))])
    diluted, undiluted = postings.find([("a",)]), postings.find([("a",)], dilute=False)
    assert undiluted.scores[0] > diluted.scores[0]
    assert undiluted.scores[1] == diluted.scores[1] > undiluted.scores[0]


def test_find_with_prefix_matches_all_terms_as_one() -> None:
    """A row with two of the terms scores as a row with one of them twice."""
    postings = build_postings(
        [(0, ([], [], ["ab", "ac", "b"])), (1, ([], [], ["ab", "ab", "b"])), (2, ([], [], ["b"]))]
    )
    matches = postings.find([("a",)], prefix=True)
    assert list(matches.rows) == [0, 1]
    assert matches.scores[0] == matches.scores[1]
    assert not postings.find([("x",)], prefix=True).rows


@pytest.mark.parametrize(
    ("between", "expected"), [(0, 1.0), (PLACE_TERMS, 0.5), (2 * PLACE_TERMS, 0.0)], ids=["same", "next", "far"]
)
def test_closeness_of_two_words_in_a_row(between: int, expected: float) -> None:
    postings = build_postings([(0, ([], [], ["a", *["x"] * between, "b"]))])

    assert are_close(postings.places(0, [("a",)]), postings.places(0, [("b",)])) == expected


def test_term_has_two_places_and_words_of_different_fields_are_not_close() -> None:
    postings = build_postings([(0, (["a"], ["c"], ["b"]))])

    assert are_close(postings.places(0, [("a",)]), postings.places(0, [("b",)])) == 0.0
    assert postings.places(0, [("c",)]) == set()  # a field without places
    text = (["a"] + ["x"] * (PLACE_TERMS - 1)) * 4
    assert len(build_postings([(0, ([], [], text))]).places(0, [("a",), ("unknown",)])) == 2


def test_title_rows_have_the_term_in_their_title() -> None:
    postings = build_postings([(0, (["a"], [], [])), (0, ([], [], ["a"])), (0, (["b"], [], ["a"]))])

    assert (postings.title_rows("a"), postings.title_rows("unknown")) == ([0], [])


def test_field_without_weights_is_not_indexed() -> None:
    builder = PostingsBuilder((1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0, 1))
    builder.add(0, (["a"], ["b"], ["c"]), title=())
    postings = Postings(builder.build(), [0])

    assert ["a" in postings, "b" in postings, "c" in postings] == [True, False, True]


def test_merge_matches_keeps_highest_score() -> None:
    postings = build_postings(
        [(0, ([], [], ["a", "b"])), (1, ([], [], ["a"])), (2, ([], [], ["c"])), (3, ([], [], ["d", "d"]))]
    )
    one, other = postings.find([("a",)]), postings.find([("b",)])
    both = merge_matches([(one, 1.0), (other, 0.5)])
    assert both.scores[0] == max(one.scores[0], 0.5 * other.scores[0])
    assert both.scores[1] == one.scores[1]
    assert not merge_matches([]).rows
