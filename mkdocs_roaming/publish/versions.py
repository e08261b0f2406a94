"""The root llms.txt of a site with several versions, each of which is published in a folder of its own.

It names the versions of mike's `versions.json`, and repeats the list of pages of the default version.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote, urljoin, urlsplit

import msgspec
from msgspec import Meta, Struct

from mkdocs_roaming.errors import PublishError
from mkdocs_roaming.files import read_inside, write_site_file
from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest
from mkdocs_roaming.manifest.models import LLMS_TXT, SiteEntry, path_to_url
from mkdocs_roaming.publish.llms_txt import MAX_CHARS, escape_link_text
from mkdocs_roaming.text.markdown import to_single_line
from mkdocs_roaming.text.meta_tags import find_redirect

VERSIONS_PATH = "versions.json"

_DEFAULT_ALIASES = ("stable", "latest")
_DIGEST_CHARS = 16
_DESCRIPTION = re.compile(r"(?m)^(- \[.*?\]\([^\s)]+\)): .*$")
"""A line with a description: `- [Install](https://…/install.md): How to install it.`."""
_MARK = re.compile(r" <!-- roaming versions ([0-9a-f]{16}) -->")


@dataclass(frozen=True, slots=True)
class VersionsReport:
    """The versions in the root llms.txt, those of them that have no manifest, and whether the file was written."""

    versions: tuple[str, ...]
    default: str
    unpublished: tuple[str, ...]
    written: bool

    def __str__(self) -> str:
        """Return a summary in one line."""
        notes = {self.default: " (default)", **dict.fromkeys(self.unpublished, " (HTML only)")}
        names = ", ".join(name + notes.get(name, "") for name in self.versions)
        return f"llms.txt lists {names}" if self.written else f"llms.txt lists {names}; unchanged"


def publish_versions(root: Path, *, default: str | None = None, overwrite: bool = False) -> VersionsReport:
    """Write the root llms.txt of a site with several versions.

    Args:
        root: The folder that contains versions.json and the folders of the versions.
        default: Version or alias whose pages are listed. By default the version to which the root's index.html
            redirects, the one with the alias `stable` or `latest`, or the first.
        overwrite: Whether an llms.txt that something else wrote is overwritten.

    Raises:
        PublishError: There is no versions.json, the default version has no manifest, two versions have the same URL,
            or something else wrote the llms.txt.
    """
    versions = [_open_version(root, entry) for entry in _read_entries(root)]
    chosen = _find_default(root, versions, default)
    if chosen.site is None:
        raise PublishError(
            f"{root}: the default version {chosen.name} has no {MANIFEST_PATH}; deploy it again with the plugin, "
            "or choose another version with --default"
        )
    _check_urls(root, versions)
    listing = (read_inside(root, f"{chosen.entry.version}/{LLMS_TXT}") or b"").decode("utf-8", "replace")
    text = _render(chosen, chosen.site, versions, listing)
    old = read_inside(root, LLMS_TXT)
    if old is not None and not overwrite and not _is_own(old):
        raise PublishError(
            f"{root}: something else wrote {LLMS_TXT}, which is not overwritten; remove it, or add --overwrite"
        )
    is_new = write_site_file(root, LLMS_TXT, text.encode("utf-8", "replace"))
    unpublished = tuple(version.name for version in versions if version.site is None)
    return VersionsReport(tuple(version.name for version in versions), chosen.name, unpublished, is_new)


# Versions


class _Entry(Struct, frozen=True):
    """An entry of versions.json, as mike writes it."""

    version: Annotated[str, Meta(pattern=r"^(?!.*\.\.)[^/]")]
    title: str = ""
    aliases: tuple[str, ...] = ()
    properties: dict[str, Any] | None = None

    @property
    def is_hidden(self) -> bool:
        """Whether Material's version selector leaves the version out."""
        return bool(self.properties and self.properties.get("hidden"))


class _Version(Struct, frozen=True):
    """A version of a site; `site` is None if it has no manifest."""

    entry: _Entry
    site: SiteEntry | None

    @property
    def name(self) -> str:
        """The title of the version."""
        return to_single_line(self.entry.title or self.entry.version)


