"""The logs of questions, of feedback and of refused requests, and what must not be in them.

    journal = Journal(Path("questions.jsonl"), Path("feedback.jsonl"))
    journal.log_question(question, summarize(events), turn=turn, seconds=1.2, cached=False)
    journal.log_feedback(parse_feedback(body))

No line contains a client's address. Whatever looks like a key, a password, an e-mail address or a phone number is
redacted: people paste whole error messages and configuration files into questions. The rules rather redact one word too
many than one key too few. Of a signed turn only a short hash is logged; it joins feedback with its question.

In warnings about refused requests a client is named by a hash that is keyed for this process. Only the address of a
reverse proxy appears in them.
"""

from __future__ import annotations

import json
import logging
import os
import re
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b, sha256
from ipaddress import ip_address
from math import inf
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Any

from mkdocs_roaming.answer.events import Answer
from mkdocs_roaming.errors import LibraryError, RoamingError, UsageError
from mkdocs_roaming.serve.requests import (
    ProblemError,
    format_origin,
    get_header_values,
    parse_host,
    parse_origin,
    split_header,
)
from mkdocs_roaming.serve.schemas import Feedback, Question

MAX_TEXT_CHARS = 4_000
"""Longer texts are cut before they are logged."""
MAX_TEXT_BYTES = 4_000
"""The same in UTF-8, after redaction."""
REDACTED = "[redacted]"
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_LINE_ENDS = ("\x85", "\u2028", "\u2029")
_ESCAPED_LINE_ENDS = {ord(character): f"\\u{ord(character):04x}" for character in _LINE_ENDS}
"""Some readers split lines there."""
_WARNING_SECONDS = 60
_MAX_KINDS = 100
_MAX_VALUE_CHARS = 300
_UNREADABLE_RETRY_SECONDS = 30.0
_CLIENT_SECRET = os.urandom(32)
_SHARED_LIMITS = ("rate", "busy", "money")
"""Codes of refusals by a limit of all clients, unless the name of the limit has `_each`."""
_log = logging.getLogger("mkdocs_roaming.serve")


class Journal:
    """Writes questions and feedback to their files, if there are any."""

    def __init__(
        self, questions: str | Path = "", feedback: str | Path = "", *, clock: Callable[[], float] = time.time
    ) -> None:
        """Open the files. Raise UsageError if that fails."""
        self._questions = JsonLinesFile(Path(questions)) if questions else None
        self.feedback = JsonLinesFile(Path(feedback)) if feedback else None
        self._clock = clock
        self.writer = ThreadPoolExecutor(1, "log")
        """A thread for calls: redaction of a long question would block the event loop."""

    def log_question(
        self, question: Question, answer: Answer, *, turn: str, seconds: float, cached: bool, site: str = ""
    ) -> None:
        """Log a question, the sections that answered it, and the digest of the site. The answer is not logged."""
        if self._questions is None:
            return
        nearest = answer.not_found.nearest if answer.not_found else ()
        self._questions.write(
            {
                "time": _format_time(self._clock()),
                "question": redact(question.text),
                "page": redact(question.page),
                "language": question.language,
                "state": answer.state,
                "cause": answer.cause or answer.spent,
                "model": answer.model,
                "opened": [section.id for section in answer.steps],
                "cited": [section.id for section in answer.citations],
                "nearest": [section.id for section in nearest],
                "cost": answer.cost,
                "seconds": round(seconds, 3),
                "cached": cached,
                "turn": hash_turn(turn),
                "site": site.removeprefix("sha256:")[:12],
            }
        )

    def log_feedback(self, feedback: Feedback, question: str = "") -> None:
        """Log an opinion of the answer to a question."""
        if self.feedback is None:
            return
        self.feedback.write(
            {
                "time": _format_time(self._clock()),
                "helpful": feedback.helpful,
                "comment": redact(feedback.comment),
                "question": redact(question),
                "turn": hash_turn(feedback.turn),
            }
        )


