"""Outcomes kept in a file as they come, one a line: what was paid for once is not asked again."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from mkdocs_roaming import __version__
from mkdocs_roaming.answer.record import read, written
from mkdocs_roaming.answer.trace import digest_of
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.evals.outcomes import Outcome
from mkdocs_roaming.evals.questions import Question

FORMAT = "roaming-outcomes"
VERSION = 1


def key_of(question: Question, mode: str, setting: str, digest: str) -> str:
    """Give what an outcome depends on: the question and its gold, who is asked and how, the site and mkdocs-roaming."""
    bare = replace(question, line=0, note="", sections=())
    return digest_of(bare, mode, setting, digest, __version__).removeprefix("sha256:")[:32]


class Kept:
    """The outcomes of a file; one that breaks off in the middle of a line is read up to there.

    A file that is something else is never written to.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._outcomes: dict[str, Outcome] = {}
        try:
            data = path.read_bytes() if path.exists() else b""
        except OSError as error:
            raise self._wrong(f"cannot be read ({error.strerror})") from None
        whole = data[: data.rfind(b"\n") + 1]  # a line without its end: whoever wrote it was stopped
        if not whole and not _HEAD.startswith(data):
            raise self._wrong(_OTHER)
        for number, line in enumerate(filter(None, whole.split(b"\n")), 1):
            self._take(number, line)
        try:
            if not whole:
                path.write_bytes(_HEAD)
            elif len(whole) < len(data):
                os.truncate(path, len(whole))
        except OSError as error:
            raise self._wrong(f"cannot be written ({error.strerror})") from None

    def get(self, key: str) -> Outcome | None:
        """Give an outcome that was kept."""
        return self._outcomes.get(key)

    def put(self, key: str, outcome: Outcome) -> None:
        """Keep an outcome, on the disk before anything else is asked."""
        self._outcomes[key] = outcome
        line = json.dumps({"key": key, "outcome": written(outcome)}, ensure_ascii=False)
        try:
            with self._path.open("a", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
                file.write(line + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise self._wrong(f"cannot be written ({error.strerror})") from None

    def _take(self, number: int, line: bytes) -> None:
        try:
            data: Any = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise self._wrong(f"line {number} is not JSON ({error}); name another file") from None
        if number == 1:
            if not isinstance(data, dict) or data.get("format") != FORMAT or data.get("version") != VERSION:
                raise self._wrong(_OTHER)
            return
        if not isinstance(data, dict) or not isinstance(data.get("key"), str):
            raise self._wrong(f"line {number} is no outcome; name another file")
        try:
            self._outcomes[data["key"]] = read(Outcome, data.get("outcome"), "outcome")
        except UsageError as error:
            raise self._wrong(f"line {number}: {error}; name another file") from None

    def _wrong(self, what: str) -> UsageError:
        return UsageError(f"{self._path}: {what}")


_HEAD = json.dumps({"format": FORMAT, "version": VERSION}).encode() + b"\n"
_OTHER = f"holds no outcomes of version {VERSION}; name another file"
