"""Signed turns: what a conversation remembers is kept by its reader, who can read it but not change it.

A turn holds the question, the answer and what was open, cut so that all of it has at most 2 KiB. It is signed with a
key of the server's, so nothing can be put into an earlier answer's mouth, and nothing is stored here.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from mkdocs_roaming.answer.conversation import Exchange, find_citations
from mkdocs_roaming.manifest.lookup import SectionIndex

MAX_TOKEN_CHARS = 2_048
"""The most characters of a signed turn."""
MAX_QUESTION_CHARS = 300
MAX_ANSWER_CHARS = 500
MAX_OPENED = 16
TOKEN_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class Turn:
    """A question and its answer, both cut; the sections that were open, the most important last; the site's digest."""

    question: str
    answer: str
    opened: tuple[str, ...] = ()
    digest: str = ""


@dataclass(frozen=True, slots=True)
class ConversationMemory:
    """What signed turns come to: what the loop is told. `dropped` counts those that are not ours, or too old."""

    history: tuple[Exchange, ...] = ()
    opened: tuple[str, ...] = ()
    dropped: int = 0


class TokenSigner:
    """Signs turns and reads them again; `clock` tells seconds since 1970."""

    def __init__(self, key: bytes, *, seconds: int = TOKEN_SECONDS, clock: Callable[[], float] = time.time) -> None:
        self._key = hmac.digest(key, b"mkdocs-roaming: turns of a conversation, 1", hashlib.sha256)
        self._seconds, self._clock = seconds, clock

    def sign(self, turn: Turn) -> str:
        """Give the turn as its reader keeps it, cut so that it fits."""
        expires = int(self._clock()) + self._seconds
        payload = _payload(turn, expires)
        return f"{_encoded(payload)}.{_encoded(self._mark(payload))}"

    def read(self, text: str) -> Turn | None:
        """Give a signed turn; None where this key did not sign it, or too long ago."""
        if len(text) > MAX_TOKEN_CHARS:
            return None
        try:
            payload, mark = (base64.urlsafe_b64decode(part.encode("ascii") + b"==") for part in text.split("."))
        except (ValueError, binascii.Error):
            return None
        if not hmac.compare_digest(self._mark(payload), mark):
            return None
        question, answer, opened, digest, expires = json.loads(payload)
        if expires < self._clock():
            return None
        ids = tuple(opened[at : at + _ID] for at in range(0, len(opened), _ID))
        return Turn(question, answer, ids, digest)

    def _mark(self, payload: bytes) -> bytes:
        return hmac.digest(self._key, payload, hashlib.sha256)


def make_turn(question: str, answer: str, trail: Iterable[str], cited: Iterable[str], digest: str) -> Turn:
    """Give the turn of an answer: of the sections that were open, the cited ones count most, the first above all."""
    last = list(dict.fromkeys(cited))[:MAX_OPENED]
    first = [id_ for id_ in dict.fromkeys(trail) if id_ not in last]
    return Turn(question, answer, tuple([*first, *reversed(last)][-MAX_OPENED:]), digest[:_DIGEST])


def restore_memory(texts: Sequence[str], signer: TokenSigner, places: SectionIndex) -> ConversationMemory:
    """Give what turns come to on a site as it is now.

    Sections that have another id by now are known by their aliases; those that are gone are forgotten.
    """
    turns = [turn for text in texts if (turn := signer.read(text)) is not None]
    history = tuple(Exchange(turn.question, _as_now(turn.answer, places)) for turn in turns)
    opened = [place.id for turn in turns for id_ in turn.opened if (place := places.get(id_))]
    newest_last = tuple(reversed(dict.fromkeys(reversed(opened))))
    return ConversationMemory(history, newest_last, dropped=len(texts) - len(turns))


def _as_now(answer: str, places: SectionIndex) -> str:
    names = {id_: place.id if (place := places.get(id_)) else "" for id_ in find_citations(answer)}
    return _CITATION.sub(lambda found: f"[^{names[found[1]]}]" if names[found[1]] else "", answer).strip()


# Cutting


def _payload(turn: Turn, expires: int) -> bytes:
    """Give a turn as bytes, question and answer cut as far as it takes."""
    question, answer = _cut(turn.question, MAX_QUESTION_CHARS), _cut(turn.answer, MAX_ANSWER_CHARS)
    while True:
        fields = [question, answer, "".join(turn.opened[-MAX_OPENED:]), turn.digest, expires]
        payload = json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        if len(payload) <= _ROOM:
            return payload
        if len(answer) > len(question) // 2:
            answer = _cut(answer, len(answer) * 7 // 8)
        else:
            question = _cut(question, len(question) * 7 // 8)


def _cut(text: str, most: int) -> str:
    """Give at most so many characters, no half of a citation at the end."""
    return text if len(text) <= most else _HALF.sub("", text[: max(most - 1, 0)]).rstrip() + "…"


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


_ID = 8
_DIGEST = 23  # sha256: and the first 16 digits
_MARK = 44
_ROOM = (MAX_TOKEN_CHARS - _MARK) * 3 // 4 - 2
_CITATION = re.compile(r"\[\^([0-9a-f]{8})\]")
_HALF = re.compile(r"\[\^?[0-9a-f]{0,8}\Z")
