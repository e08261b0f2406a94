"""A prefix of a bucket at S3, GCS or Azure, through obstore. Credentials are the environment's, and stay there."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from mkdocs_roaming.buckets.bucket import BucketError, Kept, Nothing

if TYPE_CHECKING:
    from obstore.store import ObjectStore

T = TypeVar("T")


class ObjectBucket:
    """Objects below a prefix. What fails for a moment is tried again for up to two minutes."""

    distant = True

    def __init__(self, store: ObjectStore, where: str) -> None:
        self._store = store
        self.where = where.rstrip("/")

    @classmethod
    def at(cls, where: str, environ: Mapping[str, str] = os.environ) -> ObjectBucket:
        """Open the bucket that an address names. Raises BucketError where the environment holds no credentials."""
        try:
            from obstore.store import from_url
        except ImportError:
            raise BucketError(
                f"{where}: needs the package obstore; pip install 'mkdocs-roaming[fleet]'", lasting=True
            ) from None
        scheme, _, rest = where.partition("://")
        if not rest.strip("/"):
            raise BucketError(f"{where}: names no bucket; give {scheme}://BUCKET/PREFIX", lasting=True)
        if not any(environ.get(name) for name in _CREDENTIALS[scheme]) and not _by_machine(scheme, environ):
            raise BucketError(f"{where}: no credentials in the environment; set {_NEEDED[scheme]}", lasting=True)
        plain = environ.get("AWS_ENDPOINT_URL", environ.get("AWS_ENDPOINT", "")).startswith("http://")
        options: dict[str, Any] = {"timeout": timedelta(seconds=_SECONDS), "connect_timeout": timedelta(seconds=10)}
        if scheme == "s3" and plain:
            options["allow_http"] = True  # whoever names such an endpoint means it: a server of their own
        try:
            opened: Any = from_url  # its types tell the stores apart by their settings, of which we give none
            store = opened(where.rstrip("/"), client_options=options, retry_config=_RETRIES)
        except Exception as error:
            raise _told(where, "", error) from None
        return cls(store, where)

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

        doubtful = False
        for wait in (*_WAITS, None):
            try:
                obstore.put(self._store, path, data, mode="create")
                return True
            except (AlreadyExistsError, PreconditionError):
                return doubtful and self.get(path) == data
            except Exception as error:
                told = _told(self.where, path, error)
                if told.lasting or wait is None:
                    raise told from None
                doubtful = True
                time.sleep(wait)
        raise AssertionError

    def list(self, below: str) -> Iterator[Kept]:
        """Give the objects below a folder."""
        import obstore

        try:
            for some in obstore.list(self._store, below.rstrip("/") or None):
                for each in some:
                    yield Kept(each["path"], each["size"], each["e_tag"] or str(each["last_modified"]))
        except Exception as error:
            raise _told(self.where, below, error) from None

    def delete(self, paths: Iterable[str]) -> None:
        """Remove objects."""
        import obstore

        wanted = list(paths)
        for begin in range(0, len(wanted), 1000):
            some = wanted[begin : begin + 1000]
            try:
                self._done(some[0], lambda some=some: obstore.delete(self._store, some))  # type: ignore[misc]  # mypy cannot infer a lambda with a default
            except Nothing:
                for path in some:  # stores that remove one by one say which is not there
                    try:
                        self._done(path, lambda path=path: obstore.delete(self._store, path))  # type: ignore[misc]  # as above
                    except Nothing:
                        continue

    def _done(self, path: str, do: Callable[[], T]) -> T:
        try:
            return do()
        except BucketError:
            raise
        except Exception as error:
            raise _told(self.where, path, error) from None


def _by_machine(scheme: str, environ: Mapping[str, str]) -> bool:
    """Tell whether the machine itself is asked for credentials, which the environment has to say."""
    return scheme == "s3" and environ.get("AWS_EC2_METADATA_DISABLED", "").lower() == "false"


def _told(where: str, path: str, error: Exception) -> BucketError:
    """Give what is wrong, and the cure, on one line. Of the store's own words only its error code is taken: the rest
    may hold what was signed.
    """
    text = str(error)
    code = next(iter(re.findall(r"<Code>\s*(\w{1,60})\s*</Code>|x-ms-error-code: (\w{1,60})", text)), ("", ""))
    name = code[0] or code[1]
    bucket = re.sub(r"(?<=://)([^/]+).*", r"\1", where)
    if name in ("NoSuchBucket", "ContainerNotFound") or "The specified bucket does not exist" in text:
        return BucketError(f"{where}: there is no bucket {bucket}; create it, or give another", lasting=True)
    if name in _EXPIRED or "expired" in text.lower():
        return BucketError(f"{where}: the credentials have expired; renew them and run this again", lasting=True)
    if name in _WRONG or type(error).__name__ == "UnauthenticatedError":
        said = f" ({name})" if name else ""
        return BucketError(f"{where}: the credentials are not accepted{said}; check the environment's", lasting=True)
    if name in _DENIED or type(error).__name__ == "PermissionDeniedError":
        return BucketError(f"{where}: these credentials may not use it; give them read and write there", lasting=True)
    if isinstance(error, FileNotFoundError):
        return Nothing(f"{where}: no {path}")
    status = next(iter(re.findall(r"status code: (\d{3})", text)), "")
    said = name or (f"status {status}" if status else "")
    if not said:
        said = "no answer in time" if "timed out" in text or "timeout" in text.lower() else "no connection"
    return BucketError(f"{where}: {path or 'it'} cannot be had ({said}); is the store up? Try again later")


_SECONDS = 60
_WAITS = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0)
_RETRIES: Any = {
    "max_retries": 10,
    "retry_timeout": timedelta(seconds=120),
    "backoff": {"init_backoff": timedelta(milliseconds=100), "max_backoff": timedelta(seconds=15), "base": 2},
}
_EXPIRED = ("ExpiredToken", "TokenRefreshRequired", "ExpiredTokenException", "RequestExpired")
_WRONG = ("InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "AuthenticationFailed", "InvalidClientTokenId")
_DENIED = ("AccessDenied", "AllAccessDisabled", "AuthorizationFailure", "AuthorizationPermissionMismatch")
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
        "GOOGLE_SKIP_SIGNATURE",
    ),
    "az": (
        "AZURE_STORAGE_ACCOUNT_KEY",
        "AZURE_STORAGE_ACCESS_KEY",
        "AZURE_STORAGE_SAS_TOKEN",
        "AZURE_STORAGE_SAS_KEY",
        "AZURE_STORAGE_TOKEN",
        "AZURE_CLIENT_SECRET",
        "AZURE_STORAGE_CLIENT_SECRET",
        "AZURE_FEDERATED_TOKEN_FILE",
        "AZURE_SKIP_SIGNATURE",
    ),
}
_NEEDED = {
    "s3": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION (or AWS_EC2_METADATA_DISABLED=false on EC2)",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "az": "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
}
