"""A prefix of a bucket at S3, GCS or Azure, through obstore. Credentials are the environment's, and stay there."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from roaming_fleet.buckets.base import BlobInfo, BlobNotFoundError, BucketAddress, BucketError, parse_bucket_url
from roaming_fleet.buckets.credentials import allows_plain_http, check_credentials, credential_names, credentials_expiry
from roaming_fleet.buckets.failures import is_truncated_listing, translate_error, was_retried

if TYPE_CHECKING:
    from obstore.store import ObjectStore

T = TypeVar("T")

_PATIENCE = 120.0
"""Seconds in which what fails is tried again."""


class ObjectBucket:
    """Objects below a prefix. What fails for a moment is tried again, for `patience` seconds.

    `until` is the time at which the credentials run out, where they tell it.
    """

    is_remote = True

    def __init__(
        self, store: ObjectStore, where: str, until: datetime | None = None, patience: float = _PATIENCE
    ) -> None:
        self._store = store
        self._until = until
        self._patience = patience
        self.where = where

    @classmethod
    def at(
        cls,
        where: str,
        environ: Mapping[str, str] = os.environ,
        *,
        silence: float = 60,
        patience: float = _PATIENCE,
    ) -> ObjectBucket:
        """Open the bucket that an address names. Raises BucketError where the environment holds no credentials.

        A store may be silent for so many seconds; what fails is tried again for `patience` seconds.
        """
        address = parse_bucket_url(where)
        check_credentials(address.scheme, address.where, environ)
        client = {
            "allow_http": allows_plain_http(address.scheme, environ),
            "connect_timeout": timedelta(seconds=10),
            "read_timeout": timedelta(seconds=silence),
            "timeout": timedelta(seconds=_WHOLE),
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
        store = _opened(address, {k: v for k, v in client.items() if v}, retries, environ)
        return cls(store, address.where, credentials_expiry(address.scheme, environ), patience)

    def get(self, path: str) -> bytes:
        """Give an object's bytes."""
        import obstore

        return self._done(path, lambda: bytes(obstore.get(self._store, path).bytes()))

    def put(self, path: str, data: bytes) -> None:
        """Write an object."""
        import obstore

        self._done(path, lambda: obstore.put(self._store, path, data))

    def create(self, path: str, data: bytes) -> bool:
        """Write an object that does not exist yet.

        An attempt whose answer was lost may have written it: then it is ours, if it holds what we wrote.
        """
        import obstore
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        doubtful, end = False, time.monotonic() + self._patience
        for wait in (*_WAITS, None):
            try:
                obstore.put(self._store, path, data, mode="create")
                return True
            except (AlreadyExistsError, PreconditionError) as error:
                return (doubtful or was_retried(error)) and self.get(path) == data
            except Exception as error:
                failure = self._told(path, error)
                if failure.lasting or wait is None or time.monotonic() > end:
                    raise failure from None
                doubtful = True
                time.sleep(wait)
        raise AssertionError

    def list(self, below: str) -> Iterator[BlobInfo]:
        """Give the objects below a folder."""
        import obstore

        below, last, end = below.rstrip("/"), "", time.monotonic() + self._patience
        for wait in (*_WAITS, None):
            try:
                for some in obstore.list(self._store, below or None, offset=last or None):
                    for each in some:
                        last, end = each["path"], time.monotonic() + self._patience
                        if last not in ("", below):  # an empty object that a web console shows as the folder
                            yield BlobInfo(last, each["size"], each["e_tag"] or str(each["last_modified"]))
                return
            except Exception as error:
                if wait is None or time.monotonic() > end or not is_truncated_listing(error):
                    raise self._told(below, error) from None
            time.sleep(wait)

    def delete(self, paths: Iterable[str]) -> None:
        """Remove objects."""
        import obstore

        wanted = list(paths)
        for begin in range(0, len(wanted), 1000):
            some = wanted[begin : begin + 1000]
            try:
                self._done(some[0], lambda some=some: obstore.delete(self._store, some))  # type: ignore[misc]  # mypy cannot infer a lambda with a default
            except BlobNotFoundError:
                for path in some:  # stores that tell of one that is not there may not have come to the others
                    try:
                        self._done(path, lambda path=path: obstore.delete(self._store, path))  # type: ignore[misc]  # as above
                    except BlobNotFoundError:
                        continue

    def _done(self, path: str, do: Callable[[], T]) -> T:
        try:
            return do()
        except BucketError:
            raise
        except Exception as error:
            raise self._told(path, error) from None

    def _told(self, path: str, error: Exception) -> BucketError:
        return translate_error(self.where, path, error, until=self._until)


def _opened(address: BucketAddress, client: Any, retries: Any, environ: Mapping[str, str]) -> ObjectStore:
    """Make the store of an address. What is wrong here is what the environment says."""
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
    except Exception as error:  # its text may hold what is in a file of credentials
        if "CA certificates" in str(error):
            raise BucketError(
                f"{address.where}: this machine trusts no certificate's authority; install ca-certificates",
                lasting=True,
            ) from None
        named = credential_names(address.scheme, environ)
        raise BucketError(
            f"{address.where}: the credentials in the environment make no sense; see to {named}", lasting=True
        ) from None
    return store


_WHOLE = 900
"""Seconds for a whole request: an object of 100 MB over a slow line."""
_WAITS = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0)
