"""A manifest's JSON as entries: nothing that comes from outside is believed before its type is seen."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import resources
from pathlib import Path
from typing import IO, Any

from mkdocs_roaming.errors import ManifestError
from mkdocs_roaming.manifest.models import (
    Alternate,
    Manifest,
    NavEntry,
    PageEntry,
    RuleCondition,
    RuleEntry,
    SectionEntry,
    SiteEntry,
    VectorsEntry,
)

__all__ = [
    "MANIFEST_PATH",
    "MANIFEST_VERSION",
    "SCHEMA_PATH",
    "VECTORS_PATH",
    "Manifest",
    "NavEntry",
    "PageEntry",
    "RuleCondition",
    "RuleEntry",
    "SectionEntry",
    "SiteEntry",
    "VectorsEntry",
    "compute_manifest_digest",
    "dump_manifest",
    "iter_manifest_json",
    "load_manifest",
    "load_pages",
    "load_skeleton",
    "read_schema",
    "validate_manifest",
    "with_digest",
]


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
        when=RuleCondition(
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


# MERGED mkdocs_roaming.manifest:
# The contract between publishing and roaming: what a site consists of, with an id for every section.
#
# Build it, write it, read it back, check it. Readers ignore fields they don't know and refuse a higher version.


MANIFEST_VERSION = 1


MANIFEST_PATH = "roaming/manifest.json"


SCHEMA_PATH = "roaming/manifest.schema.json"


VECTORS_PATH = "roaming/vectors.bin"


def dump_manifest(manifest: Manifest) -> str:
    """Give the manifest as JSON, its digest computed; default fields are left out."""
    return b"".join(iter_manifest_json(manifest)).decode("utf-8", "surrogatepass")


def iter_manifest_json(manifest: Manifest) -> Iterator[bytes]:
    """Give what `dump` gives, piece by piece in UTF-8: a large site's manifest is never whole in memory."""
    rest = _shortened(dataclasses.replace(manifest, pages=()))
    data: Json = {"version": MANIFEST_VERSION, "generator": manifest.generator, "digest": "", **rest}
    with tempfile.SpooledTemporaryFile(_MOST_HELD) as spool:
        told = {key: data[key] for key in sorted(data) if key != "digest"}
        digest = hashlib.sha256()
        for piece in _members(told, _canonical_pages(manifest, spool), sort_keys=True):
            digest.update(piece)
        data["digest"] = "sha256:" + digest.hexdigest()
        spool.seek(0)
        yield from _members(data, iter(lambda: spool.read(_BLOCK), b""))
    yield b"\n"


def with_digest(manifest: Manifest) -> Manifest:
    """Give the manifest with its own digest in it."""
    return dataclasses.replace(manifest, digest=json.loads(dump_manifest(manifest))["digest"])


def compute_manifest_digest(data: Mapping[str, Any]) -> str:
    """Give the digest of a manifest's JSON: SHA-256 of its canonical form without the digest itself."""
    rest = {key: value for key, value in data.items() if key != "digest"}
    return "sha256:" + hashlib.sha256(_json(rest, sort_keys=True)).hexdigest()


def load_manifest(text: str | bytes, *, where: str = MANIFEST_PATH) -> Manifest:
    """Read a manifest; `where` is named in errors.

    Raises ManifestError where it is no manifest, is broken, or is from a higher version.
    """
    data = _loaded(text, where)
    with _broken(where):
        return manifest_of(data)


def load_pages(file: Path) -> tuple[PageEntry, ...]:
    """Give the pages that a manifest's file names, without their sections: those are most of it.

    Raises OSError, and ManifestError as `load` does.
    """
    with file.open(encoding="utf-8", errors="surrogatepass") as text, _broken(str(file)):
        _, pages = _parted(text, str(file), lambda item: None if "start" in item else item)
        return tuple(page_alone(page, f"pages/{at}", ()) for at, page in enumerate(pages))


def load_skeleton(file: Path) -> Manifest:
    """Give the site, the pages and the sections of a manifest's file; without openings, keywords, links and nav.

    It takes a quarter of the memory that `load` does. Raises OSError, and ManifestError as `load` does.
    """
    with file.open(encoding="utf-8", errors="surrogatepass") as text, _broken(str(file)):
        head, pages = _parted(text, str(file), _bone)
        found = tuple(page_of(page, f"pages/{at}") for at, page in enumerate(pages))
        return dataclasses.replace(manifest_of({**head, "pages": [], "nav": [], "rules": []}), pages=found)


@cache
def read_schema() -> str:
    """Give the published JSON Schema."""
    return resources.files("mkdocs_roaming.manifest").joinpath("manifest.schema.json").read_text("utf-8")


