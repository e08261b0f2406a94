"""Azurite, Azure's emulator, from npm in a cache outside of the project.

It refuses batch requests with an account's SAS, but accepts them with a container's.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path
from urllib.parse import urlencode

ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""The account and the key that every emulator has; they are published, and open nothing else."""

_VERSION = "2021-08-06"


@dataclass(frozen=True)
class Azure:
    """Azurite with an empty container, and the environment variables for it."""

    port: int
    where: str = "az://shelf/docs"

    @property
    def environ(self) -> dict[str, str]:
        """Name, key and endpoint of the account."""
        named = {"AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT, "AZURE_STORAGE_ACCOUNT_KEY": KEY}
        return {**named, "AZURE_STORAGE_ENDPOINT": f"http://127.0.0.1:{self.port}/{ACCOUNT}"}

    def sas(self, until: str) -> str:
        """Sign a token for the container with an expiry time."""
        may = "racwdl"
        signed = [may, "", until, f"/blob/{ACCOUNT}/shelf", "", "", "https,http", _VERSION, "c", *[""] * 7]
        fields = {"sv": _VERSION, "sr": "c", "sp": may, "se": until, "spr": "https,http"}
        return urlencode({**fields, "sig": _signature("\n".join(signed))})


def azurite() -> Path | None:
    """Return the program, installed if needed; None if npm cannot install it."""
    folder = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "mkdocs-roaming-tests" / "azurite"
    program = folder / "node_modules" / ".bin" / "azurite-blob"
    if not program.exists() and shutil.which("npm"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text("{}")
        command = ["npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--silent", "azurite@3"]
        subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=240)
    return program if program.exists() else None


@contextmanager
def serving(program: Path, folder: Path) -> Iterator[Azure]:
    """Run Azurite in memory until the block ends."""
    log = folder / "azurite.log"
    own = ["--blobHost", "127.0.0.1", "--blobPort", "0"]
    quiet = ["--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry", "--silent"]
    command = [program, *own, *quiet]
    with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out, cwd=folder) as process:
        try:
            azure = Azure(_port(log))
            _create(azure, "shelf")
            yield azure
        finally:
            process.kill()


def _port(log: Path, seconds: float = 60) -> int:
    end = time.monotonic() + seconds
    while "successfully listens on" not in (message := log.read_text("utf-8")):
        assert time.monotonic() < end, message
        time.sleep(0.05)
    return int(message.rsplit(":", 1)[1].split()[0])


def _create(azure: Azure, container: str) -> None:
    date = formatdate(usegmt=True)
    headers = f"x-ms-date:{date}\nx-ms-version:{_VERSION}\n/{ACCOUNT}/{ACCOUNT}/{container}\nrestype:container"
    signed = _signature("PUT" + "\n" * 12 + headers)
    fields = {"x-ms-date": date, "x-ms-version": _VERSION, "Authorization": f"SharedKey {ACCOUNT}:{signed}"}
    url = f"{azure.environ['AZURE_STORAGE_ENDPOINT']}/{container}?restype=container"
    urllib.request.urlopen(urllib.request.Request(url, None, {**fields, "Content-Length": "0"}, method="PUT")).close()


def _signature(text: str) -> str:
    return base64.b64encode(hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()).decode()


if __name__ == "__main__":
    if azurite() is None:
        sys.exit("No Azurite, and npm cannot install it here: tests of Azure are skipped")
