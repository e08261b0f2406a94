"""URL normalization, the rule for which URLs belong to a crawl, and the paths under which pages are stored."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import SplitResult, quote, unquote, urljoin, urlsplit, urlunsplit

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.manifest.lookup import PageName
from mkdocs_roaming.manifest.models import canonicalize_path, page_files, url_to_path
from mkdocs_roaming.publish.selection import Selection


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

    def holds(self, url: str) -> bool:
        """Return whether a canonical URL is below the prefix, without looking at the patterns."""
        return url.startswith(self.url) or url + "/" == self.url

    def contains(self, url: str) -> bool:
        """Return whether a canonical URL is in scope."""
        return self.holds(url) and self.allows_path(url_to_path(self.url, url) or "")

    def allows_path(self, path: str) -> bool:
        """Return whether the patterns allow the page at a path below the prefix."""
        return not path or not self.selection or _is_selected(self.selection, path)

    def check_patterns(self, *, strict: bool) -> list[str]:
        """Return a message for each pattern that matched no page.

        Raises:
            UsageError: There is such a pattern and `strict` is set.
        """
        messages = list(self.selection.unmatched(f" below {self.url}"))
        if messages and strict:
            raise UsageError("; ".join(messages))
        return messages

    def path(self, url: str) -> str | None:
        """Return the path of a URL below the prefix, or None if the URL is out of scope."""
        return url_to_path(self.url, url) if self.contains(url) else None


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


@lru_cache(maxsize=8192)  # the navigation repeats the same URLs on every page
def _canonicalize(url: str) -> str | None:
    try:
        parts = urlsplit(url)
        port = parts.port
        host = (parts.hostname or "").rstrip(".")
    except ValueError:
        return None
    scheme = parts.scheme.lower()
    if scheme == "file":
        return urlunsplit(("file", "", _canonical_path(parts), "", ""))
    if scheme not in _DEFAULT_PORTS or not host or parts.username is not None:
        return None
    if ":" in host:
        host = f"[{host}]"
    netloc = host if port in (None, _DEFAULT_PORTS[scheme]) else f"{host}:{port}"
    path = _canonical_path(parts)
    if _has_encoded_dot_segments(path):
        return None
    query = (part for part in parts.query.split("&") if part and not _TRACKING.fullmatch(part.partition("=")[0]))
    return urlunsplit((scheme, netloc, path, "&".join(query), ""))


def scope_url(url: str) -> str:
    """Return the prefix of a scope for the URL of a site, of one of its pages or of one of its files.

    Raises:
        UsageError: The URL is not an http(s) or file URL.
    """
    canonical = canonical_url(url)
    if canonical is None:
        raise UsageError(f"{url}: not an http(s) URL; give the URL of the documentation")
    parts = urlsplit(canonical)
    path = re.sub(r"(\.well-known/llms\.txt|roaming/manifest\.json)$", "", parts.path)
    folder, _, last = path.rpartition("/")
    path = f"{folder}/" if not last or _FILE_SUFFIX.search(last) else f"{path}/"
    return urlunsplit((parts.scheme, parts.netloc, path, "", ""))


def is_page_url(url: str) -> bool:
    """Return whether a URL may be a page: it has no query and no file suffix of another kind."""
    parts = urlsplit(url)
    return not parts.query and not _NOT_A_PAGE.search(parts.path)


def loose_key(url: str) -> str:
    """Return what the spellings `guide`, `guide/`, `guide.html` and `guide/index.md` of one page have in common."""
    return re.sub(r"/(index)?$", "", re.sub(r"\.(html?|mdx?|markdown)$", "", url))


def url_origin(url: str) -> str:
    """Return scheme, host and port: the unit of robots.txt and of rate limits."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def storage_path(path: str) -> str:
    """Return the path under which a page is stored: its own if all segments are safe file names.

    Otherwise unsafe characters are replaced, and a hash of the original path is appended.
    """
    path = canonicalize_path(path)
    segments = path.split("/")
    names = [segment for segment in segments if segment]
    is_safe = len(names) <= _MAX_FOLDERS and all(map(_is_safe_name, names))
    if is_safe and "//" not in path and not _OWN_FILES.match(path):
        return path
    safe = [re.sub(r"[^\w.-]+|^\.+|[. ]+$", "-", segment)[:60].strip("-.") or "-" for segment in names[:_MAX_FOLDERS]]
    if safe and _OWN_FILES.match("/".join([*safe, ""])):
        safe[0] = f"page-{safe[0]}"
    return _append_digest("/".join(safe) or "page", path)


