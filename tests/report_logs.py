"""Logs of an endpoint for tests of the report."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

from mkdocs_roaming.report.log import Log, read_log


def write_lines(path: Path, lines: Iterable[dict[str, Any] | str]) -> Path:
    """Write a log of JSON objects or texts."""
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines), "utf-8")
    return path


def line(question: str, state: str = "answered", day: int = 1, **more: Any) -> dict[str, Any]:
    """Return a line of a question log in March 2026."""
    return {"time": f"2026-03-{day:02}T10:00:00Z", "question": question, "state": state, **more}


def rate(turn: str, comment: str = "", *, helpful: bool = False, **more: Any) -> dict[str, Any]:
    """Return a line of a feedback log."""
    return {"time": "2026-03-01T10:01:00Z", "helpful": helpful, "comment": comment, "turn": turn, **more}


def read(
    folder: Path,
    lines: Iterable[dict[str, Any] | str],
    ratings: Iterable[dict[str, Any]] = (),
    since: datetime | None = None,
) -> Log:
    """Write and read the logs of an endpoint."""
    questions = write_lines(folder / "questions.jsonl", lines)
    return read_log(questions, write_lines(folder / "feedback.jsonl", ratings), since=since)
