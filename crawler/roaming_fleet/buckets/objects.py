"""A prefix of a bucket at S3, GCS or Azure, through obstore. Credentials come from the environment."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from roaming_fleet.buckets.base import BlobInfo, BlobNotFoundError, BucketAddress, BucketError, parse_bucket_url
from roaming_fleet.buckets.credentials import (
    allows_plain_http,
    check_credentials,
    credential_names,
    credentials_expiry,
)
from roaming_fleet.buckets.failures import is_truncated_listing, translate_error, was_retried

if TYPE_CHECKING:
    from obstore.store import ObjectStore

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
