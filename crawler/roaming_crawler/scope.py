"""URL normalization, the rule for which URLs belong to a crawl, and the paths under which pages are stored."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import filterfalse
from urllib.parse import quote, unquote, urljoin, urlsplit, urlunsplit

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.manifest.io import MANIFEST_PATH
from mkdocs_roaming.manifest.lookup import PageName
from mkdocs_roaming.manifest.models import canonicalize_path, page_files, url_to_path
from mkdocs_roaming.publish.selection import Selection

MARKDOWN_SUFFIXES = (".md", ".mdx", ".markdown")

_CACHE_SIZE = 8192
"""Number of URLs that are remembered; more than a navigation has."""
_MAX_URL_CHARS = 2_000
_MAX_ENCODINGS = 3
"""How often a hostile path may be percent-encoded without being mistaken for a file name."""
_DEFAULT_PORTS = {"http": 80, "https": 443}
_FORBIDDEN_CHARS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\\]|%00|%0[ad]|%5c", re.IGNORECASE)
"""Control characters and backslashes, also encoded; parsers of URLs drop or keep them silently."""
_SAFE_CHARS = "/-._~!$&'()*+,;=:@%"
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
"""For example `%7e`, which is `~`; unquoting the whole path would decode slashes, too."""
_TRACKING = re.compile(
    r"(utm_\w+|gclid|fbclid|msclkid|mc_[ce]id|ref|ref_src|_ga|_gl|hsCtaTracking|(osc)?sid|\w*sess(ion)?_?id|cf(id|token))"
    r"(=.*)?",
    re.IGNORECASE,
)
"""Parameters that select no page, but name a campaign or a session."""
_START_FILE_SUFFIXES = (".html", ".htm", ".md", ".txt", ".json", ".xml", ".php", ".gz")
"""Suffixes of files that users give as the URL of a site; its pages are next to them."""
_NOT_A_PAGE = re.compile(
    r"\.(png|jpe?g|gif|svg|webp|avif|ico|bmp|tiff?|map|pdf|epub|docx?|xlsx?|pptx?|odt|zip|gz|bz2|xz|tgz|tar|7z|rar|whl"
    r"|jar|exe|dmg|deb|rpm|apk|woff2?|ttf|otf|eot|mp[34]|webm|ogg|wav|mov|avi|wasm|inv|asc|sig|ics)$"
    r"|(^|/)_(static|sources|images|downloads|modules)/",
    re.IGNORECASE,
)
"""Suffixes of other files, and folders in which Sphinx has no pages of the documentation."""
_TEXT_FILE = re.compile(r"\.(css|m?js|json|ya?ml|toml|xml|rss|atom|txt|csv|tsv|ipynb|py)$", re.IGNORECASE)
"""Suffixes of text files. A page about such a file, or about `next.js`, may have its name."""
_OWN_FILES = re.compile(r"(roaming|llms[\w.-]*)(/|\.txt$|$)", re.IGNORECASE)
"""What we write ourselves: `roaming/manifest.json`, `llms.txt`, `llms-full.txt`."""
_SAFE_NAME = re.compile(
    r"(?![. ])(?!(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$))[\w~!$&'()+,;=@ .-]+(?<![. ])", re.IGNORECASE
)
"""A file name that every file system stores as it is, such as `c++` or `v1.2`, but no device such as `con.txt`."""
_UNSAFE_CHARS = re.compile(r"[^\w.-]+|^\.+")
"""Characters to replace, such as `:` or `?`, and leading dots; letters of all scripts stay."""
_MAX_NAME_BYTES = 120
_MAX_REPLACED_CHARS = 60
_MAX_FOLDERS = 20
_DIGEST_CHARS = 8


@dataclass(frozen=True, slots=True)
class Scope:
    """The part of a host that is crawled.

    The home page is always in scope, because it leads to the other pages.

    Attributes:
        url: Prefix of all URLs in scope; it ends with a slash.
        include: Patterns of pages to crawl; all by default. They are relative to `url`.
        exclude: Patterns of pages to leave out.
        selection: The compiled patterns.
    """

    url: str
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    selection: Selection = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compile the patterns."""
        patterns = Selection(self.include, self.exclude, roots=[self.url], option="--")
        object.__setattr__(self, "selection", patterns)

    def is_below(self, url: str) -> bool:
        """Return whether a canonical URL is below the prefix, whatever the patterns say."""
        return url.startswith(self.url) or url + "/" == self.url

    def is_below_here(self, url: str) -> bool:
        """Return whether a URL is below the prefix, by any scheme or name of the host."""
        return self.is_below(self.localize(url))

    def contains(self, url: str) -> bool:
        """Return whether a canonical URL is in scope: below the prefix, and allowed by the patterns."""
        return self.path(url) is not None

    def path(self, url: str) -> str | None:
        """Return the path of a URL below the prefix, or None if the URL is out of scope."""
        path = url_to_path(self.url, url)
        if path is None or not self.allows_path(path):
            return None
        return path

    def allows_path(self, path: str) -> bool:
        """Return whether the patterns allow the page at a path below the prefix."""
        return not path or not self.selection or _is_selected(self.selection, path)

    def localize(self, url: str) -> str:
        """Return a URL of this host by another scheme or name (with `www.`, an IDN in ASCII) as the crawl spells it."""
        origin = url_origin(url)
        own = url_origin(self.url)
        is_twin = origin != own and _host_key(origin) == _host_key(own)
        return own + url[len(origin) :] if is_twin else url

    def resolver(self, base: str) -> Callable[[str], str | None]:
        """Return a function that returns the URL of a link as the crawl spells it; `base` is the URL of its page."""
        return lambda href: self.localize(canonical_url(href, base) or "") or None

    def check_patterns(self, *, strict: bool) -> list[str]:
        """Return a message for each pattern that matched no page.

        Raises:
            UsageError: There is such a pattern and `strict` is set.
        """
        messages = list(self.selection.unmatched(f" below {self.url}"))
        if messages and strict:
            raise UsageError("; ".join(messages))
        return messages


