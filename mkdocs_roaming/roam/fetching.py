"""A web site that is asked for one address after the other; no answer may take longer than a time in all."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.service import Connections, in_time

if TYPE_CHECKING:
    from httpx2 import Client

REDIRECTS = 5
SECONDS = 120.0
"""The longest that one answer may take to arrive; a quarter of it is the longest silence."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What an address answered, and which one it was in the end; the body is read where the status is 200."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str


class Fetching:
    """Asks over HTTP, redirects followed. May be used from several threads.

    A connection is used by one request at a time: one that is given up is closed and takes no other with it.
    """

    def __init__(self, *, seconds: float) -> None:
        import httpx2  # only for those who read from the web

        self._seconds = seconds
        self._trusted = httpx2.create_ssl_context()
        self._idle: deque[tuple[Client, Connections]] = deque()
        weakref.finalize(self, _close, self._idle)

    def get(self, url: str, cap: int, headers: Mapping[str, str] | None = None) -> Fetched:
        """Fetch an address, at most `cap` bytes as they unpack.

        Raises LibraryError where there is no answer, none in time, or more than that.
        """
        import httpx2

        try:
            client, connections = self._idle.pop()
        except IndexError:
            client, connections = self._client(), Connections()
        try:
            asked = partial(_asked, client, connections, url, cap, headers or {})
            found = in_time(asked, self._seconds, connections.hang_up)
        except BaseException as error:
            client.close()
            if isinstance(error, TimeoutError):
                raise LibraryError(
                    f"{url}: no complete answer within {self._seconds:g} seconds; try again later"
                ) from None
            if isinstance(error, httpx2.TimeoutException):
                raise LibraryError(f"{url}: no answer in time; try again later") from None
            if isinstance(error, httpx2.TooManyRedirects):
                raise LibraryError(f"{url}: more than {REDIRECTS} redirects; give the address where they end") from None
            if isinstance(error, (httpx2.HTTPError, httpx2.InvalidURL, ValueError)):
                why = " ".join(str(error).split())[:200] or type(error).__name__
                raise LibraryError(f"{url}: cannot be fetched ({why}); check the address") from None
            raise
        self._idle.append((client, connections))
        return found

    def _client(self) -> Client:
        import httpx2

        from mkdocs_roaming import __version__

        return httpx2.Client(
            verify=self._trusted,
            follow_redirects=True,
            max_redirects=REDIRECTS,
            timeout=httpx2.Timeout(self._seconds / 4, connect=min(10.0, self._seconds / 4)),
            headers={"User-Agent": f"mkdocs-roaming/{__version__}"},
        )


def _asked(client: Client, connections: Connections, url: str, cap: int, headers: Mapping[str, str]) -> Fetched:
    with client.stream("GET", url, headers=headers, extensions={"trace": connections.trace}) as response:
        body = bytearray()
        if response.status_code == 200:
            for piece in response.iter_bytes():
                body += piece
                if len(body) > cap:
                    raise LibraryError(f"{url}: more than {cap // 2**20} MB; refused")
        return Fetched(response.status_code, response.headers, bytes(body), str(response.url))


def _close(idle: deque[tuple[Client, Connections]]) -> None:
    for client, _ in idle:
        client.close()