def _format_time(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def hash_turn(turn: str) -> str:
    """Return a short hash of a signed turn, an empty string for none."""
    return sha256(turn.encode("utf-8", "replace")).hexdigest()[:16] if turn else ""


class JsonLinesFile:
    """A file of JSON lines that another program may rotate at any time.

    Several processes may write to it: each line is appended in one call, to the file that has this name then. If the
    file cannot be written, lines are lost; the first failure is logged, `failures` counts all of them.
    """

    def __init__(self, path: Path) -> None:
        """Open the file, and raise UsageError if that fails."""
        self.path = path
        self.failures = 0
        self._is_line_cut = False
        try:
            os.close(self._open())
        except OSError as error:
            raise UsageError(
                f"{path}: cannot be written ({error.strerror}); choose a file in a writable folder"
            ) from None

    def write(self, record: Mapping[str, object]) -> bool:
        """Append a line. Return whether it was written."""
        text = json.dumps(record, ensure_ascii=False, separators=(",", ":")).translate(_ESCAPED_LINE_ENDS)
        line = text.encode("utf-8", "backslashreplace") + b"\n"
        try:
            file = self._open()
            try:
                data = b"\n" + line if self._is_line_cut else line
                self._is_line_cut = os.write(file, data) != len(data)
            finally:
                os.close(file)
            if self._is_line_cut:
                raise OSError("the disk is full")
        except OSError as error:
            if not self.failures:
                _log.warning("%s: cannot be written (%s); free space or correct the permissions", self.path, error)
            self.failures += 1
            return False
        return True

    def _open(self) -> int:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | _NO_FOLLOW
        return os.open(self.path, flags, 0o600)


class SeldomLog:
    """Logs each kind of warning at most once a minute. The next line says how many there were since the last one."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kinds: dict[str, tuple[float, int]] = {}

    def warn(self, message: str, *arguments: object, kind: str = "") -> None:
        """Log a warning of a kind; by default its format is the kind."""
        now = self._clock()
        kind = kind or message
        if kind not in self._kinds and len(self._kinds) >= _MAX_KINDS:
            kind = ""
        since, number = self._kinds.get(kind, (-inf, 0))
        if now - since < _WARNING_SECONDS:
            self._kinds[kind] = since, number + 1
            return
        self._kinds[kind] = now, 0
        if number:
            message = f"{message} (%d more since the last line)"
            arguments = (*arguments, number)
        _log.warning(message, *arguments)


seldom = SeldomLog()


# Redaction

# No parser finds secrets: they are recognized by their form, or by a word before them.

_SECRET_WORD = (
    r"(?:pass(?:word|wd|phrase)?|pwd|secret|token(?!s(?![a-z]))|credentials?|signature|bearer"
    r"|(?:api|access|private|signing|encryption|account|auth)[_\- ]?key)"
)
_SECRET_NAME = rf"(?P<name>{_SECRET_WORD}[\w.\-]{{0,40}}+)"
_MAIL = r"[\w.!#$%&'*+/=?^`{|}~\-]"
_KEY_PREFIXES = (
    r"(?:sk|pk|rk)[-_][\w\-]{8,}",
    r"gh[opsur]_\w{16,}",
    r"github_pat_\w{16,}",
    r"glpat-[\w\-]{12,}",
    r"xox[a-z]-[\w\-]{8,}",
    r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{12,}",
    r"AIza[\w\-]{20,}",
    r"ya29\.[\w\-]{16,}",
    r"(?:hf|npm|whsec|dop_v1|shpat|pypi)[_\-][\w\-]{16,}",
    r"SG\.[\w\-]{12,}\.[\w\-]{12,}",
    r"[a-z]{2,10}_(?:api|key|pat|secret|token)_[\w\-]{12,}",
)
_PHONE_WORD = r"(?:phone|telephone|tel|mobile|fax|whatsapp|telefon|handy|(?:phone|my) number)"
_PHONE_NUMBERS = (
    r"(?<![\w.+])\+\d(?:[ ().\-/]{0,3}\d){7,14}",
    r"(?<![\w.\-])(?:\(\d{3}\) ?|\d{3}[ .\-])\d{3}[ .\-]\d{4}",
    r"(?<![\w.\-])0\d{2,4}[ /\-]\d{5,9}",
    r"(?<![\w.\-])0[1-9]\d{8,11}",
)
_SECRETS = (
    # -----BEGIN PRIVATE KEY-----
    (r"(?s)-----BEGIN [A-Z0-9 ]{0,40}-----.*?(?:-----END [A-Z0-9 ]{0,40}-----|\Z)", REDACTED),
    # postgres://user:password@host
    (r"(?i)\b([a-z][a-z0-9+.\-]{1,20}://)[^\s/@]{1,500}@", rf"\1{REDACTED}@"),
    # Authorization: Bearer abcdef
    (r"(?i)\b(bearer|basic|digest|authorization\s*:\s*\w+)\s+[\w.~+/=\-]{6,}", rf"\1 {REDACTED}"),
    # eyJhbGciOi.eyJzdWIi.c2ln, a JSON web token
    (r"(?<![\w\-])(?=[\w\-]++\.[\w\-]{2})(?:[\w\-]*-)?eyJ[\w\-]{4,}\.[\w\-]{2,}(?:\.[\w\-]*)*", REDACTED),
    # name@docs.example
    (rf"(?<!{_MAIL})(?:{_MAIL}++@(?>(?:[\w\-]{{1,63}}\.){{1,8}}[^\W\d_]{{2,24}}))+", REDACTED),
    # sk-0123456789, ghp_…
    (rf"(?i)\b(?<![.\-])(?:{'|'.join(_KEY_PREFIXES)})", REDACTED),
    # password: hunter2
    (
        rf"(?i){_SECRET_NAME}(?P<is>[\"'”]?\s*[:=]+>?\s*[\"'“]?)(?!\[redacted)[^\s\"',;”]{{3,}}",
        rf"\g<name>\g<is>{REDACTED}",
    ),
    # The password is hunter2. Without a separator, only words with a digit: “the token is invalid” names no token.
    (
        rf"(?i){_SECRET_NAME}(?P<is>\s+(?:is\s+|was\s+)?[\"'“]?)(?=[^\s\d]{{0,200}}+\d)[^\s\"',;”]{{6,}}",
        rf"\g<name>\g<is>{REDACTED}",
    ),
    # 123e4567-e89b-12d3-a456-426614174000
    (r"(?i)(?<![\w])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![\w])", REDACTED),
    # 0x0123456789abcdef0123
    (r"(?i)(?<![0-9a-z])(?:0x)?[0-9a-f]{20,}(?![0-9a-z])", REDACTED),
    # 4111 1111 1111 1111, the number of a card
    (r"(?<!\w)(?:\d[ \-]?){12,}\d(?!\w)", REDACTED),
    # +44 20 7946 0958
    (rf"(?=[+(\d])(?:{'|'.join(_PHONE_NUMBERS)})(?![\w\-])", REDACTED),
    # phone: 555 0123
    (
        rf"(?i)\b(?P<name>{_PHONE_WORD}[.:]?(?: is| ist)?\s{{1,2}})\d(?:[ ().\-/]{{0,2}}\d){{5,13}}(?!\w)",
        rf"\g<name>{REDACTED}",
    ),
)
SECRET_PATTERNS = [(re.compile(pattern), replacement) for pattern, replacement in _SECRETS]
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
"""Control characters but tabs and ends of lines: six bytes each in JSON."""
_LOGIN = re.compile(r"(?i)\b([a-z][a-z0-9+.\-]{0,20}://)[^\s/?#]{0,500}@")
"""The start of a URL with a user: `https://user:password@`. It stands within a text, which no parser of URLs splits."""
_LONG_WORD = re.compile(r"[A-Za-z0-9+/_\-]{20,}={0,2}")
"""A word that may be a key: 20 letters and digits or more, as in Base64."""
_MAX_WORD_CHARS = 40  # longer words of letters and digits alone are generated
_RANDOM_CHANGE_RATE = 0.4
"""Generated words change the kind of their characters that often; half of it if they have digits."""
_CHARACTER_KINDS = str.maketrans(ascii_uppercase + ascii_lowercase + digits, "A" * 26 + "a" * 26 + "0" * 10, "+/_-=")
_KIND_CHANGES = ("aA", "Aa", "a0", "0a", "A0", "0A")


def redact(text: str) -> str:
    """Return a text without what looks like a secret or a person's address."""
    text = _CONTROLS.sub(" ", text[:MAX_TEXT_CHARS])
    for pattern, replacement in SECRET_PATTERNS:
        text = pattern.sub(replacement, text)
    text = _LONG_WORD.sub(lambda match: REDACTED if _looks_random(match[0]) else match[0], text)
    return text.encode("utf-8", "replace")[:MAX_TEXT_BYTES].decode("utf-8", "ignore")


def strip_passwords(text: str) -> str:
    """Return a text without the user names and passwords in its URLs."""
    return _LOGIN.sub(r"\1…@", text)


def public_message(error: RoamingError, at: str) -> str:
    """Return what clients may know about an error. The details (files, reasons) are logged with the path `at`."""
    if error.public_message:
        return error.public_message
    reason = strip_passwords(str(error))
    seldom.warn("%s: %s. The site cannot be read here: check that it is complete", at, reason, kind=reason)
    return "This cannot be read at the moment"


def problem_from_error(error: Exception, at: str) -> ProblemError:
    """Return the problem for an exception that ended the request of the path `at`."""
    if isinstance(error, ProblemError):
        return error
    if isinstance(error, LibraryError):
        detail = f"{public_message(error, at)}."
        return ProblemError("unreadable", detail, retry_after=_UNREADABLE_RETRY_SECONDS)
    return ProblemError("failed", "Something went wrong here.")


def _looks_random(word: str) -> bool:
    """Return whether a long word of letters and digits is generated: its characters change their kind often."""
    kinds = word.translate(_CHARACTER_KINDS)
    digit_count = kinds.count("0")
    if len(kinds) == len(word):  # letters and digits alone
        has_both = 0 < digit_count < len(word)
        if has_both or len(word) >= _MAX_WORD_CHARS:
            return True
    change_rate = sum(map(kinds.count, _KIND_CHANGES)) / max(len(kinds), 1)
    enough = _RANDOM_CHANGE_RATE / 2 if digit_count > 1 else _RANDOM_CHANGE_RATE
    return change_rate >= enough


# Refused requests


def name_client(client: str) -> str:
    """Return the name of a client in logs: a hash that is valid until the process ends."""
    return blake2b(client.encode(), key=_CLIENT_SECRET, digest_size=4).hexdigest()


class RefusalLog:
    """Logs refused requests with the setting that would admit them, at most once a minute for each.

    Args:
        proxies: The configured number of trusted reverse proxies.
    """

    def __init__(self, proxies: int = 0) -> None:
        self._proxies = proxies
        self._log = SeldomLog()

    def warn(self, problem: ProblemError, scope: Mapping[str, Any], client: str) -> None:
        """Log a refused request if a setting would admit it."""
        message = ""
        if problem.setting:
            message = _explain_limit(problem, client)
        elif explain := _HEADERS.get(problem.code):
            value = ", ".join(get_header_values(scope, problem.code.encode()))
            message = explain(value[:_MAX_VALUE_CHARS], scope)
        if message:
            self._log.warn("%s%s", message, self._explain_proxies(scope), kind=message)

    def _explain_proxies(self, scope: Mapping[str, Any]) -> str:
        """Return a hint if clients share the address of a reverse proxy, otherwise an empty string."""
        peer = (scope.get("client") or ("",))[0]
        count = len(split_header(scope, b"x-forwarded-for"))
        if count in (0, self._proxies) or not is_private(peer):
            return ""
        proxies = "reverse proxy" if count == 1 else "reverse proxies"
        return (
            f". It came from {peer}, with X-Forwarded-For: if the server is behind {count} {proxies}, "
            f"set [serve] proxies = {count} or pass --proxies {count}"
        )


def _explain_limit(problem: ProblemError, client: str) -> str:
    is_shared = problem.code in _SHARED_LIMITS and "_each" not in problem.setting
    sender = f"client {name_client(client)}" if client and not is_shared else "a request"
    return f"refused {sender} ({problem.status} {problem.code}): the limit is [limits] {problem.setting}"


def _explain_host(value: str, scope: Mapping[str, Any]) -> str:
    host = parse_host(value)
    if host is None:
        return ""
    name = host[0]
    return (
        f"refused Host {value} (421): to answer to this name, add {name!r} to [serve] hosts or pass --allow-host {name}"
    )


def _explain_origin(value: str, scope: Mapping[str, Any]) -> str:
    try:
        origin = parse_origin(value)
    except UsageError:
        return f"refused Origin {value!a} (403): no setting admits it; open the page over HTTP from a site of its own"
    host = parse_host("".join(get_header_values(scope, b"host")))
    is_own = host is not None and origin == format_origin("https", *host)
    if is_own and not get_header_values(scope, b"x-forwarded-proto"):
        return f"refused Origin {origin} (403): it is this server's own; its reverse proxy must send X-Forwarded-Proto"
    return (
        f"refused Origin {origin} (403): to let its pages ask, add it to [serve] origins "
        f"or pass --allow-origin {origin}"
    )


def is_private(address: str) -> bool:
    """Return whether an address is of a private network, or of this machine."""
    try:
        return ip_address(address).is_private
    except ValueError:
        return False


_HEADERS: Mapping[str, Callable[[str, Mapping[str, Any]], str]] = {"host": _explain_host, "origin": _explain_origin}
