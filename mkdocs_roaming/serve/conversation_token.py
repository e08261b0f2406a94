"""Signed turns: the memory of a conversation, which the client stores and cannot change.

A turn contains the question, the answer and the opened sections, cut to 2 KiB in total, and a random number that makes
it unique. It is signed for one site with a key of the server, so no client can change an earlier answer or bring one of
another site, and the server stores nothing.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import msgspec

from mkdocs_roaming.answer.conversation import Exchange, find_citations
from mkdocs_roaming.answer.support.check import CITATION
from mkdocs_roaming.manifest.lookup import SectionIndex

MAX_TOKEN_CHARS = 2_048
MAX_QUESTION_BYTES = 400
MAX_ANSWER_BYTES = 700
MAX_OPENED = 16
TOKEN_SECONDS = 86_400
_DIGEST_CHARS = 23  # `sha256:` and 16 digits
_NONCE_BYTES = 6
_ELLIPSIS = "…"


class SignedTurn(msgspec.Struct, frozen=True, array_like=True):
    """A question and its answer, with the opened sections (most important last) and the digest of the site."""

    question: str
    answer: str
    opened: tuple[str, ...] = ()
    digest: str = ""


class _Payload(msgspec.Struct, array_like=True):
    """What is signed: the turn, the second when it expires, and a random number."""

    turn: SignedTurn
    expires: int
    nonce: bytes


@dataclass(frozen=True, slots=True)
class ConversationMemory:
    """The memory of a conversation for the answer loop. `dropped` counts invalid and expired turns."""

    history: tuple[Exchange, ...] = ()
    opened: tuple[str, ...] = ()
    dropped: int = 0


class TokenSigner:
    """Signs and verifies turns for a site, by its name; `clock` returns seconds since 1970."""

    def __init__(self, key: bytes, *, clock: Callable[[], float] = time.time) -> None:
        self._key = hmac.digest(key, b"mkdocs-roaming: turns of a conversation, 3", hashlib.sha256)
        self._clock = clock

    def sign(self, turn: SignedTurn, site: str) -> str:
        """Return a turn as a token, cut so that it fits. The tokens of equal turns differ."""
        expires = int(self._clock()) + TOKEN_SECONDS
        cut_turn = SignedTurn(
            _truncate(turn.question, MAX_QUESTION_BYTES),
            _truncate(turn.answer, MAX_ANSWER_BYTES),
            turn.opened[-MAX_OPENED:],
            turn.digest[:_DIGEST_CHARS],
        )
        payload = msgspec.msgpack.encode(_Payload(cut_turn, expires, secrets.token_bytes(_NONCE_BYTES)))
        return _join(payload, self._sign(payload, site))

    def verify(self, token: str, site: str) -> SignedTurn | None:
        """Return the turn of a token, None if it was signed with another key or for another site, or has expired."""
        if len(token) > MAX_TOKEN_CHARS:
            return None
        try:
            payload, signature = (base64.urlsafe_b64decode(part.encode("ascii") + b"==") for part in token.split("."))
        except (ValueError, binascii.Error):
            return None
        if not hmac.compare_digest(self._sign(payload, site), signature):
            return None
        if token != _join(payload, signature):  # the decoder skips characters: a signature is for one token
            return None
        read = msgspec.msgpack.decode(payload, type=_Payload)
        return read.turn if read.expires >= self._clock() else None

    def _sign(self, payload: bytes, site: str) -> bytes:
        # The digest has a fixed length, so that no end of a site's name can pass as the start of a payload.
        return hmac.digest(
            self._key, hashlib.sha256(site.encode("utf-8", "replace")).digest() + payload, hashlib.sha256
        )


def make_turn(question: str, answer: str, steps: Iterable[str], cited: Iterable[str], digest: str) -> SignedTurn:
    """Return the turn of an answer. The cited sections are the most important ones, the first of them above all."""
    important = list(dict.fromkeys(cited))[:MAX_OPENED]
    uncited = [id_ for id_ in dict.fromkeys(steps) if id_ not in important]
    return SignedTurn(question, answer, (*uncited, *reversed(important)), digest)


def restore_memory(tokens: Sequence[str], signer: TokenSigner, sections: SectionIndex, site: str) -> ConversationMemory:
    """Return the memory of a conversation on the current deployment of a site.

    Sections with a new id are found by their aliases; removed ones are dropped.
    """
    verified = [signer.verify(token, site) for token in tokens]
    turns = [turn for turn in verified if turn is not None]
    history = tuple(Exchange(turn.question, _update_citations(turn.answer, sections)) for turn in turns)
    opened: dict[str, None] = {}
    for turn in turns:
        for id_ in turn.opened:
            if ref := sections.get(id_):
                opened.pop(ref.id, None)  # the newest is the last
                opened[ref.id] = None
    return ConversationMemory(history, tuple(opened), dropped=len(tokens) - len(turns))


def _update_citations(answer: str, sections: SectionIndex) -> str:
    """Replace ids in citations by the current ones; citations of removed sections are removed."""
    current = {id_: sections.get(id_) for id_ in find_citations(answer)}

    def update(match: re.Match[str]) -> str:
        ref = current[match[1]]
        return f"[^{ref.id}]" if ref else ""

    return CITATION.sub(update, answer).strip()


def _truncate(text: str, max_bytes: int) -> str:
    """Return text of limited length, without a part of a citation at its end."""
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= max_bytes:
        return encoded.decode("utf-8")
    cut_text = encoded[: max_bytes - len(_ELLIPSIS.encode())].decode("utf-8", "ignore")
    before, _, citation = cut_text.rpartition("[^")
    is_cut = "[^" in cut_text and "]" not in citation
    return (before if is_cut else cut_text).rstrip() + _ELLIPSIS


def _join(*parts: bytes) -> str:
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode("ascii") for part in parts)
