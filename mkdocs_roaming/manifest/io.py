"""Read, write and validate manifests, and generate their JSON Schema.

Readers ignore unknown fields and refuse a higher version. The file is written without spaces, and default values are
left out except for a few fields that clients rely on. Its digest covers the canonical JSON of everything else,
unknown fields included.
"""

from __future__ import annotations

import codecs
import hashlib
import json
import mmap
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from mkdocs_roaming._json import decode_json, prepare
from mkdocs_roaming.errors import ManifestError
from mkdocs_roaming.manifest.models import MAX_OPENING, Manifest, NavEntry, PageEntry, is_valid_url

MANIFEST_VERSION = 1
MANIFEST_PATH = "roaming/manifest.json"
SCHEMA_PATH = "roaming/manifest.schema.json"
VECTORS_PATH = "roaming/vectors.bin"
BUNDLE_PATH = "roaming/bundle.json"
"""The file that marks a folder as a bundle."""

_MAX_NAV_DEPTH = 50
_MAX_SHOWN = 20
_MAX_SHOWN_URL = 40
"""Number of characters of a version or URL in an error."""

_MAX_BUNDLE_BYTES = 10_000_000
_SAFE_URL = re.compile(r"(?:https?|file|mailto|tel|ftp):|(?![a-zA-Z][a-zA-Z0-9+.-]*:)", re.IGNORECASE)
"""The beginning of a URL that links may have: a scheme that runs no code, or none, as in `../a.html`."""

T = TypeVar("T")


class LeftOutPage(msgspec.Struct, frozen=True):
    """A page that a bundle leaves out; `titles` is those of its sections in one text, shortened."""

    path: str
    url: str
    title: str
    titles: str


class _Bundle(msgspec.Struct):
    left_out: tuple[LeftOutPage, ...] = ()


# Reading


def load_left_out(folder: Path) -> tuple[LeftOutPage, ...]:
    """Return the pages that the bundle in a folder leaves out; older bundles do not describe them."""
    file = (folder / BUNDLE_PATH).resolve()  # a package may contain links to other files
    with suppress(OSError, ValueError):
        if file.is_relative_to(folder) and file.is_file() and file.stat().st_size <= _MAX_BUNDLE_BYTES:
            return decode_json(file.read_bytes(), _Bundle).left_out
    return ()


def load_manifest(text: str | bytes, *, where: str = MANIFEST_PATH) -> Manifest:
    """Decode and check a manifest.

    Args:
        text: JSON of the manifest.
        where: File or URL, named in errors.

    Raises:
        ManifestError: The text is no manifest, violates its schema, or has a higher version.
    """
    if isinstance(text, str):
        text = text.encode("utf-8", "surrogatepass")
    head, pages = _read(text, where)
    manifest = replace(head, pages=tuple(pages))
    if not manifest.pages:
        raise _broken(where, "pages", "is empty")
    return manifest


def load_pages(file: Path) -> tuple[PageEntry, ...]:
    """Return the pages of a manifest file without their sections, which take most of the memory.

    Raises:
        OSError: The file cannot be read.
        ManifestError: As for `load_manifest`.
    """
    _, pages = iter_pages(file)
    return tuple(replace(page, sections=()) for page in pages)


def iter_pages(file: Path) -> tuple[Manifest, Iterator[PageEntry]]:
    """Return a manifest file without its pages, and its pages one by one.

    Raises:
        OSError: The file cannot be read.
        ManifestError: As for `load_manifest`; also while iterating.
    """
    with file.open("rb") as opened:
        is_empty = opened.seek(0, 2) == 0
        data = b"" if is_empty else mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
    return _read(data, str(file))


def load_skeleton(file: Path) -> Manifest:
    """Return site, pages and sections of a manifest file, without openings, links, nav and rules.

    It takes a quarter of the memory that `load_manifest` takes.

    Raises:
        OSError: The file cannot be read.
        ManifestError: As for `load_manifest`.
    """
    head, pages = iter_pages(file)
    stripped: list[PageEntry] = []
    for page in pages:
        sections = tuple(replace(section, opening="", links=(), cites=()) for section in page.sections)
        stripped.append(replace(page, sections=sections))
    return replace(head, nav=(), rules=(), pages=tuple(stripped))