def disambiguate_paths(paths: Iterable[str]) -> dict[str, str]:
    """Map each path to one whose files collide with no others, also on case-insensitive file systems."""
    files: set[str] = set()
    folders: set[str] = set()
    found: dict[str, str] = {}
    for path in sorted(set(paths), key=lambda path: (path.casefold(), path)):
        own, above = _find_files(path)
        is_free = files.isdisjoint(own | above) and folders.isdisjoint(own)
        found[path] = path if is_free else _append_digest(path.rstrip("/"), path)
        own, above = _find_files(found[path])
        files |= own
        folders |= above
    return found


def _append_digest(stem: str, path: str) -> str:
    """Return the stem of a replacement for a path with the digest of that path."""
    digest = hashlib.sha256(path.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{stem}~{digest}" + ("/" if path.endswith("/") else "")


def _find_files(path: str) -> tuple[set[str], set[str]]:
    """Return the files of a page, and the folders that contain them, without differences in case."""
    files = {unicodedata.normalize("NFC", name.casefold()) for name in page_files(path)}
    return files, {file[:at] for file in files for at, char in enumerate(file) if char == "/"}


def _is_safe_name(segment: str) -> bool:
    return (
        bool(re.fullmatch(r"[\w~!$&'()+,;=@ .-]+", segment))
        and not segment.startswith((".", " "))
        and not segment.endswith((".", " "))
        and len(segment.encode("utf-8", "surrogatepass")) <= _MAX_NAME_BYTES
        and not _WINDOWS_RESERVED.match(segment)
    )


@lru_cache(maxsize=8192)  # as above
def _is_selected(selection: Selection, path: str) -> bool:
    page = re.sub(r"((?<=/)index|(?<=.)(?<!/))\.(mdx?|markdown)$", "", path)  # for the path of its Markdown
    return selection.find_reason(PageName(page)) is None


def _canonical_path(parts: SplitResult) -> str:
    """Percent-encode a path in one way: no needless escapes, upper-case hex digits."""
    path = _resolve_dot_segments(quote(parts.path or "/", safe=_SAFE_CHARS))
    return re.sub(r"(?<=/)index\.html?$", "", re.sub(r"%([0-9A-Fa-f]{2})", _normalize_escape, path))


def _resolve_dot_segments(path: str) -> str:
    """Resolve literal `.` and `..` segments. Encoded ones are refused elsewhere."""
    kept: list[str] = []
    segments = path.split("/")
    for segment in segments:
        if segment == "..":
            kept = kept[:-1] if len(kept) > 1 else kept
        elif segment != ".":
            kept.append(segment)
    return "/".join(kept) + ("/" if segments[-1] in (".", "..") and kept[-1] else "")


def _normalize_escape(match: re.Match[str]) -> str:
    char = chr(int(match[1], 16))
    return char if char.isascii() and (char.isalnum() or char in "-._~") else match[0].upper()


def _has_encoded_dot_segments(path: str) -> bool:
    """Return whether a segment is `.` or `..` after decoding, also if it was encoded several times."""
    for _ in range(3):
        path = unquote(path)
    return any(segment in (".", "..") for segment in re.split(r"[/\\]", path)) or "\0" in path


_MAX_URL_CHARS = 2_000
_DEFAULT_PORTS = {"http": 80, "https": 443}
_FORBIDDEN_CHARS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\\]|%00|%0[ad]|%5c", re.IGNORECASE)
_FILE_SUFFIX = re.compile(r"\.(html?|md|txt|json|xml|php|gz)$", re.IGNORECASE)
_TRACKING = re.compile(r"(utm_\w+|gclid|fbclid|msclkid|mc_[ce]id|ref|ref_src|_ga|_gl|hsCtaTracking)", re.IGNORECASE)
_NOT_A_PAGE = re.compile(
    r"\.(png|jpe?g|gif|svg|webp|avif|ico|bmp|tiff?|css|m?js|map|json|ya?ml|toml|xml|rss|atom|txt|csv|tsv|pdf|epub|docx?"
    r"|xlsx?|pptx?|odt|zip|gz|bz2|xz|tgz|tar|7z|rar|whl|jar|exe|dmg|deb|rpm|apk|woff2?|ttf|otf|eot|mp[34]|webm|ogg|wav"
    r"|mov|avi|wasm|ipynb|py|inv|asc|sig|ics)$|(^|/)_(static|sources|images|downloads|modules)/",
    re.IGNORECASE,
)
_SAFE_CHARS = "/-._~!$&'()*+,;=:@%"
_OWN_FILES = re.compile(r"(roaming|llms[\w.-]*)(/|\.txt$|$)", re.IGNORECASE)
_WINDOWS_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?$", re.IGNORECASE)
_MAX_NAME_BYTES = 120
_MAX_FOLDERS = 20
