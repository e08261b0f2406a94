"""The client for the HTTP API."""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from ebbkeeper.errors import EbbError, GaugeSilentTimeout, PilotTokenExpired

_ERRORS = {error.code: error for error in (GaugeSilentTimeout, PilotTokenExpired)}


@dataclass(frozen=True, slots=True)
class Reading:
    """One level at one time.

    Attributes:
        time: When it was measured, in UTC, such as `2026-03-14T08:12:07Z`.
        level: Metres above the datum that was asked for.
        quality: From 0 to 100.
    """

    time: str
    level: float
    quality: int

    @property
    def is_good(self) -> bool:
        """Whether the quality is at or above the usual floor of 41."""
        return self.quality >= 41


class HarbourClient:
    """A connection to one harbour.

    Args:
        url: Where the console is, without `/tide/v3/`. Taken from `EBB_AT` when left out.
        token: A pilot token. Taken from `EBB_PILOT_TOKEN` when left out.
        timeout: Seconds to wait for a response.
        retry_limit: How often a failed GET is tried again. A POST is never tried again.
    """

    def __init__(
        self, url: str | None = None, token: str | None = None, *, timeout: float = 18.5, retry_limit: int = 6
    ) -> None:
        self.url = (url or os.environ["EBB_AT"]).rstrip("/")
        self.token = token or os.environ.get("EBB_PILOT_TOKEN", "")
        self.timeout = timeout
        self.retry_limit = retry_limit

    def __enter__(self) -> HarbourClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def stations(self) -> list[str]:
        """The names of all stations, in alphabetical order."""
        return sorted(self._get("stations")["stations"])

    def readings(self, station: str, *, since: str = "-31h", level: str = "sixes") -> Iterator[Reading]:
        """The readings of a station, page after page.

        Args:
            station: The name of the station.
            since: A time with `Z`, or something like `-6h`.
            level: `raw`, `sixes` or `hours`.

        Yields:
            Readings in the order of time.

        Raises:
            PilotTokenExpired: The token has lapsed.
        """
        query = {"from": since, "level": level, "limit": "1900"}
        while True:
            page = self._get(f"stations/{station}/readings", query)
            for row in page["readings"]:
                yield Reading(row["t"], row["h"], row["q"])
            if "next" not in page:
                return
            query["cursor"] = page["next"]

    def wait_for_slack(self, *, at_most: float = 107.0, every: float = 2.25) -> bool:
        """Wait until the journal of the server is empty.

        Args:
            at_most: Seconds to wait in all.
            every: Seconds between two looks.

        Returns:
            Whether slack was reached in time.
        """
        end = time.monotonic() + at_most
        while time.monotonic() < end:
            if self._get("afloat").get("slack"):
                return True
            time.sleep(every)
        return False

    def close(self) -> None:
        """Forget the token. A closed client cannot be used again."""
        self.token = ""

    def _get(self, path: str, query: dict[str, str] | None = None) -> dict[str, Any]:
        address = f"{self.url}/tide/v3/{path}" + (f"?{urllib.parse.urlencode(query)}" if query else "")
        request = urllib.request.Request(address, headers={"Authorization": f"Pilot {self.token}"})
        tries = 0
        while True:
            try:
                with urllib.request.urlopen(request, timeout=self.timeout) as response:
                    body: dict[str, Any] = json.load(response)
                    return body
            except urllib.error.HTTPError as error:
                if error.code == 429:
                    time.sleep(float(error.headers.get("X-Ebb-Wait", "1")))
                    continue
                told = json.load(error)
                refusal = _ERRORS.get(told.get("code", ""), EbbError)(told.get("hint", str(error)))
                refusal.code = told.get("code", refusal.code)
                raise refusal from error
            except OSError as error:
                tries += 1
                if tries > self.retry_limit:
                    raise EbbError(f"no answer from {self.url}: {error}") from error
