"""Reading the logs of an endpoint: rotated, compressed and damaged files, and periods."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from report_logs import line, rate, read, write_lines

from mkdocs_roaming.cli.report import parse_since
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.report.log import MAX_LINE_BYTES, read_log

NOW = datetime(2026, 3, 14, 12, tzinfo=UTC)


def test_rotated_compressed_and_dated_files_are_read_oldest_first(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "q.jsonl", [line("new", day=9)])
    write_lines(tmp_path / "q.jsonl.1", [line("last", day=7)])
    (tmp_path / "q.jsonl.2.gz").write_bytes(gzip.compress(json.dumps(line("old")).encode()))
    write_lines(tmp_path / "q.jsonl-20260305", [line("middle", day=5)])
    write_lines(tmp_path / "q.jsonl.bak", [line("other", day=2)])
    assert [entry.question for entry in read_log(path).entries] == ["old", "middle", "last", "new"]


def test_period_leaves_out_older_questions_and_ratings(tmp_path: Path) -> None:
    lines = [line("old", day=1, turn="t"), line("new", day=13)]
    log = read(tmp_path, lines, [rate("t")], since=parse_since("7d", NOW))
    assert ([entry.question for entry in log.entries], log.ratings) == (["new"], {})


def test_unreadable_lines_are_counted(tmp_path: Path) -> None:
    log = read(tmp_path, ["{cut", line("kept", unknown_field=1), '{"time": 7}', "", "[]"])
    assert [entry.question for entry in log.entries] == ["kept"]
    assert log.skipped == 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("24h", datetime(2026, 3, 13, 12, tzinfo=UTC)),
        ("2w", datetime(2026, 2, 28, 12, tzinfo=UTC)),
        ("2026-03-01", datetime(2026, 3, 1, tzinfo=UTC)),
        ("2026-03-01T08:00:00+02:00", datetime(2026, 3, 1, 6, tzinfo=UTC)),
    ],
)
def test_periods_and_dates(text: str, expected: datetime) -> None:
    assert parse_since(text, NOW) == expected


@pytest.mark.parametrize("text", ["yesterday", "7", "-3d", ""])
def test_other_periods_are_rejected(text: str) -> None:
    with pytest.raises(UsageError, match="neither a period, such as 7d, nor a date"):
        parse_since(text, NOW)


def test_missing_and_foreign_files_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_log(tmp_path / "missing.jsonl")
    with pytest.raises(UsageError, match="no line is a question"):
        read_log(write_lines(tmp_path / "other.jsonl", ["a", "b"]))


def test_truncated_compressed_file_counts_as_one_unreadable_line(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "q.jsonl", [line("new")])
    packed = gzip.compress("".join(f"{json.dumps(line(f'question {at}'))}\n" for at in range(2_000)).encode())
    (tmp_path / "q.jsonl.1").write_bytes(packed[:-40])
    log = read_log(path)
    assert len(log.entries) > 1_000
    assert log.skipped in (1, 2)  # the line that is cut, and the mark of the end


def test_lines_without_time_zone_of_other_encodings_and_endless_lines_are_counted(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "q.jsonl", [line("kept"), {**line("local"), "time": "2026-03-01T10:00:00"}])
    with path.open("ab") as file:
        file.write(b'{"time": "2026-03-01T10:00:00Z", "question": "\xff"}\n' + b"x" * (2 * MAX_LINE_BYTES))
    log = read_log(path)
    assert [entry.question for entry in log.entries] == ["kept"]
    assert log.skipped == 4


def test_last_rating_of_each_turn_counts(tmp_path: Path) -> None:
    ratings = [rate("t", "Thanks", time="2026-03-02T10:00:00Z"), rate("t", "Wrong"), rate("x"), rate("")]
    log = read(tmp_path, [line("a", turn="t"), line("b")], ratings)
    assert {turn: rating.comment for turn, rating in log.ratings.items()} == {"x": "", "t": "Thanks"}
