"""Sources of a library's files: a folder, a web site, memory, one Markdown text with one or many pages.

Paths come from the manifest, which may be a third party's: each is validated before it is read.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Protocol
from urllib.parse import quote, urljoin, urlsplit

from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.manifest.io import MANIFEST_PATH, dump_manifest, with_digest
from mkdocs_roaming.manifest.models import Manifest, Page, PublishedPage, Site, markdown_path, url_to_path
from mkdocs_roaming.manifest.sections import github_slug, split_sections

if TYPE_CHECKING:
    from mkdocs_roaming._http import HttpResponse

_MEGABYTE = 2**20
MAX_MANIFEST_BYTES = 256 * _MEGABYTE
MAX_MARKDOWN_BYTES = 64 * _MEGABYTE

_OK = 200
_MISSING = (404, 410)
_MAX_MESSAGE_CHARS = 200
_MAX_SLUG_CHARS = 80

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[/\\]|[A-Za-z]:")
"""The beginning of a URL or of a path on Windows, such as `http:/` or `C:`."""
_FILE = re.compile(r"\A[./\\]+|(?:(?:(?<=[/\\])|\A)(?:index|readme))?\.(?:mdx?|markdown|txt|rst)\Z", re.IGNORECASE)
"""What the name of a Markdown file has beside the path of its page: `./guide/start.md`."""
_SAFE = "/-._~!$&'()*+,;=:@"
INSTALLED_SCHEME = "installed:"
"""The address of the documentation in installed packages."""

CRAWL_STATE = ".roaming/state.json"
"""The file of a crawl in its folder."""


class MissingFileError(LibraryError):
    """The file does not exist, where other files may."""


class Reader(Protocol):
    """A source of the files of one published site. All methods raise LibraryError if they cannot read."""

    where: str
    """The folder or address, for messages."""
    is_remote: bool
    """Whether reads wait for a network."""
    is_crawled: bool = False
    """Whether a crawler wrote the files."""
    folders: Sequence[Path] = ()
    """The folders that may be bundles, whose other pages are not among the files."""
    note: str = ""
    """What readers should know of a text, as a message."""
    is_list: bool = False
    """Whether a text only lists pages."""

    def manifest(self, cache_key: str = "") -> bytes:
        """Return the manifest's JSON; `cache_key` is a query (`?v=…`) that bypasses HTTP caches."""

    def file(self, path: str, cache_key: str = "") -> bytes:
        """Return a file by its path below the site's root; `cache_key` bypasses HTTP caches."""


class FolderReader(Reader):
    """A published site in a folder."""

    is_remote = False

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.where = str(root)
        self.folders = (self.root,)
        self.is_crawled = (self.root / CRAWL_STATE).exists()

    def manifest(self, cache_key: str = "") -> bytes:
        """Return the manifest's JSON."""
        return read_file(self.root / MANIFEST_PATH, MAX_MANIFEST_BYTES)

    def file(self, path: str, cache_key: str = "") -> bytes:
        """Return a file in the folder; a symbolic link may not lead out of it."""
        try:
            resolved = (self.root / safe_path(path, self.where)).resolve()
        except (OSError, RuntimeError, ValueError):
            shown = path[:_MAX_MESSAGE_CHARS]
            raise LibraryError(f"{self.where}: the manifest contains an invalid path: {shown!r}") from None
        if not resolved.is_relative_to(self.root):
            raise LibraryError(f"{self.where}: {path} leads out of the folder; it is not read")
        return read_file(resolved, MAX_MARKDOWN_BYTES)


class MemoryReader(Reader):
    """Files in memory."""

    is_remote = False

    def __init__(self, files: Mapping[str, bytes], manifest: bytes = b"", *, where: str) -> None:
        self.files = files
        self._manifest = manifest
        self.where = where

    def manifest(self, cache_key: str = "") -> bytes:
        """Return the manifest's JSON; empty if none was given."""
        return self._manifest

    def file(self, path: str, cache_key: str = "") -> bytes:
        """Return a file."""
        if path not in self.files:
            raise MissingFileError(f"{self.where}: no {path}")
        return self.files[path]


class WebReader(Reader):
    """A published site over HTTP. `root` is its URL and ends in a slash; a redirect of the site may change it."""

    is_remote = True

    def __init__(self, root: str, *, seconds: float | None = None) -> None:
        from mkdocs_roaming._http import FETCH_TIMEOUT, HttpClient  # only readers of web sites pay for the import

        self.root = self.where = root
        self._client = HttpClient(root, seconds=seconds or FETCH_TIMEOUT)

    def manifest(self, cache_key: str = "") -> bytes:
        """Return the manifest's JSON."""
        return self.get(self.root + MANIFEST_PATH + cache_key, MAX_MANIFEST_BYTES).body

    def file(self, path: str, cache_key: str = "") -> bytes:
        """Return a file below the root."""
        url = self.root + quote(safe_path(path, self.where), safe=_SAFE)
        return self.get(f"{url}?v={cache_key}" if cache_key else url, MAX_MARKDOWN_BYTES).body

    def get(self, url: str, max_bytes: int) -> HttpResponse:
        """Fetch a URL, following redirects.

        Args:
            url: Any http(s) URL.
            max_bytes: Maximum size of the decompressed body.

        Raises:
            MissingFileError: The status is 404 or 410.
            LibraryError: There is no response, a larger one, or one with another status than 200.
        """
        response = self._client.get(url, max_bytes)
        if response.status in _MISSING:
            raise MissingFileError(f"{url}: not found ({response.status})")
        if response.status != _OK:
            raise LibraryError(f"{url}: the server answered {response.status}, not 200")
        return response


