"""What was asked, and what readers thought of the answers: JSON lines in two files, neither of which is there unless
it is asked for.

    journal = Journal(questions=Lines(Path("questions.jsonl")), feedback=Lines(Path("feedback.jsonl")))
    journal.asked(question.text, summarise(events), page=question.page, turn=turn, seconds=1.2)
    journal.judged(read_feedback(body))

No line holds an address, and what looks like a key, a password or an e-mail address is taken out first. A turn is
kept as a short digest alone: it joins an opinion with its question where both are logged.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from mkdocs_roaming.answer.events import Answer
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.serve.problems import ProblemError
from mkdocs_roaming.serve.redaction import redact

MAX_COMMENT_CHARS = 1_000
MAX_TURN_CHARS = 2_048


@dataclass(frozen=True, slots=True)
class Feedback:
    """What a reader thought of the answer that ended with a turn."""

    turn: str
    helpful: bool
    comment: str = ""


def parse_feedback(body: bytes) -> Feedback:
    """Read a body; raises Refused with 400 where it is no JSON object, with 422 where it is no feedback."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        raise ProblemError(400, "not_json", "The body is not JSON.") from None
    if not isinstance(data, dict):
        raise ProblemError(400, "not_an_object", "The body is not a JSON object.")
    turn, helpful, comment = data.get("turn"), data.get("helpful"), data.get("comment")
    if not isinstance(turn, str) or not 0 < len(turn) <= MAX_TURN_CHARS:
        raise ProblemError(
            422, "bad_turn", f"`turn` is what the answer ended with, at most {MAX_TURN_CHARS} characters."
        )
    if not isinstance(helpful, bool):
        raise ProblemError(422, "bad_helpful", "`helpful` is true or false.")
    if comment is not None and (not isinstance(comment, str) or len(comment) > MAX_COMMENT_CHARS):
        raise ProblemError(422, "bad_comment", f"`comment` is a text of at most {MAX_COMMENT_CHARS} characters.")
    return Feedback(turn, helpful, (comment or "").strip())


class JsonLinesFile:
    """A file of JSON lines of at most `most_bytes`, and the `kept` before it as `….1`, `….2` and so on.

    Where several processes write, each may put one line more into a file that is full. Each line is written at once,
    behind whatever the others write. A file that cannot be written stops nobody: it is said once in the log, and
    `failures` counts. Raises UsageError where the file cannot be had from the start.
    """

    def __init__(self, path: Path, *, most_bytes: int = 10 * 2**20, kept: int = 3) -> None:
        if most_bytes < _LEAST or kept < 0:
            raise UsageError(f"{path}: a log needs at least {_LEAST} bytes, and keeps 0 or more files before it")
        self.path = path
        self.failures = 0
        self._most = most_bytes
        self._kept = kept
        self._torn = False
        try:
            os.close(self._open())
        except OSError as error:
            raise UsageError(
                f"{path}: cannot be written ({error.strerror}); name a file in a folder of yours"
            ) from None

    def write(self, record: Mapping[str, object]) -> bool:
        """Add a line; tell whether it was written."""
        # ASCII: what some readers take for the end of a line (U+2028, U+0085) is escaped like any other.
        line = json.dumps(record, ensure_ascii=True, separators=(",", ":")).encode("ascii") + b"\n"
        try:
            self._make_room(len(line))
            file = self._open()
            try:
                data = b"\n" + line if self._torn else line
                self._torn = os.write(file, data) != len(data)
            finally:
                os.close(file)
            if self._torn:
                raise OSError("the disk is full")
        except OSError as error:
            if not self.failures:
                _log.warning("%s: cannot be written (%s); lines are lost until it can be", self.path, error)
            self.failures += 1
            return False
        return True

    def _open(self) -> int:
        return os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | _NO_FOLLOW, 0o600)

    def _make_room(self, more: int) -> None:
        if self._size() + more <= self._most:
            return
        with _alone(self.path):
            if self._size() + more <= self._most:
                return  # another process was faster
            for at in range(self._kept, 0, -1):
                older = self._numbered(at - 1) if at > 1 else self.path
                if older.exists():
                    older.replace(self._numbered(at))
            if self._kept == 0:
                self.path.unlink(missing_ok=True)

    def _numbered(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}")

    def _size(self) -> int:
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0


class Journal:
    """What is kept of questions and opinions; nothing where no file is given for it."""

    def __init__(
        self,
        *,
        questions: JsonLinesFile | None = None,
        feedback: JsonLinesFile | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._questions = questions
        self._feedback = feedback
        self._clock = clock

    @property
    def keeps_feedback(self) -> bool:
        """Whether opinions are wanted."""
        return self._feedback is not None

    def asked(
        self,
        question: str,
        answer: Answer,
        *,
        page: str = "",
        language: str = "",
        turn: str = "",
        seconds: float | None = None,
        cached: bool = False,
    ) -> None:
        """Keep a question, and which sections answered it; not the answer, which they give again."""
        if self._questions is None:
            return
        nearest = answer.not_found.nearest if answer.not_found else ()
        self._questions.write(
            {
                "time": self._now(),
                "question": redact(question),
                "page": redact(page),
                "language": language[:40],
                "state": answer.state,
                "model": answer.model,
                "opened": [section.id for section in answer.trail],
                "cited": [section.id for section in answer.citations],
                "nearest": [section.id for section in nearest],
                "cost": answer.cost,
                "seconds": None if seconds is None else round(seconds, 3),
                "cached": cached,
                "turn": hash_turn(turn),
            }
        )

    def judged(self, feedback: Feedback) -> None:
        """Keep an opinion."""
        if self._feedback is None:
            return
        self._feedback.write(
            {
                "time": self._now(),
                "helpful": feedback.helpful,
                "comment": redact(feedback.comment),
                "turn": hash_turn(feedback.turn),
            }
        )

    def _now(self) -> str:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self._clock()))


def hash_turn(turn: str) -> str:
    """Give the short name of a turn; none for none."""
    return sha256(turn.encode("utf-8", "replace")).hexdigest()[:16] if turn else ""


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep other processes from renaming files meanwhile."""
    try:
        import fcntl
    except ImportError:  # not on Windows, where one process has to do
        yield
        return
    lock = os.open(path.with_name(path.name + ".lock"), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | _NO_FOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


_LEAST = 65_536
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_log = logging.getLogger(__name__)
