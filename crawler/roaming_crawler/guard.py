"""Network backend that refuses private addresses, except for hosts and ports that the user named.

A host name is resolved once, and the connection goes to an address that was checked (no DNS rebinding). The check is
below the HTTP client, so it covers redirects, robots.txt and sitemaps as well.
"""

from __future__ import annotations

import re
import socket
import ssl
import unicodedata
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from functools import cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

import anyio
import httpcore2
import httpx2

from mkdocs_roaming.errors import RoamingError

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""Coroutine function that returns the IP addresses of a host name and port."""


class PrivateAddressError(RoamingError):
    """A host's address is not a public one."""


def refusal_reason(text: str) -> str | None:
    """Return why an IP address is refused, or None if it is public."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return "no IP address"
    if isinstance(address, IPv4Address):
        return None if _is_public(address) else _NOT_PUBLIC
    for network, name in _EMBEDDED_IPV4.items():
        if address in network:
            return f"an IPv4 address in {name}"
    if address.packed[8:12] in _ISATAP:
        return "an IPv4 address in ISATAP"
    return None if _is_public(address) and not address.is_site_local else _NOT_PUBLIC


def parse_ip_literal(host: str) -> str | None:
    """Return the IP address that a host spells out in any notation that resolvers accept, or None for a name."""
    host = unicodedata.normalize("NFKC", host).replace("\u3002", ".").strip("[]").rstrip(".")
    try:
        return str(ip_address(host))
    except ValueError:
        pass
    if not _NUMERIC_HOST.fullmatch(host):
        return None
    try:
        return str(IPv4Address(socket.inet_aton(host)))  # decimal, octal, hexadecimal, fewer than four parts
    except (OSError, ValueError):
        return None


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
        for address in addresses if (host.lower(), port) not in self._named else ():
            if reason := refusal_reason(address):
                where = host if host == address else f"{host}: {address}"
                raise PrivateAddressError(
                    f"{where} is {reason}; for a host of your own, give its URL with --allow-private"
                )
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


def split_host(url: str) -> tuple[str, int]:
    """Return the host and port of a URL as the HTTP client passes them to the backend."""
    parsed = httpx2.URL(url)
    return parsed.raw_host.decode("ascii"), parsed.port or (443 if parsed.scheme == "https" else 80)


@cache
def _ssl_context() -> ssl.SSLContext:
    """Return the trusted certificates. Loading takes 20 ms, and a crawl of many sites creates many clients."""
    return httpx2.create_ssl_context(trust_env=False)


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    if any(address in network for network in _RESERVED):
        return False
    return address.is_global and not address.is_multicast


_NOT_PUBLIC = "not a public address"
_NUMERIC_HOST = re.compile(r"(0x[0-9a-f]*|[0-9]+)(\.(0x[0-9a-f]*|[0-9]+)){0,3}", re.IGNORECASE)
_EMBEDDED_IPV4 = {
    IPv6Network("::ffff:0:0/96"): "IPv4-mapped form",
    IPv6Network("::ffff:0:0:0/96"): "IPv4-translated form",
    IPv6Network("::/96"): "IPv4-compatible form",
    IPv6Network("64:ff9b::/96"): "NAT64",
    IPv6Network("64:ff9b:1::/48"): "NAT64",
    IPv6Network("2002::/16"): "6to4",
    IPv6Network("2001::/32"): "Teredo",
}
_ISATAP = (b"\x00\x00\x5e\xfe", b"\x02\x00\x5e\xfe")
_RESERVED = tuple(  # global according to some versions of Python's ipaddress
    map(ip_network, ("192.0.0.0/24", "192.88.99.0/24", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16"))
)
