"""Translates errors of object stores into messages with a hint.

Of a store's own text, messages contain only its error code, a region or the name of a key, because the rest may contain
signed values.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from roaming_fleet.buckets import BlobNotFoundError, BucketError


def translate_error(where: str, path: str, error: Exception, *, expiry: datetime | None = None) -> BucketError:
    """Return the BucketError for an error of obstore.

    Args:
        where: URL of the bucket.
        path: Path that was accessed.
        error: The error.
        expiry: When the credentials expire, if that is known.
    """
    response = _parse_response(error)
    if lasting := _explain_lasting(where, response, expiry):
        return BucketError(f"{where}: {lasting}", lasting=True)
    if isinstance(error, FileNotFoundError):
        return BlobNotFoundError(f"{where}: no {path}")
    if isinstance(error, ValueError) or type(error).__name__ == "InvalidPathError":
        return _explain_invalid_path(where, path, error)
    reason, hint = response.name, _RETRY_HINT
    if not reason:
        matches = ((why, what) for pattern, why, what in _NETWORK_ERRORS if re.search(pattern, str(error), re.I))
        reason, hint = next(matches, ("no connection", _RETRY_HINT))
    return BucketError(f"{where}: cannot access {path or 'it'} ({reason}); {hint}")


def was_retried(error: Exception) -> bool:
    """Return whether an error is of a second attempt: the first one may have succeeded."""
    return re.search(r" after \d+ retries,", str(error)) is not None


def is_truncated_listing(error: Exception) -> bool:
    """Return whether a page of a listing was truncated, which obstore does not retry."""
    return "Error getting list response body" in str(error)


@dataclass(frozen=True, slots=True)
class _StoreResponse:
    """An error response of a store: status, error code, and text in lower case."""

    status: str = ""
    code: str = ""
    text: str = ""
    refused: bool = False

    @property
    def name(self) -> str:
        return self.code or (f"status {self.status}" if self.status else "")


def _parse_response(error: Exception) -> _StoreResponse:
    """Extract a store's response from an error's text, without the paths and URLs before it."""
    text = str(error).partition("\n\nDebug source:")[0]
    refused = type(error).__name__ in ("PermissionDeniedError", "UnauthenticatedError")
    if bulk := re.search(r"Bulk delete request failed for key .*: ([^:]*) \(code: (\w{1,60})\)\s*$", text, re.S):
        is_status = bulk[2].isdigit()
        status, code = (bulk[2], "") if is_status else ("", bulk[2])
        return _StoreResponse(status, code, bulk[1].lower(), refused or status in _REFUSED_STATUSES)
    if "Received redirect without LOCATION" in text:
        return _StoreResponse("301", "PermanentRedirect")
    answer = re.search(r"Server returned (?:non-2xx status code|error response): (\d{3})?", text)
    if answer is None:
        return _StoreResponse(refused=refused)
    body = text[answer.end() :]
    code_match = re.search(r'<Code>\s*(\w{1,60})\s*</Code>|"error"\s*:\s*"(\w{1,60})"', body)
    code = (code_match[1] or code_match[2]) if code_match else ""
    status = answer[1] or ""
    return _StoreResponse(status, code, body.lower(), refused or status in _REFUSED_STATUSES)


def _explain_lasting(where: str, response: _StoreResponse, expiry: datetime | None) -> str:
    """Return the message for a problem that affects all files, or an empty string."""
    bucket = re.sub(r"(?<=://)([^/]+).*", r"\1", where)
    text, code = response.text, f" ({response.name})" if response.name else ""
    if response.code in _NO_BUCKET or re.search(r"the specified (bucket|container) does not exist", text):
        return f"there is no bucket {bucket}; create it, or give another"
    if response.code in _CLOCK or "date header too old" in text or "reasonable timeframe" in text:
        return "the clock of this machine differs from the store's; set it and try again"
    if response.code in _OTHER_REGION or response.status == "301":
        region = re.search(r"<region>([a-z0-9-]{1,40})</region>", text)
        return f"{bucket} is in another region; set AWS_REGION to {region[1] if region else 'that one'}"
    if refusal := _explain_refusal(response, code, expiry):
        return refusal
    if response.status == "501" or response.code == "NotImplemented":
        return f"the store does not support a request{code}; use one with conditional writes"
    if response.status == "507" or response.code == "QuotaExceeded":
        return f"the store is full{code}; free some space and try again"
    return ""


def _explain_refusal(response: _StoreResponse, code: str, expiry: datetime | None) -> str:
    text = response.text
    is_expired = expiry is not None and datetime.now(UTC) >= expiry
    if response.code in _EXPIRED or _NOT_VALID in text or (response.refused and (is_expired or "expired" in text)):
        return "the credentials have expired; renew them and try again"
    if response.code in _INVALID_CREDENTIALS or response.status == "401" or "failed to authenticate" in text:
        return f"the credentials are not accepted{code}; check the environment"
    if response.code in _DENIED or response.refused:
        return f"permission denied{code}; allow these credentials to list, read and write there"
    return ""


def _explain_invalid_path(where: str, path: str, error: Exception) -> BucketError:
    """Return the error for an invalid path, or for a key of another program that is no valid path."""
    if match := re.search(
        r'Encountered object with invalid path: (?:Error parsing )?Path "([^"\n]{1,300})"', str(error)
    ):
        return BucketError(
            f"{where}: contains the key {match[1]!r}, an invalid path; rename or remove it", lasting=True
        )
    return BucketError(f"{where}: invalid path {path!r}")


_NO_BUCKET = ("NoSuchBucket", "ContainerNotFound", "InvalidBucketName", "ContainerBeingDeleted", "ResourceNotFound")
_CLOCK = ("RequestTimeTooSkewed", "RequestInTheFuture")
_OTHER_REGION = (
    "PermanentRedirect",
    "TemporaryRedirect",
    "AuthorizationHeaderMalformed",
    "IllegalLocationConstraintException",
)
_EXPIRED = ("ExpiredToken", "TokenRefreshRequired", "ExpiredTokenException", "RequestExpired", "invalid_grant")
_INVALID_CREDENTIALS = (
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
_NOT_VALID = "not valid in the specified time frame"
_REFUSED_STATUSES = ("401", "403")
_RETRY_HINT = "check that the store is up, and try again later"
_NETWORK_ERRORS = (
    (r"certificate", "its certificate is not accepted", "install its authority's on this machine"),
    (r"BadScheme", "its endpoint is not an https:// URL", "check the endpoint in the environment"),
    (r"dns error|failed to lookup|name resolution", "no such host", "check the endpoint in the environment"),
    (r"Connection refused", "connection refused", "check that the store is up, and the endpoint in the environment"),
    (r"timed out|TimedOut", "no response in time", _RETRY_HINT),
    (r"Parse\(|Got invalid|deserialize", "not a response of a store", "check the endpoint in the environment"),
    (
        r"UnexpectedEof|ConnectionReset|IncompleteMessage|IncompleteBody|Content-Range",
        "truncated response",
        _RETRY_HINT,
    ),
)
