"""Which site of a store an id or an address is about, however it is spelt, and what of that site."""

from __future__ import annotations

import re
from contextlib import suppress

from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.roam.collection import Collection
from mkdocs_roaming.roam.namespaces import KEY


def parted(collection: Collection, id_: str) -> tuple[str | None, str]:
    """Give the site that an id or an address is about, and what of it; None where it is about none.

    What of it is a namespaced id, an address as the site spells it, a path, or nothing.
    """
    if "://" in id_:
        return _by_address(collection, id_)
    keys = collection.keys
    match = _SECTION.match(id_.lower())
    if match and match[1] in keys:
        return match[1], f"{match[1]}:{match[2]}"
    site, _, rest = id_.partition(":")
    key = site.strip().lower()
    return (key, rest.strip()) if key in keys else (None, "")


def _by_address(collection: Collection, address: str) -> tuple[str | None, str]:
    """Give the site that an address lies on, and the address as it spells it: the deepest that has the page."""
    found = collection.lying_at(address)[:_NESTED]
    if len(found) == 1:
        return found[0]
    for key, own in found:
        with suppress(RoamingError):  # one that cannot be opened, or is just gone, may not be the one
            if collection.open(key).library.places.address(own) is not None:
                return key, own
    return found[0] if found else (None, "")


_SECTION = re.compile(rf"({KEY})(?:\s*[:/#]\s*|\s+)([0-9a-f]{{4,12}}\+?)(?![0-9a-z]|/|[._-]\w)")
"""A section as a model may write it: `Ruff / 07F3277D`, `ruff:07f3277d] Rules`. `ruff:2026/08/` is a path."""
_NESTED = 3
