"""Settings of object stores in the environment: credentials and endpoints."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qs

from roaming_fleet.buckets.base import BucketError


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