def _read(data: bytes | mmap.mmap, where: str) -> tuple[Manifest, Iterator[PageEntry]]:
    """Return a manifest without its pages, and the pages one by one: a page's JSON is decoded when it is needed."""
    if data[: len(codecs.BOM_UTF8)] == codecs.BOM_UTF8:
        data = data[len(codecs.BOM_UTF8) :]
    try:
        fields = _split_fields(data)
    except msgspec.ValidationError:
        fields = {}
    except ValueError as error:
        raise ManifestError(f"{where}: not JSON ({error}); build the site again") from None
    if "pages" not in fields or "version" not in fields:
        raise ManifestError(f"{where}: not a roaming manifest (no version and pages)")
    version = bytes(fields["version"])
    if version != b"%d" % MANIFEST_VERSION:
        shown = version[:_MAX_SHOWN].decode("utf-8", "replace")
        raise ManifestError(f"{where}: version {shown}, this reads up to {MANIFEST_VERSION}; upgrade mkdocs-roaming")
    pages = _decode(fields["pages"], list[msgspec.Raw], where, "pages")
    head = _decode(msgspec.json.encode({**fields, "pages": []}), Manifest, where)
    _check_urls(head, where)
    return head, (_read_page(page, where, f"pages/{index}") for index, page in enumerate(pages))


def _split_fields(data: bytes | mmap.mmap) -> dict[str, msgspec.Raw]:
    """Return the fields of a JSON object. Lone surrogates, which msgspec refuses in any string, become `?`."""
    try:
        return msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    except msgspec.ValidationError:
        raise
    except (ValueError, RecursionError):
        text = json.dumps(decode_json(data), ensure_ascii=False)
        return msgspec.json.decode(text.encode("utf-8", "replace"), type=dict[str, msgspec.Raw])


def _read_page(data: msgspec.Raw, where: str, place: str) -> PageEntry:
    page = _decode(data, PageEntry, where, place)
    if page.id != page.sections[0].id:
        raise _broken(where, place, f"id {page.id} is not the id of the page's own section")
    _check_url(page.url, where, place)
    for index, section in enumerate(page.sections):
        if not section.start <= section.end <= page.bytes:
            fault = f"bytes {section.start} to {section.end} are not within the {page.bytes} bytes of the page"
            raise _broken(where, f"{place}/sections/{index}", fault)
    return page


def _decode(data: bytes | msgspec.Raw, kind: type[T], where: str, place: str = "") -> T:
    try:
        return decode_json(data, kind)
    except msgspec.ValidationError as error:  # such as "Expected `str`, got `int` - at `$.pages[0].title`"
        fault, _, path = str(error).partition(" - at `$")
        names = filter(None, [place, *re.findall(r"\w+", path)])
        raise _broken(where, "/".join(names), fault) from None
    except ValueError as error:
        raise _broken(where, place, f"not JSON ({error})") from None


def _check_urls(manifest: Manifest, where: str) -> None:
    """Check the URLs of site and nav, and the depth of the nav."""
    _check_url(manifest.site.url, where, "site")
    if not is_valid_url(manifest.site.url):
        raise _broken(where, "site", f"url {manifest.site.url[:_MAX_SHOWN_URL]!r} is not a URL")
    for index, alternate in enumerate(manifest.site.alternates):
        _check_url(alternate.manifest, where, f"site/alternates/{index}")
    entries: Iterable[NavEntry] = manifest.nav
    for _ in range(_MAX_NAV_DEPTH + 1):
        for entry in entries:
            _check_url(entry.url, where, "nav")
        entries = [child for entry in entries for child in entry.children]
    if entries:
        raise _broken(where, "nav", f"more than {_MAX_NAV_DEPTH} levels")


def _check_url(url: str | None, where: str, place: str) -> None:
    """Refuse `javascript:` and similar URLs: they become links on pages."""
    if url is not None and not _SAFE_URL.match(url):
        raise _broken(where, place, f"url {url[:_MAX_SHOWN_URL]!r} has a scheme that links may not have")


