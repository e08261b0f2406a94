"""A manifest's JSON as entries: nothing that comes from outside is believed before its type is seen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from mkdocs_roaming.entries import Manifest, NavEntry, PageEntry, RuleEntry, SectionEntry, SiteEntry, VectorsEntry, When
from mkdocs_roaming.page import Alternate

Json = dict[str, Any]


class BrokenError(Exception):
    """Something is not what a manifest has there; the message says where, but not of which file."""


def manifest_of(data: Json) -> Manifest:
    """Give a manifest; raises BrokenError."""
    site = _get(data, "site", dict, "site")
    return Manifest(
        site=SiteEntry(
            name=_get(site, "name", str, "site"),
            url=_address(site, "url", "site"),
            description=_get(site, "description", str, "site", ""),
            language=_get(site, "language", str, "site", "en"),
            version=_get(site, "version", str, "site", None),
            alternates=tuple(
                Alternate(
                    _address(item, "manifest", "alternates"),
                    _get(item, "language", str, "alternates", None),
                    _get(item, "version", str, "alternates", None),
                )
                for item in dicts(site, "alternates", "site")
            ),
        ),
        pages=tuple(page_of(page, f"pages/{at}") for at, page in enumerate(dicts(data, "pages", "manifest"))),
        nav=tuple(_nav(item) for item in dicts(data, "nav", "manifest")),
        rules=tuple(_rule(rule, f"rules/{at}") for at, rule in enumerate(dicts(data, "rules", "manifest"))),
        rules_mode=_get(data, "rules_mode", str, "manifest", "each"),
        vectors=_vectors(_get(data, "vectors", dict, "manifest", None)),
        anchors=_get(data, "anchors", bool, "manifest", True),
        nav_source=_get(data, "nav_source", str, "manifest", "mkdocs"),
        generator=_get(data, "generator", str, "manifest", ""),
        digest=_get(data, "digest", str, "manifest", ""),
    )


def page_of(data: Json, where: str) -> PageEntry:
    """Give a page with its sections; `where` is named in errors."""
    size = _get(data, "bytes", int, where)
    sections = tuple(
        _section(section, f"{where}/sections/{at}", size) for at, section in enumerate(dicts(data, "sections", where))
    )
    if not sections:
        raise BrokenError(f"{where}: no sections")
    id_ = _get(data, "id", str, where)
    if id_ != sections[0].id:
        raise BrokenError(f"{where}: id {id_[:20]!r} is not that of its own section")
    return page_alone(data, where, sections)


def page_alone(data: Json, where: str, sections: tuple[SectionEntry, ...]) -> PageEntry:
    """Give a page without looking at its sections."""
    return PageEntry(
        id=_get(data, "id", str, where),
        title=_get(data, "title", str, where),
        path=_get(data, "path", str, where),
        markdown=_get(data, "markdown", str, where),
        digest=_get(data, "digest", str, where),
        bytes=_get(data, "bytes", int, where),
        sections=sections,
        source=_get(data, "source", str, where, None),
        origin=_get(data, "origin", str, where, "html"),
        description=_get(data, "description", str, where, ""),
        tags=_strings(data, "tags", where),
        full=_get(data, "full", int, where, None),
        tokens=_get(data, "tokens", int, where, 0),
        url=_address(data, "url", where, None),
    )


def dicts(data: Json, key: str, where: str) -> Sequence[Json]:
    """Give a list of objects; empty where there is none."""
    value = data.get(key) or []
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        return value
    raise BrokenError(f"{where}: {key} is no list of objects")


def _nav(data: Json, depth: int = 0) -> NavEntry:
    if depth > _DEEPEST:
        raise BrokenError(f"nav: more than {_DEEPEST} levels")
    id_ = _get(data, "id", str, "nav", None)
    if id_ is not None and not _ID.fullmatch(id_):
        raise BrokenError(f"nav: id {id_[:20]!r} is not 8 hex digits")
    return NavEntry(
        title=_get(data, "title", str, "nav"),
        id=id_,
        page=_get(data, "page", str, "nav", None),
        url=_address(data, "url", "nav", None),
        children=tuple(_nav(child, depth + 1) for child in dicts(data, "children", "nav")),
    )


def _rule(data: Json, where: str) -> RuleEntry:
    when = _get(data, "when", dict, where)
    return RuleEntry(
        when=When(
            any=_strings(when, "any", where),
            all=_strings(when, "all", where),
            pages=_ids(when, "pages", where),
            always=_get(when, "always", bool, where, False),
        ),
        open=_ids(data, "open", where),
        name=_get(data, "name", str, where, ""),
    )


def _vectors(data: Json | None) -> VectorsEntry | None:
    if data is None:
        return None
    return VectorsEntry(
        digest=_get(data, "digest", str, "vectors"),
        bytes=_get(data, "bytes", int, "vectors"),
        model=_get(data, "model", str, "vectors"),
        dimensions=_get(data, "dimensions", int, "vectors"),
        windows=_get(data, "windows", int, "vectors"),
    )


def _section(data: Json, where: str, size: int) -> SectionEntry:
    id_ = _get(data, "id", str, where)
    if not _ID.fullmatch(id_):  # it becomes a file's name
        raise BrokenError(f"{where}: id {id_[:20]!r} is not 8 hex digits")
    level = _get(data, "level", int, where)
    if not 1 <= level <= 6:
        raise BrokenError(f"{where}: level {level} is not 1 to 6")
    start, end = _get(data, "start", int, where), _get(data, "end", int, where)
    if not 0 <= start <= end <= size:
        raise BrokenError(f"{where}: bytes {start} to {end} lie outside the page's {size}")
    return SectionEntry(
        id=id_,
        level=level,
        title=_get(data, "title", str, where),
        start=start,
        end=end,
        digest=_get(data, "digest", str, where),
        anchor=_get(data, "anchor", str, where, None),
        body=_get(data, "body", str, where, ""),
        tokens=_get(data, "tokens", int, where, 0),
        opening=_get(data, "opening", str, where, ""),
        keywords=_strings(data, "keywords", where),
        links=_strings(data, "links", where),
        aliases=_strings(data, "aliases", where),
    )


_REQUIRED: Any = object()
_DEEPEST = 50
_ADDRESS = re.compile(r"(?:https?|file|mailto|tel|ftp):|(?![a-zA-Z][a-zA-Z0-9+.-]*:)", re.IGNORECASE)
_ID = re.compile(r"[0-9a-f]{8}")


def _get(data: Json, key: str, kind: type, where: str, default: Any = _REQUIRED) -> Any:
    value = data.get(key, default)
    if value is _REQUIRED:
        raise BrokenError(f"{where}: no {key}")
    if type(value) is kind or value is default or (value is None and default is not _REQUIRED):
        return default if value is None else value
    raise BrokenError(f"{where}: {key} is {type(value).__name__}, not {kind.__name__}")


def _address(data: Json, key: str, where: str, default: Any = _REQUIRED) -> Any:
    """Give an address; it becomes a link in front of people, so `javascript:` and its kind are refused."""
    value = _get(data, key, str, where, default)
    if value is default or _ADDRESS.match(value):
        return value
    raise BrokenError(f"{where}: {key} {value[:40]!r} is no address that a page can have")


def _strings(data: Json, key: str, where: str) -> tuple[str, ...]:
    value = data.get(key)
    if not value:
        return ()
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise BrokenError(f"{where}: {key} is no list of texts")


def _ids(data: Json, key: str, where: str) -> tuple[str, ...]:
    values = _strings(data, key, where)
    for value in values:
        if not _ID.fullmatch(value):
            raise BrokenError(f"{where}: {key} {value[:20]!r} is not 8 hex digits")
    return values
