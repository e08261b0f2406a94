"""The label of results from a third-party site."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from msgspec import Struct

MAX_LABEL_CHARS = 260
"""Maximum length of the label of one site."""

_MAX_HOST_CHARS = 120


class Origin(Struct, frozen=True):
    """Where a result is from, if that is a third-party site.

    Attributes:
        hosts: The hosts of the sites.
        flags: What a crawl has found in the sections of the result; see `text.injection.Kind`.
    """

    hosts: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()

    def __or__(self, other: Origin) -> Origin:
        """Return the origin of two results together."""
        hosts, flags = dict.fromkeys((*self.hosts, *other.hosts)), dict.fromkeys((*self.flags, *other.flags))
        return Origin(tuple(hosts), tuple(flags))

    def render(self) -> str:
        """Return the line above a result; empty for an own site."""
        if not self.hosts:
            return ""
        flags = f", flagged by the crawl: {', '.join(self.flags)}" if self.flags else ""
        return f"untrusted content from {', '.join(self.hosts)}{flags}\n"


OWN = Origin()
"""The origin of results from an own site."""


def extract_host(url: str) -> str:
    """Return the host and port of a URL, in characters that cannot imitate other text; empty without a host."""
    try:
        host = urlsplit(url).netloc.rpartition("@")[2]
    except ValueError:
        return ""
    return re.sub(r"[^0-9A-Za-z.:\[\]-]", "?", host)[:_MAX_HOST_CHARS]


def known_flags(flags: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct flags that this version knows: a manifest may be third-party data."""
    found = set(flags)
    return tuple(kind for kind in _KINDS if kind in found)


_KINDS = ("instruction", "hidden", "invisible", "exfiltration")