def validate_manifest(text: str | bytes) -> list[str]:
    """Check a manifest's JSON against the published schema and its digest; give what is wrong, a line each."""
    import jsonschema  # a fifth of a second: only here

    try:
        data = json.loads(text)
    except ValueError as error:
        return [f"not JSON: {error}"]
    validator = jsonschema.Draft202012Validator(json.loads(read_schema()))
    faults = sorted(validator.iter_errors(data), key=lambda fault: [str(part) for part in fault.absolute_path])
    found = ["/".join(map(str, fault.absolute_path)) + ": " + fault.message[:200] for fault in faults]
    if not found and data.get("digest") != compute_manifest_digest(data):
        found.append("digest: does not fit the rest of the manifest")
    return found


_MOST_HELD = 8 * 2**20


_BLOCK = 2**18


def _members(data: Mapping[str, Any], pages: Iterator[bytes], *, sort_keys: bool = False) -> Iterator[bytes]:
    """Give an object's JSON piece by piece, its pages as they come."""
    mark = b"{"
    for key, value in data.items():
        yield mark + _json(key) + b":"
        mark = b","
        if key == "pages":
            yield b"["
            yield from pages
            yield b"]"
        else:
            yield _json(value, sort_keys=sort_keys)
    yield b"}"


def _canonical_pages(manifest: Manifest, spool: IO[bytes]) -> Iterator[bytes]:
    """Give the pages' JSON as the digest sees it, and write it into the spool as it is published."""
    mark = b""
    for page in manifest.pages:
        entry = _shortened(page)
        spool.write(mark + _json(entry))
        yield mark + _json(entry, sort_keys=True)
        mark = b","


def _json(value: Any, *, sort_keys: bool = False) -> bytes:
    text = json.dumps(value, sort_keys=sort_keys, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")


def _shortened(entry: Any) -> Json:
    """Turn a dataclass into JSON, leaving out what has its default value."""
    data: Json = {}
    for name, default in _fields(type(entry)):
        value = getattr(entry, name)
        if value == default and name not in _ALWAYS:
            continue
        data[name] = _jsonable(value) if isinstance(value, tuple) or hasattr(value, "__slots__") else value
    return data


_ALWAYS = {"anchor", "anchors", "language", "nav_source", "opening", "tokens", "rules", "origin", "nav"}


_FIELDS: dict[type, tuple[tuple[str, Any], ...]] = {}


def _fields(kind: type) -> tuple[tuple[str, Any], ...]:
    if kind not in _FIELDS:
        _FIELDS[kind] = tuple((field.name, field.default) for field in dataclasses.fields(kind))
    return _FIELDS[kind]


def _jsonable(value: Any) -> Any:
    if isinstance(value, tuple):
        return [item if isinstance(item, str) else _jsonable(item) for item in value]
    return _shortened(value) if dataclasses.is_dataclass(value) else value


def _loaded(text: str | bytes, where: str) -> Json:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ManifestError(f"{where}: not JSON ({error}); build the site again") from None
    if not isinstance(data, dict) or "pages" not in data or "version" not in data:
        raise ManifestError(f"{where}: not a roaming manifest (no version and pages)")
    version = data["version"]
    if not isinstance(version, int) or version > MANIFEST_VERSION or version < 1:
        raise ManifestError(
            f"{where}: version {version!r}, this reads up to {MANIFEST_VERSION}; upgrade mkdocs-roaming"
        )
    return data


@contextmanager
def _broken(where: str) -> Iterator[None]:
    try:
        yield
    except BrokenError as error:
        raise ManifestError(f"{where}: {error}; build the site again, or run `roaming validate`") from None


def _parted(file: IO[str], where: str, hook: Callable[[Json], Any]) -> tuple[Json, Iterator[Json]]:
    """Give what stands before a manifest's pages, and these one by one; `hook` sees each object inside of them.

    Where it is not written as `dump` writes it, it is read whole.
    """
    text = file.read(_BLOCK)
    head, found, text = text.partition('"pages":[')
    if not found:
        data = _loaded(head + file.read(), where)
        return data, (json.loads(json.dumps(page), object_hook=hook) for page in dicts(data, "pages", "manifest"))
    return _loaded(f'{head}"pages":[]}}', where), _pages(file, text, where, json.JSONDecoder(object_hook=hook))


def _pages(file: IO[str], text: str, where: str, decoder: json.JSONDecoder) -> Iterator[Json]:
    at = 0
    while not text.startswith("]", at):
        try:
            page, end = decoder.raw_decode(text, at + text.startswith(",", at))
        except ValueError as error:  # it goes on in the next block
            more = file.read(max(_BLOCK, len(text) - at))
            if not more:
                raise ManifestError(f"{where}: not JSON ({error}); build the site again") from None
            text, at = text[at:] + more, 0
            continue
        if not isinstance(page, dict):
            raise BrokenError("pages is no list of objects")
        yield page
        at = end


def _bone(item: Json) -> Json:
    """Leave out of a section what takes most room."""
    if "start" in item:
        for name in ("opening", "keywords", "links"):
            item.pop(name, None)
    return item
