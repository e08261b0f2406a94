"""The logs of questions and feedback, and the redaction of secrets."""

from __future__ import annotations

import base64
import json
import logging
import random
import re
import string
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from serving import load_cases
from timing import count_milliseconds

from mkdocs_roaming.answer.events import Answer, NotFound, Reference
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.serve.log import (
    MAX_TEXT_CHARS,
    REDACTED,
    SECRET_PATTERNS,
    Journal,
    JsonLinesFile,
    hash_turn,
    redact,
)
from mkdocs_roaming.serve.requests import ProblemError, parse_feedback
from mkdocs_roaming.serve.schemas import Feedback, Question

CASES = Path(__file__).parents[2] / "golden" / "redaction"
ANSWER = Answer(
    "answered",
    "offline",
    text="Every 310 hours.[^07f3277d]",
    citations=(Reference("07f3277d", "Oil", ("Boat", "Oil"), "https://boat.example/#oil"),),
    steps=(
        Reference("07f3277d", "Oil", ("Boat", "Oil"), "https://boat.example/#oil"),
        Reference("9db61152", "Pumps", ("Boat", "Pumps"), "https://boat.example/#pumps"),
    ),
    cost=0.0012,
)


def lines_of(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


def log_question(journal: Journal, question: Question, answer: Answer = ANSWER, turn: str = "t") -> None:
    journal.log_question(question, answer, turn=turn, seconds=0.12345, cached=False, site="sha256:0123456789abcdef")


# Redaction


@pytest.mark.parametrize("line", (CASES / "secrets.txt").read_text("utf-8").splitlines())
def test_redact_removes_secrets(line: str) -> None:
    before, _, after = line.replace("⊕", "").partition(" ⟶ ")
    assert redact(before) == after


@pytest.mark.parametrize("line", (CASES / "questions.txt").read_text("utf-8").splitlines())
def test_redact_keeps_questions_without_secrets(line: str) -> None:
    assert redact(line) == line


def test_redact_removes_whole_private_key() -> None:
    begin = "-----BEGIN " + "RSA PRIVATE KEY-----"
    assert redact(f"why\n{begin}\nMIIEow\nabc\n-----END RSA PRIVATE KEY-----\nfails") == f"why\n{REDACTED}\nfails"
    assert redact(f"why {begin}\nMIIEow\nabc") == f"why {REDACTED}"


TEXTS = st.text(st.characters(codec="utf-8"), max_size=60).map(lambda text: f" {text} ")


def made(kind: str, seed: int, size: int) -> str:
    """Return a generated secret."""
    draw = random.Random(seed)
    data = draw.randbytes(size)
    alphabet = string.ascii_letters + string.digits
    word = "".join(draw.choice(alphabet) for _ in range(size + 4)) + "a1"
    encoded = base64.urlsafe_b64encode(data).decode().rstrip("=")
    return {
        "hex": data.hex(),
        "HEX": data.hex().upper(),
        "base64": base64.b64encode(data).decode(),
        "base64url": encoded,
        "word": word,
        "key": f"sk-{word}",
        "jwt": f"eyJhbGciOi.{encoded}.{encoded}",
        "bearer": f"Bearer {encoded}",
        "email": f"{word[:8]}.{word[8:12]}@{word[12:18].lower()}.example",
        "url": f"https://user:{word}@host.example/x",
        "assigned": f"password={word[:9]}",
    }[kind]


KINDS = ["hex", "HEX", "base64", "base64url", "word", "key", "jwt", "bearer", "email", "url", "assigned"]


@given(
    TEXTS,
    st.sampled_from(KINDS),
    st.integers(0, 2**32),
    st.integers(24, 48),
    TEXTS,
)
@settings(derandomize=True)  # of 2,000 random keys two may look like words
def test_redact_removes_generated_secrets_in_any_text(before: str, kind: str, seed: int, size: int, after: str) -> None:
    secret = made(kind, seed, size)
    core = secret.removeprefix("Bearer ").removeprefix("password=").removeprefix("https://user:").partition("@host")[0]
    redacted = redact(before + secret + after)
    assert core not in redacted
    assert REDACTED in redacted


@given(st.text(max_size=3000))
def test_redact_output_is_bounded_and_stable(text: str) -> None:
    once = redact(text)
    assert redact(once).count(REDACTED) >= once.count(REDACTED) - text.count(REDACTED)
    assert len(once) <= 4_000 * len(REDACTED)


PIECES = (
    "a", "a.", "a-", "=", "1 ", "1-", "://", "@", "token", "token ", "eyJ", "-----BEGIN ", "x@a.", "pass=", "A/", "key_",
    "password.", "'_\n_`", "api_:", ":",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("piece", PIECES)
def test_secret_patterns_take_linear_time(piece: str) -> None:
    """A pattern holds the lock of the interpreter while it is searched, also in a thread."""

    def measure(pattern: re.Pattern[str], new: str, chars: int) -> float:
        text = (piece * chars)[:chars]
        return count_milliseconds(partial(pattern.sub, new, text), 3)

    for pattern, new in SECRET_PATTERNS:
        assert measure(pattern, new, MAX_TEXT_CHARS) < 12 * measure(pattern, new, MAX_TEXT_CHARS // 4) + 1


# Feedback


@pytest.mark.parametrize(
    ("body", "status"),
    [
        *((text.encode(), status) for text, status in load_cases("invalid feedback")),
        (b"\xff", 400),
        (b"[" * 60_000, 413),
        (json.dumps({"turn": "t", "helpful": True, "comment": "x" * 1001}).encode(), 422),
        (json.dumps({"turn": "t" * 2049, "helpful": True}).encode(), 422),
    ],
)
def test_parse_feedback_refuses_invalid_body(body: bytes, status: int) -> None:
    with pytest.raises(ProblemError) as caught:
        parse_feedback(body)
    assert caught.value.status == status


# Lines


@pytest.mark.parametrize("character", ["😀", "\x01", '"', "\n", "ä", "\ud800", "\u2028"])
def test_lines_of_longest_texts_are_limited_in_bytes(tmp_path: Path, character: str) -> None:
    journal = Journal(tmp_path / "q", tmp_path / "f")
    log_question(journal, Question(character * 4_000, page=character * 500))
    journal.log_feedback(Feedback("t", True, character * 250), character * 300)
    assert (tmp_path / "q").stat().st_size <= 12_000
    assert (tmp_path / "f").stat().st_size <= 4_000
    assert len(lines_of(tmp_path / "q")) == len(lines_of(tmp_path / "f")) == 1


def test_journal_without_files_writes_nothing(tmp_path: Path) -> None:
    journal = Journal()
    log_question(journal, Question("What?"))
    journal.log_feedback(Feedback("t", True))
    assert journal.feedback is None
    assert list(tmp_path.iterdir()) == []


def test_log_question_writes_sections_without_answer_text(tmp_path: Path) -> None:
    file = tmp_path / "questions.jsonl"
    journal = Journal(file, clock=lambda: 1_800_000_000.0)
    log_question(journal, Question("How often is the oil changed? me@boat.example", page="/pumps/"))
    assert lines_of(file) == [{**load_cases("line of the question log"), "turn": hash_turn("t")}]
    assert file.stat().st_mode & 0o777 == 0o600


def test_log_question_writes_nearest_sections_without_answer(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "q")
    log_question(journal, Question("Rust?"), Answer("not_found", "offline", not_found=NotFound((), ANSWER.citations)))
    (line,) = lines_of(tmp_path / "q")
    assert (line["state"], line["nearest"]) == ("not_found", ["07f3277d"])


def test_log_question_writes_what_failed_and_which_limit_was_reached(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "q")
    log_question(journal, Question("Oil?"), Answer("error", "m", error="key sk-1 refused", cause="overload"))
    log_question(journal, Question("Oil?"), Answer("budget", "m", spent="cost"))
    assert [line["cause"] for line in lines_of(tmp_path / "q")] == ["overload", "cost"]
    assert b"refused" not in (tmp_path / "q").read_bytes()


@given(st.text(max_size=200), st.text(max_size=200))
def test_record_is_always_one_line(comment: str, page: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "log"
        journal = Journal(file, file)
        log_question(journal, Question(comment, page=page))
        journal.log_feedback(Feedback("t", True, comment + '\n{"helpful":true}\r\n\u2028\u2029\x85\x0b\x0c\x1c'))
        data = file.read_bytes()
        assert len(data.decode().splitlines()) == len(lines_of(file)) == 2


def test_processes_write_whole_lines_while_the_file_is_renamed(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from mkdocs_roaming.serve.log import JsonLinesFile\n"
        "log = JsonLinesFile(Path(sys.argv[1]))\n"
        "for at in range(500): assert log.write({'by': int(sys.argv[2]), 'at': at, 'x': 'y' * (at % 700)})\n"
    )
    file = tmp_path / "log"
    command = [sys.executable, "-c", script, str(file)]
    writers = [subprocess.Popen([*command, str(by)]) for by in range(4)]
    for number in range(3):
        while not file.exists() or file.stat().st_size < 10_000:
            assert any(writer.poll() is None for writer in writers)
        file.rename(tmp_path / f"log.{number}")
    assert [writer.wait(60) for writer in writers] == [0] * 4
    written = [line for path in tmp_path.iterdir() for line in lines_of(path)]
    assert sorted((line["by"], line["at"]) for line in written) == [(by, at) for by in range(4) for at in range(500)]


def test_write_error_is_logged_once_and_counted(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    log = JsonLinesFile(folder / "log")
    (folder / "log").unlink()
    folder.rmdir()
    with caplog.at_level(logging.WARNING):
        assert [log.write({"at": at}) for at in range(3)] == [False] * 3
    assert (log.failures, len(caplog.records)) == (3, 1)
    folder.mkdir()
    assert log.write({"at": 3})
    assert lines_of(folder / "log") == [{"at": 3}]


def test_partial_line_does_not_damage_next_line(tmp_path: Path) -> None:
    script = (
        "import resource, sys; from pathlib import Path; from mkdocs_roaming.serve.log import JsonLinesFile\n"
        "log = JsonLinesFile(Path(sys.argv[1])); hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (150, hard))\n"
        "print([log.write({'at': at, 'text': 'x' * 80}) for at in range(2)])\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))\n"
        "print([log.write({'at': at}) for at in range(2, 4)])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "log")], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["[True, False]", "[True, True]"]
    first, torn, *rest = (tmp_path / "log").read_text().splitlines()
    assert json.loads(first)["at"] == 0
    assert torn.startswith('{"at":1')
    assert [json.loads(line)["at"] for line in rest] == [2, 3]


def test_unwritable_file_is_refused_at_start(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for path in (tmp_path / "no" / "log", tmp_path, tmp_path / "link"):
        with pytest.raises(UsageError, match="cannot be written"):
            JsonLinesFile(path)
    assert not (tmp_path / "elsewhere").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["link"]
