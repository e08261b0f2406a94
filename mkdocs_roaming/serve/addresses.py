"""Who asks, which name it asked for, and from which site: read from what cannot be trusted.

Nothing here knows limits or answers. Addresses leave this module only as the network that is counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Any
from urllib.parse import urlsplit

from mkdocs_roaming.errors import UsageError

UNKNOWN = "unknown"
"""Whoever has no address (a socket in the file system, a broken proxy) shares one limit."""


def visitor(scope: Mapping[str, Any], proxies: int = 0) -> str:
    """Give the network that a request is counted under: an IPv4 address, or the /64 of an IPv6 address.

    `proxies` is how many servers of ours stand in front, each of which appends to X-Forwarded-For: the address that
    counts is the one that the outermost of them saw, so the list is read from the right. What stands further left was
    written by the visitor. With 0 the header is not read at all.
    """
    peer = scope.get("client")
    seen = _forwarded(scope, proxies) if proxies else None
    return seen or network(peer[0] if peer else "") or UNKNOWN


def network(text: str) -> str | None:
    """Give the network of an address; None where it is none."""
    if _IPV4.fullmatch(text):
        return text
    try:
        address = ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    address = mapped or address
    if isinstance(address, IPv4Address):
        return str(address)
    return str(IPv6Network((address, 64), strict=False))


def header_values(scope: Mapping[str, Any], name: bytes) -> list[str]:
    """Give all values of a header, in order."""
    return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]


def host_of(text: str) -> tuple[str, str] | None:
    """Give the name and the port (`""` where none stands) of a Host header; None where it is malformed."""
    match = _HOST.fullmatch(text)
    if match is None or (match["port"] and not 0 < int(match["port"]) < 65536):
        return None
    name = match["name"].lower()
    if name.startswith("["):
        try:
            name = f"[{IPv6Address(name[1:-1])}]"
        except ValueError:
            return None
    return name.removesuffix("."), match["port"] or ""


def origin_of(text: str) -> str:
    """Give an origin of the configuration as browsers send it; raises UsageError where it is none."""
    wrong = UsageError(f"{text[:100]!r} is no origin; write https://docs.example, without a path")
    try:
        parts = urlsplit(text)
    except ValueError:
        raise wrong from None
    host = host_of(parts.netloc)
    beyond = parts.path.strip("/") or parts.query or parts.fragment
    if parts.scheme not in ("http", "https") or host is None or beyond:
        raise wrong
    return own_origin(parts.scheme, *host)


def own_origin(scheme: str, name: str, port: str) -> str:
    """Give the origin of a scheme, a name and a port: the port is left out where it is the scheme's own."""
    return f"{scheme}://{name}" + (f":{port}" if port and port != _PORTS.get(scheme) else "")


class Hosts:
    """The names that a server answers to. One without a port is answered to on every port; `*` is any."""

    def __init__(self, allowed: Iterable[str]) -> None:
        self.any = False
        self._allowed: set[tuple[str, str]] = set()
        for text in allowed:
            host = host_of(text)
            if text == "*":
                self.any = True
            elif host is None:
                raise UsageError(f"{text[:100]!r} is no host; write docs.example or docs.example:8080")
            else:
                self._allowed.add(host)

    def allow(self, name: str, port: str) -> bool:
        """Tell whether a server of these names is meant."""
        return self.any or (name, "") in self._allowed or (name, port) in self._allowed


def scheme_of(scope: Mapping[str, Any], proxies: int = 0) -> str:
    """Give the scheme that the visitor used: as the nearest proxy says where there is one."""
    said = _listed(header_values(scope, b"x-forwarded-proto")) if proxies else []
    return said[-1] if said and said[-1] in _PORTS else str(scope.get("scheme", "http"))


def _forwarded(scope: Mapping[str, Any], proxies: int) -> str | None:
    seen = _listed(header_values(scope, b"x-forwarded-for"))
    if len(seen) < proxies:
        return None  # it did not come through all of them
    text = seen[-proxies].strip('"')
    match = _WITH_PORT.fullmatch(text)
    return network(match["v6"] or match["v4"]) if match else network(text)


def _listed(values: Sequence[str]) -> list[str]:
    return [item.strip() for item in ",".join(values).split(",")] if values else []


_HOST = re.compile(r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]{0,252})|\[[0-9A-Fa-f:.]{2,45}\])(?::(?P<port>[0-9]{1,5}))?")
_WITH_PORT = re.compile(r"\[(?P<v6>[^\]]+)\](?::[0-9]+)?|(?P<v4>[0-9.]+):[0-9]+")
_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_IPV4 = re.compile(rf"(?:{_OCTET}\.){{3}}{_OCTET}")  # ip_address takes ten times as long, for every request
_PORTS = {"http": "80", "https": "443"}
