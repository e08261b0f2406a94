"""Signatures of answers that links hold, so that a page shows the text of a link only if its endpoint wrote it.

A signature lasts a year, longer than that of a turn, and names the key, so that a rotated key is recognised.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable

from mkdocs_roaming.serve.schemas import LinkedAnswer, LinkProblem

LASTING_SECONDS = 365 * 86_400


class AnswerSigner:
    """Signs and verifies answers for a site, which `identify_site` names. Without a key it signs none.

    The key is not that of `TokenSigner`: neither accepts what the other one signed.
    """

    def __init__(self, key: bytes, *, clock: Callable[[], float] = time.time) -> None:
        self._key = hmac.digest(key, b"mkdocs-roaming: answers in links, 1", hashlib.sha256) if key else b""
        self.key_id = hmac.digest(self._key, b"id", hashlib.sha256).hex()[:8]
        self._clock = clock

    def sign(self, answer: LinkedAnswer, site: str) -> str:
        """Return the signature of an answer, an empty string without a key. Its own `signature` does not count."""
        now = int(self._clock())
        return self._sign(answer, site, now, now + LASTING_SECONDS) if self._key else ""

    def verify(self, answer: LinkedAnswer, site: str) -> tuple[LinkProblem, int]:
        """Return why the signature of an answer is not valid (empty if it is), and when it was signed."""
        match = _SIGNATURE.fullmatch(answer.signature)
        if match is None or (signed_at := int(match["time"])) > self._clock() + _CLOCK_SKEW:
            return "signature", 0
        if not self._key or match["key"] != self.key_id:
            return "key", 0
        expires = int(match["expires"])
        if not hmac.compare_digest(self._sign(answer, site, signed_at, expires), answer.signature):
            return "signature", 0
        return ("expired" if expires < self._clock() else ""), signed_at

    def _sign(self, answer: LinkedAnswer, site: str, signed_at: int, expires: int) -> str:
        fields = [site, answer.question, answer.answer, answer.sections, signed_at, expires]
        digest = hmac.digest(self._key, json.dumps(fields).encode("ascii"), hashlib.sha256)
        return f"{self.key_id}.{signed_at}.{expires}.{urlsafe_b64encode(digest).rstrip(b'=').decode('ascii')}"


_SIGNATURE = re.compile(r"(?P<key>[0-9a-f]{8})\.(?P<time>[1-9][0-9]{9})\.(?P<expires>[1-9][0-9]{9})\.[\w-]{43}", re.A)
_CLOCK_SKEW = 300
