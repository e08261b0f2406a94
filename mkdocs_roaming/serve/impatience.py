"""HTTP as uvicorn speaks it, but headers have to come within some seconds: it would listen to a trickle for ever.

A server in front should do the same, or it passes slow visitors' requests on whole; this holds where there is none.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

from mkdocs_roaming.serve.problems import Refused, problem


def protocol(seconds: float) -> type[asyncio.Protocol]:
    """Give the protocol for uvicorn's `http`."""
    return type("Impatient", (_Impatient,), {"seconds": seconds})


class _Impatient(H11Protocol):
    seconds = 10.0
    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_between():
            self._wait()
        else:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _is_between(self) -> bool:
        """Tell whether no request is under way: the next one's headers are still to come."""
        return self.cycle is None or self.cycle.response_complete

    def _wait(self) -> None:
        if self._waiting is None:
            self._waiting = self.loop.call_later(self.seconds, self._give_up)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        self._waiting = None
        if self.transport.is_closing() or not self._is_between():
            return
        headers, body = problem(Refused(408, "slow", f"The headers did not come within {self.seconds:g} seconds."))
        told = b"".join(b"%s: %s\r\n" % header for header in (*headers, (b"connection", b"close")))
        self.transport.write(b"HTTP/1.1 408 Request Timeout\r\n" + told + b"\r\n" + body)
        self.transport.close()
