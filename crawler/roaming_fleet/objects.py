"""Stores by URL: prefixes of buckets at S3, GCS or Azure, through obstore. Credentials come from the environment.

Of a store's own text, messages contain only its error code, a region or the name of a key, because the rest may contain
signed values.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from roaming_fleet.buckets import (
    BlobInfo,
    BlobNotFoundError,
    BucketError,
    FolderBucket,
    parse_bucket_url,
)

if TYPE_CHECKING:
    from obstore.store import ObjectStore

T = TypeVar("T")

_INTERACTIVE_SILENCE = 20.0
_INTERACTIVE_PATIENCE = 10.0


class ObjectBucket:
    """Objects below a prefix; see `FolderBucket`. Temporary failures are retried."""

    is_remote = True

    def __init__(self, where: str, *, silence: float = 60.0, patience: float = 120.0) -> None:
        """Open the bucket for a URL.

        Args:
            where: URL of a bucket and a prefix.
            silence: Seconds after which a response without data fails.
            patience: Seconds during which temporary failures are retried.

        Raises:
            BucketError: The URL is invalid, or there are no credentials.
        """
        scheme, bucket, prefix = parse_bucket_url(where)
        self.where = f"{scheme}://{bucket}/{prefix}".rstrip("/")
        self._patience = patience
        client = {
            "allow_http": _check_environment(scheme, self.where),
            "connect_timeout": timedelta(seconds=10),
            "read_timeout": timedelta(seconds=silence),
            "timeout": timedelta(seconds=_REQUEST_SECONDS),
        }
        retries = {
            "max_retries": 10,
            "retry_timeout": timedelta(seconds=patience),
            "backoff": {
                "init_backoff": timedelta(milliseconds=100),
                "max_backoff": timedelta(seconds=min(15, max(0.3, patience / 8))),
                "base": 2,
            },
        }
        self._store = _open_store(
            scheme, self.where, bucket, prefix=prefix, client_options=client, retry_config=retries
        )

    def get(self, path: str) -> bytes:
        """Return an object."""
        return self._call(path, lambda: bytes(self._store.get(path).bytes()))

    def put(self, path: str, data: bytes) -> None:
        """Write an object."""
        self._call(path, lambda: self._store.put(path, data))

    def create(self, path: str, data: bytes) -> bool:
        """Write an object unless it exists with other data.

        An attempt whose response was lost may have succeeded: then the object contains `data`.
        """
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        def attempt() -> bool:
            try:
                self._store.put(path, data, mode="create")
            except (AlreadyExistsError, PreconditionError):
                return bytes(self._store.get(path).bytes()) == data
            return True

        try:
            return self._call(path, attempt, is_retried=True)
        except BlobNotFoundError:  # it existed, and was removed in the meantime
            return False

    def list(self, below: str) -> list[BlobInfo]:
        """Return the objects below a folder."""
        below = below.rstrip("/")
        return [
            BlobInfo(item["path"], item["size"], item["e_tag"] or str(item["last_modified"]))
            for item in self._call(below, lambda: self._store.list(below or None).collect(), is_retried=True)
            if item["path"] not in ("", below)  # an empty object that a web console creates for a folder
        ]

    def delete(self, paths: Iterable[str]) -> None:
        """Remove objects."""
        wanted = [*paths]
        for start in range(0, len(wanted), _BATCH):
            batch = wanted[start : start + _BATCH]
            try:
                self._call(batch[0], partial(self._store.delete, batch), is_retried=True)
            except BlobNotFoundError:  # a store that reports a missing object may have skipped the others
                if len(batch) > 1:
                    for path in batch:
                        self.delete([path])

    def _call(self, path: str, action: Callable[[], T], *, is_retried: bool = False) -> T:
        """Call obstore. What it does not retry by itself, such as truncated listings, `is_retried` here."""
        end = time.monotonic() + self._patience
        for pause in (*_PAUSES, None):
            try:
                return action()
            except Exception as error:
                failure = translate_error(self.where, path, error)
                is_final = failure.lasting or isinstance(failure, BlobNotFoundError) or not is_retried
                if is_final or pause is None or time.monotonic() > end:
                    raise failure from None
            time.sleep(pause)
        raise AssertionError


Bucket = FolderBucket | ObjectBucket
"""Files by path, of a folder or an object store."""


def open_bucket(where: str | Path, *, is_interactive: bool = False) -> Bucket:
    """Return the bucket for a URL (`s3://bucket/prefix`, `gs://`, `az://`) or a folder.

    Args:
        where: URL or folder.
        is_interactive: Whether a reader waits: time-outs are short then.

    Raises:
        BucketError: A package or the credentials are missing, or the URL has another scheme.
    """
    if isinstance(where, Path) or "://" not in where:
        return FolderBucket(Path(where))
    if is_interactive:
        return ObjectBucket(where, silence=_INTERACTIVE_SILENCE, patience=_INTERACTIVE_PATIENCE)
    return ObjectBucket(where)


def _open_store(scheme: str, where: str, bucket: str, **options: Any) -> ObjectStore:
    try:
        from obstore.store import AzureStore, GCSStore, S3Store
    except ImportError:
        raise BucketError(
            f"{where}: needs the package obstore; pip install 'mkdocs-roaming[fleet]'", lasting=True
        ) from None
    kinds: dict[str, Any] = {"s3": S3Store, "gs": GCSStore, "az": AzureStore}
    try:
        store: ObjectStore = kinds[scheme](bucket, **options)
    except Exception as error:  # its text may contain credentials
        names = ", ".join(_find_variables(_VARIABLES[scheme].credentials))
        problem = f"the credentials in the environment are malformed; check {names}"
        if "CA certificates" in str(error):
            problem = "no certificate authorities on this machine; install ca-certificates"
        raise BucketError(f"{where}: {problem}", lasting=True) from None
    return store


# The environment


class _Variables(NamedTuple):
    """Environment variables of a kind of store: patterns of their names, and what to set if there are none."""

    credentials: str
    endpoints: str
    required: str


_VARIABLES = {
    "s3": _Variables(
        r"AWS_(ACCESS_KEY_ID|WEB_IDENTITY_TOKEN_FILE|CONTAINER_CREDENTIALS_\w+|SKIP_SIGNATURE)",
        r"AWS_ENDPOINT(_URL(_S3)?)?",
        "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION (or AWS_EC2_METADATA_DISABLED=false on EC2)",
    ),
    "gs": _Variables(
        r"GOOGLE_(APPLICATION_CREDENTIALS|SERVICE_ACCOUNT\w*|BEARER_TOKEN|SKIP_SIGNATURE)",
        r"GOOGLE_BASE_URL",
        "GOOGLE_APPLICATION_CREDENTIALS",
    ),
    "az": _Variables(
        r"AZURE_\w*(KEY|TOKEN|TOKEN_FILE|SECRET|IDENTITY_ENDPOINT|MSI_ENDPOINT|EMULATOR|AZURE_CLI|SKIP_SIGNATURE)",
        r"AZURE_(STORAGE_)?ENDPOINT",
        "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
    ),
}
_GCLOUD_LOGIN = "~/.config/gcloud/application_default_credentials.json"


def _check_environment(scheme: str, where: str) -> bool:
    """Return whether the configured endpoint is used without TLS, because it begins with `http://`.

    Raises:
        BucketError: There are no credentials, or the endpoint is not a URL.
    """
    endpoints = _find_variables(_VARIABLES[scheme].endpoints)
    for name, value in endpoints.items():
        if not value.lower().startswith(("http://", "https://")) or not urlsplit(value).netloc.strip():
            raise BucketError(f"{where}: {name} is not a URL; begin it with https:// or http://", lasting=True)
    if not _find_variables(_VARIABLES[scheme].credentials) and not _has_machine_identity(scheme):
        required = _VARIABLES[scheme].required
        raise BucketError(f"{where}: no credentials in the environment; set {required}", lasting=True)
    return any(value.lower().startswith("http://") for value in endpoints.values())


def _has_machine_identity(scheme: str) -> bool:
    """Return whether credentials come from the machine: an instance role, which has to be enabled, or a login."""
    if scheme == "s3":
        return os.environ.get("AWS_EC2_METADATA_DISABLED", "").lower() == "false"
    return scheme == "gs" and Path(_GCLOUD_LOGIN).expanduser().is_file()


def _find_variables(pattern: str) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if value and re.fullmatch(pattern, name)}


# Errors


def translate_error(where: str, path: str, error: Exception) -> BucketError:
    """Return the BucketError for an error of obstore.

    Args:
        where: URL of the bucket.
        path: Path that was accessed.
        error: The error.
    """
    text = str(error).partition("\n\nDebug source:")[0]
    status, code, explanation = _parse_response(text, type(error).__name__)
    name = code or (f"status {status}" if status else "")
    for pattern, problem in _LASTING_ERRORS:
        if re.search(pattern, f"{status} {code} {explanation}"):
            region = re.search(r"<Region>([a-z0-9-]{1,40})</Region>", text)
            problem = problem.format(
                bucket="/".join(where.split("/")[:3]),
                code=f" ({name})" if name else "",
                region=region[1] if region else "that one",
            )
            return BucketError(f"{where}: {problem}", lasting=True)
    if isinstance(error, FileNotFoundError):
        return BlobNotFoundError(f"{where}: no {path}")
    if key := re.search(r'Encountered object with invalid path: (?:Error parsing )?Path "([^"\n]{1,300})"', text):
        return BucketError(f"{where}: contains the key {key[1]!r}, an invalid path; rename or remove it", lasting=True)
    if isinstance(error, ValueError) or type(error).__name__ == "InvalidPathError":
        return BucketError(f"{where}: invalid path {path!r}")
    reason = name
    hint = _RETRY_HINT
    if not reason:
        matches = ((why, what) for pattern, why, what in _NETWORK_ERRORS if re.search(pattern, str(error), re.I))
        reason, hint = next(matches, ("no connection", _RETRY_HINT))
    return BucketError(f"{where}: cannot access {path or 'it'} ({reason}); {hint}")


def _parse_response(text: str, kind: str) -> tuple[str, str, str]:
    """Return status, error code and explanation of a store's response, which follows paths and URLs in an error's text.

    Args:
        text: Text of the error.
        kind: Name of its class, from which the status follows if the text has none.
    """
    status = {"PermissionDeniedError": "403", "UnauthenticatedError": "401"}.get(kind, "")
    if bulk := re.search(r"Bulk delete request failed for key .*: ([^:]*) \(code: (\w{1,60})\)\s*$", text, re.DOTALL):
        return (bulk[2], "", bulk[1]) if bulk[2].isdigit() else (status, bulk[2], bulk[1])
    if "Received redirect without LOCATION" in text:
        return "301", "PermanentRedirect", ""
    response = re.search(r"Server returned (?:non-2xx status code|error response): (\d{3})?(.*)", text, re.DOTALL)
    if response is None:
        return status, "", ""
    code = re.search(r'<Code>\s*(\w{1,60})\s*</Code>|"error"\s*:\s*"(\w{1,60})"', response[2])
    explanation = " ".join(re.findall(r"<(?:Message|AuthenticationErrorDetail)>([^<]*)", response[2]))
    return response[1] or status, (code[1] or code[2]) if code else "", explanation


_LASTING_ERRORS = (
    (
        r"NoSuchBucket|InvalidBucketName|ContainerNotFound|ResourceNotFound|specified (bucket|container) does not",
        "there is no bucket {bucket}; create it, or give another",
    ),
    (
        r"RequestTimeTooSkewed|RequestInTheFuture|date header too old|reasonable timeframe",
        "the clock of this machine differs from the store's; set it and try again",
    ),
    (
        r"^301|PermanentRedirect|AuthorizationHeaderMalformed",
        "{bucket} is in another region; set AWS_REGION to {region}",
    ),
    (
        r"ExpiredToken|RequestExpired|invalid_grant|not valid in the specified time frame"
        r"|^40[13] .*[Ee]xpired",
        "the credentials have expired; renew them and try again",
    ),
    (
        r"^401|InvalidAccessKeyId|SignatureDoesNotMatch|InvalidToken|AuthenticationFailed|failed to authenticate",
        "the credentials are not accepted{code}; check the environment",
    ),
    (
        r"^403|AccessDenied",
        "permission denied{code}; allow these credentials to list, read and write there",
    ),
    (r"^501|NotImplemented", "the store does not support a request{code}; use one with conditional writes"),
    (r"^507|QuotaExceeded", "the store is full{code}; free some space and try again"),
)
"""Problems that affect all files: pattern of status, error code and explanation, and the message."""
_RETRY_HINT = "check that the store is up, and try again later"
_ENDPOINT_HINT = "check that the store is up, and the endpoint in the environment"
_NETWORK_ERRORS = (
    (r"certificate", "its certificate is not accepted", "install its authority's on this machine"),
    (r"dns error|failed to lookup|name resolution", "no such host", _ENDPOINT_HINT),
    (r"Connection refused", "connection refused", _ENDPOINT_HINT),
    (r"timed out|TimedOut", "no response in time", _RETRY_HINT),
    (r"Parse\(|Got invalid|deserialize", "not a response of a store", _ENDPOINT_HINT),
    (r"UnexpectedEof|ConnectionReset|Incomplete|Content-Range", "truncated response", _RETRY_HINT),
)
"""Problems of the network: pattern of the error's text, reason, and hint."""
_REQUEST_SECONDS = 900
"""Time-out of a whole request: an object of 100 MB over a slow line."""
_BATCH = 1_000
_PAUSES = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0)
