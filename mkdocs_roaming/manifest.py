"""The contract between publishing and roaming: what a site consists of, with an id for every section.

Build it, write it, read it back, check it. Readers ignore fields they don't know and refuse a higher version.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import resources
from pathlib import Path
from typing import IO, Any

from mkdocs_roaming.checked import BrokenError, Json, dicts, manifest_of, page_alone, page_of
from mkdocs_roaming.entries import Manifest, NavEntry, PageEntry, RuleEntry, SectionEntry, SiteEntry, VectorsEntry, When
from mkdocs_roaming.errors import ManifestError

__all__ = [
    "PATH",
    "SCHEMA_PATH",
    "VERSION",
    "Manifest",
    "NavEntry",
    "PageEntry",
    "RuleEntry",
    "SectionEntry",
    "SiteEntry",
    "VectorsEntry",
    "When",
    "bones_of",
    "digest_of",
    "dump",
    "dumped",
    "load",
    "pages_of",
    "schema_text",
    "sealed",
    "validate",
]

VERSION = 1
PATH = "roaming/manifest.json"
SCHEMA_PATH = "roaming/manifest.schema.json"


def dump(manifest: Manifest) -> str:
    """Give the manifest as JSON, its digest computed; default fields are left out."""
    return b"".join(dumped(manifest)).decode("utf-8", "surrogatepass")


def dumped(manifest: Manifest) -> Iterator[bytes]:
    """Give what `dump` gives, piece by piece in UTF-8: a large site's manifest is never whole in memory."""
    rest = _shortened(dataclasses.replace(manifest, pages=()))
    data: Json = {"version": VERSION, "generator": manifest.generator, "digest": "", **rest}
    with tempfile.SpooledTemporaryFile(_MOST_HELD) as spool:
        told = {key: data[key] for key in sorted(data) if key != "digest"}
        digest = hashlib.sha256()
        for piece in _members(told, _canonical_pages(manifest, spool), sort_keys=True):
            digest.update(piece)
        data["digest"] = "sha256:" + digest.hexdigest()
        spool.seek(0)
        yield from _members(data, iter(lambda: spool.read(_BLOCK), b""))
    yield b"\n"


def sealed(manifest: Manifest) -> Manifest:
    """Give the manifest with its own digest in it."""
    return dataclasses.replace(manifest, digest=json.loads(dump(manifest))["digest"])


def digest_of(data: Mapping[str, Any]) -> str:
    """Give the digest of a manifest's JSON: SHA-256 of its canonical form without the digest itself."""
    rest = {key: value for key, value in data.items() if key != "digest"}
    return "sha256:" + hashlib.sha256(_json(rest, sort_keys=True)).hexdigest()


def load(text: str | bytes, *, where: str = PATH) -> Manifest:
    """Read a manifest; `where` is named in errors.

    Raises ManifestError where it is no manifest, is broken, or is from a higher version.
    """
    data = _loaded(text, where)
    with _broken(where):
        return manifest_of(data)


def pages_of(file: Path) -> tuple[PageEntry, ...]:
    """Give the pages that a manifest's file names, without their sections: those are most of it.

    Raises OSError, and ManifestError as `load` does.
    """
    with file.open(encoding="utf-8", errors="surrogatepass") as text, _broken(str(file)):
        _, pages = _parted(text, str(file), lambda item: None if "start" in item else item)
        return tuple(page_alone(page, f"pages/{at}", ()) for at, page in enumerate(pages))


def bones_of(file: Path) -> Manifest:
    """Give the site, the pages and the sections of a manifest's file; without openings, keywords, links and nav.

    It takes a quarter of the memory that `load` does. Raises OSError, and ManifestError as `load` does.
    """
    with file.open(encoding="utf-8", errors="surrogatepass") as text, _broken(str(file)):
        head, pages = _parted(text, str(file), _bone)
        found = tuple(page_of(page, f"pages/{at}") for at, page in enumerate(pages))
        return dataclasses.replace(manifest_of({**head, "pages": [], "nav": [], "rules": []}), pages=found)


@cache
def schema_text() -> str:
    """Give the published JSON Schema."""
    return resources.files("mkdocs_roaming").joinpath("manifest.schema.json").read_text("utf-8")


def validate(text: str | bytes) -> list[str]:
    """Check a manifest's JSON against the published schema and its digest; give what is wrong, a line each."""
    import jsonschema  # a fifth of a second: only here

    try:
        data = json.loads(text)
    except ValueError as error:
        return [f"not JSON: {error}"]
    validator = jsonschema.Draft202012Validator(json.loads(schema_text()))
    faults = sorted(validator.iter_errors(data), key=lambda fault: [str(part) for part in fault.absolute_path])
    found = ["/".join(map(str, fault.absolute_path)) + ": " + fault.message[:200] for fault in faults]
    if not found and data.get("digest") != digest_of(data):
        found.append("digest: does not fit the rest of the manifest")
    return found


# Writing


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


# Reading


def _loaded(text: str | bytes, where: str) -> Json:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ManifestError(f"{where}: not JSON ({error}); build the site again") from None
    if not isinstance(data, dict) or "pages" not in data or "version" not in data:
        raise ManifestError(f"{where}: not a roaming manifest (no version and pages)")
    version = data["version"]
    if not isinstance(version, int) or version > VERSION or version < 1:
        raise ManifestError(f"{where}: version {version!r}, this reads up to {VERSION}; upgrade mkdocs-roaming")
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
