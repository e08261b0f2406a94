"""Stores by URL: prefixes of buckets at S3, GCS or Azure, through obstore. Credentials come from the environment."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from roaming_fleet.buckets import (
    BlobInfo,
    BlobNotFoundError,
    Bucket,
    BucketAddress,
    BucketError,
    FolderBucket,
    is_bucket_url,
    parse_bucket_url,
)
from roaming_fleet.failures import is_truncated_listing, translate_error, was_retried

if TYPE_CHECKING:
    from obstore.store import ObjectStore


import json
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC
from pathlib import Path
from urllib.parse import parse_qs

T = TypeVar("T")

_RETRY_SECONDS = 120.0


class ObjectBucket:
    """Objects below a prefix; see `Bucket`. Temporary failures are retried."""

    is_remote = True

    def __init__(
        self, store: ObjectStore, where: str, expiry: datetime | None = None, patience: float = _RETRY_SECONDS
    ) -> None:
        """Use an opened store.

        Args:
            store: Store of obstore.
            where: Name in messages.
            expiry: When the credentials expire, if that is known.
            patience: Seconds during which temporary failures are retried.
        """
        self._store = store
        self._expiry = expiry
        self._patience = patience
        self.where = where

    @classmethod
    def from_url(cls, where: str, *, silence: float = 60, patience: float = _RETRY_SECONDS) -> ObjectBucket:
        """Open the bucket for a URL.

        Args:
            where: URL of a bucket and a prefix.
            silence: Seconds after which a response without data fails.
            patience: Seconds during which temporary failures are retried.

        Raises:
            BucketError: The URL is invalid, or there are no credentials.
        """
        address = parse_bucket_url(where)
        check_credentials(address.scheme, address.where, os.environ)
        client = {
            "allow_http": allows_plain_http(address.scheme, os.environ),
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
        store = _open_store(address, {key: value for key, value in client.items() if value}, retries)
        return cls(store, address.where, credentials_expiry(address.scheme, os.environ), patience)

    def get(self, path: str) -> bytes:
        """Return an object."""
        import obstore

        return self._call(path, lambda: bytes(obstore.get(self._store, path).bytes()))

    def put(self, path: str, data: bytes) -> None:
        """Write an object."""
        import obstore

        self._call(path, lambda: obstore.put(self._store, path, data))

    def create(self, path: str, data: bytes) -> bool:
        """Write an object unless it exists.

        An attempt whose response was lost may have succeeded: then the object contains `data`.
        """
        import obstore
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        in_doubt, end = False, time.monotonic() + self._patience
        for pause in (*_PAUSES, None):
            try:
                obstore.put(self._store, path, data, mode="create")
                return True
            except (AlreadyExistsError, PreconditionError) as error:
                return (in_doubt or was_retried(error)) and self.get(path) == data
            except Exception as error:
                failure = self._translate(path, error)
                if failure.lasting or pause is None or time.monotonic() > end:
                    raise failure from None
                in_doubt = True
                time.sleep(pause)
        raise AssertionError

    def list(self, below: str) -> Iterator[BlobInfo]:
        """Yield the objects below a folder."""
        import obstore

        below, last, end = below.rstrip("/"), "", time.monotonic() + self._patience
        for pause in (*_PAUSES, None):
            try:
                for page in obstore.list(self._store, below or None, offset=last or None):
                    for item in page:
                        last, end = item["path"], time.monotonic() + self._patience
                        if last not in ("", below):  # an empty object that a web console creates for a folder
                            yield BlobInfo(last, item["size"], item["e_tag"] or str(item["last_modified"]))
                return
            except Exception as error:
                if pause is None or time.monotonic() > end or not is_truncated_listing(error):
                    raise self._translate(below, error) from None
            time.sleep(pause)

    def delete(self, paths: Iterable[str]) -> None:
        """Remove objects."""
        import obstore

        wanted = list(paths)
        for start in range(0, len(wanted), 1000):
            batch = wanted[start : start + 1000]
            try:
                self._call(batch[0], partial(obstore.delete, self._store, batch))
            except BlobNotFoundError:
                for path in batch:  # a store that reports a missing object may have skipped the others
                    try:
                        self._call(path, partial(obstore.delete, self._store, path))
                    except BlobNotFoundError:
                        continue

    def _call(self, path: str, action: Callable[[], T]) -> T:
        try:
            return action()
        except BucketError:
            raise
        except Exception as error:
            raise self._translate(path, error) from None

    def _translate(self, path: str, error: Exception) -> BucketError:
        return translate_error(self.where, path, error, expiry=self._expiry)


def open_bucket(where: str | Path) -> Bucket:
    """Return the bucket for a URL (`s3://bucket/prefix`, `gs://`, `az://`) or a folder.

    Raises:
        BucketError: A package or the credentials are missing, or the URL has another scheme.
    """
    if isinstance(where, str) and is_bucket_url(where):
        return ObjectBucket.from_url(where)
    if isinstance(where, str) and (match := re.match(r"([A-Za-z][A-Za-z0-9+.-]+)://", where)):
        shown = re.sub(r"[?#].*|(?<=://)[^/]*@", "", where)
        raise BucketError(
            f"{shown}: {match[1]}:// is not supported; give s3://, gs:// or az://BUCKET/PREFIX, or a folder",
            lasting=True,
        )
    return FolderBucket(Path(where))


def open_bucket_for_reading(where: str | Path) -> Bucket:
    """Return the bucket for a URL or a folder, with short time-outs for interactive use.

    Raises:
        BucketError: See `open_bucket`.
    """
    if not isinstance(where, str) or not is_bucket_url(where):
        return open_bucket(where)
    return ObjectBucket.from_url(where, silence=20.0, patience=10.0)


def _open_store(address: BucketAddress, client: Any, retries: Any) -> ObjectStore:
    try:
        from obstore.store import AzureStore, GCSStore, S3Store
    except ImportError:
        raise BucketError(
            f"{address.where}: needs the package obstore; pip install 'mkdocs-roaming[fleet]'", lasting=True
        ) from None
    kinds: dict[str, Any] = {"s3": S3Store, "gs": GCSStore, "az": AzureStore}
    try:
        store: ObjectStore = kinds[address.scheme](
            address.bucket, prefix=address.prefix or None, client_options=client, retry_config=retries
        )
    except Exception as error:  # its text may contain credentials
        if "CA certificates" in str(error):
            raise BucketError(
                f"{address.where}: no certificate authorities on this machine; install ca-certificates", lasting=True
            ) from None
        names = credential_names(address.scheme, os.environ)
        raise BucketError(
            f"{address.where}: the credentials in the environment are malformed; check {names}", lasting=True
        ) from None
    return store


_REQUEST_SECONDS = 900
"""Time-out of a whole request: an object of 100 MB over a slow line."""
_PAUSES = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0)


def check_credentials(scheme: str, where: str, environ: Mapping[str, str]) -> None:
    """Check that there are credentials for a store, and that its endpoint is a URL.

    Raises:
        BucketError: There are no credentials, or the endpoint is invalid.
    """
    for name in _ENDPOINTS[scheme]:
        if environ.get(name) and not re.match(r"https?://[^/\s]", environ[name], re.I):
            raise BucketError(f"{where}: {name} is not a URL; begin it with https:// or http://", lasting=True)
    if any(environ.get(name) for name in _CREDENTIALS[scheme]) or _uses_machine_identity(scheme, environ):
        return
    raise BucketError(f"{where}: no credentials in the environment; set {_REQUIRED[scheme]}", lasting=True)


def credential_names(scheme: str, environ: Mapping[str, str]) -> str:
    """Return the names of the environment variables with credentials, for a message."""
    return ", ".join(name for name in _CREDENTIALS[scheme] if environ.get(name)) or _REQUIRED[scheme]


def allows_plain_http(scheme: str, environ: Mapping[str, str]) -> bool:
    """Return whether the configured endpoint begins with `http://`; then it is meant to be used without TLS."""
    if environ.get(_ALLOW_HTTP[scheme], "").lower() in _TRUE:
        return True
    endpoints = [environ.get(name, "") for name in _ENDPOINTS[scheme]]
    if scheme == "gs":
        endpoints.append(_service_account_endpoint(environ))
    return any(endpoint.lower().startswith("http://") for endpoint in endpoints)


def credentials_expiry(scheme: str, environ: Mapping[str, str]) -> datetime | None:
    """Return when the credentials expire, if they contain that time, as a SAS token does."""
    token = next((environ[name] for name in _SAS if environ.get(name)), "") if scheme == "az" else ""
    with suppress(ValueError, LookupError):
        expiry = datetime.fromisoformat(parse_qs(token.lstrip("?"))["se"][0])
        return expiry if expiry.tzinfo else expiry.replace(tzinfo=UTC)
    return None


def _uses_machine_identity(scheme: str, environ: Mapping[str, str]) -> bool:
    """Return whether credentials come from the machine, such as an instance role; this has to be enabled."""
    if scheme == "s3":
        return environ.get("AWS_EC2_METADATA_DISABLED", "").lower() == "false"
    if scheme == "gs":
        return bool(environ.get("HOME")) and Path(environ["HOME"], _GCLOUD_LOGIN).is_file()
    return environ.get("AZURE_STORAGE_USE_EMULATOR", "").lower() in _TRUE


def _service_account_endpoint(environ: Mapping[str, str]) -> str:
    """Return the endpoint in a service account's JSON."""
    text = environ.get("GOOGLE_SERVICE_ACCOUNT_KEY", "")
    file = environ.get("GOOGLE_SERVICE_ACCOUNT") or environ.get("GOOGLE_SERVICE_ACCOUNT_PATH")
    with suppress(OSError, ValueError, AttributeError):
        return str(json.loads(Path(file).read_bytes() if file else text).get("gcs_base_url", ""))
    return ""


