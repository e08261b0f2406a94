"""A folder on this machine as a site to crawl: a built site, or an llms.txt with its pages beside it."""

from __future__ import annotations

import mimetypes
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from mkdocs_roaming.errors import ManifestError, UsageError
from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest
from mkdocs_roaming.manifest.models import url_to_path
from mkdocs_roaming.publish.files import find_site_folders
from roaming_crawler.fetch import FetchError, Request, Response
from roaming_crawler.llms_txt import parse_llms_txt
from roaming_crawler.sniff import decode_text


@dataclass(frozen=True, slots=True)
class FolderSite:
    """A folder, the address that its site has elsewhere, and the one to start at."""

    folder: Path
    url: str
    start: str


def parse_folder_site(given: str) -> FolderSite | None:
    """Give the folder that a `file:` address or a path names; None for an address on the web.

    Raises UsageError where there is no such folder or file.
    """
    if re.match(r"https?://", given, re.IGNORECASE):
        return None
    path = _path(given)
    folder = (path if path.is_dir() else path.parent).resolve()
    url = _address(folder)
    start = url if path.is_dir() else url + path.name
    return FolderSite(folder, url, start)


def explain_empty_folder(site: FolderSite) -> str:
    """Say what a folder lacks that a crawl could begin with, and the cure; empty where it holds some of it."""
    folder = site.folder
    if any((folder / name).is_file() for name in _BEGINNINGS):
        return ""
    below = find_site_folders(folder)
    cure = f"name the folder of a site, such as {below[0]}" if below else "build the site first, then name its folder"
    return f"{folder}: no page to publish; found no {', '.join(_BEGINNINGS[:-1])} or {_BEGINNINGS[-1]} there; {cure}"


class FolderFetcher:
    """Answers from a folder as a static host would."""

    def __init__(self, site: FolderSite) -> None:
        self._site = site

    async def get(self, request: Request) -> Response:
        """Give the file at an address; a folder's is its index.html, at an address that ends in a slash."""
        path = url_to_path(self._site.url, request.url)
        if path is None:  # robots.txt of the host that the site will have, for one
            return Response(request.url, 404)
        for name in (path or "index.html", f"{path.rstrip('/')}/index.html", f"{path}.html"):
            file = (self._site.folder / name).resolve()
            if not file.is_relative_to(self._site.folder) or not file.is_file():
                continue
            stat = file.stat()
            etag = f'"{stat.st_mtime_ns:x}-{stat.st_size:x}"'
            kind = mimetypes.guess_type(name)[0] or ("text/markdown" if name.endswith(".md") else "text/plain")
            moved = name.endswith("/index.html") and not path.endswith(("/", "index.html"))
            url = f"{request.url}/" if moved else request.url
            if request.etag == etag:
                return Response(url, 304, kind=kind, etag=etag)
            if stat.st_size > request.cap:
                raise FetchError(f"{request.url}: {stat.st_size} bytes; if that is right: --max-page-bytes")
            return Response(url, 200, file.read_bytes(), kind, etag=etag)
        return Response(request.url, 404)


_BEGINNINGS = ("index.html", "llms.txt", MANIFEST_PATH)


def _path(given: str) -> Path:
    """Give the path of what there is by a name. Raises UsageError where there is nothing."""
    told = re.sub(r"(?<=//)[^/?#]*@", "", given)[:200]  # without a password
    try:
        named = unquote(urlsplit(given).path) if given.startswith("file:") else given
        path = Path(named).expanduser()
        there = bool(named) and path.resolve().exists()
    except (OSError, RuntimeError, ValueError) as error:  # a name that is too long, a user whom nobody knows, a loop
        reason = getattr(error, "strerror", None) or str(error).rstrip(".")
        raise UsageError(f"{told}: cannot be looked at ({reason}); give another path, or an address") from None
    if there:
        return path
    if not named:
        raise UsageError(f"{told!r}: names nothing; give an address, which begins with https://, or a folder")
    if "://" in given and not given.startswith("file:"):
        raise UsageError(f"{told}: not an address that can be crawled; give one that begins with https:// or http://")
    if not given.startswith(("file:", "/", ".", "~")):
        raise UsageError(f"{told}: neither an address, which begins with https://, nor a folder here")
    raise UsageError(f"{told}: no such file or folder")


def _address(folder: Path) -> str:
    """Give the address that a folder's site has elsewhere: by its manifest, else by what its llms.txt lists."""
    try:
        return load_manifest((folder / MANIFEST_PATH).read_bytes()).site.url
    except (OSError, ManifestError):
        pass
    own = folder.as_uri() + "/"
    try:
        index = parse_llms_txt(decode_text((folder / "llms.txt").read_bytes()), own)
    except OSError:
        return own
    urls = [entry.url for entry in index.entries]
    if not urls or not all(url.startswith("http") for url in urls):
        return own
    least, most = min(urls), max(urls)
    same = next((at for at, (one, other) in enumerate(zip(least, most, strict=False)) if one != other), len(least))
    shared = least[:same]
    return shared[: shared.rfind("/") + 1] if shared.count("/") > 2 else own