# Addresses


def has_web_scheme(target: str) -> bool:
    """Return whether a site is given by its http(s) URL, and not by its folder."""
    return target.lower().startswith(("http://", "https://"))


def canonical_url(url: str, base: str = "") -> str | None:
    """Return the canonical spelling of a URL, or None if it is invalid.

    Fragment, tracking parameters, default port and `index.html` are removed. Case and trailing slash are kept, because
    only the site knows whether they distinguish pages.
    """
    if len(url) > _MAX_URL_CHARS or _FORBIDDEN_CHARS.search(url):
        return None
    try:
        absolute = urljoin(base, url.strip())
    except ValueError:
        return None
    return _canonicalize(absolute)


@lru_cache(maxsize=_CACHE_SIZE)  # the navigation repeats the same URLs on every page
def _canonicalize(url: str) -> str | None:
    try:
        parts = urlsplit(url)
        port = parts.port
        host = (parts.hostname or "").rstrip(".")
    except ValueError:
        return None
    scheme = parts.scheme.lower()
    path = _canonical_path(parts.path or "/")
    if scheme == "file":
        return urlunsplit(("file", "", path, "", ""))
    if not host or parts.username is not None or scheme not in _DEFAULT_PORTS:
        return None
    decoded = path
    for _ in range(_MAX_ENCODINGS):
        decoded = unquote(decoded)
    segments = decoded.replace("\\", "/").split("/")
    if "." in segments or ".." in segments or "\0" in decoded:
        return None
    if ":" in host:
        host = f"[{host}]"
    if port not in (None, _DEFAULT_PORTS[scheme]):
        host = f"{host}:{port}"
    query = filterfalse(_TRACKING.fullmatch, filter(None, parts.query.split("&")))
    return urlunsplit((scheme, host, path, "&".join(query), ""))


def _canonical_path(path: str) -> str:
    """Return a path without `index.html`, dot segments and needless escapes; hex digits are in upper case."""
    path = quote(path, safe=_SAFE_CHARS)
    resolved: list[str] = []
    segments = path.split("/")
    for segment in segments:
        if ";" in segment:
            segment = ";".join(filterfalse(_TRACKING.fullmatch, segment.split(";")))
        if segment == ".." and len(resolved) > 1:
            resolved.pop()
        elif segment not in (".", ".."):  # encoded ones are refused elsewhere
            resolved.append(segment)
    if segments[-1] in (".", "..") and resolved[-1]:
        resolved.append("")
    path = _ESCAPE.sub(_normalize_escape, "/".join(resolved))
    if path.endswith(("/index.html", "/index.htm")):
        return path[: path.rindex("/") + 1]
    return path


def _normalize_escape(match: re.Match[str]) -> str:
    char = unquote(match[0])
    is_needless = char.isascii() and (char.isalnum() or char in "-._~")
    return char if is_needless else match[0].upper()


