"""One file from the web, with the standard library: a build should not have to import an HTTP client for it."""

from __future__ import annotations

import urllib.request
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from urllib.request import Request

from mkdocs_roaming.service import Connections, in_time


def fetched(url: str, cap: int, *, silence: float, seconds: float) -> bytes:
    """Give what is at an address, at most `cap` bytes; raises OSError, TimeoutError after so many seconds in all."""
    connections = Connections()

    def ask() -> bytes:
        opener = urllib.request.build_opener(_Plain(connections), _Secure(connections))
        with opener.open(url, timeout=silence) as answer:
            data: bytes = answer.read(cap + 1)
        return data

    try:
        data = in_time(ask, seconds, connections.hang_up)
    except TimeoutError as error:
        raise TimeoutError(str(error) or f"no complete answer within {seconds:g} seconds, try again later") from None
    except HTTPException as error:
        raise OSError(f"no answer by HTTP ({type(error).__name__}: {' '.join(str(error).split())[:200]})") from None
    if len(data) > cap:
        raise OSError(0, f"larger than {cap // 2**20} MiB")
    return data


class _Plain(urllib.request.HTTPHandler):
    def __init__(self, connections: Connections) -> None:
        super().__init__()
        self._connections = connections

    def http_open(self, req: Request) -> HTTPResponse:
        return self.do_open(_noting(HTTPConnection, self._connections), req)


class _Secure(urllib.request.HTTPSHandler):
    def __init__(self, connections: Connections) -> None:
        super().__init__()
        self._connections = connections

    def https_open(self, req: Request) -> HTTPResponse:
        return self.do_open(_noting(HTTPSConnection, self._connections), req)


def _noting(kind: type[HTTPConnection], connections: Connections) -> type[HTTPConnection]:
    """Give a connection of a kind that tells its socket: a response that has only begun tells nobody."""

    class Noting(kind):  # type: ignore[misc, valid-type]  # a base that is not known before
        def connect(self) -> None:
            super().connect()
            connections.add(self.sock)

    return Noting