def _read_entries(root: Path) -> list[_Entry]:
    data = read_inside(root, VERSIONS_PATH)
    if data is None:
        raise PublishError(f"{root}: no {VERSIONS_PATH}; name the folder that contains all versions of the site")
    try:
        entries = [entry for entry in msgspec.json.decode(data, type=list[_Entry]) if not entry.is_hidden]
        if not entries:
            raise ValueError("it is empty")
    except ValueError as error:  # also of msgspec
        raise PublishError(f"{root}: {VERSIONS_PATH} is no list of versions: {error}") from None
    return entries


def _open_version(root: Path, entry: _Entry) -> _Version:
    path = f"{entry.version}/{MANIFEST_PATH}"
    data = read_inside(root, path)
    if data is None:
        return _Version(entry, None)
    return _Version(entry, load_manifest(data, where=f"{root}/{path}").site)


def _find_default(root: Path, versions: Sequence[_Version], default: str | None) -> _Version:
    if default is not None:
        chosen = _find(versions, default)
        if chosen is None:
            names = ", ".join(version.name for version in versions)
            raise PublishError(f"{root}: no version {default}; {VERSIONS_PATH} lists {names}")
        return chosen
    home = (read_inside(root, "index.html") or b"").decode("utf-8", "replace")
    target = unquote(urlsplit(find_redirect(home) or "").path).strip("/").removesuffix("/index.html")
    for name in (target, target.rpartition("/")[2], *_DEFAULT_ALIASES):
        version = _find(versions, name) if name else None
        if version:
            return version
    return versions[0]


def _find(versions: Sequence[_Version], name: str) -> _Version | None:
    """Return the version that a user means by its folder, an alias or its title."""
    for version in versions:
        entry = version.entry
        if name in (entry.version, *entry.aliases, entry.title):
            return version
    return None


def _check_urls(root: Path, versions: Sequence[_Version]) -> None:
    urls: dict[str, str] = {}
    for version in versions:
        if version.site is None:
            continue
        first = urls.setdefault(version.site.url, version.name)
        if first != version.name:
            raise PublishError(
                f"{root}: the versions {first} and {version.name} have the same URL, {version.site.url}. "
                "Build each with the URL of its own folder"
            )


# The text


def _render(chosen: _Version, site: SiteEntry, versions: Sequence[_Version], listing: str) -> str:
    """Return the root llms.txt: that of the default version with a list of the versions above its pages.

    If there is too little room, the pages have no descriptions, or only the versions are listed.
    """
    root = urljoin(site.url, "../" * len(chosen.entry.version.split("/")))
    lines = "".join(f"- {_version_link(version, version is chosen, root)}\n" for version in versions)
    rest = f"\n\n## Versions\n\n{lines}"
    head, heading, pages = listing.partition("\n## ")
    about = f"This documentation has several versions. The pages below are those of {chosen.name}."
    for listed in (pages, _DESCRIPTION.sub(r"\1", pages)):
        text = _mark(f"{head}\n{about}", f"{rest}{heading}{listed}")
        if heading and len(text) < MAX_CHARS:
            return text
    summary = to_single_line(site.description) or f"Documentation of {to_single_line(site.name)}."
    return _mark(f"# {to_single_line(site.name)}\n\n> {summary}\n\nThis documentation has several versions.", rest)


def _version_link(version: _Version, is_default: bool, root: str) -> str:
    aliases = ", ".join(alias for alias in sorted(version.entry.aliases) if alias not in version.name)
    name = f"{version.name} ({to_single_line(aliases)})" if aliases else version.name
    name = escape_link_text(name)
    note = "default version, " if is_default else ""
    if version.site is None:
        return f"[{name}]({path_to_url(root, f'{version.entry.version}/')}): {note}HTML only"
    url = version.site.url
    return f"[{name}]({url}{LLMS_TXT}): {note}manifest {url}{MANIFEST_PATH}"


def _mark(head: str, rest: str) -> str:
    """Return a text with a comment that shows later that nothing else changed it."""
    digest = hashlib.sha256((head + rest).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{head} <!-- roaming versions {digest[:_DIGEST_CHARS]} -->{rest}"


def _is_own(data: bytes) -> bool:
    text = data.decode("utf-8", "replace")
    mark = _MARK.search(text)
    return mark is not None and _mark(text[: mark.start()], text[mark.end() :]) == text
