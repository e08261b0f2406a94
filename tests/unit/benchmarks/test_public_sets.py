"""Scores, intervals, halves and rankings of the public evaluation sets."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from public.baselines import make_bm25, make_fts5
from public.cookbook import COLUMNS, Chunk, make_pages, map_addresses, score_results
from public.corpus import Checkout, build_library, read_checkout
from public.methods import Ranked, RankedSection, count_tokens, make_methods
from public.report import (
    TOKENS,
    Column,
    Published,
    Row,
    bootstrap_gain,
    bootstrap_interval,
    choose_half,
    in_part,
    iter_gains,
    iter_table,
    make_record,
    mean_of,
    wilson_interval,
    write_record,
)

CHUNKS = [
    Chunk(
        "https://pumps.example/en/prime-a-pump#before", "Before", "Before\n\n\nOpen the valve.\n# dry run\n---\nDone."
    ),
    Chunk("https://pumps.example/en/prime-a-pump#prime-it", "Prime it", "Fill the pump with water.\n<pre>\n```\nfill"),
    Chunk("https://pumps.example/en/tides#low", "Ebb", "At low tide the pump runs dry.\n"),
]


def make_row(number: int, value: float, *, method: str = "search", tokens: int = 10) -> Row:
    return Row(number, "unseen" if number % 2 else "develop", method, {"hit": value}, tokens)


def test_score_results_counts_three_results_and_each_right_address() -> None:
    scores = score_results(["x", "a", "b", "c"], ["a", "c"])

    assert scores == {"precision": pytest.approx(1 / 3), "recall": 0.5, "reciprocal rank": 0.5}


def test_score_results_of_fewer_results_divides_precision_by_three() -> None:
    assert score_results(["a"], ["a"]) == {"precision": pytest.approx(1 / 3), "recall": 1.0, "reciprocal rank": 1.0}


def test_score_results_without_right_one_is_zero() -> None:
    assert set(score_results([], ["a"]).values()) == set(score_results(["b"], ["a"]).values()) == {0.0}


def test_f1_is_computed_of_means() -> None:
    rows = [
        Row(1, "develop", "search", {"precision": 1.0, "recall": 0.5}, 1),
        Row(2, "develop", "search", {"precision": 0.0, "recall": 0.0}, 1),
    ]

    assert next(column for column in COLUMNS if column.name == "F1").figure(rows) == pytest.approx(1 / 3)


def test_wilson_interval_of_published_example() -> None:
    interval = wilson_interval(81, 263)  # Newcombe 1998, method 3

    assert (round(interval.low, 4), round(interval.high, 4)) == (0.2553, 0.3662)


def test_wilson_interval_without_misses_ends_at_one() -> None:
    assert wilson_interval(10, 10).high == pytest.approx(1)
    assert round(wilson_interval(10, 10).low, 4) == 0.7225


def test_bootstrap_interval_is_equal_in_two_runs_and_contains_the_mean() -> None:
    rows = [make_row(number, number % 3 / 2) for number in range(1, 61)]

    first, second = (bootstrap_interval(rows, mean_of("hit")) for _ in range(2))

    assert first == second
    assert first.low < mean_of("hit")(rows) < first.high
    assert first.high - first.low == pytest.approx(2 * 1.96 * 0.408 / 60**0.5, rel=0.15)


def test_bootstrap_gain_compares_pairs() -> None:
    rows = [make_row(number, number % 2 + 0.25) for number in range(1, 21)]
    baseline = [make_row(number, float(number % 2)) for number in range(1, 21)]

    gain, interval = bootstrap_gain(rows, baseline, mean_of("hit"))

    assert (gain, interval.low, interval.high) == pytest.approx((0.25, 0.25, 0.25))


def test_bootstrap_gain_refuses_rows_of_different_questions() -> None:
    with pytest.raises(ValueError, match="different questions"):
        bootstrap_gain([make_row(1, 1.0)], [make_row(2, 1.0)], mean_of("hit"))


def test_choose_half_depends_on_the_words_only() -> None:
    halves = [choose_half(f"question {number}") for number in range(400)]

    assert choose_half("How does  it\nwork?") == choose_half("How does it work?")
    assert 160 < halves.count("unseen") < 240


def test_table_marks_published_tokens_and_parts_select_rows() -> None:
    rows = [make_row(number, 0.5) for number in range(1, 5)]
    columns = [
        Column("hit", mean_of("hit"), "{:.1f}", interval=False),
        Column("tokens", lambda rows: 9, interval=False),
    ]

    lines = list(iter_table(rows, columns, [Published("theirs", {"hit": "0.4", "tokens": "7"})]))

    assert lines[2] == "| theirs (published) | 0.4 | 7 (other tokenizer) |"
    assert lines[3].startswith("| search | 0.5 |")
    assert [row.number for row in in_part(rows, "unseen")] == [1, 3]
    assert in_part(rows, "all") == rows


def test_gains_are_signed_and_unknown_tokens_are_a_dash() -> None:
    columns = [Column("hit", mean_of("hit"), "{:.2f}")]
    rows = [
        *(make_row(number, 0.75) for number in range(1, 9)),
        *(Row(n, "develop", "other", {"hit": 1.0}) for n in range(1, 9)),
    ]

    assert list(iter_gains(rows, "search", columns))[2:] == ["| other | -0.25 (-0.25 … -0.25) |"]
    assert list(iter_table(rows, [TOKENS]))[2:] == ["| search | 10 |", "| other | – |"]


def test_record_contains_numbers_and_scores_only(tmp_path: Path) -> None:
    record = make_record("pumps", [Checkout("data", "c0ffee")], {"pages": 2}, [make_row(1, 1 / 3)])

    write_record(record, tmp_path / "record.json")

    content = json.loads((tmp_path / "record.json").read_text("utf-8"))
    assert content["rows"] == [
        {"number": 1, "half": "unseen", "method": "search", "scores": {"hit": 0.333333}, "tokens": 10, "group": ""}
    ]
    assert content["checkouts"] == [{"name": "data", "commit": "c0ffee", "changed": False}]


@pytest.mark.parametrize("make", [make_fts5, make_bm25])
def test_baselines_rank_the_text_with_the_rarer_words_first(make: type) -> None:
    rank = make(["the pump", "the valve of the pump", "the tide"])

    assert rank("valve pump?")[:2] == [1, 0]
    assert rank("?!") == rank("harbour") == []


def test_chunks_become_one_section_each_with_their_addresses(tmp_path: Path) -> None:
    pages = make_pages(CHUNKS)
    library = build_library(pages, tmp_path, name="Pumps", url="https://docs.example/")

    addresses = map_addresses(library, CHUNKS)

    assert [page.title for page in pages] == ["Prime a pump", "Tides"]
    assert list(addresses.values()) == [chunk.chunk_link for chunk in CHUNKS]
    assert [section.section.title for section in library.sections if section.id in addresses] == [
        "Before",
        "Prime it",
        "Ebb",
    ]


def test_every_method_finds_the_section_and_sends_its_text(tmp_path: Path) -> None:
    library = build_library(make_pages(CHUNKS), tmp_path, name="Pumps", url="https://docs.example/")

    for method in make_methods(library):
        ranked = method.rank("At low tide, does the pump run dry?")

        assert ranked.sections[0].section.section.title == "Ebb", method.name
        assert "runs dry" in ranked.text()
        assert ranked.text(2) == ranked.text()[:8]


def test_sent_text_is_limited_and_counted_by_characters(tmp_path: Path) -> None:
    library = build_library(make_pages(CHUNKS), tmp_path, name="Pumps", url="https://docs.example/")
    sections = tuple(RankedSection(section, "pump") for section in library.sections)

    assert Ranked(sections).first(2).text() == "pump\n\npump"
    assert Ranked(sections, "all").first(2).text() == "all"
    assert (count_tokens(""), count_tokens("pumps")) == (0, 2)


def test_read_checkout_returns_commit_and_changes(tmp_path: Path) -> None:
    git = ["git", "-C", str(tmp_path), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    (tmp_path / "a.md").write_text("# A\n", "utf-8")
    for arguments in (["init", "-q"], ["add", "a.md"], ["commit", "-q", "-m", "a"]):
        subprocess.run([*git, *arguments], check=True)
    clean = read_checkout(tmp_path)
    (tmp_path / "a.md").write_text("# B\n", "utf-8")

    assert (clean.name, len(clean.commit), clean.changed) == (tmp_path.name, 40, False)
    assert read_checkout(tmp_path).changed


def test_read_checkout_of_a_plain_folder_exits(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="not a Git checkout"):
        read_checkout(tmp_path)
