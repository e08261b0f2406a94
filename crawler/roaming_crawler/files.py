"""A local folder as a site to crawl: a built site, or an llms.txt next to its pages."""

from __future__ import annotations

import mimetypes
import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

from mkdocs_roaming.errors import ManifestError, UsageError
from mkdocs_roaming.files import find_site_folders
from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest
from mkdocs_roaming.manifest.models import url_to_path
from mkdocs_roaming.sources import decode_text
from mkdocs_roaming.text.llms_index import LlmsIndex
from roaming_crawler.fetch import OK, FetchError, Request, Response

_START_FILES = ("index.html", "llms.txt", MANIFEST_PATH)
_NOT_FOUND = 404
_MAX_MESSAGE_CHARS = 200
_USER = re.compile(r"(?<=//)[^/?#]*@")
"""User name and password in `https://name:word@host/`; what is no URL may have them, too."""


@dataclass(frozen=True, slots=True)
class FolderSite:
    """A folder, the URL at which its site is published, and the URL at which the crawl starts."""

    folder: Path
    url: str
    start: str

    async def get(self, request: Request) -> Response:
        """Return the file at a URL, as a static web server does.

        For a folder this is its index.html, after a redirect to the trailing slash.
        """
        path = url_to_path(self.url, request.url)
        if path is None:  # for example robots.txt of the published site's host
            return Response(request.url, _NOT_FOUND)
        for name in (path or "index.html", f"{path.rstrip('/')}/index.html", f"{path}.html"):
            file = (self.folder / name).resolve()
            if not file.is_relative_to(self.folder) or not file.is_file():
                continue
            size = file.stat().st_size
            if size > request.cap:
                raise FetchError(f"{request.url}: {size} bytes; raise --max-page-bytes if needed")
            kind = mimetypes.guess_type(name)[0] or "text/plain"
            redirects = name.endswith("/index.html") and not path.endswith(("/", "index.html"))
            url = f"{request.url}/" if redirects else request.url
            return Response(url, OK, file.read_bytes(), kind)
        return Response(request.url, _NOT_FOUND)


def parse_folder_site(target: str) -> FolderSite:
    """Return the folder that a path or a `file:` URL names.

    Raises:
        UsageError: There is no such folder or file.
    """
    path = _existing_path(target)
    if path.is_dir():
        folder = path.resolve()
        url = _published_url(folder)
        return FolderSite(folder, url, url)
    folder = path.parent.resolve()
    url = _published_url(folder)
    return FolderSite(folder, url, url + path.name)


def explain_empty_folder(site: FolderSite) -> str:
    """Return an error message for a folder without a start page, or an empty string if it has one."""
    if any((site.folder / name).is_file() for name in _START_FILES):
        return ""
    below = find_site_folders(site.folder)
    hint = f"name the folder of a site, such as {below[0]}" if below else "build the site first, then name its folder"
    return f"{site.folder}: no page to publish; found no index.html, llms.txt or {MANIFEST_PATH} there; {hint}"


def _existing_path(target: str) -> Path:
    """Return the path of an existing file or folder.

    Raises:
        UsageError: There is none. The message shows no password.
    """
    shown = _USER.sub("", target)[:_MAX_MESSAGE_CHARS]
    try:
        name = unquote(urlsplit(target).path) if target.startswith("file:") else target
        path = Path(name).expanduser()
        exists = bool(name) and path.resolve().exists()
    except (OSError, RuntimeError, ValueError) as error:  # name too long, unknown user, symlink loop
        reason = getattr(error, "strerror", None) or str(error).rstrip(".")
        raise UsageError(f"{shown}: cannot be accessed ({reason}); give another path, or a URL") from None
    if exists:
        return path
    if not name:
        raise UsageError(f"{shown!r}: names nothing; give a URL, which begins with https://, or a folder")
    if "://" in target and not target.startswith("file:"):
        raise UsageError(f"{shown}: unsupported URL scheme; give a URL that begins with https:// or http://")
    if not target.startswith(("file:", "/", ".", "~")):
        raise UsageError(f"{shown}: neither a URL, which begins with https://, nor a folder here")
    raise UsageError(f"{shown}: no such file or folder")


def _published_url(folder: Path) -> str:
    """Return the URL of a folder's site from its manifest, or else the common prefix of the URLs in its llms.txt."""
    try:
        return load_manifest((folder / MANIFEST_PATH).read_bytes()).site.url
    except (OSError, ManifestError):
        pass
    file_url = folder.as_uri() + "/"
    try:
        text = decode_text((folder / "llms.txt").read_bytes())
    except OSError:
        return file_url
    site_url = LlmsIndex.from_text(text, file_url, partial(urljoin, file_url)).find_site()
    return site_url if site_url.startswith("http") else file_url