def read_file(path: Path, max_bytes: int) -> bytes:
    """Return the bytes of a regular file.

    Raises:
        MissingFileError: There is no such file.
        LibraryError: The file cannot be read, or is larger than `max_bytes`.
    """
    try:
        if not path.is_file():
            raise MissingFileError(f"{path}: no such file")
        with path.open("rb") as file:
            data = file.read(max_bytes + 1)
    except (OSError, ValueError) as error:
        raise LibraryError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    if len(data) > max_bytes:
        raise LibraryError(f"{path}: larger than {max_bytes // _MEGABYTE} MB")
    return data


def safe_path(path: str, where: str) -> str:
    """Return a path that stays below the root it is joined to.

    Raises:
        LibraryError: The path is absolute, climbs up, or is no path.
    """
    parts = path.replace("\\", "/").split("/")
    # `Help:Contents.md` is a valid file name; `http:/…` and `C:…` are not.
    if not path or ".." in parts or not parts[0] or "\0" in path or _SCHEME.match(path):
        raise LibraryError(f"{where}: the manifest contains a path outside of the site: {path[:_MAX_MESSAGE_CHARS]!r}")
    return path


def parent_url(url: str) -> str:
    """Return the URL of the folder that contains a file, with a trailing slash."""
    return urljoin(url, ".")


# One Markdown text


def parse_markdown_site(markdown: str, *, name: str, url: str, where: str) -> tuple[Manifest, MemoryReader]:
    """Return the manifest of a Markdown text, and a reader of its pages.

    A text of several pages, such as llms-full.txt, is split into them, another one at each H1.

    Args:
        markdown: The text.
        name: The site's name, unless the only page has a title.
        url: The text's own address; empty if it has none.
        where: Names the text in messages.
    """
    from mkdocs_roaming.manifest.builder import build_manifest  # most sites have a manifest
    from mkdocs_roaming.text.full_text import UNKNOWN_DIALECT, split_full_text  # has many patterns
    from mkdocs_roaming.text.llms_index import LlmsIndex

    full = split_full_text(markdown, partial(urljoin, url if is_web_url(url) else ""))
    site_url = _site_url([page.url for page in full.pages if page.url and is_web_url(page.url)], url)
    published: list[PublishedPage] = []
    files: dict[str, bytes] = {}
    for page in full.pages:
        is_web = is_web_url(page.url or "")
        path = url_to_path(site_url if is_web else "", _FILE.sub("", page.url)) if page.url else None
        sections = split_sections(page.text, title=page.title or PurePosixPath(path or "").stem or name)
        title = sections[0].title
        if path is None:
            path = "" if len(full.pages) == 1 else github_slug(title)[:_MAX_SLUG_CHARS] + "/"
        path = _free_path(path, files)
        files[markdown_path(path)] = page.text.encode("utf-8", "surrogatepass")
        entry = Page(path, title, description=page.description, url=(page.url if is_web else url) or None)
        published.append(PublishedPage(entry, page.text, sections))
    site_name = published[0].page.title if len(published) == 1 else name
    manifest = with_digest(build_manifest(Site(site_name, site_url, nav_source="llms.txt"), published))
    reader = MemoryReader(files, dump_manifest(manifest).encode("utf-8", "surrogatepass"), where=where)
    site = "" if full.dialect else LlmsIndex.from_text(markdown, url, partial(urljoin, url)).find_site()
    reader.is_list = bool(site)
    if site:
        start = f"{url} --prefix {site}" if is_web_url(url) else where
        if urlsplit(site).netloc != urlsplit(url).netloc:
            start = site
        reader.note = f"{where}: only lists pages; crawl it with `roaming crawl {start} -o DIR`, and open DIR"
    elif not full.dialect and (len(published) > 1 or "llms" in where):
        reader.note = f"{where}: {UNKNOWN_DIALECT}"
    return manifest, reader


# Addresses


def is_web_url(url: str) -> bool:
    """Return whether an address is one of the web."""
    return url.lower().startswith(("http://", "https://"))


def _site_url(urls: Sequence[str], url: str) -> str:
    """Return the folder that the pages' addresses share, or else the folder of the text's own address."""
    hosts = {urlsplit(page_url)[:2] for page_url in urls}
    # A common prefix may end within a name; `parent_url` cuts at a slash.
    address = os.path.commonprefix(urls) if len(hosts) == 1 else (*urls, url)[0]  # noqa: RUF071
    return parent_url(address) if address else ""


def _free_path(path: str, taken: Collection[str]) -> str:
    """Return a path whose file is not taken yet."""
    base = path.rstrip("/")
    number = 1
    while markdown_path(path) in taken:
        number += 1
        path = f"{base}~{number}/"
    return path
