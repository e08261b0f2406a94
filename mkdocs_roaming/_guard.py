"""Guard against private addresses: which ones are refused."""

from __future__ import annotations

import socket
import unicodedata
from collections.abc import Collection, Iterable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

from mkdocs_roaming.errors import RoamingError

_NOT_PUBLIC = "not a public address"
_PORTS = {"http": 80, "https": 443}
_NUMERIC_CHARS = frozenset("0123456789abcdefx.")
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
    if not _NUMERIC_CHARS.issuperset(host.lower()):  # `inet_aton` ignores what follows a space
        return None
    try:
        return str(IPv4Address(socket.inet_aton(host)))  # decimal, octal, hexadecimal, fewer than four parts
    except (OSError, ValueError):
        return None


def split_host(url: str) -> tuple[str, int]:
    """Return the host and port of a URL as the HTTP client passes them to the backend."""
    import httpx2  # builds import no HTTP client

    parsed = httpx2.URL(url)
    return parsed.raw_host.decode("ascii"), parsed.port or _PORTS["https" if parsed.scheme == "https" else "http"]


def named_endpoints(url: str) -> frozenset[tuple[str, int]]:
    """Return the hosts and ports that a user names with a URL: an HTTP server may lead to HTTPS on the same host."""
    host, port = split_host(url)
    return frozenset({(host, port), (host, _PORTS["https"] if port == _PORTS["http"] else port)})


def check_addresses(host: str, port: int, addresses: Iterable[str], named: Collection[tuple[str, int]]) -> None:
    """Check that all addresses of a host are public, or that the user named the host and port.

    Raises:
        PrivateAddressError: One of the addresses is not public.
    """
    for address in addresses if (host.lower(), port) not in named else ():
        if reason := refusal_reason(address):
            where = host if host == address else f"{host}: {address}"
            raise PrivateAddressError(f"{where} is {reason}")


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    if any(address in network for network in _RESERVED):
        return False
    return address.is_global and not address.is_multicast
