"""Keys, passwords and addresses, taken out of what people write before it is kept.

People paste whole error messages and configuration files into questions. What looks like a secret goes, and rather
one word too many than one key too few: a long word of letters and digits is none of the docs' own, most of the time.
"""

from __future__ import annotations

import re
from itertools import pairwise

MAX_TEXT_CHARS = 4_000
"""The characters of a text that are kept at all."""
REDACTED = "[redacted]"


def redact(text: str) -> str:
    """Give a text without what looks like a secret or an address of a person."""
    text = text[:MAX_TEXT_CHARS]
    for pattern, instead in _KNOWN:
        text = pattern.sub(instead, text)
    return _RUN.sub(lambda match: REDACTED if _looks_made(match[0]) else match[0], text)


def strip_passwords(text: str) -> str:
    """Give a text without the names and passwords that stand in its addresses."""
    return _LOGIN.sub(r"\1…@", text)


def _looks_made(run: str) -> bool:
    """Tell whether a long run of letters and digits was made by a machine: it changes its kind all the time."""
    letters, digits = (sum(map(kind, run)) for kind in (str.isalpha, str.isdigit))
    if run.isalnum() and (len(run) >= _ENDLESS or (letters and digits)):
        return True
    kinds = [_kind(letter) for letter in run if letter.isalnum()]
    changes = sum(one != other for one, other in pairwise(kinds)) / max(len(kinds), 1)
    return changes >= _RESTLESS or (digits > 1 and changes >= _RESTLESS / 2)


def _kind(letter: str) -> int:
    return 0 if letter.isdigit() else 1 if letter.isupper() else 2


_SECRET = (
    r"(?:pass(?:word|wd|phrase)?|pwd|secret|token|credentials?|signature|bearer"
    r"|(?:api|access|private|signing|encryption|account|auth)[_\- ]?key)"
)
_NAMED = rf"(?P<name>[\w.\-]{{0,40}}{_SECRET}[\w.\-]{{0,40}})"
_PREFIXES = (
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
)

_KNOWN: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}-----.*?(?:-----END [A-Z0-9 ]{0,40}-----|\Z)", re.DOTALL), REDACTED),
    (re.compile(r"(?i)\b([a-z][a-z0-9+.\-]{1,20}://)[^\s/@]{1,500}@"), rf"\1{REDACTED}@"),
    (re.compile(r"(?i)\b(bearer|basic|digest|authorization\s*:\s*\w+)\s+[\w.~+/=\-]{6,}"), rf"\1 {REDACTED}"),
    (re.compile(r"\beyJ[\w\-]{4,}\.[\w\-]{2,}(?:\.[\w\-]*)*"), REDACTED),
    (re.compile(r"[\w.!#$%&'*+/=?^`{|}~\-]{1,64}@(?:[\w\-]{1,63}\.){1,8}[^\W\d_]{2,24}"), REDACTED),
    (re.compile(rf"(?i)(?<![\w.\-])(?:{'|'.join(_PREFIXES)})"), REDACTED),
    (
        re.compile(rf"(?i){_NAMED}(?P<is>[\"'”]?\s*[:=]+>?\s*[\"'“]?)(?!\[redacted)[^\s\"',;”]{{3,}}"),
        rf"\g<name>\g<is>{REDACTED}",
    ),
    # Without a sign between them only what holds a digit: “the token is invalid” is no token.
    (
        re.compile(rf"(?i){_NAMED}(?P<is>\s+(?:is\s+|was\s+)?[\"'“]?)(?=[^\s\d]{{0,200}}\d)[^\s\"',;”]{{6,}}"),
        rf"\g<name>\g<is>{REDACTED}",
    ),
    (re.compile(r"(?i)(?<![\w])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![\w])"), REDACTED),
    (re.compile(r"(?i)(?<![0-9a-z])(?:0x)?[0-9a-f]{20,}(?![0-9a-z])"), REDACTED),
    (re.compile(r"(?<!\w)(?:\d[ \-]?){12,}\d(?!\w)"), REDACTED),
)
_LOGIN = re.compile(r"(?i)\b([a-z][a-z0-9+.\-]{0,20}://)[^\s/?#]{0,500}@")
_RUN = re.compile(r"[A-Za-z0-9+/_\-]{20,}={0,2}")
_ENDLESS = 40
_RESTLESS = 0.4
