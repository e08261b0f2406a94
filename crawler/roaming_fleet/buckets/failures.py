"""What an object store's failure means, and the cure, on one line.

Of the store's own words only its error code is taken, or what it says of a region or a key's name: the rest may hold
what was signed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from roaming_fleet.buckets.base import BlobNotFoundError, BucketError


def translate_error(where: str, path: str, error: Exception, *, until: datetime | None = None) -> BucketError:
    """Give what a failure at a path means. `until` is when the credentials run out, where that is known."""
    said = _said(error)
    if lasting := _lasting(where, said, until):
        return BucketError(f"{where}: {lasting}", lasting=True)
    if isinstance(error, FileNotFoundError):
        return BlobNotFoundError(f"{where}: no {path}")
    if isinstance(error, ValueError) or type(error).__name__ == "InvalidPathError":
        return _bad_path(where, path, error)
    why, cure = said.name, _LATER
    if not why:
        why, cure = next(((why, cure) for sign, why, cure in _UNHEARD if re.search(sign, str(error), re.I)), _SILENT)
    return BucketError(f"{where}: {path or 'it'} cannot be had ({why}); {cure}")


def was_retried(error: Exception) -> bool:
    """Tell whether this came of a second attempt: the first may have done what it was to do."""
    return re.search(r" after \d+ retries,", str(error)) is not None


@dataclass(frozen=True, slots=True)
class _Said:
    """What a store answered: its status, its error code, and its words."""

    status: str = ""
    code: str = ""
    words: str = ""
    refused: bool = False

    @property
    def name(self) -> str:
        return self.code or (f"status {self.status}" if self.status else "")


def is_truncated_listing(error: Exception) -> bool:
    """Tell whether a listing's page ended before its time, which obstore does not ask for again."""
    return "Error getting list response body" in str(error)


def _said(error: Exception) -> _Said:
    """Read a store's answer out of an error's text; paths and addresses, which come before it, are no part of it."""
    text = str(error).partition("\n\nDebug source:")[0]
    refused = type(error).__name__ in ("PermissionDeniedError", "UnauthenticatedError")
    if bulk := re.search(r"Bulk delete request failed for key .*: ([^:]*) \(code: (\w{1,60})\)\s*$", text, re.S):
        number = bulk[2].isdigit()
        status, code = (bulk[2], "") if number else ("", bulk[2])
        return _Said(status, code, bulk[1].lower(), refused or status in _REFUSALS)
    if "Received redirect without LOCATION" in text:
        return _Said("301", "PermanentRedirect")
    answer = re.search(r"Server returned (?:non-2xx status code|error response): (\d{3})?", text)
    if answer is None:
        return _Said(refused=refused)
    words = text[answer.end() :]
    code = re.search(r'<Code>\s*(\w{1,60})\s*</Code>|"error"\s*:\s*"(\w{1,60})"', words)
    status = answer[1] or ""
    return _Said(status, (code[1] or code[2]) if code else "", words.lower(), refused or status in _REFUSALS)


def _lasting(where: str, said: _Said, until: datetime | None) -> str:
    """Give the line for what the next file will meet as well, or nothing."""
    bucket = re.sub(r"(?<=://)([^/]+).*", r"\1", where)
    words, code = said.words, f" ({said.name})" if said.name else ""
    if said.code in _NO_BUCKET or re.search(r"the specified (bucket|container) does not exist", words):
        return f"there is no bucket {bucket}; create it, or give another"
    if said.code in _CLOCK or "date header too old" in words or "reasonable timeframe" in words:
        return "this machine's clock is not the store's; set it, and run this again"
    if said.code in _ELSEWHERE or said.status == "301":
        region = re.search(r"<region>([a-z0-9-]{1,40})</region>", words)
        return f"{bucket} is in another region; set AWS_REGION to {region[1] if region else 'that one'}"
    over = until is not None and datetime.now(UTC) >= until
    if said.code in _EXPIRED or _OVER in words or (said.refused and (over or "expired" in words)):
        return "the credentials have expired; renew them and run this again"
    if said.code in _WRONG or said.status == "401" or "failed to authenticate" in words:
        return f"the credentials are not accepted{code}; check the environment's"
    if said.code in _DENIED or said.refused:
        return f"these credentials may not do that{code}; allow them to list, read and write there"
    if said.status == "501" or said.code == "NotImplemented":
        return f"this store cannot do what is asked of it{code}; one is needed that knows conditional writes"
    if said.status == "507" or said.code == "QuotaExceeded":
        return f"has no room for more{code}; make some, and run this again"
    return ""


def _bad_path(where: str, path: str, error: Exception) -> BucketError:
    """Tell of a path that no store is asked for, or of somebody's key in the way that is none."""
    if met := re.search(r'Encountered object with invalid path: (?:Error parsing )?Path "([^"\n]{1,300})"', str(error)):
        return BucketError(f"{where}: holds the key {met[1]!r}, which is no path; rename or remove it", lasting=True)
    return BucketError(f"{where}: {path!r} leads out of it, or is no path")


_NO_BUCKET = ("NoSuchBucket", "ContainerNotFound", "InvalidBucketName", "ContainerBeingDeleted", "ResourceNotFound")
_CLOCK = ("RequestTimeTooSkewed", "RequestInTheFuture")
_ELSEWHERE = (
    "PermanentRedirect",
    "TemporaryRedirect",
    "AuthorizationHeaderMalformed",
    "IllegalLocationConstraintException",
)
_EXPIRED = ("ExpiredToken", "TokenRefreshRequired", "ExpiredTokenException", "RequestExpired", "invalid_grant")
_WRONG = (
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "InvalidToken",
    "AuthenticationFailed",
    "InvalidClientTokenId",
    "InvalidAuthenticationInfo",
    "invalid_client",
    "unauthorized_client",
)
_DENIED = (
    "AccessDenied",
    "AllAccessDisabled",
    "AccountProblem",
    "AuthorizationFailure",
    "AuthorizationPermissionMismatch",
    "PublicAccessNotPermitted",
)
_OVER = "not valid in the specified time frame"
_REFUSALS = ("401", "403")
_LATER = "is the store up? Try again later"
_SILENT = ("no connection", _LATER)
_UNHEARD = (
    (r"certificate", "its certificate is not accepted", "install its authority's on this machine"),
    (r"BadScheme", "its endpoint is no https:// address", "check the endpoint in the environment"),
    (r"dns error|failed to lookup|name resolution", "no such host", "check the endpoint in the environment"),
    (r"Connection refused", "nobody listens there", "is the store up? Check the endpoint in the environment"),
    (r"timed out|TimedOut", "no answer in time", _LATER),
    (r"Parse\(|Got invalid|deserialize", "no store's answer", "check the endpoint in the environment"),
    (r"UnexpectedEof|ConnectionReset|IncompleteMessage|IncompleteBody|Content-Range", "the answer broke off", _LATER),
)
