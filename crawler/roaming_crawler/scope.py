"""Which addresses belong to a crawl, and the one spelling that each of them is known by."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from urllib.parse import SplitResult, quote, unquote, urljoin, urlsplit, urlunsplit

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.manifest.models import url_to_path


@dataclass(frozen=True, slots=True)
class Scope:
    """The part of a host that is crawled: what lies below `url`, which ends in a slash, and is not ruled out.

    `include` and `exclude` are patterns over paths below it. The home page is never ruled out: it leads to the rest.
    """

    url: str
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def holds(self, url: str) -> bool:
        """Tell whether an address in its one spelling lies below the scope's, ruled out or not."""
        return url.startswith(self.url) or url + "/" == self.url

    def contains(self, url: str) -> bool:
        """Tell whether an address in its one spelling is crawled."""
        return self.holds(url) and self.takes(url_to_path(self.url, url) or "")

    def takes(self, path: str) -> bool:
        """Tell whether the patterns let a path in."""
        if not path or not (self.include or self.exclude):
            return True
        plain = _plain(path)
        if self.include and not any(_pattern(one).match(plain) for one in self.include):
            return False
        return not any(_pattern(one).match(plain) for one in self.exclude)

    def path(self, url: str) -> str | None:
        """Give the path that an address has below the site's; None outside."""
        return url_to_path(self.url, url) if self.contains(url) else None


@dataclass(frozen=True, slots=True)
class ScopeConfig:
    """What was asked for: everything below the address given, or below `prefix`, or the whole host; patterns."""

    prefix: str = ""
    same_host: bool = False
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def scope(self, given: str) -> Scope:
        """Give the scope of a crawl that begins at an address. Raises UsageError for a prefix on another host."""
        if self.same_host:
            url = url_origin(given) + "/" if not given.startswith("file:") else scope_from_url(given).url
        elif self.prefix:
            url = scope_from_url(urljoin(given, self.prefix)).url
            if url_origin(url) != url_origin(given):
                raise UsageError(
                    f"--prefix {self.prefix}: not on {url_origin(given)}; give a path, or an address there"
                )
        else:
            url = scope_from_url(given).url
        return Scope(url, self.include, self.exclude)


def canonical_url(url: str, base: str = "") -> str | None:
    """Give the one spelling of an address: no fragment, tracking, default port or `index.html`; None for what is none.

    Case and trailing slash stay as they are: only the site knows whether they tell pages apart.
    """
    if len(url) > _LONGEST or _CONTROL.search(url):
        return None
    try:
        whole = urljoin(base, url.strip())
    except ValueError:
        return None
    return _canonical(whole)


@lru_cache(maxsize=8192)  # a nav leads to the same places from every page
def _canonical(url: str) -> str | None:
    try:
        parts = urlsplit(url)
        port = parts.port
        host = (parts.hostname or "").rstrip(".")
    except ValueError:
        return None
    scheme = parts.scheme.lower()
    if scheme == "file":
        return urlunsplit(("file", "", _path(parts), "", ""))
    if scheme not in _PORTS or not host or parts.username is not None:
        return None
    if ":" in host:
        host = f"[{host}]"
    netloc = host if port in (None, _PORTS[scheme]) else f"{host}:{port}"
    path = _path(parts)
    if _climbs(path):
        return None
    return urlunsplit((scheme, netloc, path, _query(parts.query), ""))


def scope_from_url(url: str) -> Scope:
    """Give the scope that the address of a site, of a page or of one of its files stands for."""
    found = canonical_url(url)
    if found is None:
        raise UsageError(f"{url}: not an http(s) address; give the one that the documentation lives at")
    parts = urlsplit(found)
    path = re.sub(r"(\.well-known/llms\.txt|roaming/manifest\.json)$", "", parts.path)
    folder, _, last = path.rpartition("/")
    path = f"{folder}/" if not last or _FILE.search(last) else f"{path}/"
    return Scope(urlunsplit((parts.scheme, parts.netloc, path, "", "")))