def _broken(where: str, place: str, fault: str) -> ManifestError:
    place = f"{place}: " if place else ""
    return ManifestError(f"{where}: {place}{fault}; build the site again, or run `roaming validate`")


# Writing


def dump_manifest(manifest: Manifest) -> str:
    """Return the manifest as JSON, with its digest."""
    return b"".join(iter_manifest_json(manifest)).decode("utf-8", "surrogatepass")


def iter_manifest_json(manifest: Manifest) -> Iterator[bytes]:
    """Yield the JSON of `dump_manifest` in pieces: the manifest of a large site is never in memory as a whole."""
    yield from _encode(with_digest(manifest))
    yield b"\n"


def with_digest(manifest: Manifest) -> Manifest:
    """Return the manifest with its digest set."""
    digest = hashlib.sha256()
    for piece in _encode(manifest, canonical=True):
        digest.update(piece)
    return replace(manifest, digest="sha256:" + digest.hexdigest())


def compute_manifest_digest(data: Mapping[str, Any]) -> str:
    """Return the digest of a manifest's parsed JSON: SHA-256 of its canonical form without the digest itself."""
    content = {key: value for key, value in data.items() if key != "digest"}
    return "sha256:" + hashlib.sha256(_to_bytes(content, canonical=True)).hexdigest()


def _encode(manifest: Manifest, *, canonical: bool = False) -> Iterator[bytes]:
    """Yield the manifest's JSON in pieces; in canonical form keys are sorted and the digest is left out."""
    data = {
        "version": MANIFEST_VERSION,
        "generator": manifest.generator,
        "digest": manifest.digest,
        **msgspec.to_builtins(replace(manifest, pages=())),
    }
    if canonical:
        data = {key: data[key] for key in sorted(data) if key != "digest"}
    separator = b"{"
    for key, value in data.items():
        yield separator + _to_bytes(key) + b":"
        separator = b","
        if key == "pages":
            yield b"["
            for index, page in enumerate(manifest.pages):
                yield b"," * (index > 0) + _to_bytes(msgspec.to_builtins(page), canonical=canonical)
            yield b"]"
        else:
            yield _to_bytes(value, canonical=canonical)
    yield b"}"


def _to_bytes(value: Any, *, canonical: bool = False) -> bytes:
    # msgspec's encoder is not used: it refuses lone surrogates, which file names and foreign manifests may contain.
    text = json.dumps(value, sort_keys=canonical, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")


# Validating


@cache
def render_schema() -> str:
    """Return the JSON Schema that is published next to the manifest."""
    _, definitions = msgspec.json.schema_components([prepare(Manifest)], ref_template="#/$defs/{name}")
    manifest = definitions.pop("Manifest")
    manifest["properties"] = {
        "version": {"const": MANIFEST_VERSION, "description": "version of the format; readers refuse a higher one"},
        **manifest["properties"],
    }
    manifest["required"] = ["version", "site", "digest", "pages"]
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **manifest,
        "title": "mkdocs-roaming manifest, version 1",
        "description": "Description of a documentation site, with a stable id for every section. "
        "Readers ignore fields that are not described here.",
        "$defs": definitions,
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def validate_manifest(text: str | bytes) -> list[str]:
    """Return what is wrong with a manifest: its first violation of the schema, or what readers tolerate."""
    try:
        manifest = load_manifest(text)
        data = json.loads(text)
    except (ManifestError, ValueError, RecursionError) as error:
        return [str(error).removeprefix(f"{MANIFEST_PATH}: ").partition("; build the site again")[0]]
    faults = []
    if manifest.site.url and not manifest.site.url.endswith("/"):
        faults.append("site/url: does not end with a slash")
    for at, rule in enumerate(data.get("rules", ())):
        if not rule["when"]:
            faults.append(f"rules/{at}/when: has no condition")
    for page in manifest.pages:
        for section in page.sections:
            if len(section.opening) > MAX_OPENING:
                fault = f"opening of section {section.id} is longer than {MAX_OPENING} characters"
                faults.append(f"pages/{page.path}: {fault}")
    if not manifest.digest:
        faults.append("digest: missing")
    elif not faults and manifest.digest != compute_manifest_digest(data):
        faults.append("digest: does not match the rest of the manifest")
    return faults
