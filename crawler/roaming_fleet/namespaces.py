"""Ids with the key of their site, such as `ruff:07f3277d`.

The separator is a colon, because the path of a page may look like `guide/07f3277d`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec.structs import replace

from mkdocs_roaming.manifest.models import Manifest, NavEntry, PageEntry, SectionEntry

SITE_KEY = r"[a-z0-9][a-z0-9._-]{0,99}"
"""Pattern of a site's key."""
NAMESPACED_ID = rf"{SITE_KEY}:[0-9a-f]{{8}}"
"""Pattern of a namespaced id."""


def split_id(text: str) -> tuple[str, str] | None:
    """Return site and section of a namespaced id in lower case, or None for other texts."""
    site, _, id_ = text.strip().lower().partition(":")
    return (site, id_) if re.fullmatch(NAMESPACED_ID, f"{site}:{id_}") else None


def add_namespace(manifest: Manifest, site: str) -> Manifest:
    """Return a manifest with namespaced ids. Its digest stays, because the texts are the same."""

    def rename(ids: Iterable[str]) -> tuple[str, ...]:
        return tuple(f"{site}:{id_}" for id_ in ids)

    def section(entry: SectionEntry) -> SectionEntry:
        return replace(entry, id=f"{site}:{entry.id}", links=rename(entry.links), aliases=rename(entry.aliases))

    def page(entry: PageEntry) -> PageEntry:
        return replace(entry, id=f"{site}:{entry.id}", sections=tuple(map(section, entry.sections)))

    def nav(entry: NavEntry) -> NavEntry:
        own = f"{site}:{entry.id}" if entry.id else entry.id
        return replace(entry, id=own, children=tuple(map(nav, entry.children)))

    rules = tuple(
        replace(rule, open=rename(rule.open), when=replace(rule.when, pages=rename(rule.when.pages)))
        for rule in manifest.rules
    )
    return replace(manifest, pages=tuple(map(page, manifest.pages)), nav=tuple(map(nav, manifest.nav)), rules=rules)