def is_page_url(url: str) -> bool:
    """Tell whether an address could lead to a page: it has no query and does not end as files do."""
    parts = urlsplit(url)
    return not parts.query and not _NO_PAGE.search(parts.path)


def version_prefix(path: str) -> str:
    """Give the part of a path that names a version, with the language before it: `en/latest/` of `en/latest/guide/`."""
    found = _VERSION.match(path)
    return found[0] if found else ""


def url_origin(url: str) -> str:
    """Give scheme, host and port: what robots.txt and politeness are about."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _plain(path: str) -> str:
    """Give what the spellings that a page may have, `guide/`, `guide.html`, `guide/index.md`, have in common."""
    return re.sub(r"((^|/)index)?\.(html?|mdx?|markdown)$", "", path.strip("/"))


@cache
def _pattern(glob: str) -> re.Pattern[str]:
    """Give what a pattern matches: `*` within a folder, `**` across them; what matches a folder, all that is in it."""
    parts = re.split(r"(\*\*/?|\*|\?)", _plain(glob))
    signs = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(signs.get(part) or re.escape(part) for part in parts) + r"(?:/.*)?\Z", re.DOTALL)


_LONGEST = 2_000
_PORTS = {"http": 80, "https": 443}
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\\]|%00|%0[ad]|%5c", re.IGNORECASE)
_FILE = re.compile(r"\.(html?|md|txt|json|xml|php|gz)$", re.IGNORECASE)
_TRACKING = re.compile(r"(utm_\w+|gclid|fbclid|msclkid|mc_[ce]id|ref|ref_src|_ga|_gl|hsCtaTracking)", re.IGNORECASE)
_NO_PAGE = re.compile(
    r"\.(png|jpe?g|gif|svg|webp|avif|ico|bmp|tiff?|css|m?js|map|json|ya?ml|toml|xml|rss|atom|txt|csv|tsv|pdf|epub|docx?"
    r"|xlsx?|pptx?|odt|zip|gz|bz2|xz|tgz|tar|7z|rar|whl|jar|exe|dmg|deb|rpm|apk|woff2?|ttf|otf|eot|mp[34]|webm|ogg|wav"
    r"|mov|avi|wasm|ipynb|py|inv|asc|sig|ics)$|(^|/)_(static|sources|images|downloads|modules)/",
    re.IGNORECASE,
)
_VERSION = re.compile(
    r"([a-z]{2,3}([-_][a-z]{2,4})?/)?(latest|stable|current|next|main|master|trunk|dev(el(op)?)?|nightly|edge|release"
    r"|v?\d+(\.(\d+|x))*([-.]?(a|b|rc|dev|alpha|beta|post)[-.]?\d*)?)/",
    re.IGNORECASE,
)
_KEPT = "/-._~!$&'()*+,;=:@%"


def _path(parts: SplitResult) -> str:
    """Give a path percent-encoded in one way: what needs no escape has none, hex digits are large."""
    path = _straight(quote(parts.path or "/", safe=_KEPT))
    return re.sub(r"(?<=/)index\.html?$", "", re.sub(r"%([0-9A-Fa-f]{2})", _unescaped, path))


def _straight(path: str) -> str:
    """Give a path without `.` and `..` that stand in it openly; encoded ones are no honest spelling."""
    kept: list[str] = []
    segments = path.split("/")
    for segment in segments:
        if segment == "..":
            kept = kept[:-1] if len(kept) > 1 else kept
        elif segment != ".":
            kept.append(segment)
    return "/".join(kept) + ("/" if segments[-1] in (".", "..") and kept[-1] else "")


def _unescaped(found: re.Match[str]) -> str:
    sign = chr(int(found[1], 16))
    return sign if sign.isascii() and (sign.isalnum() or sign in "-._~") else found[0].upper()


def _climbs(path: str) -> bool:
    """Tell whether a segment means a folder above once it is decoded, however often it was encoded."""
    for _ in range(3):
        path = unquote(path)
    return any(segment in (".", "..") for segment in re.split(r"[/\\]", path)) or "\0" in path


def _query(query: str) -> str:
    return "&".join(part for part in query.split("&") if part and not _TRACKING.fullmatch(part.partition("=")[0]))