_TRUE = ("true", "1", "yes", "on", "y")
_ALLOW_HTTP = {"s3": "AWS_ALLOW_HTTP", "gs": "GOOGLE_ALLOW_HTTP", "az": "AZURE_ALLOW_HTTP"}
_GCLOUD_LOGIN = ".config/gcloud/application_default_credentials.json"
_SAS = ("AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_SAS_KEY")
_ENDPOINTS = {
    "s3": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
    "gs": ("GOOGLE_BASE_URL",),
    "az": ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
}
_CREDENTIALS = {
    "s3": (
        "AWS_ACCESS_KEY_ID",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "AWS_SKIP_SIGNATURE",
    ),
    "gs": (
        "GOOGLE_APPLICATION_CREDENTIALS",
        "GOOGLE_SERVICE_ACCOUNT",
        "GOOGLE_SERVICE_ACCOUNT_PATH",
        "GOOGLE_SERVICE_ACCOUNT_KEY",
        "GOOGLE_BEARER_TOKEN",
        "GOOGLE_SKIP_SIGNATURE",
    ),
    "az": (
        "AZURE_STORAGE_ACCOUNT_KEY",
        "AZURE_STORAGE_ACCESS_KEY",
        "AZURE_STORAGE_MASTER_KEY",
        *_SAS,
        "AZURE_STORAGE_TOKEN",
        "AZURE_CLIENT_SECRET",
        "AZURE_STORAGE_CLIENT_SECRET",
        "AZURE_FEDERATED_TOKEN_FILE",
        "AZURE_IDENTITY_ENDPOINT",
        "AZURE_MSI_ENDPOINT",
        "AZURE_USE_AZURE_CLI",
        "AZURE_SKIP_SIGNATURE",
    ),
}
_REQUIRED = {
    "s3": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION (or AWS_EC2_METADATA_DISABLED=false on EC2)",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "az": "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
}
