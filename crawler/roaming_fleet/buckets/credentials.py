"""What the environment says of object stores: whether there are credentials, and whose server is meant."""

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
    """Raise BucketError where the environment holds no credentials for a store, or names a server that is none."""
    for name in _ENDPOINTS[scheme]:
        if environ.get(name) and not re.match(r"https?://[^/\s]", environ[name], re.I):
            raise BucketError(f"{where}: {name} is no address; begin it with https:// or http://", lasting=True)
    if any(environ.get(name) for name in _CREDENTIALS[scheme]) or _by_machine(scheme, environ):
        return
    raise BucketError(f"{where}: no credentials in the environment; set {_NEEDED[scheme]}", lasting=True)


def credential_names(scheme: str, environ: Mapping[str, str]) -> str:
    """Give the names of the variables that hold credentials, for a message."""
    return ", ".join(name for name in _CREDENTIALS[scheme] if environ.get(name)) or _NEEDED[scheme]


def allows_plain_http(scheme: str, environ: Mapping[str, str]) -> bool:
    """Tell whether a server is named by `http://`. Whoever names one means it: a server of their own."""
    if environ.get(_ALLOWED[scheme], "").lower() in _YES:
        return True
    named = [environ.get(name, "") for name in _ENDPOINTS[scheme]]
    if scheme == "gs":
        named.append(_base_url(environ))
    return any(each.lower().startswith("http://") for each in named)


def credentials_expiry(scheme: str, environ: Mapping[str, str]) -> datetime | None:
    """Give the time at which credentials run out, where they say so themselves: a SAS token does."""
    token = next((environ[name] for name in _SAS if environ.get(name)), "") if scheme == "az" else ""
    with suppress(ValueError, LookupError):
        found = datetime.fromisoformat(parse_qs(token.lstrip("?"))["se"][0])
        return found if found.tzinfo else found.replace(tzinfo=UTC)
    return None


def _by_machine(scheme: str, environ: Mapping[str, str]) -> bool:
    """Tell whether the machine itself is asked for credentials, which the environment has to say."""
    if scheme == "s3":
        return environ.get("AWS_EC2_METADATA_DISABLED", "").lower() == "false"
    if scheme == "gs":
        return bool(environ.get("HOME")) and Path(environ["HOME"], _LOGGED_IN).is_file()
    return environ.get("AZURE_STORAGE_USE_EMULATOR", "").lower() in _YES


def _base_url(environ: Mapping[str, str]) -> str:
    """Give the server that a service account's JSON names."""
    text = environ.get("GOOGLE_SERVICE_ACCOUNT_KEY", "")
    file = environ.get("GOOGLE_SERVICE_ACCOUNT") or environ.get("GOOGLE_SERVICE_ACCOUNT_PATH")
    with suppress(OSError, ValueError, AttributeError):
        return str(json.loads(Path(file).read_bytes() if file else text).get("gcs_base_url", ""))
    return ""


_YES = ("true", "1", "yes", "on", "y")
_ALLOWED = {"s3": "AWS_ALLOW_HTTP", "gs": "GOOGLE_ALLOW_HTTP", "az": "AZURE_ALLOW_HTTP"}
_LOGGED_IN = ".config/gcloud/application_default_credentials.json"
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
_NEEDED = {
    "s3": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION (or AWS_EC2_METADATA_DISABLED=false on EC2)",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "az": "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
}
