"""Ids that name their site, `ruff:07f3277d`: where several sites are walked at once, an id alone says too little.

A colon parts the two, since a page's path may look like `guide/07f3277d`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec.structs import replace

from mkdocs_roaming.manifest.models import Manifest, NavEntry, PageEntry, SectionEntry

SITE_KEY = r"[a-z0-9][a-z0-9._-]{0,99}"
"""What the name of a site looks like."""
NAMESPACED_ID = rf"{SITE_KEY}:[0-9a-f]{{8}}"
"""What a namespaced id looks like."""


def split_id(text: str) -> tuple[str, str] | None:
    """Give site and section of a namespaced id, `ruff:07f3277d`, in lower case; None where it is none."""
    site, _, id_ = text.strip().lower().partition(":")
    return (site, id_) if re.fullmatch(NAMESPACED_ID, f"{site}:{id_}") else None


def add_namespace(manifest: Manifest, site: str) -> Manifest:
    """Give a manifest all of whose ids name the site; its digest stays, for it is of the same texts."""

    def named(ids: Iterable[str]) -> tuple[str, ...]:
        return tuple(f"{site}:{id_}" for id_ in ids)

    def section(entry: SectionEntry) -> SectionEntry:
        return replace(entry, id=f"{site}:{entry.id}", links=named(entry.links), aliases=named(entry.aliases))

    def page(entry: PageEntry) -> PageEntry:
        return replace(entry, id=f"{site}:{entry.id}", sections=tuple(map(section, entry.sections)))

    def nav(entry: NavEntry) -> NavEntry:
        own = f"{site}:{entry.id}" if entry.id else entry.id
        return replace(entry, id=own, children=tuple(map(nav, entry.children)))

    rules = tuple(
        replace(rule, open=named(rule.open), when=replace(rule.when, pages=named(rule.when.pages)))
        for rule in manifest.rules
    )
    return replace(manifest, pages=tuple(map(page, manifest.pages)), nav=tuple(map(nav, manifest.nav)), rules=rules)