def scope_url(url: str) -> str:
    """Return the prefix of a scope for the URL of a site, of one of its pages or of one of its files.

    Raises:
        UsageError: The URL is not an http(s) or file URL.
    """
    canonical = canonical_url(url)
    if canonical is None:
        raise UsageError(f"{url}: not an http(s) URL; give the URL of the documentation")
    parts = urlsplit(canonical)
    path = parts.path.removesuffix(".well-known/llms.txt").removesuffix(MANIFEST_PATH)
    folder, _, last = path.rpartition("/")
    is_folder = not last or last.lower().endswith(_START_FILE_SUFFIXES)
    path = f"{folder}/" if is_folder else f"{path}/"
    return urlunsplit((parts.scheme, parts.netloc, path, "", ""))


def file_suffix(url: str) -> str | None:
    """Return the suffix of a text file, whose name a page may have, `""` for a page, None for anything else."""
    parts = urlsplit(url)
    if parts.query or _NOT_A_PAGE.search(parts.path):
        return None
    match = _TEXT_FILE.search(parts.path)
    return match[0].lower() if match else ""


def is_page_url(url: str) -> bool:
    """Return whether a URL may be a page: it has no query and no file suffix of another kind."""
    return file_suffix(url) == ""


def page_of_markdown(address: str) -> str:
    """Return the URL or path of the page whose Markdown an address names: `guide/index.md` → `guide/`."""
    if not address.endswith(MARKDOWN_SUFFIXES):
        return address
    stem = address.rpartition(".")[0]
    folder, slash, name = stem.rpartition("/")
    if slash and name in ("index", "index.html", "index.htm"):
        return folder + slash
    return stem


def loose_key(url: str) -> str:
    """Return what the spellings `guide`, `guide/`, `guide.html` and `guide/index.md` of one page have in common."""
    if url.endswith((".html", ".htm", *MARKDOWN_SUFFIXES)):
        url = url.rpartition(".")[0]
    return url.removesuffix("index" if url.endswith("/index") else "").removesuffix("/")


def url_origin(url: str) -> str:
    """Return scheme, host and port: the unit of robots.txt and of rate limits."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


@lru_cache(maxsize=_CACHE_SIZE)
def _host_key(origin: str) -> str:
    """Return what the names of a host have in common."""
    host = origin.partition("://")[2].removeprefix("www.")
    with suppress(UnicodeError):
        return host.encode("idna").decode()
    return host


# Files


def storage_path(path: str) -> str:
    """Return the path under which a page is stored: its own if all segments are safe file names.

    Otherwise unsafe characters are replaced, and a hash of the original path is appended.
    """
    path = canonicalize_path(path)
    names = [name for name in path.split("/") if name]
    is_short = all(len(name.encode("utf-8", "surrogatepass")) <= _MAX_NAME_BYTES for name in names)
    is_safe = len(names) <= _MAX_FOLDERS and is_short and all(map(_SAFE_NAME.fullmatch, names))
    if is_safe and "//" not in path and not _OWN_FILES.match(path):
        return path
    safe: list[str] = []
    for name in names[:_MAX_FOLDERS]:
        replaced = _UNSAFE_CHARS.sub("-", name)[:_MAX_REPLACED_CHARS]
        safe.append(replaced.strip("-.") or "-")
    if safe and _OWN_FILES.match("/".join([*safe, ""])):
        safe[0] = f"page-{safe[0]}"
    return _append_digest("/".join(safe) or "page", path)


def disambiguate_paths(paths: Iterable[str]) -> dict[str, str]:
    """Map each path to one whose files collide with no others, also on case-insensitive file systems."""
    taken_files: set[str] = set()
    taken_folders: set[str] = set()
    unique: dict[str, str] = {}
    for path in sorted(set(paths), key=lambda path: (path.casefold(), path)):
        unique[path] = path
        files, folders = _find_files(path)
        if not taken_files.isdisjoint(files | folders) or not taken_folders.isdisjoint(files):
            unique[path] = _append_digest(path.rstrip("/"), path)
            files, folders = _find_files(unique[path])
        taken_files |= files
        taken_folders |= folders
    return unique


def _append_digest(stem: str, path: str) -> str:
    """Return the stem of a replacement for a path with the digest of that path."""
    digest = hashlib.sha256(path.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARS]
    return f"{stem}~{digest}" + ("/" if path.endswith("/") else "")


def _find_files(path: str) -> tuple[set[str], set[str]]:
    """Return the files of a page, and the folders that contain them, without differences in case."""
    files = {unicodedata.normalize("NFC", name.casefold()) for name in page_files(path)}
    folders = {file[:at] for file in files for at, char in enumerate(file) if char == "/"}
    return files, folders


@lru_cache(maxsize=_CACHE_SIZE)  # as above
def _is_selected(selection: Selection, path: str) -> bool:
    return selection.find_reason(PageName(page_of_markdown(path))) is None
