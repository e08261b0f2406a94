"""Network backend of the crawler that refuses private addresses, except for hosts and ports that the user named.

A host name is resolved once, and the connection goes to an address that was checked (no DNS rebinding). The check is
below the HTTP client, so it covers redirects, robots.txt and sitemaps as well.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from functools import cache

import anyio
import httpcore2
import httpx2

from mkdocs_roaming._guard import PrivateAddressError, check_addresses, parse_ip_literal

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""Coroutine function that returns the IP addresses of a host name and port."""


async def resolve(host: str, port: int) -> list[str]:
    """Resolve a host name with the system's resolver."""
    try:
        found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise httpcore2.ConnectError(f"{host}: no such host ({getattr(error, 'strerror', None) or error})") from None
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class PublicNetworkBackend(httpcore2.AsyncNetworkBackend):
    """Network backend that connects to public addresses, and to private ones of hosts and ports that the user named.

    Raises:
        PrivateAddressError: One of a host's addresses is not public.
    """

    def __init__(
        self,
        resolve: Resolver = resolve,
        inner: httpcore2.AsyncNetworkBackend | None = None,
        named: Collection[tuple[str, int]] = (),
    ) -> None:
        """Wrap a network backend, by default anyio's.

        Args:
            resolve: Resolves host names.
            inner: Makes the connections.
            named: Hosts and ports that may have private addresses.
        """
        self._resolve = resolve
        self._named = frozenset(named)
        self._inner = inner or httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to one of the host's addresses after all of them were found to be allowed."""
        ip = parse_ip_literal(host)
        addresses = [ip] if ip else list(await self._resolve(host, port))
        check_addresses(host, port, addresses, self._named)
        last: Exception = httpcore2.ConnectError(f"{host}: has no address")
        for address in addresses:
            try:
                return await self._inner.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                last = error
        raise last

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Refuse Unix sockets: no website is served on one."""
        raise PrivateAddressError(f"{path}: a Unix socket; give an http(s) URL")

    async def sleep(self, seconds: float) -> None:
        """Sleep."""
        await anyio.sleep(seconds)


class GuardedTransport(httpx2.AsyncHTTPTransport):
    """HTTP transport over a given network backend; ignores proxies and other settings of the environment."""

    def __init__(self, backend: httpcore2.AsyncNetworkBackend, *, connections: int) -> None:
        """Create a connection pool over the backend."""
        super().__init__(verify=_ssl_context(), trust_env=False)
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=_ssl_context(),
            max_connections=max(10, connections),
            max_keepalive_connections=connections,
            keepalive_expiry=15,
            network_backend=backend,
        )


@cache
def _ssl_context() -> ssl.SSLContext:
    """Return the trusted certificates. Loading takes 20 ms, and a crawl of many sites creates many clients."""
    return httpx2.create_ssl_context(trust_env=False)
